"""What is exported of an import is its source again, up to what the reports name."""

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
from tests.viva.conftest import Desk
from tests.viva.interchange.imports import all_cases
from tests.viva.interchange.test_export import normal
from tests.viva.interchange.test_verdicts import VERDICTS
from tests.viva.interchange.test_verdicts_of_formats import EVALUATORS
from viva.errors import SetupError
from viva.examiner.role import role_of
from viva.interchange.exporting import exported

PLATFORMS: dict[str, list[dict[str, Any]]] = {
    "rows": [
        {"id": "a", "input": "2 + 2?", "expected": "4", "metadata": {"level": 1}, "tags": ["sums"], "source": "book"},
        {"id": "b", "input": ["Hi.", "Bye."], "expected": ["Bye.", "See you."], "metadata": {}, "tags": []},
    ],
    "langsmith": [
        {
            "id": "7c1",
            "inputs": {"question": "What does a ticket to Oslo cost?", "language": "en", "top": {"k": 3}},
            "outputs": {"answer": "320 euros", "currency": "EUR"},
            "metadata": {"level": 2},
            "split": "base",
            "created_at": "2026-01-05T10:00:00Z",
            "source_run_id": "r-1",
        },
        {
            "id": "7c2",
            "inputs": {
                "messages": [
                    {"role": "system", "content": "You sell tickets."},
                    {"role": "user", "content": "Hi."},
                    {"role": "assistant", "content": "Hello."},
                    {"role": "user", "content": "To Oslo?"},
                ]
            },
            "outputs": {"answer": ["320 euros", "EUR 320"]},
        },
    ],
    "langfuse": [
        {
            "id": "item-1",
            "input": "Cancel order 7",
            "expectedOutput": {"answer": "Order 7 is cancelled", "order": "7"},
            "metadata": {"team": "shop"},
            "sourceTraceId": "t-1",
            "status": "ACTIVE",
        }
    ],
    "mlflow": [
        {
            "inputs": {
                "goal": "Get a refund for order 7",
                "persona": "An impatient customer",
                "simulation_guidelines": "Ask for the price first.",
                "context": {"user_id": "u1"},
            },
            "expectations": {"expected_facts": ["It takes three days", "It is 20 euros"], "guidelines": ["Be polite."]},
            "tags": {"team": "shop"},
            "dataset_record_id": "dr-1",
        },
        {
            "inputs": {"question": "When?"},
            "expectations": {"expected_response": "At noon"},
            "tags": {"team": "shop"},
            "dataset_record_id": "dr-2",
        },
    ],
    "braintrust": [
        {
            "id": "b1",
            "input": "2 + 2?",
            "expected": "4",
            "metadata": {"grade": "easy"},
            "tags": ["maths"],
            "_xact_id": "9",
        }
    ],
    "datadog": [
        {"id": "d", "input_data": {"question": "Hi?"}, "expected_output": "Hello", "metadata": {"a": 1}, "tags": ["x"]}
    ],
}


def round_trip(tmp_path: Path, rows: Any, to: str, suffix: str = ".jsonl", **options: Any) -> list[Any]:
    """Import rows, and export what came of them to the same format."""
    source = tmp_path / "source.json"
    source.write_text(json.dumps(rows))
    viva.import_cases(source, tmp_path / "out", **options)
    viva.export_cases(tmp_path / "out", tmp_path / f"back{suffix}", format=to, **options)
    return [json.loads(line) for line in (tmp_path / f"back{suffix}").read_text().splitlines()]


@pytest.mark.parametrize("platform", PLATFORMS)
def test_rows_of_a_platform_come_back(platform: str, tmp_path: Path) -> None:
    rows = PLATFORMS[platform]
    back = {json.dumps(row, sort_keys=True) for row in round_trip(tmp_path, rows, platform)}
    # Empty values are nothing to import, and MLflow's records have an id in another column.
    assert back == {json.dumps({k: v for k, v in row.items() if v not in ([], {})}, sort_keys=True) for row in rows}


def test_rows_of_any_shape_come_back_by_the_map_that_imported_them(tmp_path: Path) -> None:
    rows = [{"q": {"text": "Why?"}, "gold": "Because.", "key": "k1", "info": {"a": 1}, "level": 3}]
    mapping = {"input": "q.text", "expected": "gold", "name": "key", "metadata": "info"}
    assert round_trip(tmp_path, rows, "rows", mapping=mapping) == rows


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(str.strip)
ROWS = st.fixed_dictionaries(
    {
        "id": st.from_regex(r"[a-z]{1,8}", fullmatch=True),
        "input": TEXT,
        "expected": TEXT.filter(lambda text: text[0] not in "[{"),
    },
    optional={
        "metadata": st.dictionaries(TEXT, st.integers() | TEXT | st.booleans(), min_size=1, max_size=3),
        "tags": st.lists(st.from_regex(r"[a-z]{1,8}", fullmatch=True), min_size=1, max_size=3, unique=True),
        "level": st.integers() | TEXT | st.lists(TEXT, min_size=1, max_size=2),
    },
)


@settings(max_examples=examples(100), deadline=None)
@given(rows=st.lists(ROWS, min_size=1, max_size=4, unique_by=lambda row: row["id"]))
def test_whatever_rows_say_comes_back(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    back = round_trip(tmp_path_factory.mktemp("rows"), rows, "braintrust")
    assert sorted(back, key=lambda row: str(row["id"])) == sorted(rows, key=lambda row: str(row["id"]))


def test_a_table_comes_back_as_a_table(tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text('id,input,expected,tags,level\na,"Hi, you?",Hello,"[""x"", ""y""]",2\n')
    viva.import_cases(tmp_path / "rows.csv", tmp_path / "out")
    viva.export_cases(tmp_path / "out", tmp_path / "back.csv", format="rows")
    assert (tmp_path / "back.csv").read_text() == (tmp_path / "rows.csv").read_text()


def promptfoo(tmp_path: Path, config: dict[str, Any], name: str = "out") -> dict[str, Any]:
    """Import a configuration, and export what came of it."""
    source = tmp_path / f"promptfooconfig-{name}.yaml"
    source.write_text(yaml.safe_dump(config, sort_keys=False))
    viva.import_cases(source, tmp_path / name, format="promptfoo")
    viva.export_cases(tmp_path / name, tmp_path / f"{name}.yaml", format="promptfoo")
    return dict(yaml.safe_load((tmp_path / f"{name}.yaml").read_text()))


ASSERTIONS = [
    {**assertion, "type": prefix + assertion["type"]}
    for prefix in ("", "not-")
    for assertion in {json.dumps(given): given for _, given, _ in VERDICTS}.values()
    if assertion["type"] not in ("python", "is-xml", "contains-xml")
] + [
    {"type": "trajectory:tool-used", "value": ["search", "pay"]},
    {"type": "not-trajectory:tool-used", "value": ["search", "pay"]},
    {"type": "cost", "threshold": 0.01},
    {"type": "llm-rubric", "value": "The answer is polite."},
    {"type": "not-llm-rubric", "value": "The answer is rude."},
    {"type": "factuality", "value": "Oslo is in Norway."},
    {"type": "answer-relevance"},
    {"type": "similar", "value": "320 euros"},
    {"type": "trajectory:goal-success", "value": "A ticket is booked"},
    {"type": "assert-set", "assert": [{"type": "contains", "value": "a"}, {"type": "is-json", "weight": 3.0}]},
    {"type": "assert-set", "threshold": 0.5, "assert": [{"type": "contains", "value": "a"}, {"type": "is-json"}]},
]
SAME = {
    "contains-any": lambda value: [part.strip() for part in value.split(",")] if isinstance(value, str) else value,
    "contains": str,
    "trajectory:tool-used": lambda value: value,
}


def plain(assertion: dict[str, Any]) -> dict[str, Any]:
    """An assertion in the form in which it is exported: lists for texts with commas, limits for their defaults."""
    kind = assertion["type"].removeprefix("not-")
    made = dict(assertion)
    if kind in SAME:
        made["value"] = SAME[kind](made["value"])
    if kind == "levenshtein":
        made["threshold"] = made.get("threshold", 5)
    if isinstance(made.get("value"), dict) and made["value"].get("max") == 1 and kind == "trajectory:tool-used":
        made["value"] = {**made["value"], "min": 1}
    return made


@pytest.mark.parametrize("assertion", ASSERTIONS, ids=lambda given: given["type"])
def test_assertions_come_back(assertion: dict[str, Any], tmp_path: Path) -> None:
    config = {
        "prompts": ["{{message}}"],
        "providers": ["x"],
        "tests": [{"vars": {"message": "Hi"}, "assert": [assertion]}],
    }
    (test,) = promptfoo(tmp_path, config)["tests"]
    assert [plain(each) for each in test.get("assert", [])] == [plain(assertion)]


def test_a_configuration_comes_back(tmp_path: Path) -> None:
    begun = [{"role": "system", "content": "You sell tickets."}, {"role": "user", "content": 'Say "hi"'}]
    config = {
        "prompts": [
            {"label": "message", "raw": "{{message}}"},
            {"label": "chat", "raw": json.dumps(begun)},
        ],
        "providers": [],
        "tests": [
            {
                "description": "Price of a ticket, 1st class",
                "vars": {"message": "What does it cost?", "city": "Oslo"},
                "prompts": ["message"],
                "assert": [{"type": "contains", "value": "320", "weight": 2.0, "metric": "facts"}],
                "threshold": 0.5,
                "metadata": {"team": "shop", "tags": ["smoke"]},
            },
            {"description": "chat", "prompts": ["chat"], "assert": [{"type": "is-json"}]},
            {
                "description": "bargain",
                "provider": {"id": "promptfoo:simulated-user", "config": {"instructions": "Buy it.", "maxTurns": 4}},
                "vars": {"initialMessages": [{"role": "user", "content": "Hello."}]},
                "assert": [{"type": "llm-rubric", "value": "The price is lower."}],
            },
        ],
    }
    back = promptfoo(tmp_path, config)
    assert back == config
    assert promptfoo(tmp_path, back, "again") == back


@pytest.mark.parametrize("text", ["1e5", "09", "0o14", "null", "yes", "12:30", "0x1F"])
def test_an_exported_text_is_a_text_for_promptfoo(text: str, tmp_path: Path) -> None:
    case = viva.Case("text", script=["Hi."], scoring_points=[{"check": {"contains": text}}])
    viva.export_cases(case, tmp_path / "out.yaml", format="promptfoo")
    exported = (tmp_path / "out.yaml").read_text()
    assert f"value: '{text}'" in exported
    viva.import_cases(tmp_path / "out.yaml", tmp_path / "again")
    assert [dict(point.check or {}) for [point] in [all_cases(tmp_path / "again")[0].scoring_points]] == [
        {"contains": text}
    ]


@pytest.mark.parametrize(
    "persona", ["grumpy", "expert", "Not native speaker", "A calm person.", "You are like this: x"]
)
def test_a_persona_of_one_word_is_a_description(persona: str, tmp_path: Path) -> None:
    row = {
        "id": "a",
        "inputs": {"goal": "Buy a ticket.", "persona": persona},
        "expectations": {"guidelines": ["Polite."]},
    }
    golden = {"scenario": "Buy a ticket.", "expected_outcome": "Bought.", "user_description": persona}
    instructions = {"reason_for_call": "Buy a ticket.", "task_instructions": "Be brief."}
    scenario = {"persona": persona, "instructions": instructions}
    task = {"id": "a", "user_scenario": scenario, "evaluation_criteria": {"nl_assertions": ["Bought."]}}
    for name, source in {"mlflow": row, "deepeval": golden, "tau2": task}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps([source]))
        viva.import_cases(tmp_path / f"{name}.json", tmp_path / name)
        [case] = all_cases(tmp_path / name)
        user = role_of(case).user
        assert persona in ((user and user.persona) or "")
    viva.export_cases(tmp_path / "mlflow", tmp_path / "back.jsonl", format="mlflow")
    assert json.loads((tmp_path / "back.jsonl").read_text())["inputs"]["persona"] == persona


def test_guidance_of_several_lines_comes_back_as_a_list(tmp_path: Path) -> None:
    inputs = {"goal": "Buy a ticket.", "simulation_guidelines": ["Be brief.", "Ask for the price first."]}
    row = {"inputs": inputs, "expectations": {"guidelines": ["Polite."]}}
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    viva.import_cases(tmp_path / "rows.jsonl", tmp_path / "cases")
    viva.export_cases(tmp_path / "cases", tmp_path / "back.jsonl", format="mlflow")
    assert json.loads((tmp_path / "back.jsonl").read_text())["inputs"] == inputs


@pytest.mark.parametrize(
    ("row", "format_name", "named"),
    [
        ({"id": "a", "input": {"question": "Q?"}, "expectedOutput": {"answer": "A"}}, "langfuse", 2),
        ({"id": "a", "inputs": {"query": "Q?"}, "outputs": {"answer": "A"}, "split": "x"}, "langsmith", 1),
        ({"id": "a", "inputs": {"question": "Q?"}, "outputs": {"answer": "A"}, "split": "x"}, "langsmith", 0),
        ({"id": "a", "input": {"question": "Q?", "n": 1}, "expectedOutput": "A"}, "langfuse", 0),
    ],
)
def test_a_key_that_does_not_come_back_is_named(
    row: dict[str, Any], format_name: str, named: int, tmp_path: Path
) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(row))
    report = viva.import_cases(tmp_path / "rows.jsonl", tmp_path / "cases")
    viva.export_cases(tmp_path / "cases", tmp_path / "back.jsonl", format=format_name)
    assert sum("not its key" in each.why for each in report.reported) == named
    assert (json.loads((tmp_path / "back.jsonl").read_text()) == row) is (named == 0)


def test_a_conversation_that_lost_calls_of_tools_is_marked(tmp_path: Path) -> None:
    calls = [{"id": "c", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]
    chat = [{"role": "user", "content": "Rain?"}, {"role": "assistant", "content": None, "tool_calls": calls}]
    chat += [{"role": "tool", "tool_call_id": "c", "content": "sunny"}, {"role": "user", "content": "Thanks."}]
    (tmp_path / "rows.jsonl").write_text(json.dumps({"inputs": {"messages": chat}, "outputs": {"answer": "Bye."}}))
    report = viva.import_cases(tmp_path / "rows.jsonl", tmp_path / "cases")
    assert "calls and results of tools" in str(report.marked)
    assert "import-incomplete" in all_cases(tmp_path / "cases")[0].tags


def test_what_cannot_come_back_is_named(tmp_path: Path) -> None:
    points: list[Any] = [
        {"check": {"file": "out.txt"}},
        {"check": {"contains": "x", "over": "any_round"}},
        {"score_point": "It adds up.", "eval_code": "assert True"},
    ]
    case = {"script": ["One.", "Two."], "background": "Oslo is cold.", "scoring_points": [*points, "It is polite."]}
    (tmp_path / "case").mkdir()
    (tmp_path / "case" / "case.yaml").write_text(yaml.safe_dump(case))
    report = viva.export_cases(tmp_path / "case", tmp_path / "out.yaml", format="promptfoo")
    named = " ".join(each.path for each in report.reported)
    for part in ("script[1]", "background", *(f"scoring_points[{number}]" for number in range(3))):
        assert part in named
    assert "scoring_points[3]" not in named


def test_an_export_needs_cases_a_format_and_a_new_file(tmp_path: Path) -> None:
    source = tmp_path / "rows.json"
    source.write_text('[{"input": "Hi", "expected": "Hello", "tags": ["a"]}]')
    viva.import_cases(source, tmp_path / "out")
    cases = all_cases(tmp_path / "out")
    with pytest.raises(SetupError, match="exists already"):
        viva.export_cases(cases, source, format="rows")
    with pytest.raises(SetupError, match="did you mean 'promptfoo'"):
        viva.export_cases(cases, tmp_path / "x", format="promptfo")
    with pytest.raises(SetupError, match="no cases with the tag b"):
        viva.export_cases(cases, tmp_path / "x", format="rows", tags=["b"])
    with pytest.raises(SetupError, match="--map is for rows"):
        exported(cases, "promptfoo", mapping={"input": "q"})


def test_evaluators_of_pydantic_evals_come_back(tmp_path: Path) -> None:
    source = {
        "name": "all",
        "cases": [
            {"name": f"e{number}", "inputs": "Well?", "expected_output": "Bergen", "evaluators": [evaluator]}
            for number, (evaluator, _) in enumerate(EVALUATORS)
        ],
    }
    (tmp_path / "dataset.yaml").write_text(yaml.safe_dump(source))
    viva.import_cases(tmp_path / "dataset.yaml", tmp_path / "out")
    report = viva.export_cases(tmp_path / "out", tmp_path / "back.yaml", format="pydantic-evals")
    assert report.reported == []
    again = yaml.safe_load((tmp_path / "back.yaml").read_text())
    assert [named(case) for case in again["cases"]] == [named(case) for case in source["cases"]]


def named(case: dict[str, Any]) -> dict[str, Any]:
    return {**case, "evaluators": [normal(each) for each in case["evaluators"]]}


ESSENCE = ("source", "message", "tool_calls", "observation", "timestamp")


def test_trajectories_come_back_with_what_was_said_and_done(desk: Desk) -> None:
    spec = desk.agent(
        """
        def get_reply_from_agent(self, message):
            from viva import Reply, Step, StepKind
            call = Step("s1", StepKind.TOOL, tool="search", tool_input={"for": message}, result="nothing")
            return Reply(f"You said: {message}", steps=(call,))
        """
    )
    desk.run(desk.case(script=["Hello.", "Bye."]), "--agent", spec, "--judge", "code")
    desk.viva("export", "journal", "--to", "atif", "--out", "first.jsonl", expect=0)
    desk.viva("trace", "atif:first.jsonl", "--out", "again", expect=0)
    desk.viva("export", "again", "--to", "atif", "--out", "second.jsonl", expect=0)
    first, second = (json.loads((desk.folder / name).read_text()) for name in ("first.jsonl", "second.jsonl"))
    said = [[{key: step.get(key) for key in ESSENCE} for step in each["steps"]] for each in (first, second)]
    assert said[0] == said[1]
    assert "search" in json.dumps(said[0])


def test_an_export_of_runs_takes_the_filters_of_reports(desk: Desk) -> None:
    desk.run(desk.case(), "--agent", "example:careful", "--judge", "code")
    desk.viva("export", "journal", "--to", "atif", "--out", "none.jsonl", "--where", "score<1", expect=0)
    assert (desk.folder / "none.jsonl").read_text() == ""
    desk.viva("export", "journal", "--to", "atif", "--out", "all.jsonl", "--where", "score=1", expect=0)
    assert (desk.folder / "all.jsonl").read_text().count("\n") == 1
    wrong = desk.viva("export", "exam", "--to", "rows", "--out", "x", "--where", "score=1", expect=2)
    assert "choose cases with --tag" in wrong.stderr
