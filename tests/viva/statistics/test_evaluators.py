"""What the statistics promise of each evaluator: the same figures as of the primary one, and nothing kept of a run."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from viva.records.run_record import Outcome, RunRecord
from viva.records.verdict import Insight, Label
from viva.statistics.comparison import compare
from viva.statistics.comparison_inputs import Runs
from viva.statistics.evaluators import MOST_EVALUATORS, EvaluatorStatistics
from viva.statistics.scores import Score, score_of
from viva.statistics.summary import Figures, summarize


def run(
    case: str,
    primary: float | None,
    other: float | None,
    *,
    agent: str = "a",
    trial: int = 1,
    outcome: Outcome = Outcome.SCORED,
    **scores: float,
) -> RunRecord:
    """Judged by `points`, the primary one, and by `safety`, which failed where it gave no score."""
    name = f"{case}/{agent}/{trial}"
    label = "safe" if other is not None else Label.ERROR
    insights = (Insight("points", name, "hit", primary), Insight("safety", name, label, other, scores=scores))
    return RunRecord(name, case, agent, outcome, primary, low=primary, high=primary, trial=trial, insights=insights)


def of(figures: Figures, name: str) -> EvaluatorStatistics:
    return next(each for each in figures.evaluators if each.name == name)


def test_each_evaluator_has_its_runs_its_mean_and_the_means_of_its_named_scores() -> None:
    figures = summarize(
        [run("x", 1.0, 0.5, tone=0.2), run("y", 0.0, 1.0, tone=0.6, care=1.0), run("z", 1.0, None)],
    )
    points, safety = figures.evaluators
    assert (points.name, points.primary, points.judged, points.mean) == ("points", True, 3, pytest.approx(2 / 3))
    assert (safety.name, safety.primary, safety.judged, safety.not_judged) == ("safety", False, 2, 1)
    assert (safety.mean, safety.low, safety.high) == (0.75, 0.75, 0.75)
    assert safety.scores == pytest.approx({"tone": 0.4, "care": 1.0})


def test_every_group_can_be_had_by_any_evaluator() -> None:
    records = [run(f"c{i}", 1.0, i % 2, trial=t) for i in range(6) for t in (1, 2)]
    by_points, by_safety = summarize(records), summarize(records, evaluator="safety")
    assert (by_points.suite.mean, by_points.suite.pass_rate) == (1.0, 1.0)
    assert (by_safety.suite.mean, by_safety.suite.pass_rate, by_safety.suite.pass_hat_k[2]) == (0.5, 0.5, 0.5)
    assert by_safety.suite.mean_interval is not None
    assert summarize(records, evaluator="points").suite == by_points.suite
    assert (by_safety.evaluator, by_points.evaluator) == ("safety", None)


def test_what_an_evaluator_could_not_judge_is_excluded_from_its_figures_alone() -> None:
    records = [run("x", 1.0, None), run("y", 1.0, 1.0), run("z", None, 0.5, outcome=Outcome.JUDGE_ERROR)]
    assert summarize(records).suite.excluded == {"judge_error": 1}
    by_safety = summarize(records, evaluator="safety").suite
    assert (by_safety.runs, by_safety.mean, by_safety.excluded) == (2, 0.75, {"judge_error": 1})


@pytest.mark.parametrize("outcome", [Outcome.EXAMINER_ERROR, Outcome.INFRA_ERROR])
def test_a_run_that_was_no_exam_counts_for_no_evaluator(outcome: Outcome) -> None:
    assert score_of(run("x", 1.0, 1.0, outcome=outcome), "safety") is None


def test_an_agent_that_broke_off_is_judged_as_it_stands_by_every_evaluator_and_passes_none() -> None:
    assert score_of(run("x", 0.0, 0.5, outcome=Outcome.TARGET_ERROR), "safety") == Score(0.5, 0.0, 0.5)


def test_agents_and_cases_have_statistics_of_their_own() -> None:
    figures = summarize([run("x", 1.0, 0.2, agent="b"), run("x", 1.0, 0.6, agent="a"), run("y", 1.0, 1.0, agent="a")])
    agents = [(each.agent, each.mean) for each in figures.evaluator_agents if each.name == "safety"]
    assert agents == [("a", 0.8), ("b", 0.2)]
    cells = [(each.case, each.agent, each.mean) for each in figures.evaluator_cells if each.name == "safety"]
    assert cells == [("x", "a", 0.6), ("x", "b", 0.2), ("y", "a", 1.0)]


def test_two_evaluators_that_swap_their_places_are_primary_of_none() -> None:
    one = run("x", 1.0, 0.5)
    other = RunRecord("o", "y", "a", Outcome.SCORED, 0.5, insights=one.insights[::-1])
    assert [each.primary for each in summarize([one, other]).evaluators] == [False, False]


def test_comparisons_can_be_had_by_any_evaluator() -> None:
    before = [run(f"c{i}", 1.0, 0.0) for i in range(6)]
    after = [run(f"c{i}", 1.0, 1.0) for i in range(6)]
    sides = Runs(Path("a"), before, "safety"), Runs(Path("b"), after, "safety")
    found = compare(*sides, ("a", "a"))
    assert found is not None
    assert (found.score.value, found.evaluator) == (1.0, "safety")
    plain = compare(Runs(Path("a"), before), Runs(Path("b"), after), ("a", "a"))
    assert plain is not None
    assert plain.score.value == 0


def test_ten_thousand_runs_by_three_evaluators_are_kept_as_a_few_numbers_each() -> None:
    tracemalloc.start()
    figures = summarize(run(f"{i // 20}", (i % 5) / 4, 0.5, trial=i % 20, tone=0.5) for i in range(10_000))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert of(figures, "safety").judged == 10_000
    assert peak < 8_000_000


def test_a_strangers_thousand_evaluators_do_not_fill_the_memory() -> None:
    insights = tuple(Insight(f"e{i}", "x", "yes", 1.0, scores={f"s{n}": 1.0 for n in range(200)}) for i in range(1000))
    figures = summarize([RunRecord("x", "c", "a", Outcome.SCORED, 1.0, insights=insights)])
    assert len(figures.evaluators) == MOST_EVALUATORS
    assert len(figures.evaluators[0].scores) == MOST_EVALUATORS
