"""Whose fault an ending was, and what the shell is told: a table."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.viva.conftest import Desk, point
from viva.exam.outcome import outcome_of
from viva.exam.record import make_record
from viva.judge.scoring_points.scoring import summarize
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.transcript import Round, StopReason, Transcript, Usage
from viva.records.verdict import Insight, Label, Verdict
from viva.statistics.scores import Score, primary_insight, score_of
from viva.statistics.summary import summarize as summarize_records
from viva.suites.gates import gate


def verdict(label: str, fault: str | None = None, weight: float = 1) -> Verdict:
    return Verdict("run", f"p-{label}", label, None, reason=f"because {label} {fault}", fault=fault, weight=weight)


HIT, MISS, UNSURE = verdict(Label.HIT), verdict(Label.MISS), verdict(Label.UNSURE)
BROKEN, LOST, BLANK = verdict(Label.ERROR, "judge"), verdict(Label.ERROR, "infra"), verdict(Label.ERROR)
S, O = StopReason, Outcome  # noqa: E741 - the table below is read by its columns

TABLE = [
    # how the conversation stopped, whose fault that was, the verdicts, the outcome
    (S.FINISHED, None, [HIT], O.SCORED),
    (S.FINISHED, None, [MISS], O.SCORED),
    (S.FINISHED, None, [HIT, UNSURE], O.SCORED),
    (S.MAX_ROUNDS, None, [HIT, MISS], O.SCORED),
    (S.FINISHED, None, [HIT, BROKEN], O.JUDGE_ERROR),
    (S.FINISHED, None, [HIT, BLANK], O.JUDGE_ERROR),
    (S.FINISHED, None, [HIT, LOST], O.INFRA_ERROR),
    (S.FINISHED, None, [BROKEN, LOST], O.INFRA_ERROR),
    (S.FINISHED, None, [], O.JUDGE_ERROR),
    (S.TARGET_ERROR, "target", [MISS], O.TARGET_ERROR),
    (S.TARGET_ERROR, "target", [HIT], O.TARGET_ERROR),
    (S.TARGET_ERROR, None, [HIT], O.TARGET_ERROR),
    (S.TIMEOUT, "target", [MISS], O.TARGET_ERROR),
    (S.BUDGET, "target", [HIT], O.TARGET_ERROR),
    (S.TARGET_ERROR, "target", [MISS, BROKEN], O.JUDGE_ERROR),
    (S.TARGET_ERROR, "target", [MISS, LOST], O.INFRA_ERROR),
    (S.TARGET_ERROR, "target", [], O.JUDGE_ERROR),
    (S.EXAMINER_ERROR, "examiner", [], O.EXAMINER_ERROR),
    (S.EXAMINER_ERROR, "examiner", [HIT], O.EXAMINER_ERROR),
    (S.EXAMINER_ERROR, "infra", [], O.INFRA_ERROR),
    (S.FINISHED, "infra", [HIT], O.INFRA_ERROR),
]


def insight(verdicts: list[Verdict]) -> Insight:
    return summarize("scoring_points", "run", verdicts)


@pytest.mark.parametrize(("stop", "fault", "verdicts", "expected"), TABLE)
def test_the_table_of_outcomes(stop: StopReason, fault: str | None, verdicts: list[Verdict], expected: Outcome) -> None:
    transcript = Transcript((Round(1, "a", "b"),), stop=stop, stop_detail="it stopped", fault=fault)
    outcome, why = outcome_of(transcript, [insight(verdicts)])
    assert outcome is expected
    assert (why is None) == (outcome is Outcome.SCORED), "a fault is told in words"


@given(st.sampled_from(list(StopReason)), st.sampled_from([None, "target", "examiner", "infra"]))
def test_nothing_judged_is_never_a_success(stop: StopReason, fault: str | None) -> None:
    transcript = Transcript((), stop=stop, fault=fault)
    for insights in ([], [insight([])]):
        outcome, _ = outcome_of(transcript, insights)
        if outcome.counts:  # an agent that failed without a reply of its own is no success, either: it scores 0
            assert transcript.failed
            record = make_record("run", Setting(), transcript, tuple(insights), Timing())
            assert score_of(record) == Score(0.0, 0.0, 0.0)


@given(st.lists(st.sampled_from([HIT, MISS, UNSURE, BROKEN, LOST, BLANK]), min_size=1))
def test_one_open_error_keeps_a_run_out_of_the_averages(verdicts: list[Verdict]) -> None:
    transcript = Transcript((Round(1, "a", "b"),), stop=StopReason.FINISHED)
    outcome, _ = outcome_of(transcript, [insight(verdicts)])
    assert outcome.counts == all(each.label != Label.ERROR for each in verdicts)


# --- several evaluators, one primary ------------------------------------------------------------------------------


ENDED = Transcript((Round(1, "a", "b"),), stop=StopReason.FINISHED)
POINTS = insight([HIT, HIT])
FAILED = Insight("trajectory", "run", Label.ERROR, None, verdicts=(BROKEN,), summary="the model gave no answer")
JUDGED = Insight("session", "run", "good", 0.4, scores={"safety": 1.0}, usage=Usage(10, 5, calls=1, cost=0.25))
UNFAIR = Insight(
    "fairness", "run", "leaked", 0.0, verdicts=(
        Verdict("r1", "fairness", "leaked", 0.0, reason="round 1 told the answer", fault="examiner"),),
)  # fmt: skip


def made(insights: Sequence[Insight], *evaluators: str, transcript: Transcript = ENDED) -> RunRecord:
    return make_record("run", Setting(case="c", evaluators=evaluators), transcript, tuple(insights), Timing())


def test_an_all_hit_run_whose_second_evaluator_fails_stays_scored() -> None:
    record = made([POINTS, FAILED])
    assert (record.outcome, record.score, record.points, record.max_points) == (Outcome.SCORED, 1.0, 2, 2)
    assert record.error is None


def test_a_fairness_evaluator_makes_a_run_an_examiner_error_and_says_why() -> None:
    record = made([POINTS, UNFAIR], "scoring_points", "fairness")
    assert (record.outcome, record.error) == (Outcome.EXAMINER_ERROR, "round 1 told the answer")
    assert score_of(record) is None
    assert score_of(record, "fairness") is None, "a run that was no exam is in nobody's average"


def test_the_order_of_the_other_evaluators_changes_nothing() -> None:
    for others in permutations((FAILED, JUDGED, UNFAIR)):
        assert made((POINTS, *others)).outcome is Outcome.EXAMINER_ERROR
    for others in permutations((POINTS, FAILED, JUDGED)):
        record = made(others, "scoring_points", "trajectory", "session")
        assert (record.outcome, record.score, record.points) == (Outcome.SCORED, 1.0, 2)
        assert primary_insight(record) == POINTS


def test_the_first_named_evaluator_alone_decides() -> None:
    record = made([POINTS, FAILED, JUDGED], "session", "scoring_points", "trajectory")
    assert (record.outcome, record.score, record.low, record.high) == (Outcome.SCORED, 0.4, 0.4, 0.4)
    assert score_of(record, "scoring_points") == Score(1.0, 1.0, 1.0)
    assert made([POINTS, FAILED], "trajectory", "scoring_points").outcome is Outcome.JUDGE_ERROR


def test_a_primary_evaluator_that_left_no_insight_is_never_a_success() -> None:
    record = made([JUDGED], "scoring_points", "session")
    assert (record.outcome, record.score) == (Outcome.JUDGE_ERROR, None)
    assert score_of(record, "session") == Score(0.4, 0.4, 0.4), "what the other said still stands"


def test_an_insight_with_a_score_and_no_verdicts_is_judged_and_has_no_points() -> None:
    record = made([JUDGED])
    assert (record.outcome, record.score) == (Outcome.SCORED, 0.4)
    assert (record.points, record.max_points) == (None, None)
    nothing = made([Insight("session", "run", "unsure", None)])
    assert (nothing.outcome, nothing.error) == (Outcome.JUDGE_ERROR, "nothing was judged")


def test_only_scoring_points_are_worth_points() -> None:
    steps = tuple(Verdict(f"s{i}", "trajectory", "optimal", 1.0) for i in range(3))
    record = made([Insight("trajectory", "run", "optimal", 1.0, verdicts=steps)])
    assert (record.score, record.points, record.max_points) == (1.0, None, None)
    assert made([insight([HIT, UNSURE, MISS])]).max_points == 3
    assert made([insight([BROKEN])]).points == 0, "a point that could not be judged is still a point"


def test_the_cost_of_judging_is_summed_and_stays_with_each_evaluator() -> None:
    other = Insight("trajectory", "run", "optimal", 1.0, usage=Usage(7, 1, calls=1, cost=0.5))
    record = made([JUDGED, other])
    assert (record.usage["judge"].input_tokens, record.usage["judge"].cost) == (17, 0.75)
    assert [each.usage.cost for each in record.insights] == [0.25, 0.5]


def test_an_insight_about_a_part_does_not_stand_for_the_run() -> None:
    part, whole = Insight("session", "r1", "bad", 0.0), Insight("session", "run", "good", 0.8)
    assert made([part, whole]).score == 0.8


def record(low: float | None, outcome: Outcome = Outcome.SCORED, high: float | None = None) -> RunRecord:
    return RunRecord("run", "case", "agent", outcome, low, low=low, high=high if high is not None else low)


@pytest.mark.parametrize(
    ("records", "floor", "code"),
    [
        ([record(0.0)], None, 0),
        ([record(1.0)], 1.0, 0),
        ([record(0.5)], 0.5, 0),
        ([record(0.4999)], 0.5, 1),
        ([record(0.5, high=1.0)], 0.8, 1),  # the low bound decides
        ([record(2 / 3), record(2 / 3), record(2 / 3)], 2 / 3, 0),
        ([record(0.0), record(1.0)], 0.5, 0),
        ([record(0.0), record(1.0)], 0.51, 1),
        ([record(0.0)], 0.0, 0),
        ([record(0.4, Outcome.TARGET_ERROR)], None, 0),
        ([record(0.4, Outcome.TARGET_ERROR)], 0.5, 1),
        ([], None, 3),
        ([], 0.0, 3),
        ([record(1.0, Outcome.JUDGE_ERROR)], None, 3),
        ([record(1.0), record(None, Outcome.INFRA_ERROR)], 0.5, 3),
        ([record(1.0), record(None, Outcome.EXAMINER_ERROR)], 0.5, 3),
        ([record(0.0), record(None, Outcome.JUDGE_ERROR)], 0.5, 1),  # what counts is below
    ],
)
def test_the_table_of_exit_codes(records: list[RunRecord], floor: float | None, code: int) -> None:
    assert gate(summarize_records(records), floor)[0] == code


def test_fail_under_decides_the_exit_code_of_a_real_run(desk: Desk) -> None:
    case = desk.case(scoring_points=[point("assert rounds", "One."), point("assert not rounds", "Two.")])
    agent = desk.agent("def get_reply_from_agent(self, message): return 'Hello.'")
    for floor, code in (("0.5", 0), ("0.51", 1)):
        assert desk.run(case, "--agent", agent, "--fail-under", floor, expect=code)["score"] == 0.5
        desk.viva("judge", "journal", "--sandbox", "process", "--quiet", "--fail-under", floor, expect=code)


@pytest.mark.parametrize("check", ["assert no_such_name", "assert '4' in chat_history[-1]", "rounds[0]['reply']"])
def test_a_check_that_is_broken_in_itself_is_a_judge_error_and_exit_code_3(desk: Desk, check: str) -> None:
    case = desk.case(scoring_points=[point("assert rounds", "One.", 3), point(check, "Two.", 1)])
    agent = desk.agent("def get_reply_from_agent(self, message): return 'Hello.'")
    record = desk.run(case, "--agent", agent, "--fail-under", "0.1", expect=3)
    assert record["outcome"] == "judge_error"
    assert (record["low"], record["high"]) == (0.75, 1.0)
    shown = desk.viva("run", case, "--agent", agent, "--sandbox", "process", expect=3).stdout
    assert "judge_error" in shown
    assert "between 0.75 and 1.00" in shown
    assert "broken" in shown
