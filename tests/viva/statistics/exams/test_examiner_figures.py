"""The figures of an examiner: its fault rate, and the scores with and without unfair exams."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from viva.exam.judging.unfair import UnfairAttempt, unfair_attempts, with_earlier
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.exam.record import make_record
from viva.exam.subscribers import RunHeader
from viva.judge.exam.evaluator import insight_of_findings
from viva.judge.exam.kinds import ExamFault, Finding
from viva.judge.exam.review import Review
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Round, StopReason, Transcript
from viva.records.verdict import Insight, error_insight
from viva.reports.examiner_words import examiner_lines
from viva.statistics.exams.figures import ExaminerFigures
from viva.statistics.summary import summarize
from viva.suites.gates import gate
from viva.suites.rate_gates import gate_on_examiner

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
    alone = summarize([unjudged]).examiner
    assert (alone is None) == (label != "error"), "an exam on which the evaluator failed is told"
    assert alone is None or (alone.exams, alone.rate, alone.rate_interval, alone.fair, alone.failed) == (
        0,
        None,
        None,
        None,
        1,
    )
    both = summarize([unjudged, attempt("case", "agent", 2, 1, 1.0, ExamFault.NEVER_ASKED, ())]).examiner
    assert both is not None
    assert (both.exams, both.unfair) == (1, 1)


def reviewed(trial: int, unusable: str = "", fault: ExamFault | None = None) -> RunRecord:
    """A run whose exam a model was to review."""
    record = attempt("case", "agent", trial, 1, 1.0, fault, ())
    findings = [] if fault is None else [Finding(fault, 1, "Hello.", "it should not")]
    insight = insight_of_findings(record.id, findings, Review(tuple(findings), "m", unusable=unusable))
    return replace(record, insights=(record.insights[0], insight))


def failed(trial: int) -> RunRecord:
    """A run on whose exam the evaluator failed."""
    record = attempt("case", "agent", trial, 1, 1.0, None, ())
    return replace(record, insights=(record.insights[0], error_insight("exam", record.id, "it broke")))


REFUSED = "the answer has no JSON object"


def test_the_gate_on_faults_does_not_pass_on_exams_whose_requested_review_failed() -> None:
    figures = summarize(reviewed(trial, REFUSED) for trial in range(1, 5))
    assert figures.examiner is not None
    assert (figures.examiner.rate, figures.examiner.unreviewed, figures.examiner.open) == (0.0, 4, 4)
    words = "--max-examiner-faults: 4 exams got no usable review, so that the fault rate may be above 0.05"
    assert gate(figures, max_examiner_faults=0.05) == (EXIT_NOT_SCORED, words)
    assert gate_on_examiner(figures, 0.05) == (EXIT_NOT_SCORED, words)
    assert gate(figures) == (EXIT_DONE, "")


@pytest.mark.parametrize(("most", "code"), [(0.2, EXIT_NOT_SCORED), (0.25, EXIT_DONE), (1.0, EXIT_DONE)])
def test_exams_that_may_be_unfair_count_as_open_in_the_gate_on_faults(most: float, code: int) -> None:
    figures = summarize([reviewed(1, REFUSED), *(reviewed(trial) for trial in range(2, 5))])
    assert gate(figures, max_examiner_faults=most)[0] == code


def test_an_unfair_exam_without_a_usable_review_is_not_counted_twice_by_the_gate() -> None:
    figures = summarize([reviewed(1, REFUSED, ExamFault.LEAK), *(reviewed(trial) for trial in range(2, 5))])
    assert figures.examiner is not None
    assert (figures.examiner.unfair, figures.examiner.unreviewed, figures.examiner.open) == (1, 1, 0)
    assert gate(figures, max_examiner_faults=0.25)[0] == EXIT_NOT_SCORED, "the unfair run itself is excluded"
    assert gate_on_examiner(figures, 0.25) == (EXIT_DONE, "")
    assert gate_on_examiner(figures, 0.2)[0] == EXIT_BELOW


def test_exams_on_which_the_evaluator_failed_are_open_in_the_gate_on_faults() -> None:
    figures = summarize([reviewed(1), failed(2), failed(3), reviewed(4, REFUSED)])
    assert figures.examiner is not None
    assert (figures.examiner.exams, figures.examiner.rate) == (2, 0.0)
    assert (figures.examiner.open, figures.examiner.failed) == (3, 2)
    words = "1 exam got no usable review and 2 exams could not be judged, so that the fault rate may be above 0.7"
    assert gate(figures, max_examiner_faults=0.7) == (EXIT_NOT_SCORED, f"--max-examiner-faults: {words}")
    assert gate(figures, max_examiner_faults=0.75) == (EXIT_DONE, "")
    alone = summarize([failed(1)])
    assert alone.examiner is not None
    assert (alone.examiner.exams, alone.examiner.failed) == (0, 1)
    words = "--max-examiner-faults: the examiner was judged in no exam: 1 exam could not be judged"
    for most in (0.0, 1.0):
        assert gate(alone, max_examiner_faults=most) == (EXIT_NOT_SCORED, words)
        assert gate_on_examiner(alone, most) == (EXIT_NOT_SCORED, words)


def test_unfair_exams_count_if_the_last_attempt_could_not_be_judged() -> None:
    (unfair,) = unfair_attempts(attempt("case", "agent", 1, 1, 0.0, ExamFault.LEAK, ()))
    records = [failed(1), *(attempt("case", "agent", trial, 1, 1.0, None, ()) for trial in range(2, 5))]
    figures = summarize(
        [replace(records[0], insights=with_earlier(records[0].insights, (unfair,), records[0].id)), *records[1:]]
    )
    assert figures.examiner is not None
    assert (figures.examiner.unfair, figures.examiner.exams, figures.examiner.failed) == (1, 4, 1)
    assert figures.examiner.kinds == {"leak": 1}
    assert gate_on_examiner(figures, 0.2)[0] == EXIT_BELOW
    assert summarize(records).examiner is not None


def test_reports_tell_the_exams_that_could_not_be_judged() -> None:
    figures = summarize([reviewed(1), failed(2), failed(3), reviewed(4, REFUSED)])
    told = [line.strip() for line in examiner_lines(figures, {})]
    assert told[1].startswith("examiner at fault in 0 of 2 exams: 0%")
    assert "2 exams could not be judged: the evaluator failed" in told
    assert "3 exams may be unfair, too: the rate may be as high as 75%" in told
    (none, *more) = [line.strip() for line in examiner_lines(summarize([failed(1), failed(2)]), {}) if line]
    assert none == "the examiner could be judged in no exam (2 failed)"
    assert "2 exams could not be judged: the evaluator failed" in more


def test_an_agent_of_which_no_exam_could_be_judged_is_among_the_others() -> None:
    other = replace(failed(2), agent="other", id="other-2")
    figures = summarize(
        [reviewed(1), replace(other, insights=(other.insights[0], error_insight("exam", "other-2", "x")))]
    )
    assert [(each.agent, each.exams, each.failed) for each in figures.examiner_agents] == [
        ("agent", 1, 0),
        ("other", 0, 1),
    ]
    assert figures.examiner is not None
    assert figures.examiner.raw_interval is None, "two agents are no sample of anything"
    lines = "\n".join(examiner_lines(figures, {"agent": "A", "other": "B"}))
    assert "B: the examiner could be judged in no exam (1 failed)" in lines
