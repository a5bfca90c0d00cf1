"""States as data: with which an agent begins, and which a check expects of it after a round."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import viva
from tests.viva.conftest import Desk

SHOP = """
def __init__(self, task_description, config_var=None):
    self.orders = dict((config_var or {}).get("state", {}).get("orders", {}))

def get_reply_from_agent(self, message):
    if "yes" in message:
        self.orders["7"] = {"status": "cancelled"}
    return "Done."

def save_state(self):
    return {"orders": self.orders}

def load_state(self, state):
    self.orders = state["orders"]
"""
STATUS = 'orders["7"].status'
CANCELLED: dict[str, Any] = {"state": {"path": STATUS, "equals": "cancelled"}}
CASE: dict[str, Any] = {
    "state": {"orders": {"7": {"status": "paid"}}},
    "config_var": {"shop": "red"},
    "script": ["Cancel order 7.", "yes"],
}


def points(*checks: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"check": copy.deepcopy(check)} for check in checks]


def labels(record: dict[str, Any]) -> list[str]:
    return [verdict["label"] for verdict in record["insights"][0]["verdicts"]]


SAVES_ONLY = SHOP.partition("def load_state")[0]


@pytest.mark.parametrize("agent", [SHOP, SAVES_ONLY], ids=["saves-and-loads", "saves-only"])
@pytest.mark.parametrize("isolate", [(), ("--isolate",)], ids=["here", "own-process"])
def test_an_agent_begins_with_the_state_and_is_checked_by_the_one_that_it_keeps(
    desk: Desk, isolate: tuple[str, ...], agent: str
) -> None:
    checks = points(
        CANCELLED,
        {**CANCELLED, "over": {"round": 1}},
        {"state": {"path": STATUS, "equals": "paid"}, "over": {"round": 1}},
        {**CANCELLED, "over": "any_round"},
        {"state": {"equals": {"orders": {"7": {"status": "cancelled"}}}}},
        {"state": {"schema": {"required": ["orders"]}}, "over": "all"},
        {**CANCELLED, "over": {"round": 9}},
    )
    case = desk.case("cancel", scoring_points=checks, **CASE)
    record = desk.run(case, "--agent", desk.agent(agent), *isolate)
    expected = ["hit", "miss", "hit", "hit", "hit", "hit", "unsure"]
    assert labels(record) == expected
    if not isolate:
        (again,) = viva.judge(desk.folder / "journal", out=desk.folder / "other", sandbox="process").runs()
        assert [verdict.label for verdict in again.insights[0].verdicts] == expected


@pytest.mark.parametrize("isolate", [(), ("--isolate",)], ids=["here", "own-process"])
def test_an_agent_that_cannot_load_its_state_is_forked_by_replay(desk: Desk, isolate: tuple[str, ...]) -> None:
    case = desk.case("cancel", scoring_points=points(CANCELLED), **CASE)
    agent = desk.agent(SAVES_ONLY)
    desk.run(case, "--agent", agent, *isolate)
    words = ("replay", "journal", "--fork-at", "1", "--against", agent, *isolate, "--sandbox", "process")
    refused = desk.viva(*words, "--fork-by", "state", "--out", "by-state", expect=2)
    assert "the agent offers no load_state" in refused.stderr
    desk.viva(*words, "--out", "by-replay")
    (run,) = viva.read_journal(desk.folder / "by-replay")
    assert [verdict.label for verdict in run.insights[0].verdicts] == ["hit"]


def test_without_a_state_that_was_kept_the_check_is_unsure(desk: Desk) -> None:
    case = desk.case("cancel", scoring_points=points(CANCELLED, {"not": CANCELLED}), **CASE)
    record = desk.run(case, "--agent", desk.agent("def get_reply_from_agent(self, message):\n    return 'Done.'"))
    assert labels(record) == ["unsure", "unsure"]
    assert "the agent's state is not known" in record["insights"][0]["verdicts"][0]["reason"]
    record = desk.run(case, "--agent", desk.agent(SHOP, "shop"), "--no-states", out="b")
    assert labels(record) == ["unsure", "unsure"]


def test_a_made_case_has_states_too() -> None:
    case = viva.Case("cancel", scoring_points=points(CANCELLED), **{**CASE, "config_var": {"a": 1}})
    assert case.agent_config == {"a": 1, "state": {"orders": {"7": {"status": "paid"}}}}
    assert viva.Case("c", script=["Hello."], scoring_points=["Fine."]).agent_config is None
    (point,) = case.scoring_points
    assert point.score_point == 'The agent\'s state is JSON with a value at orders.7.status that is "cancelled".'


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"state": 3}, "state must be a mapping, not 3"),
        ({"state": {"a": 1}, "config_var": {"state": {}}}, "config_var has a state, too"),
        ({"scoring_points": points({"state": "done"})}, "state must be a mapping with path, equals or schema"),
        ({"scoring_points": points({"state": {"inside": True}})}, "unknown key 'inside'"),
        ({"scoring_points": points({"state": {"path": "..a"}})}, "a path looks like"),
    ],
)
def test_mistakes_in_states_are_told(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(viva.CaseError) as caught:
        viva.Case(**{"name": "c", "script": ["Hello."], "scoring_points": ["Fine."], **fields})
    assert words in str(caught.value)
