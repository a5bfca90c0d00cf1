"""What a comparison of agents promises: the same queries on every side, each once, and nothing left out in silence."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest
from rich.console import Console, Group

from viva.records.run_record import Outcome, RunRecord
from viva.reports.console.cross_agent import cross_agent_table
from viva.statistics.cross_agent import AnsweringAgent, ComparedRun, CrossAgent, compare_agents


def run(agent: str, query: str, score: float | None, outcome: Outcome = Outcome.SCORED, trial: int = 1) -> ComparedRun:
    name = f"{query}-{agent}-{trial}"
    record = RunRecord(name, query, agent, outcome, score, low=score, high=score, trial=trial)
    return ComparedRun(record, {}, other=agent == "b")


def compared(runs: Sequence[ComparedRun]) -> CrossAgent:
    return compare_agents(lambda: iter(runs))


def shown(comparison: CrossAgent) -> str:
    out = io.StringIO()
    Console(file=out, width=160).print(Group(*cross_agent_table(comparison)))
    return out.getvalue()


def means(comparison: CrossAgent) -> dict[AnsweringAgent, float | None]:
    return {each.side: each.mean for each in comparison.sides}


A, B = AnsweringAgent("a"), AnsweringAgent("b")


def test_both_means_are_over_the_same_queries() -> None:
    """Agent a was not judged on the query that both agents find hard."""
    easy = [run(agent, f"q{number}", 1.0) for agent in "ab" for number in range(3)]
    found = compared(
        [*easy, run("a", "hard", None, Outcome.JUDGE_ERROR), run("b", "hard", 0.0), run("b", "only b", 0.0)]
    )
    assert means(found) == {A: 1.0, B: 1.0}
    assert (found.queries, found.left_out, found.not_counted) == (3, 2, 1)
    words = shown(found)
    assert "3 queries answered by every side; 1 not answered by every side are left out" in words
    assert "1 left out, because some side has no run of it that counts" in words


def test_a_query_counts_once_on_each_side_whatever_its_trials() -> None:
    runs = [run("a", "easy", 1.0, trial=trial) for trial in range(1, 10)]
    found = compared([*runs, run("a", "hard", 0.0), run("b", "easy", 1.0), run("b", "hard", 0.0)])
    assert means(found) == {A: 0.5, B: 0.5}
    assert [each.runs for each in found.sides] == [10, 2]


@pytest.mark.parametrize("outcome", [Outcome.JUDGE_ERROR, Outcome.INFRA_ERROR, Outcome.EXAMINER_ERROR])
def test_runs_that_do_not_count_are_told_and_in_no_mean(outcome: Outcome) -> None:
    runs = [run("a", "q", 1.0), run("a", "q", None, outcome, trial=2), run("b", "q", 0.0)]
    found = compared(runs)
    assert means(found) == {A: 1.0, B: 0.0}
    assert [each.excluded for each in found.sides] == [{outcome.value: 1}, {}]
    assert f"1 {outcome.value}" in shown(found)


def test_queries_without_a_score_are_compared_by_their_trajectories_and_the_mean_says_over_how_many_it_is() -> None:
    runs = [run("a", "q", 1.0), run("b", "q", 0.5), run("a", "unscored", None), run("b", "unscored", 0.0)]
    found = compared(runs)
    assert means(found) == {A: 1.0, B: 0.5}
    assert (found.queries, found.scored) == (2, 1)
    assert found.sides[0].excluded == {"unscored": 1}
    assert "the mean score is over the 1 with a score on every side" in shown(found)


def test_an_agent_that_failed_has_answered_and_earned_nothing() -> None:
    found = compared([run("a", "q", None, Outcome.TARGET_ERROR), run("b", "q", 1.0)])
    assert means(found) == {A: 0.0, B: 1.0}


def test_without_a_common_query_nothing_is_compared() -> None:
    found = compared([run("a", "q", 1.0), run("b", "other", 1.0)])
    assert means(found) == {A: None, B: None}
    assert "nothing can be compared" in shown(found)
    assert compared([]).sides == ()
