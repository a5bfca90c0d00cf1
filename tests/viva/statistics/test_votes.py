"""What votes are worth: by hand and by simulation, without the bias of votes that are cast only where others differ."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from viva.judge.scoring_points.voting import elected, is_settled
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.transcript import Usage
from viva.records.verdict import Insight, Verdict, Vote
from viva.statistics.summary import summarize
from viva.statistics.votes import (
    VoteFigures,
    VoteTallies,
    effective_votes,
    error_correlation,
    pair_correlation,
)


def verdict(*votes: str, label: str = "hit", by: str = "m") -> Verdict:
    """Votes are `model:label`."""
    cast = tuple(Vote(*each.split(":")) for each in votes)
    return Verdict("run", "p", label, None, votes=cast, by=by)


def record(*verdicts: Verdict, votes: int = 3, models: tuple[str, ...] = (), cost: float | None = 0.5) -> RunRecord:
    setting = Setting(judge_model="m", judge_models=models, judge_votes=votes, case="c", agent="a")
    insight = Insight(
        "scoring_points",
        "run",
        "hit",
        1.0,
        verdicts=verdicts,
        usage=Usage(calls=sum(len(v.votes) for v in verdicts), cost=cost),
    )
    return RunRecord("run", "c", "a", Outcome.SCORED, 1.0, low=1.0, high=1.0, insights=(insight,), setting=setting)


def figures(*records: RunRecord) -> VoteFigures:
    tallies = VoteTallies()
    for each in records:
        tallies.add(each)
    found = tallies.figures()
    assert found is not None
    return found


def test_flips_are_pairs_of_one_model_that_differ_among_the_votes_that_are_always_cast() -> None:
    found = figures(record(verdict("m:hit", "m:hit"), verdict("m:hit", "m:miss", "m:miss", label="miss")))
    assert (found.flip_rate, found.flip_pairs) == (0.5, 2), "the third vote was cast because the others differ"
    assert (found.points, found.planned, found.cast, found.failed) == (2, 6, 5, 0)
    assert (found.changed, found.split) == (1, 1)
    assert (found.calls, found.cost) == (5, 0.5)
    assert found.agreement is None


def test_agreement_is_of_different_models_and_failed_votes_are_no_pairs() -> None:
    jury = ("a", "b", "c")
    found = figures(
        record(verdict("a:hit", "b:hit"), verdict("b:miss", "c:error", "a:miss", label="miss"), votes=1, models=jury),
        record(verdict("c:hit", "a:unsure", "b:hit"), votes=1, models=jury),
    )
    assert found.flip_rate is None
    assert (found.agreement, found.agreement_pairs) == (0.5, 2)
    assert found.failed == 1
    assert found.heads == 3


def test_a_check_is_no_voter_and_verdicts_that_it_made_were_not_changed_by_votes() -> None:
    found = figures(record(verdict("code:hit", "m:miss", "m:miss", by="code")))
    assert (found.cast, found.flip_rate, found.changed, found.models) == (2, 0.0, 0, ("m",))


def test_without_votes_there_are_no_figures_and_files_are_as_before() -> None:
    tallies = VoteTallies()
    tallies.add(record(verdict(), votes=1))
    tallies.add(record(verdict("code:hit", "m:miss", by="code"), votes=1))
    assert tallies.figures() is None
    assert "votes" in summarize([record(verdict(), votes=1)]).unused
    assert summarize([record(verdict("m:hit", "m:hit"))]).votes is not None


def test_the_formula_of_effective_votes_is_kishs() -> None:
    assert effective_votes(9, 0.0) == 9
    assert effective_votes(9, 1.0) == 1
    assert effective_votes(9, 0.4375) == pytest.approx(2.0)
    assert effective_votes(3, -0.2) == 3, "a negative correlation counts as none"


def test_the_correlation_of_pairs_is_fishers() -> None:
    assert pair_correlation({(0.0, 0.0): 10, (1.0, 1.0): 10}) == pytest.approx(1.0)
    assert pair_correlation({(0.0, 1.0): 10, (1.0, 0.0): 10}) == pytest.approx(-1.0)
    assert pair_correlation({(0.0, 0.0): 5, (0.0, 1.0): 5, (1.0, 0.0): 5, (1.0, 1.0): 5}) == pytest.approx(0.0)
    assert pair_correlation({(1.0, 1.0): 50}) is None, "nothing ever differed from anything"
    assert pair_correlation({(1.0, 0.0): 9}) is None, "too few pairs"


def test_with_right_labels_the_errors_are_what_is_correlated() -> None:
    truths = ["hit", "miss"] * 20
    perfect = [[truth, truth] for truth in truths]
    assert error_correlation(perfect, truths) is None, "no errors"
    same = [["hit", "hit"] for _ in truths]
    assert error_correlation(same, truths) == pytest.approx(1.0)


def test_stopping_early_biases_neither_flips_nor_what_votes_are_worth() -> None:
    """10,000 points, of which each vote gets the opposite of its tendency wrong in one of eight cases."""
    chance = random.Random(7)
    verdicts, all_flips = [], Counter[bool]()
    for _ in range(10_000):
        tendency = chance.choice(("hit", "miss"))
        other = {"hit": "miss", "miss": "hit"}[tendency]
        said = [other if chance.random() < 1 / 8 else tendency for _ in range(5)]
        all_flips[said[0] != said[1]] += 1
        cast: list[str] = []
        for label in said:
            if not is_settled(cast, 5):
                cast.append(label)
        assert elected(cast, 5) == elected(said, 5)
        verdicts.append(verdict(*(f"m:{label}" for label in cast), label=elected(cast, 5)))
    found = figures(record(*verdicts, votes=5))
    expected = 2 * (1 / 8) * (7 / 8)
    assert found.flip_rate == pytest.approx(expected, abs=0.01)
    assert found.correlation == pytest.approx((1 - 2 / 8) ** 2, abs=0.02)
    assert found.n_eff == pytest.approx(effective_votes(5, (1 - 2 / 8) ** 2), abs=0.05)
    assert found.cast < 0.75 * found.planned


def test_an_unknown_price_makes_the_cost_unknown() -> None:
    assert figures(record(verdict("m:hit", "m:hit"), cost=None)).cost is None


def test_judges_that_contradict_each_other_are_not_worth_many_votes() -> None:
    verdicts = [verdict(*pair) for pair in (("a:hit", "b:miss"), ("a:miss", "b:hit")) for _ in range(6)]
    found = figures(record(*verdicts, votes=1, models=("a", "b")))
    assert found.correlation is not None
    assert found.correlation < 0
    assert found.n_eff is None
