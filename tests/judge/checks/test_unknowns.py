"""What nobody recorded is never a hit, and neither is its opposite."""

from __future__ import annotations

from typing import Any

import pytest

from tests.judge.checks.talks import call, check, does, talk
from viva.records.transcript import ENVIRONMENT, Round, Step, StepKind, Transcript, Usage
from viva.records.verdict import Label

RECORDED = "chat"
UNSURE, MISS, HIT = Label.UNSURE, Label.MISS, Label.HIT

UNKNOWN: list[tuple[str, dict[str, Any], Transcript]] = [
    ("no usage", {"cost_at_most": 1}, talk("a", "b")),
    ("tokens without a price", {"cost_at_most": 1}, Transcript(usage={"target": Usage(10, 5, calls=1, cost=None)})),
    ("a part of the cost", {"cost_at_most": 1}, Transcript(usage={"target": Usage(10, 5, cost=0.1, reported=False)})),
    ("a round without usage", {"cost_at_most": 1, "over": {"round": 1}}, talk("a")),
    ("no times", {"seconds_at_most": 1}, talk("a", "b", seconds=0.0, source=RECORDED)),
    ("no rounds", {"contains": "a"}, talk()),
    ("no rounds, none contains it", {"not_contains": "a"}, talk()),
    ("no rounds, over all", {"not_contains": "a", "over": "all"}, talk()),
    ("no rounds, over any", {"contains": "a", "over": "any_round"}, talk()),
    ("a round that did not take place", {"not_contains": "a", "over": {"round": 3}}, talk("b")),
    ("only a message of the user", {"not_contains": "a"}, talk(None, source=RECORDED)),
    ("no files of a recording", {"file": "a.txt"}, talk("a", source=RECORDED)),
    ("no files of a recording, none wanted", {"file": {"path": "a", "exists": False}}, talk("a", source=RECORDED)),
    ("no steps, none wanted", {"tool_called": {"name": "pay", "times": 0}}, talk("I paid nothing.")),
    ("no steps, few wanted", {"steps": {"max": 3}}, talk("Done.")),
    (
        "arguments that were not recorded",
        {"tool_called": {"name": "pay", "arguments": {"euros": 3}}},
        Transcript((Round(1, "Pay.", "Done.", (Step("s", tool="pay"),)),)),
    ),
    (
        "what a recording says about servers",
        {"tool_called": {"name": "pay", "times": 0}},
        talk("Done.", source=RECORDED, servers={"bank": ["pay"]}),
    ),
    ("steps that could not be read", {"tool_called": "pay"}, Transcript(attributes={"unread": "no agent"})),
]


@pytest.mark.parametrize(("form", "given"), [row[1:] for row in UNKNOWN], ids=[row[0] for row in UNKNOWN])
def test_what_is_unknown_is_unsure_and_so_is_its_opposite(form: dict[str, Any], given: Transcript) -> None:
    assert check(form, given).label is UNSURE
    assert check({"not": form}, given).label is UNSURE


def test_a_call_that_was_not_recorded_is_a_miss_whose_opposite_is_no_hit() -> None:
    quiet = talk("I paid.")
    for form in ({"tool_called": "pay"}, {"tool_order": ["find", "pay"]}, {"tool_f1": ["pay"]}, {"steps": {"min": 1}}):
        found = check(form, quiet)
        assert (found.label, found.assumed, found.got.startswith("no steps were recorded")) == (MISS, True, True)
        assert check({"not": form}, quiet).label is UNSURE
        assert check({"not": {"not": form}}, quiet).label is UNSURE
        assert check({"not": {"all": [form, {"contains": "paid"}]}}, quiet).label is UNSURE
        assert check({"not": {"all": [form, {"contains": "xyz"}]}}, quiet).label is HIT
        assert check({"not": {"any": [form, {"contains": "xyz"}]}}, quiet).label is UNSURE
        assert check({"not": form, "over": "any_round"}, quiet).label is UNSURE


def test_the_environment_records_every_call_of_its_tools() -> None:
    quiet = talk("I paid.", servers={"bank": ["pay"]})
    assert check({"tool_called": {"name": "pay", "times": 0}}, quiet).label is HIT
    assert check({"not": {"tool_called": "pay"}}, quiet).label is HIT
    assert check({"tool_called": {"name": "other", "times": 0}}, quiet).label is UNSURE


def test_a_call_that_the_agent_claims_is_not_recorded_by_the_environment() -> None:
    form = {"tool_called": {"name": "pay", "recorded_by": "environment"}}
    claimed = talk(does(call("pay")), servers={"bank": ["pay"]})
    assert check(form, claimed).label is MISS
    assert check({"not": form}, claimed).label is HIT
    assert check({"not": form}, talk(does(call("pay")))).label is UNSURE, "nothing was recorded by an environment"


@pytest.mark.parametrize("recorded_by", [{}, {"recorded_by": "environment"}])
def test_a_call_of_which_the_environment_records_more_later_counts_once(recorded_by: dict[str, str]) -> None:
    run = call("terminal/create", {"command": "make"}, environment=True)
    more = Step("environment:2", StepKind.ACTION, parent_id=run.id, result="done", recorded_by=ENVIRONMENT)
    conversation = talk(does(run), does(more), does(more))
    for times, label in ((1, HIT), ({"min": 2}, MISS), ({"max": 1}, HIT)):
        form: dict[str, Any] = {"name": "terminal/create", "times": times, **recorded_by}
        assert check({"tool_called": form}, conversation).label is label
    assert (
        check({"tool_order": {"tools": ["terminal/create"], "exact": True, **recorded_by}}, conversation).label is HIT
    )
    assert check({"tool_f1": {"tools": ["terminal/create"], **recorded_by}}, conversation).label is HIT
    for steps, label in (({"max": 1}, HIT), ({"min": 2}, MISS), ({"min": 1, "kind": "action"}, MISS)):
        assert check({"steps": {**steps, **recorded_by}}, conversation).label is label


def test_a_call_that_agent_and_environment_tell_of_counts_once() -> None:
    both = talk(does(call("mcp__bank__pay", {"euros": 3}), call("pay", {"euros": 3}, environment=True)))
    assert check({"tool_called": {"name": "pay", "times": 1}}, both).label is HIT
    assert check({"tool_order": {"tools": ["pay"], "exact": True}}, both).label is HIT


def test_a_limit_that_is_exceeded_is_a_miss_although_not_all_is_known() -> None:
    part = Transcript(usage={"target": Usage(10, 5, cost=2.0, reported=False)})
    assert check({"cost_at_most": 1}, part).label is MISS
    slow = Transcript((Round(1, "a", "b", agent_seconds=9), Round(2, "a", "b")), RECORDED)
    assert check({"seconds_at_most": 1}, slow).label is MISS


def test_unknown_parts_do_not_hide_what_decides() -> None:
    given = talk("a")
    unknown = {"cost_at_most": 1}
    assert check({"any": [unknown, {"contains": "a"}]}, given).label is HIT
    assert check({"any": [unknown, {"contains": "b"}]}, given).label is UNSURE
    assert check({"all": [unknown, {"contains": "b"}]}, given).label is MISS
    assert check({"all": [unknown, {"contains": "a"}]}, given).label is UNSURE


def test_a_failed_round_is_an_empty_reply_and_not_vivas_words() -> None:
    failed = Transcript((Round(1, "Hi.", "a"), Round(2, "Hi.", None, error="it raised an error")), fault="target")
    assert check({"contains": "error"}, failed).label is MISS
    assert check({"contains": "a"}, failed).label is MISS
    assert check({"words": 0}, failed).label is HIT


def test_live_agents_that_left_no_files_left_none() -> None:
    assert check({"file": "a.txt"}, talk("Done.")).label is MISS
    assert check({"file": {"path": "a.txt", "exists": False}}, talk("Done.")).label is HIT
