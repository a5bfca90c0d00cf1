"""Trends: what is compared with what, when a change counts as a regression, and what hostile journals cannot do."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.verdict import Insight
from viva.statistics.over_time.trend import Direction, TaskTrend
from viva.statistics.over_time.trends import (
    MOST_POINTS,
    MOST_TRENDS,
    SMALLEST,
    Conversations,
    change_interval,
    find_trends,
)


def run(number: int, score: float | None, version: str | None = None, **more: object) -> RunRecord:
    """A run that began a minute after the one before it."""
    insight = Insight("grade", f"r{number}", "judged", score)
    record = RunRecord(
        f"r{number}", "task", "agent", Outcome.SCORED, score, agent_version=version, insights=(insight,),
        timing=Timing(1_000_000.0 + number * 60), setting=Setting(evaluators=("grade",)),
    )  # fmt: skip
    return replace(record, **more)  # type: ignore[arg-type]


def only(records: list[RunRecord]) -> TaskTrend:
    (trend,) = find_trends(records).trends
    return trend


def test_the_number_of_runs_includes_those_of_which_no_time_is_known() -> None:
    """Recordings of which nothing tells when they took place are runs like others."""
    timeless = [run(number, 1.0, timing=Timing()) for number in range(3)]
    found = find_trends(timeless)
    assert (found.runs, found.trends[0].runs) == (3, 3)
    shared = Conversations()
    find_trends([run(number, 1.0) for number in range(10)], shared)
    found = find_trends([run(20, 1.0), *timeless], shared)
    assert (found.runs, found.trends[0].runs) == (4, 4), "conversations that others have numbered are not these"


@pytest.mark.parametrize(
    ("before", "now", "direction"),
    [
        ([1.0] * 20, [0.0] * 20, Direction.REGRESSION),
        ([0.9, 1.0] * 10, [0.3, 0.4] * 5, Direction.REGRESSION),
        ([1.0], [0.0], Direction.DROP),
        ([1.0, 0.0, 1.0], [0.0, 1.0, 0.0], Direction.DROP),
        ([0.5] * 20, [0.46] * 20, Direction.FLAT),
        ([0.0, 1.0], [1.0, 1.0], Direction.RISE),
        ([0.2, 0.3] * 10, [0.9, 1.0] * 10, Direction.IMPROVEMENT),
    ],
)
def test_a_new_version_is_compared_with_the_one_before_it(
    before: list[float], now: list[float], direction: Direction
) -> None:
    scores = [(score, "1") for score in before] + [(score, "2") for score in now]
    oldest = [run(number, 0.0 if score else 1.0, "0") for number, (score, _) in enumerate(scores)]
    records = oldest + [run(100 + number, score, version) for number, (score, version) in enumerate(scores)]
    random.Random(7).shuffle(records)
    trend = only(records)
    assert trend.direction is direction
    assert trend.before is not None
    assert (trend.before.version, trend.before.runs) == ("1", len(before))
    assert (trend.now.version, trend.now.runs) == ("2", len(now))
    assert [sample.version for sample in trend.versions] == ["0", "1", "2"]


def test_without_versions_the_newest_quarter_is_compared_with_all_before_it() -> None:
    trend = only([run(number, 1.0 if number < 30 else 0.0) for number in range(40)])
    assert trend.before is not None
    assert (trend.before.runs, trend.now.runs) == (30, 10)
    assert trend.direction is Direction.REGRESSION


def test_a_single_run_is_no_trend() -> None:
    trend = only([run(1, 0.2)])
    assert (trend.direction, trend.before, trend.change, trend.interval) == (Direction.SINGLE, None, None, None)


def test_a_conversation_that_was_judged_again_counts_once_as_judged_last() -> None:
    found = find_trends([run(1, 0.2), run(2, 0.4), run(1, 1.0)])
    assert found.runs == 2
    assert [point.mean for point in found.trends[0].points] == [1.0, 0.4]


def test_runs_that_say_nothing_about_the_agent_are_counted_and_not_averaged() -> None:
    broken = run(3, None, outcome=Outcome.INFRA_ERROR, insights=())
    found = find_trends([run(1, 1.0), run(2, 1.0), broken])
    assert (found.runs, found.excluded, found.trends[0].runs) == (3, 1, 2)


def test_each_dimension_has_a_trend_and_regressions_come_first() -> None:
    def graded(number: int, safety: float, speed: float) -> RunRecord:
        insight = Insight("grade", f"r{number}", "x", 1.0, scores={"safety": safety, "speed": speed})
        return replace(run(number, 1.0, "1" if number < 20 else "2"), insights=(insight,))

    records = [graded(number, 1.0 if number < 20 else 0.0, 0.0 if number < 20 else 1.0) for number in range(40)]
    found = find_trends(records).trends
    assert [(trend.dimension, trend.direction.value) for trend in found] == [
        ("safety", "regression"), ("overall", "flat"), ("speed", "improvement"),
    ]  # fmt: skip


def test_no_point_spans_two_versions_and_their_number_is_bounded() -> None:
    records = [run(number, (number % 10) / 10, f"{number // 300}") for number in range(1000)]
    points = only(records).points
    assert len(points) <= MOST_POINTS
    assert sum(point.runs for point in points) == 1000
    assert [point.version for point in points] == sorted(point.version or "" for point in points)


def test_a_journal_cannot_make_more_trends_than_are_kept() -> None:
    def of(task: str) -> RunRecord:
        return replace(run(1, 1.0), id=task, subject=task)

    found = find_trends(of(f"task {number}") for number in range(MOST_TRENDS + 3))
    assert (len(found.trends), found.left_out) == (MOST_TRENDS, 3)


def test_numbers_that_are_none_do_not_reach_a_mean() -> None:
    insight = Insight("grade", "r1", "x", 0.5, scores={"a": math.inf, "b": 7})
    records = [run(1, 0.5, insights=(insight,)), run(2, math.nan), run(3, 0.5, timing=Timing(math.inf))]
    found = find_trends([*records, run(4, 0.5, timing=Timing(-1))])
    means = {trend.dimension: [point.mean for point in trend.points] for trend in found.trends}
    assert means == {"overall": [0.5, 0.5, 0.5], "b": [1.0]}


SCORES = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@given(SCORES, SCORES)
@settings(max_examples=examples(200))
def test_the_interval_holds_the_change_and_a_label_follows_from_it(before: list[float], now: list[float]) -> None:
    trend = only(
        [run(number, score, "1") for number, score in enumerate(before)]
        + [run(100 + number, score, "2") for number, score in enumerate(now)]
    )
    assert trend.change is not None
    assert trend.interval is not None
    assert -1 <= trend.interval.low <= trend.change + 1e-9
    assert trend.change - 1e-9 <= trend.interval.high <= 1
    clear = trend.interval.low > 0 or trend.interval.high < 0
    assert (trend.direction in (Direction.REGRESSION, Direction.IMPROVEMENT)) == (
        clear and abs(trend.change) >= SMALLEST
    )


def test_the_interval_covers_a_true_change_as_often_as_it_says() -> None:
    source, covered = random.Random(3), 0
    for _ in range(400):
        before = [source.gauss(0.6, 0.1) for _ in range(20)]
        now = [source.gauss(0.5, 0.15) for _ in range(12)]
        found = change_interval(before, now)
        covered += found.low <= -0.1 <= found.high
    assert covered >= 370
