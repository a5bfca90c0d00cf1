"""Figures by persona and by strategy: what is compared with what, and how often chance is taken for more."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.verdict import Evidence, Insight, Label, Verdict, error_insight
from viva.statistics.comparison import compare
from viva.statistics.comparison_inputs import Runs
from viva.statistics.summary import Figures, summarize
from viva.statistics.variants.difference import confidence_of, differences
from viva.statistics.variants.figures import DimensionFigures, gave_way_in


def record(
    case: str,
    persona: str = "",
    score: float = 1.0,
    *,
    strategy: str = "",
    trial: int = 1,
    agent: str = "a",
    outcome: Outcome = Outcome.SCORED,
    missed: Sequence[str] = (),
    low: float | None = None,
) -> RunRecord:
    run = f"{case}-{persona}-{strategy}-{trial}-{agent}"
    evidence = tuple(Evidence(where, "words") for where in missed)
    label = Label.HIT if score == 1 else Label.MISS
    verdict = Verdict(run, "p", label, score, evidence=evidence)
    insight = Insight("scoring_points", run, "scored", score, low=score, high=score, verdicts=(verdict,))
    setting = Setting(case=case, agent=agent, persona=persona, strategy=strategy)
    counted = None if outcome is Outcome.EXAMINER_ERROR else score
    return RunRecord(
        run, case, agent, outcome, counted, low=counted if low is None else low, high=counted, insights=(insight,),
        setting=setting, trial=trial,
    )  # fmt: skip


def only(figures: Figures) -> DimensionFigures:
    (found,) = figures.variants
    return found


def test_the_worst_comes_first_and_those_of_which_no_run_counts_come_last() -> None:
    scores = {"good": 1.0, "bad": 0.0, "middle": 0.5}
    runs = [record(f"c{n}", name, score) for n in range(3) for name, score in scores.items()]
    runs.append(record("c0", "broken", outcome=Outcome.EXAMINER_ERROR))
    found = only(summarize(runs))
    assert [each.group.name for each in found.variants] == ["bad", "middle", "good", "broken"]
    assert found.variants[-1].group.excluded == {"examiner_error": 1}
    assert all(each.difference is None for each in found.variants), "three cases are too few"


def test_runs_without_either_have_no_such_figures() -> None:
    assert summarize([record("c0"), record("c1")]).variants == ()


def test_each_agent_has_its_own() -> None:
    runs = [record("c", "terse", float(agent == "b"), agent=agent) for agent in ("b", "a")]
    assert [(each.agent, each.variants[0].group.mean) for each in summarize(runs).variants] == [("a", 0.0), ("b", 1.0)]


def test_a_difference_is_taken_within_each_case_so_that_hard_cases_hide_nothing() -> None:
    """Every case is of another difficulty, and a persona costs about a tenth in each."""
    runs = [
        record(f"c{n}", name, n / 10 - cost, low=0.0)
        for n in range(2, 10)
        for name, cost in (("terse", 0.08 + 0.04 * (n % 2)), ("expert", 0.0))
    ]
    terse, expert = only(summarize(runs)).variants
    assert terse.difference is not None
    assert expert.difference is not None
    assert terse.difference.value == pytest.approx(-0.1)
    assert terse.difference.clear
    assert terse.difference.value == pytest.approx(-expert.difference.value)


def test_only_cases_that_both_have_are_compared() -> None:
    scores = {"a": {f"c{n}": 1.0 for n in range(6)}, "b": {f"c{n}": 0.0 for n in range(4)} | {"other": 1.0}}
    assert differences(scores) == {"a": None, "b": None}, "four cases in common are too few"
    scores["b"]["c5"] = 0.0
    found = differences(scores)
    assert found["a"] is not None
    assert found["a"].cases == 5


def test_the_confidence_allows_for_the_number_of_comparisons() -> None:
    assert [confidence_of(n) for n in (1, 2, 3, 10)] == pytest.approx([0.95, 0.95, 1 - 0.05 / 3, 0.995])


@pytest.mark.parametrize(
    ("variants", "cases", "trials"), [(10, 8, 1), pytest.param(10, 20, 3, marks=pytest.mark.soak), (3, 6, 2)]
)
def test_where_nothing_differs_hardly_any_suite_calls_a_difference_more_than_chance(
    variants: int, cases: int, trials: int
) -> None:
    rng, alarms, suites = random.Random(f"{variants} {cases}"), 0, 60
    for _ in range(suites):
        chances = [rng.random() for _ in range(cases)]
        scores = {
            f"v{v}": {
                f"c{n}": sum(rng.random() < chance for _ in range(trials)) / trials for n, chance in enumerate(chances)
            }
            for v in range(variants)
        }
        alarms += any(each is not None and each.clear for each in differences(scores).values())
    assert alarms <= 0.1 * suites


def test_an_exam_held_if_every_point_was_hit_for_certain() -> None:
    runs = [
        record("held", strategy="encoding"),
        record("missed", strategy="encoding", score=0.0),
        record("unsure", strategy="encoding", low=0.5),
        record("failed", strategy="encoding", outcome=Outcome.TARGET_ERROR),
        record("unfair", strategy="encoding", outcome=Outcome.EXAMINER_ERROR),
    ]
    (found,) = only(summarize(runs, threshold=0.1)).variants
    assert (found.held, found.group.runs, found.held_rate) == (1, 4, 0.25)
    assert found.held_interval is None, "four cases are too few"


def test_without_scoring_points_nobody_knows_whether_an_exam_held() -> None:
    judged = record("c", strategy="encoding")
    insight = Insight("exam", judged.id, "fair", 1.0, low=1.0, high=1.0)
    (found,) = only(summarize([replace(judged, insights=(insight,))])).variants
    assert (found.held, found.held_rate, found.held_interval) == (0, None, None)


def by_quality(judged: RunRecord, quality: float, *further: Insight) -> RunRecord:
    """The same run, of which another evaluator than scoring points decides the score."""
    main = Insight("quality", judged.id, "good", quality, low=quality, high=quality)
    setting = replace(judged.setting, evaluators=("quality", "scoring_points"))
    insights = (main, *(further or judged.insights))
    return replace(judged, score=quality, low=quality, high=quality, insights=insights, setting=setting)


def test_whichever_evaluator_is_the_primary_one_scoring_points_say_whether_an_exam_held() -> None:
    runs = [
        by_quality(record("missed", strategy="encoding", score=0.0, missed=("r2",)), 1.0),
        by_quality(record("held", strategy="encoding"), 0.5),
        by_quality(record("failed", strategy="encoding", outcome=Outcome.TARGET_ERROR), 1.0),
    ]
    (found,) = only(summarize(runs)).variants
    assert (found.held, found.group.runs, found.held_rate) == (1, 3, pytest.approx(1 / 3))
    assert (found.gave_way_round, found.gave_way_known) == (2, 1)
    broken = record("broken", strategy="encoding")
    failed = error_insight("scoring_points", broken.id, "it broke")
    (found,) = only(summarize([*runs, by_quality(broken, 1.0, failed)])).variants
    assert (found.group.runs, found.held_rate) == (4, None), "points that were not judged leave it open"


def test_strategies_are_sorted_by_the_share_that_held() -> None:
    runs = [record(f"c{n}", strategy=name, score=score) for n in range(5) for name, score in (("x", 0.9), ("y", 1.0))]
    runs += [record(f"c{n}", strategy="z", score=float(n > 0)) for n in range(5)]
    found = only(summarize(runs)).variants
    assert [(each.group.name, each.held) for each in found] == [("x", 0), ("z", 4), ("y", 5)]
    interval = found[1].held_interval
    assert interval is not None
    assert interval.low < 0.8 < interval.high


@pytest.mark.parametrize(
    ("missed", "number"),
    [(("r4", "r2"), 2), (("r12.1",), 12), (("round 3", "s1", "run3"), None), ((), None), (("r3", "s1"), 3)],
)
def test_an_agent_gave_way_in_the_first_round_that_a_missed_points_evidence_names(
    missed: tuple[str, ...], number: int | None
) -> None:
    assert gave_way_in(record("c", strategy="x", score=0.0, missed=missed)) == number


def test_the_round_is_the_median_of_those_that_are_known() -> None:
    runs = [record(f"c{n}", strategy="x", score=0.0, missed=(f"r{n}",)) for n in (1, 3, 9)]
    runs += [record("unknown", strategy="x", score=0.0), record("held", strategy="x", missed=("r1",))]
    (found,) = only(summarize(runs)).variants
    assert (found.gave_way_round, found.gave_way_known) == (3, 3)


def test_suites_are_paired_by_trial_and_persona() -> None:
    before = [record("c", name, score) for name, score in (("terse", 0.0), ("expert", 1.0))]
    after = [record("c", name, score) for name, score in (("terse", 1.0), ("expert", 1.0))]
    found = compare(Runs(Path("before"), before), Runs(Path("after"), after), ("a", "a"))
    assert found is not None
    assert (found.trials_paired, found.trials_better, found.trials_worse) == (2, 1, 0)
