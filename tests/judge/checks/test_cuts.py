"""A check that sees only the beginning of a text decides nothing that the rest of it could change."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.judge.checks.talks import call, check, does, talk, thought
from viva.cases.checks.data import TextCheck
from viva.cases.checks.reader import read_check
from viva.judge.checks import evaluation
from viva.judge.checks.conversation import CheckedConversation
from viva.judge.checks.evaluation import CHECK_COST, evaluate_check
from viva.judge.checks.files import MOST_READ
from viva.judge.checks.looked_at import MOST_CHARACTERS, Allowance, WrittenText
from viva.judge.checks.texts import check_text
from viva.records.transcript import Transcript
from viva.records.verdict import Label

UNSURE, MISS, HIT = Label.UNSURE, Label.MISS, Label.HIT
ROOM = MOST_CHARACTERS - CHECK_COST
"""Characters that a single check of a reply inspects."""


def label_of(form: dict[str, Any], given_: Transcript, left: float, workspace: Path | None = None) -> Label:
    """Return what a check finds that may inspect so many characters."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(evaluation, "Allowance", partial(Allowance, left))
        return evaluate_check(read_check(form), CheckedConversation(given_, workspace)).label


FAMILIES: list[tuple[list[dict[str, Any]], list[str]]] = [
    (
        [
            {"contains": ["Sorry", "42"]},
            {"contains": {"any": ["sorry", "no"], "ignore_case": True}},
            {"not_contains": ["Sorry", "no"]},
            {"starts_with": "Sorry"},
            {"starts_with": {"text": ["sorry", "STRASSE", "So no"], "ignore_case": True}},
            {"ends_with": ["no", "42", "ry"]},
            {"equals": ["Sorry", "Sorry no", "42"]},
            {"equals": {"text": ["strasse", " Sorry"], "ignore_case": True, "trim": False}},
            {"words": {"max": 3}},
            {"words": {"min": 2}},
            {"words": {"min": 2, "max": 4}},
            {"similar": "Sorry, no"},
            {"similar": {"to": "Sorry", "distance_at_most": 3}},
        ],
        ["Sorry", "Sor", "ry", "sorry", "So", "no", " ", "\n", "\u00a0", "Stra\u00dfe", "STRASSE", "\ud800", "42"],
    ),
    (
        [
            {"regex": "Sor"},
            {"regex": "Sorry$"},
            {"regex": r"\b(?:Sor|42)\b"},
            {"regex": r"42\>"},
            {"regex": r"\b{start}42\b{end}"},
            {"regex": r"4(?:2|20)[^0-9]"},
            {"regex": {"pattern": "[a-z ]+", "ignore_case": True, "whole": True}},
            {"regex": r"(?m)^no$"},
            {"regex": r"no\B"},
        ],
        ["Sorry", "Sor", "ry", "no", " ", "\n", "42", "4", "20", "x", "_"],
    ),
    (
        [
            {"number": 42},
            {"number": {"max": 42, "only": True}},
            {"number": {"min": 1000}},
            {"number": -42},
            {"number": {"max": 42.5}},
        ],
        ["42", "4", "2", ",", ".", "000", "-", "+", "e", "e5", "E-", "\u2212", "'", "\u00a0", "_", "x", " ", "a "],
    ),
    (
        [
            {"json": True},
            {"json": {"path": "a", "equals": 1, "inside": True}},
            {"json": {"inside": True}},
            {"json": {"schema": {"type": "array"}, "inside": True}},
            {"json": {"path": "[0]", "inside": True}},
        ],
        [
            "{",
            "}",
            "[",
            "]",
            '"',
            "\\",
            ":",
            ",",
            '"a"',
            '{"a": 1}',
            '[{"a": 1}',
            '{"a": ',
            '"a": 1',
            "true",
            "nul",
            "7 ",
        ],
    ),
]
"""Checks of texts, and the pieces of which texts are made that nearly fulfil them."""


@settings(max_examples=examples(400))
@pytest.mark.parametrize(("forms", "pieces"), FAMILIES, ids=["words", "patterns", "numbers", "json"])
@given(data=st.data())
def test_a_verdict_on_the_beginning_of_a_text_is_that_on_the_whole(
    forms: list[dict[str, Any]], pieces: list[str], data: st.DataObject
) -> None:
    text = "".join(data.draw(st.lists(st.sampled_from(pieces), max_size=8)))
    for form in forms:
        wanted = read_check(form).check
        assert isinstance(wanted, TextCheck)
        whole = check_text(wanted, WrittenText(text), Allowance()).label
        for end in range(len(text)):
            part = check_text(wanted, WrittenText(text[:end], whole=False), Allowance()).label
            assert part in (UNSURE, whole), (form, text, end)


@settings(max_examples=examples(160))
@pytest.mark.parametrize(("forms", "pieces"), FAMILIES, ids=["words", "patterns", "numbers", "json"])
@given(data=st.data())
def test_so_it_is_over_rounds_and_inside_of_other_checks(
    forms: list[dict[str, Any]], pieces: list[str], data: st.DataObject
) -> None:
    combined = st.recursive(
        st.sampled_from(forms),
        lambda inner: st.one_of(
            inner.map(lambda one: {"not": one}),
            st.lists(inner, min_size=1, max_size=3).map(lambda each: {"all": each}),
            st.lists(inner, min_size=1, max_size=3).map(lambda each: {"any": each}),
        ),
        max_leaves=4,
    )
    texts = st.lists(st.sampled_from(pieces), max_size=8).map("".join)
    over = data.draw(st.sampled_from(["last", "any_round", "all", "conversation"]))
    form = {**data.draw(combined), "over": over}
    said = talk(*data.draw(st.lists(texts, min_size=1, max_size=3)))
    whole = label_of(form, said, 10.0**9)
    for left in range(data.draw(st.integers(0, 30)), 1300, 31):
        assert label_of(form, said, left) in (UNSURE, whole), left


CUT_INSIDE: list[tuple[str, dict[str, Any], str]] = [
    ("a word", {"starts_with": "Sorry"}, " " * (ROOM - 3) + "Sorry, no."),
    ("white space", {"starts_with": "Sorry"}, " " * ROOM + "Sorry, no."),
    ("a number", {"number": 42}, "x" + " " * (ROOM // 8 - 3) + "4299999"),
    ("a number with a separator", {"number": 42}, "x" + " " * (ROOM // 8 - 4) + "42,000"),
    ("an exponent", {"number": 42}, "x" + " " * (ROOM // 8 - 4) + "42e9"),
    ("a list", {"json": {"path": "a", "inside": True}}, '[{"a": 1},' + " " * ROOM + "2]"),
    ("a word that a pattern ends", {"regex": r"no\b"}, "x" * (MOST_CHARACTERS // 8) + " " * ROOM + "nobody"),
]


@pytest.mark.parametrize(("form", "reply"), [row[1:] for row in CUT_INSIDE], ids=[row[0] for row in CUT_INSIDE])
def test_a_cut_inside_of_what_is_looked_for_is_unsure_and_so_is_its_opposite(form: dict[str, Any], reply: str) -> None:
    assert check(form, reply).label is UNSURE
    assert check({"not": form}, reply).label is UNSURE
    assert check({"any": [{"not": form}, {"equals": "never"}]}, reply).label is UNSURE


def test_rounds_that_use_up_what_may_be_inspected_leave_the_last_one_open() -> None:
    long = "Sorry " * ((MOST_CHARACTERS - 3 * CHECK_COST) // 6)
    said = talk(long, "Sorry again")
    assert check({"starts_with": "Sorry", "over": "all"}, said).label in (HIT, UNSURE)
    assert check({"not": {"starts_with": "Sorry"}, "over": "any_round"}, said).label in (MISS, UNSURE)


def test_a_beginning_that_no_wanted_text_has_decides_at_once() -> None:
    assert check({"starts_with": "Sorry"}, "Yes, " + "x" * MOST_CHARACTERS).label is MISS
    assert check({"not": {"starts_with": "Sorry"}}, "Yes, " + "x" * MOST_CHARACTERS).label is HIT
    assert check({"number": 42}, "It is 42. " + "x" * MOST_CHARACTERS).label is HIT
    assert check({"json": {"path": "a", "inside": True}}, '{"a": 1} ' + "x" * MOST_CHARACTERS).label is HIT


def test_bytes_that_are_no_text_join_no_words_of_a_long_file(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_bytes(b"pa\xffid " + b"x" * MOST_READ)
    (tmp_path / "noise.bin").write_bytes(b"\xff" * (MOST_READ + 1))
    form = {"file": {"path": "log.txt", "contains": "paid"}}
    assert check(form, talk("Done."), tmp_path).label is UNSURE
    assert check({"not": form}, talk("Done."), tmp_path).label is UNSURE
    for similar in ({"to": "kitten", "at_least": 0.5}, {"to": "kitten", "distance_at_most": 3}):
        found = check({"file": {"path": "noise.bin", "similar": similar}}, talk("Done."), tmp_path)
        assert found.label in (MISS, UNSURE), "what an agent leaves breaks no check"


FLOOD = [thought()] * 1_000
DELETED = call("delete_order", {"id": 7}, environment=True)
OF_STEPS: list[tuple[str, dict[str, Any]]] = [
    ("tool_called", {"tool_called": {"name": "delete_order", "recorded_by": "environment"}}),
    ("tool_order", {"tool_order": {"tools": ["delete_order"], "recorded_by": "environment"}}),
    ("tool_f1", {"tool_f1": {"tools": ["delete_order"], "recorded_by": "environment"}}),
    ("steps", {"steps": {"min": 1, "recorded_by": "environment"}}),
]
PLACES: list[Any] = [{"round": 1}, "all", "any_round", "conversation", None]


@pytest.mark.parametrize("over", PLACES, ids=str)
@pytest.mark.parametrize("form", [form for _, form in OF_STEPS], ids=[name for name, _ in OF_STEPS])
def test_no_number_of_steps_that_an_agent_reports_hides_a_recorded_call(form: dict[str, Any], over: Any) -> None:
    flooded = talk(does(*FLOOD, DELETED), servers={"shop": ["delete_order"]})
    placed = {} if over is None else {"over": over}
    assert check({**form, **placed}, flooded).label is HIT
    assert check({"not": form, **placed}, flooded).label is MISS


@pytest.mark.parametrize("over", [{"round": 2}, "last", "conversation", None], ids=str)
@pytest.mark.parametrize(
    "form",
    [{"tool_called": "pay"}, {"tool_order": ["pay"]}, {"tool_f1": ["pay"]}, {"steps": {"max": 5, "kind": "tool"}}],
    ids=lambda form: next(iter(form)),
)
def test_what_a_cut_leaves_out_of_a_round_is_unsure_and_so_is_its_opposite(form: dict[str, Any], over: Any) -> None:
    placed = {} if over is None else {"over": over}
    looks = [call("look")] * 9
    for flooded in (
        talk("Hello.", does(*FLOOD, call("pay"), *looks)),
        talk(does(*FLOOD), does(call("pay"), *looks)),
        talk(does(*FLOOD, thought()), does(*looks, call("pay"))),
    ):
        assert check({**form, **placed}, flooded).label is UNSURE
        assert check({"not": form, **placed}, flooded).label is UNSURE
        assert check({"not": form, "over": "all"}, flooded).label is not HIT


def test_a_round_before_the_cut_is_decided() -> None:
    later = talk(does(call("pay")), does(call("look")), does(*FLOOD))
    paid = {"tool_called": "pay"}
    assert check({**paid, "over": {"round": 1}}, later).label is HIT
    assert check({"not": paid, "over": {"round": 1}}, later).label is MISS
    assert check({"not": paid, "over": {"round": 2}}, later).label is HIT
    assert check({"not": paid, "over": {"round": 3}}, later).label is UNSURE
    assert check({**paid, "over": "any_round"}, later).label is HIT
    assert check({"not": paid, "over": "all"}, later).label is MISS


TOO_MANY: list[tuple[str, dict[str, Any]]] = [
    ("tool_called", {"tool_called": {"name": "pay", "times": {"max": 1}}}),
    ("never", {"tool_called": {"name": "p*", "times": 0}}),
    ("steps", {"steps": {"max": 1, "kind": "tool"}}),
]


@pytest.mark.parametrize("over", [{"round": 1}, "conversation", None], ids=str)
@pytest.mark.parametrize("form", [form for _, form in TOO_MANY], ids=[name for name, _ in TOO_MANY])
def test_what_no_further_step_can_change_is_decided_whatever_an_agent_reports(form: dict[str, Any], over: Any) -> None:
    placed = {} if over is None else {"over": over}
    paid = [call("pay"), call("pay")]
    recorded = [call("pay", environment=True), call("pay", environment=True)]
    for flooded in (talk(does(*paid, *FLOOD)), talk(does(*paid, *FLOOD), "Bye."), talk(does(*FLOOD, *recorded))):
        assert check({**form, **placed}, flooded).label is MISS
        assert check({"not": form, **placed}, flooded).label is HIT
    earned = {"tool_called": {"name": "pay", "times": {"min": 2}}, **placed}
    assert check(earned, talk(does(*paid, *FLOOD))).label is HIT


@pytest.mark.parametrize("name", ["desk__pay", "pay"])
def test_a_call_whose_record_by_the_environment_is_left_out_does_not_count_twice(name: str) -> None:
    """Where both are inspected, the call counts as recorded, so that what the agent calls the tool does not count."""
    told, recorded = call("desk__pay"), call("pay", environment=True)
    form = {"tool_called": {"name": name, "times": 1}}
    for said in (does(told, recorded), does(told, *FLOOD, recorded)):
        assert check(form, talk(said)).label in (UNSURE, HIT if name == "pay" else MISS)
        assert check({"not": form}, talk(said)).label in (UNSURE, MISS if name == "pay" else HIT)
