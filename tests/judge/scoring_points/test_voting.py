"""A majority is the same whichever vote comes last, and voting stops exactly when none that is left can change it."""

from __future__ import annotations

from itertools import product

import pytest

from viva.cases import ScoringPoint
from viva.judge.scoring_points.verdicts import point_verdict
from viva.judge.scoring_points.voting import DIFFER, elected, is_settled, verdict_of_votes
from viva.records.fault import Fault
from viva.records.verdict import Label, Verdict

POINT = ScoringPoint("p1", "It sums.", 2.0)
LABELS = [label.value for label in Label]


@pytest.mark.parametrize("planned", range(1, 7))
def test_voting_is_settled_exactly_when_every_way_to_go_on_ends_alike(planned: int) -> None:
    for number in range(planned + 1):
        for cast in product(LABELS, repeat=number):
            ends = {elected([*cast, *rest], planned) for rest in product(LABELS, repeat=planned - number)}
            assert is_settled(cast, planned) == (len(ends) == 1), cast


@pytest.mark.parametrize(
    ("votes", "label"),
    [
        ("hit hit miss", "hit"),
        ("hit miss", "unsure"),
        ("hit miss unsure", "unsure"),
        ("hit hit miss miss unsure", "unsure"),
        ("unsure unsure hit", "unsure"),
        ("hit hit miss unsure", "hit"),
        ("hit error", "error"),
        ("hit error hit", "hit"),
        ("hit error error", "error"),
        ("hit miss error", "unsure"),
        ("error error", "error"),
        ("miss miss hit hit error", "unsure"),
    ],
)
def test_the_commonest_label_wins_a_tie_is_unsure_and_errors_do_not_vote(votes: str, label: str) -> None:
    labels = votes.split()
    assert elected(labels, len(labels)) == label
    assert elected(labels[::-1], len(labels)) == label


def vote(label: str, by: str = "m", reason: str = "", **more: object) -> Verdict:
    return point_verdict("run", POINT, label, reason or f"{by} says so", by=by, **more)  # type: ignore[arg-type]


def test_a_verdict_keeps_every_vote_with_its_reason_and_has_the_first_winners() -> None:
    cast = [vote("miss", "a", "No."), vote("hit", "b", "Yes."), vote("hit", "c", "Sure.")]
    verdict = verdict_of_votes("run", POINT, cast, 3, "a + b + c")
    assert [(each.judge, each.label, each.reason) for each in verdict.votes] == [
        ("a", "miss", "No."),
        ("b", "hit", "Yes."),
        ("c", "hit", "Sure."),
    ]
    assert (verdict.label, verdict.score, verdict.weight, verdict.by) == ("hit", 1.0, 2.0, "a + b + c")
    assert verdict.reason == "Yes. [2 of 3 votes]"
    assert verdict.flags == (DIFFER,)


def test_votes_that_agree_leave_the_reason_as_it_is_and_flags_of_all_votes_stay() -> None:
    verdict = verdict_of_votes("run", POINT, [vote("miss", flags=("planted",)), vote("miss", reason="No.")], 3, "m")
    assert (verdict.label, verdict.reason, verdict.flags) == ("miss", "m says so", ("planted",))


def test_a_tie_is_told_with_the_reasons_of_both_sides() -> None:
    verdict = verdict_of_votes("run", POINT, [vote("hit", "a", "Yes."), vote("miss", "b", "No.")], 2, "a + b")
    assert (verdict.label, verdict.score) == ("unsure", None)
    assert verdict.reason == "the votes are tied (1 hit, 1 miss): a says hit: Yes. | b says miss: No."


def test_too_few_usable_votes_are_an_error_of_whoever_failed() -> None:
    cast = [vote("error", fault=Fault.JUDGE), vote("error", fault=Fault.INFRA, reason="down"), vote("hit")]
    verdict = verdict_of_votes("run", POINT, cast, 3, "m")
    assert (verdict.label, verdict.score, verdict.fault) == ("error", None, Fault.INFRA)
    assert verdict.reason == "too few votes are usable (1 of 3): down"
    assert len(verdict.votes) == 3
