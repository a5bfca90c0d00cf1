"""An exported check means what it meant, or the report names it: nothing is lost without a word."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import viva
from tests.examples import examples
from tests.judge.checks.talks import call, check, does, talk
from tests.viva.interchange.imports import all_cases, checks
from viva.interchange.exporting import ExportReport, exported

FORMATS = ("promptfoo", "pydantic-evals")
OF_ENVIRONMENT: list[dict[str, Any]] = [
    {"tool_called": {"name": "pay"}},
    {"tool_called": {"name": "pay", "arguments": {"to": "Oslo"}}},
    {"tool_called": {"name": "pay", "arguments": {"to": "Oslo"}, "exact": True}},
    {"tool_called": {"name": "pay", "times": {"min": 2}}},
    {"tool_order": {"tools": ["search", "pay"]}},
    {"tool_order": {"tools": ["search", "pay"], "exact": True}},
    {"tool_f1": {"tools": ["search", "pay"]}},
    {"tool_f1": {"tools": ["search", "pay"], "at_least": 0.5}},
    {"steps": {"max": 3, "kind": "tool"}},
]


def export(form: dict[str, Any], to: str) -> ExportReport:
    case = viva.Case("Hi.", script=["Hi."], scoring_points=[{"check": form}])
    return exported([case], to)


def made_of(found: ExportReport, to: str) -> list[Any]:
    """The assertions or evaluators that were written."""
    document = yaml.safe_load(found.text)
    (one,) = document["tests" if to == "promptfoo" else "cases"]
    return list(one.get("assert" if to == "promptfoo" else "evaluators", []))


def is_named(found: ExportReport) -> bool:
    return any("check" in each.path or "scoring_points" in each.path for each in found.reported)


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize("form", OF_ENVIRONMENT, ids=str)
def test_who_recorded_a_call_is_never_dropped_silently(form: dict[str, Any], to: str) -> None:
    ((kind, keys),) = form.items()
    for around in (lambda inner: inner, lambda inner: {"all": [inner, {"contains": "x"}]}):
        found = export(around({kind: {**keys, "recorded_by": "environment"}}), to)
        assert is_named(found)
        assert made_of(found, to) == []


@pytest.mark.parametrize("to", FORMATS)
@pytest.mark.parametrize(
    "form",
    [
        {"contains": "a"},
        {"contains": ["a", "b"]},
        {"contains": {"all": "a", "ignore_case": True}},
        {"equals": {"text": "a", "trim": False}},
        {"seconds_at_most": 3},
        {"steps": {"max": 3, "kind": "tool"}},
        {"tool_called": "pay"},
        {"tool_called": {"name": "pay", "times": {"min": 2}}},
        {"tool_called": {"name": "pay", "arguments": {"to": "Oslo"}, "exact": True}},
    ],
    ids=str,
)
def test_what_means_the_same_is_exported_without_a_word(form: dict[str, Any], to: str) -> None:
    found = export(form, to)
    assert found.reported == []
    assert made_of(found, to)


def test_a_limit_of_calls_allows_none_in_promptfoo_too() -> None:
    found = export({"tool_called": {"name": "pay", "times": {"max": 2}}}, "promptfoo")
    assert made_of(found, "promptfoo") == [
        {"type": "trajectory:tool-used", "value": {"name": "pay", "min": 0, "max": 2}}
    ]


A, B = {"tool_called": "a"}, {"tool_called": "b"}


@pytest.mark.parametrize(
    "form",
    [
        {"not": {"any": [A, B]}},
        {"not": {"all": [A, B]}},
        {"not": {"all": [A, B], "over": "last"}},
        {"not": {"not": {"any": [A, B]}}},
        {"not": {"not": {"all": [A, B]}}},
        {"not": {"any": [A, {"contains": "Done"}]}},
        {"not": {"all": [A, {"contains": "Done"}]}},
    ],
    ids=str,
)
@pytest.mark.parametrize("called", [("wait",), ("a",), ("b",), ("a", "b")], ids=str)
def test_the_opposite_of_several_checks_stays_it(form: dict[str, Any], called: tuple[str, ...], tmp_path: Path) -> None:
    found = export(form, "promptfoo")
    assert made_of(found, "promptfoo")
    (tmp_path / "promptfooconfig.yaml").write_text(found.text)
    viva.import_cases(tmp_path / "promptfooconfig.yaml", tmp_path / "cases")
    made = talk(does(*(call(tool) for tool in called)))
    labels = {check(again, made).label for again in checks(all_cases(tmp_path / "cases")[0])}
    assert ("hit" if labels == {"hit"} else "miss") == check(form, made).label


def test_a_pattern_of_tools_stays_one() -> None:
    for form, key in (
        ({"tool_called": {"name": "pay*"}}, "pattern"),
        ({"tool_called": {"name": "pay*", "arguments": {"to": "Oslo"}}}, "pattern"),
    ):
        ((assertion,),) = [made_of(export(form, "promptfoo"), "promptfoo")]
        assert assertion["value"][key] == "pay*"
    for form in (
        {"tool_called": "pay*"},
        {"tool_called": {"name": "pay*", "arguments": {"to": "Oslo"}}},
        {"tool_order": ["search", "pay*"]},
    ):
        assert is_named(found := export(form, "pydantic-evals"))
        assert made_of(found, "pydantic-evals") == []


@pytest.mark.parametrize(
    ("form", "to"),
    [
        ({"tool_called": "what?"}, "promptfoo"),  # a pattern there
        ({"tool_called": {"name": "pay", "times": 1}}, "pydantic-evals"),  # there, one or more
        ({"tool_f1": ["pay*"]}, "promptfoo"),
        ({"regex": r"(?i)\bfriday\b"}, "promptfoo"),
        ({"regex": r"\Ayes\z"}, "promptfoo"),
        ({"regex": r"[a-z&&[^b]]"}, "promptfoo"),
        ({"regex": {"pattern": "yes", "whole": True}}, "promptfoo"),
        ({"equals": {"text": "42", "ignore_case": True}}, "promptfoo"),
        ({"similar": {"to": "42", "distance_at_most": 0}}, "promptfoo"),
        ({"any": [{"equals": {"text": ["a", "b"], "trim": False}}, {"contains": "c"}]}, "promptfoo"),
        ({"any": [{"tool_f1": ["a", "b"]}, {"tool_f1": ["c", "d"]}]}, "promptfoo"),
        ({"any": [{"all": [{"contains": "a"}, {"contains": "b"}]}, {"contains": "c"}]}, "promptfoo"),
    ],
    ids=str,
)
def test_what_means_something_else_there_is_not_exported(form: dict[str, Any], to: str) -> None:
    found = export(form, to)
    assert is_named(found)
    assert made_of(found, to) == []


@pytest.mark.parametrize(
    ("form", "to", "words"),
    [
        ({"equals": "42"}, "pydantic-evals", "white space"),
        ({"all": [{"equals": "42"}, {"contains": "4"}]}, "pydantic-evals", "white space"),
        ({"tool_order": ["search", "pay"]}, "pydantic-evals", "share of calls"),
        ({"starts_with": "42"}, "promptfoo", "white space"),
        ({"not": {"ends_with": "42"}}, "promptfoo", "white space"),
        ({"similar": {"to": "42", "distance_at_most": 1}}, "promptfoo", "white space"),
        ({"json": True}, "promptfoo", "code fence"),
        ({"json": {"inside": True, "schema": {"type": "string", "format": "date"}}}, "promptfoo", "formats"),
        ({"regex": r"\büber\b"}, "promptfoo", "ASCII"),
        ({"tool_called": {"name": "pay", "arguments": {"to": {"city": "Oslo"}}}}, "promptfoo", "further keys"),
        ({"contains": "{{ name }}"}, "promptfoo", "variable"),
    ],
    ids=str,
)
def test_what_differs_in_part_is_exported_and_named(form: dict[str, Any], to: str, words: str) -> None:
    found = export(form, to)
    assert made_of(found, to)
    assert any(words in each.why for each in found.reported)


TEXT = st.text("aA.*(|\\42 \n", min_size=1, max_size=6).filter(str.strip)
FORMS = st.one_of(
    TEXT.map(lambda text: {"equals": text}),
    st.lists(TEXT, min_size=1, max_size=3).map(lambda texts: {"equals": texts}),
    TEXT.map(lambda text: {"equals": {"text": text, "trim": False}}),
    TEXT.map(lambda text: {"contains": text}),
    TEXT.map(lambda text: {"contains": {"all": text, "ignore_case": True}}),
    st.lists(TEXT, min_size=1, max_size=3).map(lambda texts: {"contains": {"any": texts}}),
    st.lists(TEXT, min_size=1, max_size=3).map(lambda texts: {"not_contains": texts}),
    TEXT.map(lambda text: {"not_contains": {"text": text, "ignore_case": True}}),
    st.integers(0, 3).flatmap(
        lambda least: st.integers(least, 4).map(lambda most: {"words": {"min": least, "max": most}})
    ),
)


@settings(max_examples=examples(200), deadline=None)
@given(form=FORMS, negated=st.booleans(), replies=st.lists(TEXT, min_size=1, max_size=4))
def test_what_is_exported_to_promptfoo_decides_the_same_when_it_is_imported_again(
    tmp_path_factory: pytest.TempPathFactory, form: dict[str, Any], negated: bool, replies: list[str]
) -> None:
    form = {"not": form} if negated else form
    folder = tmp_path_factory.mktemp("again")
    found = export(form, "promptfoo")
    if not made_of(found, "promptfoo"):
        assert is_named(found)
        return
    (folder / "promptfooconfig.yaml").write_text(found.text)
    viva.import_cases(folder / "promptfooconfig.yaml", folder / "cases")
    (case,) = all_cases(folder / "cases")
    (again,) = checks(case)
    wanted = next(iter(form.values())) if not negated else next(iter(form["not"].values()))
    near = [wanted, f" {wanted}\n", f"{wanted}4"] if isinstance(wanted, str) else []
    for reply in (*replies, *near):
        assert check(again, reply).label == check(form, reply).label, reply


@settings(max_examples=examples(100), deadline=None)
@given(
    times=st.one_of(
        st.none(),
        st.integers(0, 3),
        st.integers(0, 3).map(lambda number: {"min": number}),
        st.integers(0, 3).map(lambda number: {"max": number}),
    ),
    name=st.sampled_from(["pay", "p*"]),
    made=st.lists(st.sampled_from(["pay", "play", "search"]), max_size=4),
)
def test_numbers_of_calls_come_back_from_promptfoo(
    tmp_path_factory: pytest.TempPathFactory, times: Any, name: str, made: list[str]
) -> None:
    form = {"tool_called": {"name": name, **({} if times is None else {"times": times})}}
    folder = tmp_path_factory.mktemp("again")
    (folder / "promptfooconfig.yaml").write_text(export(form, "promptfoo").text)
    viva.import_cases(folder / "promptfooconfig.yaml", folder / "cases")
    (again,) = checks(all_cases(folder / "cases")[0])
    given_calls = talk(does(*(call(tool) for tool in made)))
    assert check(again, given_calls).label == check(form, given_calls).label


def test_an_import_comes_back_without_a_word(tmp_path: Path) -> None:
    config = {
        "prompts": ["{{message}}"],
        "providers": ["x"],
        "tests": [{"vars": {"message": "Hi"}, "assert": [{"type": "equals", "value": "42"}]}],
    }
    (tmp_path / "promptfooconfig.yaml").write_text(yaml.safe_dump(config))
    viva.import_cases(tmp_path / "promptfooconfig.yaml", tmp_path / "cases")
    report = viva.export_cases(tmp_path / "cases", tmp_path / "back.yaml", format="promptfoo")
    assert report.reported == []
    back = yaml.safe_load((tmp_path / "back.yaml").read_text())
    assert back["tests"][0]["assert"] == [{"type": "equals", "value": "42"}]
