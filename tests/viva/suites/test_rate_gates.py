"""Gates on the rates of trajectories: an agent does not leave them by crashing, nor by not being judged."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.viva.conftest import Desk, point
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.judge.trajectory import LOOPS, QUERY_TO_THOUGHT, RUN_EVALUATORS, SEQUENCE, STEP_EVALUATORS, THOUGHT_TO_TOOL
from viva.records.run_record import Outcome, RunRecord
from viva.records.verdict import Insight, Label, Verdict, error_insight
from viva.reports.trajectory_words import rate_line
from viva.statistics.summary import Figures, summarize
from viva.statistics.trajectory_figures import COMBINED_STEPS, COMBINED_TRACES, RATES, Rate
from viva.suites.gates import Gates, gate

EVERY = (*STEP_EVALUATORS, *RUN_EVALUATORS)


def insight(evaluator: str, run: str, scores: Sequence[float | None], label: str = "judged") -> Insight:
    """What an evaluator says: a verdict for each score, about steps or about the run."""
    steps = evaluator in STEP_EVALUATORS
    verdicts = tuple(
        Verdict(f"{run}-s{number}" if steps else run, evaluator, label, score) for number, score in enumerate(scores)
    )
    return Insight(evaluator, run, label, 1.0 if scores else 0.0, verdicts=verdicts)


def run(
    number: int,
    *insights: Insight,
    agent: str = "a",
    outcome: Outcome = Outcome.SCORED,
    points: float = 1.0,
) -> RunRecord:
    name = f"r{number}-{agent}"
    main = Insight("points", name, "hit", points, low=points, high=points)
    return RunRecord(name, f"c{number}", agent, outcome, points, low=points, high=points, insights=(main, *insights))


def right(number: int, agent: str = "a", outcome: Outcome = Outcome.SCORED, *, of: Sequence[str] = EVERY) -> RunRecord:
    """A run in which the evaluators found everything right, in two steps."""
    name = f"r{number}-{agent}"
    found = [insight(each, name, [1.0, 1.0] if each in STEP_EVALUATORS else [1.0]) for each in of]
    return run(number, *found, agent=agent, outcome=outcome)


def silent(number: int, agent: str = "a") -> RunRecord:
    """A run in which the agent failed before its first reply: no evaluator was asked."""
    found = [insight(each, f"r{number}-{agent}", (), "no-reply") for each in EVERY]
    return run(number, *found, agent=agent, outcome=Outcome.TARGET_ERROR, points=0.0)


def rate(figures: Figures, name: str) -> Rate:
    assert figures.trajectories is not None
    found = figures.trajectories.rate(name)
    assert found is not None
    return found


def gated(figures: Figures, name: str, floor: float) -> tuple[int, str]:
    return gate(figures, Gates(None, {name: floor}))


@pytest.mark.parametrize("name", RATES)
def test_a_run_that_crashed_before_its_first_reply_counts_as_nothing_in_a_rate_gate(name: str) -> None:
    figures = summarize([right(0), *(silent(number) for number in range(1, 10))])
    units = 2 if name in (*STEP_EVALUATORS, COMBINED_STEPS) else 1
    assert rate(figures, name).value == 1.0, "the accuracy is that of what was judged"
    assert rate(figures, name).low == units / (units + 9)
    code, words = gated(figures, name, 0.9)
    assert code == EXIT_BELOW
    assert "(the agent failed in 9 runs, which count as wrong)" in words
    assert gated(figures, name, 0.1)[0] == EXIT_DONE


@pytest.mark.parametrize("name", RATES)
def test_a_run_that_crashed_later_counts_as_nothing_either(name: str) -> None:
    records = [right(number, outcome=Outcome.TARGET_ERROR) for number in range(3)]
    figures = summarize([right(3), *records])
    assert (rate(figures, name).value, rate(figures, name).low) == (1.0, 0.25)
    assert gated(figures, name, 0.5)[0] == EXIT_BELOW
    assert gated(figures, name, 0.25)[0] == EXIT_DONE


@pytest.mark.parametrize("name", RATES)
def test_an_agent_that_only_crashed_is_below_every_rate_gate_and_not_unjudged(name: str) -> None:
    figures = summarize([silent(1), silent(2)])
    assert (rate(figures, name).value, rate(figures, name).low) == (None, 0.0)
    assert gated(figures, name, 0.01) == (
        EXIT_BELOW,
        f"the rate by {name} (low bound) is 0.0000, below 0.01 (the agent failed in 2 runs, which count as wrong)",
    )
    assert gated(figures, name, 0.0) == (EXIT_DONE, "")


@pytest.mark.parametrize("name", RATES)
def test_crashes_are_a_drop_from_the_baseline(name: str) -> None:
    before = summarize(right(number) for number in range(4))
    now = summarize([*(right(number) for number in range(3)), silent(3)])
    drop = Gates(None, {name: 0.1})
    assert gate(before, None, before, drop) == (EXIT_DONE, "")
    code, words = gate(now, None, before, drop)
    assert code == EXIT_BELOW
    assert words.endswith("by more than 0.1 (the agent failed in 1 run, which counts as wrong)")
    assert gate(now, None, now, drop)[0] == EXIT_DONE, "the baseline's own crashes count in the same way"


def test_a_crash_after_something_open_counts_once() -> None:
    unsure = run(1, insight("loops", "r1-a", [None], Label.UNSURE), outcome=Outcome.TARGET_ERROR)
    skipped = run(2, insight("loops", "r2-a", [None], "skipped"), outcome=Outcome.TARGET_ERROR)
    found = rate(summarize([right(0), unsure, skipped]), "loops")
    assert found.low == pytest.approx(1 / 3)
    assert rate_line(found) == (
        "Traces without a loop: 100.00% (1 of 1 trace; 1 unsure, 1 skipped, the agent failed in 2 runs)"
    )


def test_runs_that_say_nothing_about_the_agent_do_not_count_as_its_crashes() -> None:
    lost = [right(1, outcome=Outcome.INFRA_ERROR), right(2, outcome=Outcome.JUDGE_ERROR)]
    assert rate(summarize([right(0), *lost]), "loops").low == 1.0


CRASHES = """
    def get_reply_from_agent(self, message):
        if message == 'Crash.':
            raise KeyError('gone')
        return 'Hello.'
"""


@pytest.mark.parametrize(("script", "low"), [(["Crash."], "0.2500"), (["Hello.", "Crash."], "0.2500")])
def test_an_agent_does_not_leave_a_rate_gate_by_crashing(desk: Desk, script: list[str], low: str) -> None:
    checked = [point("assert rounds")]
    cases = [desk.case(f"c{number}", script=script, scoring_points=checked) for number in range(3)]
    cases.append(desk.case("fine", scoring_points=checked))
    suite = ("suite", *cases, "--agent", desk.agent(CRASHES), "--sandbox", "process")
    judged = ("--evaluators", "scoring_points,loops", "--out")
    done = desk.viva(*suite, *judged, "now", "--fail-under", "loops=0.9", expect=1)
    words = "(the agent failed in 3 runs, which count as wrong)"
    assert f"the rate by loops (low bound) is {low}, below 0.9 {words}" in done.stderr
    assert "the agent failed in 3 runs" in " ".join(done.stdout.split())
    desk.viva("suite", "fine", *suite[5:], *judged, "before", expect=0)
    dropped = ("--baseline", "before", "--max-drop", "loops=0.1")
    done = desk.viva(*suite, *judged, "again", *dropped, expect=1)
    assert f"the rate of agent.py:Agent by loops fell from 1.0000 to {low}, by more than 0.1 {words}" in done.stderr
    report = desk.viva("report", "now", "--fail-under", "loops=0.9", expect=1)
    assert words in report.stderr
    figures = json.loads(desk.viva("report", "now", "--format", "json", expect=0).stdout)["figures"]
    (told,) = figures["trajectories"]["rates"]
    assert (told["name"], told["failed"]) == ("loops", 3)


@pytest.mark.parametrize("name", RATES)
def test_an_agent_that_was_not_judged_leaves_a_rate_gate_open(name: str) -> None:
    figures = summarize([right(0), run(0, agent="b"), run(1, agent="b")])
    assert gated(figures, name, 0.5) == (EXIT_NOT_SCORED, f"{name} judged no run of b")


@pytest.mark.parametrize("name", RATES)
def test_a_run_that_was_not_judged_leaves_a_rate_gate_open(name: str) -> None:
    figures = summarize([right(0), run(1), right(2)])
    assert gated(figures, name, 0.5) == (EXIT_NOT_SCORED, f"{name} did not judge 1 of 3 runs")
    two = summarize([right(0), run(1), right(2, agent="b")])
    assert gated(two, name, 0.5) == (EXIT_NOT_SCORED, f"{name} did not judge 1 of 2 runs of a")
    drop = Gates(None, {name: 0.5})
    assert gate(figures, None, figures, drop)[0] == EXIT_NOT_SCORED
    assert gate(summarize([run(1)]), Gates(None, {name: 0.5})) == (EXIT_NOT_SCORED, f"{name} judged no run")


def test_beside_a_rate_gate_the_one_on_corrected_scores_requires_a_score_of_every_run() -> None:
    unscored = replace(right(1), score=None, low=None, high=None)
    figures = summarize([right(0), unscored])
    assert gated(figures, LOOPS, 0.5) == (EXIT_DONE, "")
    code, words = gate(figures, Gates(0.5, {LOOPS: 0.5}), corrected=True)
    assert (code, words) == (EXIT_NOT_SCORED, "some runs could not be scored: 1 unscored")


@pytest.mark.parametrize("left_out", [THOUGHT_TO_TOOL, QUERY_TO_THOUGHT, SEQUENCE])
def test_a_combined_rate_misses_runs_that_one_of_its_evaluators_did_not_judge(left_out: str) -> None:
    figures = summarize([right(0), right(1, of=[each for each in EVERY if each != left_out])])
    for name in (COMBINED_STEPS, COMBINED_TRACES):
        expected = (EXIT_NOT_SCORED, f"{name} did not judge 1 of 2 runs")
        if name == COMBINED_STEPS and left_out == SEQUENCE:
            expected = (EXIT_DONE, "")
        assert gated(figures, name, 0.5) == expected


def test_a_run_with_nothing_to_judge_was_judged() -> None:
    skipped = run(1, insight("loops", "r1-a", [None], "skipped"))
    assert gated(summarize([right(0), skipped]), "loops", 1.0) == (EXIT_DONE, "")


@pytest.mark.parametrize("broken", [(THOUGHT_TO_TOOL,), (QUERY_TO_THOUGHT,), (THOUGHT_TO_TOOL, QUERY_TO_THOUGHT)])
def test_an_evaluator_that_failed_for_a_whole_run_leaves_its_steps_open_in_both_combined_rates(
    broken: tuple[str, ...],
) -> None:
    sound = right(1, of=[each for each in EVERY if each not in broken])
    failures = tuple(error_insight(each, "r1-a", "it broke") for each in broken)
    lost = run(1, *sound.insights[1:], *failures)
    figures = summarize([right(0), lost])
    for name, errors in ((COMBINED_STEPS, 3 - len(broken)), (COMBINED_TRACES, 1)):
        code, words = gated(figures, name, 0.1)
        assert code == EXIT_NOT_SCORED
        assert words == f"{name} could not judge everything: {errors} error{'s' if errors > 1 else ''}"
        assert rate(figures, name).value == 1.0


def test_a_wrong_step_decides_even_if_the_other_evaluator_failed_for_the_whole_run() -> None:
    wrong = insight(THOUGHT_TO_TOOL, "r1-a", [0.0, 1.0])
    figures = summarize([right(0), run(1, wrong, error_insight(QUERY_TO_THOUGHT, "r1-a", "it broke"))])
    found = rate(figures, COMBINED_STEPS)
    assert (found.right, found.judged, found.errors) == (2.0, 3, 1)


def test_a_report_of_two_journals_does_not_pass_over_the_agent_that_nobody_judged(desk: Desk) -> None:
    case, hello = desk.case(), "def get_reply_from_agent(self, message): return 'Hello.'"
    for name, evaluators in (("one", "scoring_points,loops"), ("two", "scoring_points")):
        desk.run(case, "--agent", desk.agent(hello, name), "--evaluators", evaluators, out=name)
    done = desk.viva("report", "one", "two", "--fail-under", "loops=0.9", expect=3)
    assert "loops judged no run of two.py:Agent" in done.stderr
    desk.viva("report", "one", "--fail-under", "loops=0.9", expect=0)
