"""Every kind of check over each choice of rounds and in each combination, with answers that pass and that fail."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from tests.judge.checks.talks import call, check, does, talk
from viva.cases.checks.reader import KINDS
from viva.records.transcript import Round, Step, Transcript
from viva.records.verdict import Label


def said(text: str) -> Round:
    """Return a round with this reply."""
    return talk(text).rounds[0]


def did(*steps: Step) -> Round:
    """Return a round with these steps."""
    return talk(does(*steps)).rounds[0]


FIND, BOOK = call("find"), call("book", {"seats": 2})
WITHIN: dict[str, tuple[Any, Round, Round]] = {
    "contains": ("320 euros", said("It costs 320 euros."), said("It costs 300 euros.")),
    "not_contains": ("sorry", said("Here you are."), said("I am sorry.")),
    "equals": ("Paris", said(" Paris "), said("Paris!")),
    "starts_with": ("Dear", said("Dear Ada"), said("Hello, Dear")),
    "ends_with": ("?", said("Which one?"), said("This one.")),
    "regex": (r"^\d+ euros?$", said("20 euros"), said("twenty euros")),
    "number": ({"equals": 3.14159, "tolerance": 0.01}, said("about 3.14"), said("about 3.1")),
    "json": ({"path": "a[0]", "equals": 1}, said('{"a": [1]}'), said('{"a": [2]}')),
    "words": ({"max": 2}, said("one two"), said("one two three")),
    "similar": ({"to": "kitten", "distance_at_most": 3}, said("sitting"), said("sleeping")),
    "tool_called": ({"name": "book", "arguments": {"seats": 2}}, did(FIND, BOOK), did(FIND)),
    "tool_order": (["find", "book"], did(FIND, BOOK), did(BOOK, FIND)),
    "tool_f1": (["find", "book"], did(FIND, BOOK), did(FIND, call("other"))),
    "steps": ({"max": 1}, did(FIND), did(FIND, BOOK)),
    "seconds_at_most": (1, replace(said("a"), agent_seconds=0.9), replace(said("a"), agent_seconds=1.1)),
    "cost_at_most": (0.1, talk("a", cost=0.05).rounds[0], talk("a", cost=0.15).rounds[0]),
}
"""The kinds that are about one round: the value, a round that fulfils the check, and one that does not."""
WHOLE = {"rounds_at_most", "file", "state"}
"""The kinds that are about the whole conversation, or what the agent left; files and state have tests of their own."""
ALWAYS: dict[str, Any] = {"not_contains": "nobody says this"}
NEVER: dict[str, Any] = {"contains": "nobody says this"}
OVERS: list[tuple[Any, str, str]] = [
    ("last", "-+", "+-"),
    ("any_round", "-+-", "--"),
    ("all", "++", "+-"),
    ({"round": 1}, "+-", "-+"),
    ({"round": 2}, "-+-", "+-+"),
]
"""What `over` says, and conversations that fulfil it and do not: + is a round that does, - one that does not."""
COMBINED = ("alone", "all", "any", "not")


def combined(kind: str, value: Any, how: str) -> dict[str, Any]:
    """Return a check of a kind inside of another one."""
    own = {kind: value}
    return {"alone": own, "all": {"all": [own, ALWAYS]}, "any": {"any": [NEVER, own]}, "not": {"not": own}}[how]


def conversation(signs: str, good: Round, bad: Round) -> Transcript:
    """Return the conversation that the signs stand for."""
    rounds = (good if sign == "+" else bad for sign in signs)
    whole = tuple(replace(each, number=number) for number, each in enumerate(rounds, 1))
    return replace(talk("x"), rounds=whole)


def test_every_kind_is_in_the_table() -> None:
    assert {*WITHIN, *WHOLE} == set(KINDS)
    assert len(WITHIN) * len(OVERS) * len(COMBINED) >= 60


@pytest.mark.parametrize(("kind", "how"), list(itertools.product(WITHIN, COMBINED)))
def test_a_check_passes_and_fails_over_each_choice_of_rounds(kind: str, how: str) -> None:
    value, good, bad = WITHIN[kind]
    if how == "not":
        good, bad = bad, good
    for over, fulfils, fails in OVERS:
        form = {**combined(kind, value, how), "over": over}
        assert check(form, conversation(fulfils, good, bad)).label is Label.HIT, (form, fulfils)
        assert check(form, conversation(fails, good, bad)).label is Label.MISS, (form, fails)
        opposite = {"not": form}
        assert check(opposite, conversation(fulfils, good, bad)).label is Label.MISS, (opposite, fulfils)
        assert check(opposite, conversation(fails, good, bad)).label is Label.HIT, (opposite, fails)


@pytest.mark.parametrize("how", COMBINED)
def test_a_check_of_the_whole_conversation_passes_and_fails(how: str) -> None:
    hit, miss = (Label.MISS, Label.HIT) if how == "not" else (Label.HIT, Label.MISS)
    assert check(combined("rounds_at_most", 2, how), talk("a", "b")).label is hit
    assert check(combined("rounds_at_most", 2, how), talk("a", "b", "c")).label is miss
