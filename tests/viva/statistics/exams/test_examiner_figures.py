"""The figures of an examiner: its fault rate, and the scores with and without unfair exams."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from viva.exam.judging.unfair import UnfairAttempt, unfair_attempts, with_earlier
from viva.exam.record import make_record
from viva.exam.subscribers import RunHeader
from viva.judge.exam.evaluator import insight_of_findings
from viva.judge.exam.kinds import ExamFault, Finding
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Round, StopReason, Transcript
from viva.records.verdict import Insight
from viva.reports.examiner_words import examiner_lines
from viva.statistics.exams.figures import ExaminerFigures
from viva.statistics.summary import summarize

ATTEMPTS = 3


def attempt(
    case: str,
    agent: str,
    trial: int,
    number: int,
    score: float,
    fault: ExamFault | None,
    earlier: tuple[UnfairAttempt, ...],
) -> RunRecord:
    """The record of one attempt, made as exams make it."""
    run = f"{case}-{agent}-{trial}"
    setting = Setting(case=case, agent=agent, examiner="m", evaluators=("scoring_points", "exam"))
    findings = [] if fault is None else [Finding(fault, 1, "Hello.", "it should not")]
    points = Insight("scoring_points", run, "scored", score, low=score, high=score)
    insights = (points, insight_of_findings(run, findings))
    talk = Transcript((Round(1, "Hello.", "Hi."),), stop=StopReason.FINISHED)
    header = RunHeader(id=run, subject=case, agent=agent, trial=trial, attempt=number)
    return make_record(
        run, setting, talk, with_earlier(insights, earlier, run) if earlier else insights, Timing(), header
    )


def run_of(case: str, agent: str, trial: int, score: float, faults: Iterator[bool]) -> RunRecord:
    """A run that is held again while it is unfair; in an unfair exam nothing can be earned."""
    earlier: tuple[UnfairAttempt, ...] = ()
    for number in range(1, ATTEMPTS + 1):
        unfair = next(faults)
        kind = ExamFault.NEVER_ASKED if unfair else None
        record = attempt(case, agent, trial, number, 0.0 if unfair else score, kind, earlier)
        if not unfair:
            break
        earlier = (*earlier, *unfair_attempts(record))
    return record


def chances(chance: random.Random, rate: float) -> Iterator[bool]:
    while True:
        yield chance.random() < rate


CASES, TRIALS, SUITES = 80, 8, 8
TRUE = {"strong": 0.8, "weak": 0.5}
FAULTS = {"strong": 0.15, "weak": 0.35}
"""25 % in all, and the weaker agent is hit more often."""


def held_suite(seed: int) -> tuple[list[RunRecord], dict[str, float]]:
    """A suite with this examiner, and the mean score of each agent if every exam had been fair."""
    chance = random.Random(seed)
    records, truth = [], {}
    for agent, mean in TRUE.items():
        faults = chances(chance, FAULTS[agent])
        scores = []
        for case in range(CASES):
            level = min(1.0, max(0.0, chance.gauss(mean, 0.2)))
            for trial in range(1, TRIALS + 1):
                scores.append(float(chance.random() < level))
                records.append(run_of(f"case {case}", agent, trial, scores[-1], faults))
        truth[agent] = sum(scores) / len(scores)
    return records, truth


def test_faults_that_hit_the_weaker_agent_are_taken_out_of_the_scores() -> None:
    # An agent that is hit more often has more exams held again.
    held = {agent: sum(rate**again for again in range(ATTEMPTS)) for agent, rate in FAULTS.items()}
    expected = sum(held[agent] * FAULTS[agent] for agent in held) / sum(held.values())
    within = []
    for seed in range(SUITES):
        records, truth = held_suite(seed)
        figures = summarize(records)
        assert figures.examiner is not None
        within.append(_within(expected, figures.examiner.rate_interval))
        for each in figures.examiner_agents:
            agent = each.agent or ""
            assert each.raw is not None
            assert each.fair is not None
            assert abs(each.raw - truth[agent]) > 0.05
            assert abs(each.fair - truth[agent]) < 0.01
            assert _within(truth[agent], each.fair_interval), "the interval of the fair score has the truth"
            assert not _within(truth[agent], each.raw_interval), "the interval of the raw score does not"
            within.append(_within(FAULTS[agent], each.rate_interval))
        strong, weak = figures.examiner_agents
        assert strong.rate is not None
        assert weak.rate is not None
        assert weak.rate > strong.rate
    assert sum(within) >= 0.85 * len(within), "intervals of 95 % have the true rate"


def _within(value: float, interval: Any) -> bool:
    return bool(interval.low <= value <= interval.high)


def figures_of(*records: RunRecord) -> ExaminerFigures:
    found = summarize(records).examiner
    assert found is not None
    return found


def test_each_attempt_is_an_exam_and_its_kinds_are_counted() -> None:
    first = attempt("c", "a", 1, 1, 0.25, ExamFault.LEAK, ())
    second = attempt("c", "a", 1, 2, 0.5, ExamFault.ROLE_FLIP, tuple(unfair_attempts(first)))
    third = attempt("c", "a", 1, 3, 1.0, ExamFault.WENT_ON, (*unfair_attempts(first), *unfair_attempts(second)))
    figures = figures_of(third)
    assert (figures.exams, figures.unfair) == (3, 2)
    assert figures.kinds == {"leak": 1, "role_flip": 1}
    assert figures.noted == {"went_on": 1}
    assert (figures.raw, figures.fair) == (0.25, 1.0)


def test_a_run_that_stays_unfair_is_in_the_raw_score_alone() -> None:
    figures = figures_of(attempt("c", "a", 1, 1, 0.25, ExamFault.LEAK, ()), attempt("d", "a", 1, 1, 1.0, None, ()))
    assert (figures.raw, figures.runs_raw) == (0.625, 2)
    assert (figures.fair, figures.runs) == (1.0, 1)
    assert figures.rate == 0.5


def test_an_examiner_that_broke_off_is_at_fault() -> None:
    record = attempt("c", "a", 1, 1, 0.0, None, ())
    broken = replace(record, insights=(), outcome=Outcome.EXAMINER_ERROR, score=None)
    figures = figures_of(broken)
    assert (figures.exams, figures.unfair, figures.kinds) == (1, 1, {"broke_off": 1})
    assert list(unfair_attempts(broken)) == [UnfairAttempt(1, ("broke_off",), None)]


def test_runs_without_a_judged_examiner_have_no_figures() -> None:
    record = attempt("c", "a", 1, 1, 1.0, None, ())
    scripted = replace(record, insights=record.insights[:1], setting=Setting(evaluators=("scoring_points",)))
    old = replace(scripted, outcome=Outcome.EXAMINER_ERROR)
    figures = summarize([scripted, old])
    assert figures.examiner is None
    assert not list(examiner_lines(figures, {}))
    assert figures.unused >= {"examiner", "examiner_agents"}


@pytest.mark.parametrize(
    "earlier",
    [
        7, "x", {"a": 1}, [1, "x", None], [{"attempt": "1", "kinds": ["leak"]}], [{"attempt": 1, "kinds": 5}],
        [{"attempt": 1, "kinds": [3]}, {"attempt": 2, "kinds": ["\x1b[31mred"], "score": float("inf")}],
    ],
)  # fmt: skip
def test_a_strangers_journal_cannot_break_the_figures(earlier: object) -> None:
    record = attempt("c", "a", 1, 1, 1.0, None, ())
    points, exam = record.insights
    details: Mapping[str, Any] = {"earlier": earlier, "review": {"odd": 1}}
    figures = summarize([replace(record, insights=(points, replace(exam, details=details)))])
    assert figures.examiner is not None
    assert figures.examiner.raw == 1.0
    assert set(figures.examiner.kinds) <= {"other"}
    assert "\x1b" not in "".join(examiner_lines(figures, {}))


def test_where_the_exam_evaluator_is_the_primary_its_score_is_not_the_agents() -> None:
    record = attempt("c", "a", 1, 1, 1.0, None, ())
    alone = replace(record, insights=record.insights[1:], setting=Setting(evaluators=("exam",)))
    figures = figures_of(alone)
    assert (figures.exams, figures.raw, figures.fair) == (1, None, None)


@pytest.mark.parametrize("label", ["error", "no-reply", "skipped"])
def test_an_exam_that_was_not_judged_is_no_fair_exam(label: str) -> None:
    record = attempt("case", "agent", 1, 1, 1.0, None, ())
    unjudged = replace(record, insights=(record.insights[0], Insight("exam", record.id, label, None)))
    assert summarize([unjudged]).examiner is None
    both = summarize([unjudged, attempt("case", "agent", 2, 1, 1.0, ExamFault.NEVER_ASKED, ())]).examiner
    assert both is not None
    assert (both.exams, both.unfair) == (1, 1)
