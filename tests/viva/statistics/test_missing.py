"""What the bounds over missing verdicts and runs promise: they hold the score of the complete set, whatever is gone."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from bench.masks import LAST_BIT, complete, holds, masked
from tests.viva.reports.conftest import report
from tests.viva.reports.made import write_run
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, RunRecord
from viva.records.verdict import Insight
from viva.statistics.summary import summarize

SOME = 150
"""Masks of the short form; `python -m bench masks` has 1,000."""


def run(score: float | None, outcome: Outcome = Outcome.SCORED, *, case: str = "c", agent: str = "a") -> RunRecord:
    return RunRecord(f"{case}/{agent}", case, agent, outcome, score, low=score, high=score)


def test_the_bounds_hold_the_complete_score_whatever_is_deleted() -> None:
    assert [seed for seed in range(SOME) if not holds(seed)] == []


def test_the_bounds_of_the_runs_that_remain_do_not_hold_it() -> None:
    missed = 0
    for seed in range(SOME):
        rng = random.Random(seed)
        suite = complete(rng)
        truth, left = summarize(suite).suite.mean, summarize(masked(rng, suite)[0]).suite
        assert truth is not None
        if left.low is not None and left.high is not None:
            missed += not left.low - LAST_BIT <= truth <= left.high + LAST_BIT
    assert missed > SOME / 10, "or the masks are too weak to test anything"


def test_a_missing_run_counts_as_0_and_as_1() -> None:
    figures = summarize([run(1.0), run(0.5, case="d"), run(None, Outcome.INFRA_ERROR, case="e")], absent={"a": 1})
    (bounds,) = figures.missing
    assert (bounds.runs, bounds.missing, bounds.low, bounds.high) == (4, 2, 0.375, 0.875)
    assert figures.suite.mean == 0.75, "the mean is still that of the runs that count"


def test_a_run_judged_in_part_counts_with_what_is_known_and_a_broken_exam_with_nothing() -> None:
    def bounds(outcome: Outcome, low: float | None, high: float | None) -> tuple[float, float]:
        insight = Insight("mine", "r", "error", 0.25, low=low, high=high)
        record = RunRecord("r", "c", "a", outcome, 0.25, low=low or 0.25, high=high or 0.25, insights=(insight,))
        (found,) = summarize([record]).missing
        return found.low, found.high

    assert bounds(Outcome.JUDGE_ERROR, 0.25, 0.5) == (0.25, 0.5)
    assert bounds(Outcome.EXAMINER_ERROR, 0.25, 0.5) == (0, 1)
    assert bounds(Outcome.INFRA_ERROR, 0.25, 0.5) == (0, 1)
    assert bounds(Outcome.JUDGE_ERROR, None, None) == (0, 1), "an evaluator without bounds was sure, and yet it failed"


def test_nothing_is_reported_where_nothing_is_missing(tmp_path: Path) -> None:
    figures = summarize([run(1.0), run(0.0, Outcome.TARGET_ERROR, case="d")])
    assert figures.missing == ()
    with Journal(tmp_path) as journal:
        write_run(journal, "sums")
    assert "missing" not in json.loads(report("json", tmp_path))["figures"]
    assert "ounds" not in report("markdown", tmp_path)


def test_each_agent_has_bounds_of_its_own() -> None:
    figures = summarize([run(1.0), run(None, Outcome.JUDGE_ERROR, agent="b"), run(1.0, agent="b", case="d")])
    assert [(each.agent, each.missing, each.low, each.high) for each in figures.missing] == [
        ("a", 0, 1.0, 1.0),
        ("b", 1, 0.5, 1.0),
    ]


@pytest.mark.parametrize("kind", ["console", "markdown", "html", "json"])
def test_every_report_shows_the_bounds_beside_the_mean(tmp_path: Path, kind: str) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "sums", hits=(True,))
        write_run(journal, "lists", hits=(True, False))
        write_run(journal, "dates", outcome=Outcome.EXAMINER_ERROR)
        write_run(journal, "names", ended=False)
    told = report(kind, tmp_path)
    if kind == "json":
        (bounds,) = json.loads(told)["figures"]["missing"]
        assert (bounds["low"], bounds["high"], bounds["missing"]) == (0.375, 0.875, 2)
    else:
        assert "0.38-0.88 over all 4 runs, 2 of them without a score" in " ".join(told.split()).replace("\\", "")
