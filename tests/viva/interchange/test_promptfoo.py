"""Configurations of promptfoo become cases that run, and nothing of them is dropped without a note."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import viva
from tests.examples import examples
from tests.viva.interchange.accounting import dropped
from tests.viva.interchange.imports import all_cases
from viva.cases import Case, ScoringPoint
from viva.errors import SetupError
from viva.interchange import SourceFile
from viva.interchange.formats import ImportOptions, format_named
from viva.interchange.promptfoo.statements import REFUSED, negated

TYPES = [
    "answer-relevance", "bleu", "classifier", "contains", "contains-all", "contains-any", "contains-html",
    "contains-json", "contains-sql", "contains-xml", "context-faithfulness", "context-recall", "context-relevance",
    "conversation-relevance", "cost", "equals", "factuality", "finish-reason", "g-eval", "gleu", "guardrails",
    "icontains", "icontains-all", "icontains-any", "is-html", "is-json", "is-refusal", "is-sql",
    "is-valid-function-call", "is-valid-openai-function-call", "is-valid-openai-tools-call", "is-xml", "javascript",
    "latency", "levenshtein", "llm-rubric", "pi", "meteor", "model-graded-closedqa", "model-graded-factuality",
    "moderation", "perplexity", "perplexity-score", "python", "regex", "rouge-n", "ruby", "similar",
    "similar:cosine", "similar:dot", "similar:euclidean", "starts-with", "tool-call-f1", "skill-used",
    "trajectory:goal-success", "trajectory:tool-args-match", "trajectory:step-count", "trajectory:tool-sequence",
    "trajectory:tool-used", "trace-error-spans", "trace-span-count", "trace-span-duration", "search-rubric",
    "webhook", "word-count", "agent-rubric",
]  # fmt: skip
VALUES = {
    "trajectory:tool-args-match": {"name": "search", "args": {"city": "Oslo"}},
    "trajectory:step-count": {"min": 1, "max": 3},
    "trajectory:tool-sequence": {"steps": ["search", "book"]},
    "word-count": {"min": 2, "max": 20},
    "python": "len(output) > 3",
    "is-json": {"type": "object"},
    "contains-json": {"type": "object"},
}
CODE_OR_SERVICES = {"javascript", "ruby", "webhook"}


def imported(tmp_path: Path, config: Any, name: str = "promptfooconfig.yaml", **files: str) -> list[Case]:
    for file, content in files.items():
        (tmp_path / file.replace("__", ".")).write_text(content)
    source = tmp_path / name
    source.write_text(config if isinstance(config, str) else yaml.safe_dump(config, sort_keys=False))
    viva.import_cases(source, tmp_path / "out")
    return all_cases(tmp_path / "out")


def with_assertion(*assertions: Any, **test: Any) -> dict[str, Any]:
    return {"prompts": ["{{q}}"], "providers": ["x"], "tests": [{"vars": {"q": "Hi"}, "assert": [*assertions], **test}]}


def point(tmp_path: Path, *assertions: Any, **test: Any) -> ScoringPoint:
    (case,) = imported(tmp_path, with_assertion(*assertions, **test))
    return case.scoring_points[0]


def report(tmp_path: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((tmp_path / "out" / "import-report.json").read_text())
    return content


@pytest.mark.parametrize("prefix", ["", "not-"])
def test_every_type_of_assertion_is_a_point_or_refused_by_name(tmp_path: Path, prefix: str) -> None:
    tests = [
        {
            "description": kind,
            "vars": {"q": "Hi"},
            "assert": [{"type": prefix + kind, "value": VALUES.get(kind, "lookup"), "threshold": 1}],
        }
        for kind in TYPES
    ]
    cases = imported(tmp_path, {"prompts": ["{{q}}"], "providers": ["x"], "tests": tests})
    marked = report(tmp_path)["marked"]
    refused = {kind for kind, name in zip(TYPES, report(tmp_path)["cases"], strict=True) if name in marked}
    assert len(cases) == len(TYPES)
    assert refused == set(REFUSED) & set(TYPES)
    assert refused >= CODE_OR_SERVICES
    for kind in CODE_OR_SERVICES:
        assert any(f"assertion {prefix}{kind}: " in each["why"] for each in report(tmp_path)["reported"])


@pytest.mark.parametrize(
    ("assertion", "check"),
    [
        ({"type": "contains", "value": "a"}, {"contains": "a"}),
        ({"type": "contains", "value": 0}, {"contains": "0"}),
        ({"type": "not-contains", "value": "a"}, {"not_contains": "a"}),
        ({"type": "icontains", "value": "a"}, {"contains": {"all": "a", "ignore_case": True}}),
        ({"type": "not-icontains", "value": "a"}, {"not": {"contains": {"all": "a", "ignore_case": True}}}),
        ({"type": "contains-all", "value": ["a", "b"]}, {"contains": ["a", "b"]}),
        ({"type": "contains-all", "value": 'a, "b, c"'}, {"contains": ["a", "b, c"]}),
        ({"type": "not-contains-all", "value": ["a", "b"]}, {"not": {"contains": ["a", "b"]}}),
        ({"type": "contains-any", "value": ["a", "b"]}, {"contains": {"any": ["a", "b"]}}),
        ({"type": "icontains-any", "value": ["a"]}, {"contains": {"any": ["a"], "ignore_case": True}}),
        ({"type": "equals", "value": " a"}, {"equals": {"text": " a", "trim": False}}),
        ({"type": "equals", "value": {"a": 1}}, {"json": {"equals": {"a": 1}}}),
        ({"type": "starts-with", "value": "a"}, {"starts_with": "a"}),
        ({"type": "regex", "value": r"\d{4}"}, {"regex": r"\d{4}"}),
        ({"type": "not-regex", "value": "a"}, {"not": {"regex": "a"}}),
        ({"type": "is-json"}, {"json": True}),
        ({"type": "is-json", "value": '{"type": "object"}'}, {"json": {"schema": {"type": "object"}}}),
        ({"type": "contains-json"}, {"json": {"inside": True}}),
        ({"type": "word-count", "value": {"max": 9}}, {"words": {"max": 9}}),
        ({"type": "word-count", "value": "9"}, {"words": 9}),
        ({"type": "latency", "threshold": 1500}, {"seconds_at_most": 1.5}),
        ({"type": "cost", "threshold": 0.01}, {"cost_at_most": 0.01}),
        ({"type": "levenshtein", "value": "a"}, {"similar": {"to": "a", "distance_at_most": 5}}),
        ({"type": "tool-call-f1", "value": "a, b"}, {"tool_f1": ["a", "b"]}),
        (
            {"type": "tool-call-f1", "value": ["a"], "threshold": 0.5},
            {"tool_f1": {"tools": ["a"], "at_least": 0.5}},
        ),
        ({"type": "trajectory:tool-used", "value": "a"}, {"tool_called": "a"}),
        ({"type": "not-trajectory:tool-used", "value": "a"}, {"not": {"tool_called": "a"}}),
        (
            {"type": "trajectory:tool-used", "value": ["a", "b"]},
            {"all": [{"tool_called": "a"}, {"tool_called": "b"}]},
        ),
        (
            {"type": "not-trajectory:tool-used", "value": ["a", "b"]},
            {"not": {"any": [{"tool_called": "a"}, {"tool_called": "b"}]}},
        ),
        (
            {"type": "not-trajectory:tool-used", "value": {"name": "a", "min": 0, "max": 0}},
            {"not": {"tool_called": {"name": "a", "times": {"min": 0, "max": 0}}}},
        ),
        (
            {"type": "trajectory:tool-used", "value": {"pattern": "a*", "min": 2}},
            {"tool_called": {"name": "a*", "times": {"min": 2}}},
        ),
        (
            {"type": "trajectory:tool-sequence", "value": {"mode": "exact", "steps": ["a", "b"]}},
            {"tool_order": {"tools": ["a", "b"], "exact": True}},
        ),
        (
            {"type": "trajectory:tool-args-match", "value": {"name": "a", "args": {"x": 1, "y": 2}, "ignore": "y"}},
            {"tool_called": {"name": "a", "arguments": {"x": 1}}},
        ),
        ({"type": "trajectory:step-count", "value": {"type": "tool", "max": 3}}, {"steps": {"max": 3, "kind": "tool"}}),
    ],
)
def test_what_a_program_decides_becomes_a_check(tmp_path: Path, assertion: Any, check: Any) -> None:
    assert point(tmp_path, assertion).check == check


def test_rubrics_become_statements_and_their_opposites(tmp_path: Path) -> None:
    (case,) = imported(
        tmp_path,
        with_assertion({"type": "llm-rubric", "value": "Is polite."}, {"type": "not-llm-rubric", "value": "Is rude."}),
    )
    first, second = (each.score_point for each in case.scoring_points)
    assert first == "Is polite."
    assert second.endswith("does not apply: Is rude.")


@pytest.mark.parametrize(
    ("kind", "value", "statement", "denied"),
    [
        ("skill-used", "a", "The agent uses the skill a", None),
        ("skill-used", ["a"], "The agent uses the skill a", None),
        ("skill-used", {"name": "a"}, "The agent uses the skill a", None),
        (
            "skill-used",
            ["a", "b"],
            "The agent uses all of these skills:\n- a\n- b",
            "The agent uses at least one of these skills:\n- a\n- b",
        ),
        (
            "skill-used",
            {"pattern": "a*", "max": 0},
            "This is the number of times that the agent uses a skill whose name matches a*: at most 0",
            "The agent uses a skill whose name matches a*",
        ),
        ("similar", ["a"], "The agent's answer means the same as this: a", None),
        *(
            (kind, ["a", "b"], "The agent's answer means the same as at least one of these:\n- a\n- b", None)
            for kind in ("similar", "similar:dot", "bleu", "gleu", "meteor")
        ),
    ],
    ids=str,
)
def test_a_list_that_is_forbidden_is_forbidden_as_promptfoo_does(
    kind: str, value: Any, statement: str, denied: str | None, tmp_path: Path
) -> None:
    assertions = [{"type": kind, "value": value}, {"type": f"not-{kind}", "value": value}]
    (case,) = imported(tmp_path, with_assertion(*assertions))
    first, second = (each.score_point for each in case.scoring_points)
    assert first == statement
    assert second == negated(denied or statement)


@pytest.mark.parametrize(
    ("assertion", "words"),
    [
        ({"type": "not-trajectory:tool-used", "value": {"name": "a", "max": 0}}, "it cannot fail"),
        ({"type": "not-skill-used", "value": {"name": "a", "min": 2}}, "no limits of what must not be used"),
        ({"type": "skill-used", "value": {"min": 2}}, "neither name nor pattern"),
    ],
    ids=str,
)
def test_an_assertion_without_a_sound_meaning_is_refused(assertion: Any, words: str, tmp_path: Path) -> None:
    imported(tmp_path, with_assertion(assertion))
    assert any(words in each["why"] for each in report(tmp_path)["reported"])
    assert report(tmp_path)["marked"]


def test_weight_metric_and_threshold_have_homes(tmp_path: Path) -> None:
    (case,) = imported(
        tmp_path,
        with_assertion({"type": "contains", "value": "a", "weight": 2.5, "metric": "facts"}, threshold=0.6),
    )
    assert case.scoring_points[0].weight == 2.5
    assert case.scoring_points[0].metadata == {"metric": "facts"}
    assert case.threshold == 0.6


def test_an_assertion_of_weight_0_never_counts(tmp_path: Path) -> None:
    (case,) = imported(
        tmp_path, with_assertion({"type": "contains", "value": "a"}, {"type": "contains", "value": "b", "weight": 0})
    )
    assert [each.check for each in case.scoring_points] == [{"contains": "a"}]
    assert any("never counts" in each["why"] for each in report(tmp_path)["reported"])


def test_a_set_is_a_group_and_one_of_which_any_is_enough_is_one_check(tmp_path: Path) -> None:
    members = [{"type": "contains", "value": "a"}, {"type": "contains", "value": "b"}]
    (case,) = imported(
        tmp_path,
        with_assertion(
            {"type": "assert-set", "assert": members, "weight": 3, "metric": "both"},
            {"type": "assert-set", "assert": members, "threshold": 0.5},
        ),
    )
    assert [group.score_point for group in case.point_groups] == ["both"]
    assert [each.weight for each in case.scoring_points] == [1.5, 1.5, 1]
    assert case.scoring_points[2].check == {"any": [{"contains": "a"}, {"contains": "b"}]}


def test_defaults_are_merged_and_scenarios_expanded(tmp_path: Path) -> None:
    cases = imported(
        tmp_path,
        {
            "prompts": ["Translate into {{language}}: {{text}}"],
            "providers": ["x"],
            "defaultTest": {"vars": {"tone": "polite"}, "assert": [{"type": "not-contains", "value": "Sorry"}]},
            "scenarios": [
                {
                    "config": [{"vars": {"language": "French", "hello": "Bonjour"}}, {"vars": {"language": "German"}}],
                    "tests": [
                        {"vars": {"text": "Hello"}, "assert": [{"type": "contains", "value": "{{hello}}"}]},
                        {"vars": {"text": "Bye"}, "options": {"disableDefaultAsserts": True}},
                    ],
                }
            ],
        },
    )
    assert [case.script[0].say for case in cases] == [
        f"Translate into {language}: {text}" for language in ("French", "German") for text in ("Hello", "Bye")
    ]
    assert [point.check for point in cases[0].scoring_points] == [{"not_contains": "Sorry"}, {"contains": "Bonjour"}]
    assert not any(point.check for point in cases[1].scoring_points)
    assert "import-incomplete" in cases[2].tags  # {{hello}} is not given for German


def test_lists_of_values_and_prompts_multiply_cases(tmp_path: Path) -> None:
    config = {"prompts": ["A {{x}}", "B {{x}}"], "providers": ["p"], "tests": [{"vars": {"x": ["1", "2"]}}]}
    cases = imported(tmp_path, config)
    assert sorted(case.script[0].say for case in cases) == ["A 1", "A 2", "B 1", "B 2"]


def test_a_simulated_user_examines_on_the_users_own_model(tmp_path: Path) -> None:
    (case,) = imported(
        tmp_path,
        {
            "prompts": ["You are a shop."],
            "providers": ["x"],
            "defaultTest": {
                "provider": {
                    "id": "promptfoo:simulated-user",
                    "config": {
                        "maxTurns": 4,
                        "instructions": "You want {{goal}}.",
                        "initialMessages": [
                            {"role": "user", "content": "Hi"},
                            {"role": "assistant", "content": "Yes?"},
                            {"role": "user", "content": "I pay by {{card}}"},
                        ],
                    },
                }
            },
            "tests": [{"vars": {"goal": "a refund", "card": "Visa"}}],
        },
    )
    assert (case.task_description, case.max_rounds, case.script) == ("You want a refund.", 4, ())
    assert [(turn.role, turn.content) for turn in case.conversation] == [("user", "Hi"), ("agent", "Yes?")]
    assert case.opening == "I pay by Visa"


def test_a_prompt_that_is_a_chat_is_a_conversation_already_begun(tmp_path: Path) -> None:
    chat = json.dumps(
        [
            {"role": "system", "content": "You sell shoes."},
            {"role": "user", "content": "Red ones?"},
            {"role": "assistant", "content": "Yes."},
            {"role": "user", "content": "{{q}}"},
        ]
    )
    config = {"prompts": ["file://chat.json"], "providers": ["x"], "tests": [{"vars": {"q": "Size 42"}}]}
    (case,) = imported(tmp_path, config, chat__json=chat)
    assert [turn.role for turn in case.conversation] == ["system", "user", "agent"]
    assert [line.say for line in case.script] == ["Size 42"]


def test_tests_and_their_assertions_in_csv(tmp_path: Path) -> None:
    table = (
        "q,city,__expected1,__expected2,__description,__metric\n"
        'Price?,Oslo,"contains-any: 320, 330",not-icontains: sorry,Price of Oslo,facts\n'
        "Hi,,Hello,grade: is polite,,\n"
    )
    config = {"prompts": ["{{q}}"], "providers": ["x"], "tests": "file://tests.csv"}
    first, second = imported(tmp_path, config, tests__csv=table)
    assert first.name == "out#price-of-oslo"
    assert [each.check for each in first.scoring_points] == [
        {"contains": {"any": ["320", "330"]}},
        {"not": {"contains": {"all": "sorry", "ignore_case": True}}},
    ]
    assert first.scoring_points[0].metadata == {"metric": "facts"}
    assert second.scoring_points[0].check == {"equals": {"text": "Hello", "trim": False}}
    assert second.scoring_points[1].score_point == "is polite"


def test_python_becomes_eval_code_and_nothing_is_run_by_the_import(tmp_path: Path) -> None:
    witness = tmp_path / "witness"
    code = f"open({str(witness)!r}, 'w').close()\ndef get_assert(output, context):\n    return len(output) > 2\n"
    config = with_assertion(
        {"type": "python", "value": "file://check.py"},
        {"type": "python", "value": "'a' in output"},
        {"type": "javascript", "value": "file://check.js"},
    )
    (case,) = imported(tmp_path, config, check__py=code, check__js="process.exit()")
    assert [bool(each.eval_code) for each in case.scoring_points] == [True, True]
    assert "get_assert" in str(case.scoring_points[0].eval_code)
    assert not witness.exists()


@pytest.mark.parametrize("name", ["file:///etc/passwd", "file://../outside.txt", "file://link.txt", "file://pipe.txt"])
def test_a_file_outside_the_folder_is_never_read(tmp_path: Path, name: str) -> None:
    import os

    (tmp_path / "outside.txt").write_text("root: secret words")
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "link.txt").symlink_to(tmp_path / "outside.txt")
    os.mkfifo(folder / "pipe.txt")
    config = {"prompts": ["{{q}} {{doc}}"], "providers": ["x"], "tests": [{"vars": {"q": "Hi", "doc": name}}]}
    (case,) = imported(folder, config)
    assert "root" not in case.script[0].say
    assert any(each["kind"] == "refused" for each in report(folder)["reported"])


def test_keys_of_providers_are_not_copied_into_the_report(tmp_path: Path) -> None:
    config = with_assertion() | {
        "providers": [{"id": "x", "config": {"apiKey": "abcdef", "headers": {"a": "Bearer " + "k" * 20}}}]
    }
    imported(tmp_path, config)
    text = (tmp_path / "out" / "import-report.json").read_text()
    assert "abcdef" not in text
    assert "kkkk" not in text


def test_anchors_and_references_within_the_file_are_followed(tmp_path: Path) -> None:
    text = """
prompts: ["{{q}}"]
providers: [x]
assertionTemplates:
  polite: {type: llm-rubric, value: Is polite.}
tests:
  - vars: &shared {q: Hi}
    assert: [{$ref: "#/assertionTemplates/polite"}]
  - vars: {<<: *shared, other: 1}
"""
    first, second = imported(tmp_path, text)
    assert first.scoring_points[0].score_point == "Is polite."
    assert second.script[0].say == "Hi"


WORDS = st.sampled_from(["Hi", "{{q}}", "{{missing}}", "{% if x %}", "file://nothing.txt", "a, b", "", "42", "é\u2028"])
PLAIN = st.none() | st.booleans() | st.integers(-5, 5) | WORDS
NESTED = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2), max_leaves=4
)
ASSERTIONS = st.fixed_dictionaries(
    {
        "type": st.sampled_from([*TYPES, "assert-set", "unknown", "human"]).flatmap(
            lambda kind: st.sampled_from([kind, "not-" + kind])
        )
    },
    optional={"value": NESTED, "threshold": PLAIN, "weight": PLAIN, "metric": PLAIN, "provider": PLAIN, "odd": NESTED},
)
TESTS = st.fixed_dictionaries(
    {},
    optional={
        "description": PLAIN,
        "vars": st.dictionaries(st.sampled_from(["q", "x", "instructions"]), NESTED, max_size=3),
        "assert": st.lists(ASSERTIONS, max_size=3),
        "threshold": PLAIN,
        "metadata": st.dictionaries(WORDS, NESTED, max_size=2),
        "options": st.dictionaries(st.sampled_from(["prefix", "transform", "storeOutputAs", "odd"]), PLAIN, max_size=2),
        "provider": st.sampled_from(["openai:x", "promptfoo:simulated-user"]),
        "odd": NESTED,
    },
)
CONFIGS = st.fixed_dictionaries(
    {
        "prompts": st.lists(st.sampled_from(["{{q}}", "Say {{x}} {{q}}", "Hi"]), min_size=1, max_size=2),
        "tests": st.lists(TESTS, min_size=1, max_size=2),
    },
    optional={"defaultTest": TESTS, **dict.fromkeys(("providers", "env", "tags", "odd", "evaluateOptions"), NESTED)},
)


@settings(max_examples=examples(80), deadline=None)
@given(config=CONFIGS)
def test_no_value_of_any_configuration_is_dropped(
    tmp_path_factory: pytest.TempPathFactory, config: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("promptfoo")
    source = folder / "promptfooconfig.json"
    source.write_text(json.dumps(config))
    viva.import_cases(source, folder / "out")
    file = SourceFile(source)
    format_named("promptfoo").load().read(file, ImportOptions())
    expressed = {str(node) for node in file.tree().leaves() if file.ledger.leaf("", node.path).expressed}
    assert dropped(file.tree().peek(), folder / "out", expressed) == []


@pytest.mark.parametrize(
    ("written", "meant"),
    [("yes", "yes"), ("No", "No"), ("off", "off"), ("12:30", "12:30"), ("012", "12"), ("1e3", "1000"), ("2.0", "2")],
)
def test_yaml_is_read_as_promptfoo_reads_it(tmp_path: Path, written: str, meant: str) -> None:
    config = f"prompts: ['Answer {{{{q}}}}']\nproviders: [x]\ntests:\n- vars: {{q: {written}}}\n"
    (tmp_path / "more.yaml").write_text(f"- {{type: contains, value: {written}}}\n")
    [case] = imported(tmp_path, config + f"  assert: [{{type: contains, value: {written}}}, file://more.yaml]\n")
    assert [line.say for line in case.script] == [f"Answer {meant}"]
    assert [dict(point.check or {}) for point in case.scoring_points][:1] == [{"contains": meant}]


@pytest.mark.parametrize("name", ["promptfooconfig.js", "promptfooconfig.ts", "evals.py"])
def test_a_configuration_that_is_a_program_is_refused_in_words(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("module.exports = {prompts: []}")
    with pytest.raises(SetupError, match="is a program, and an import runs none"):
        viva.import_cases(tmp_path / name, tmp_path / "out")
