"""Adaptive suites: they decide the same wherever they are stopped and resumed, and conduct nothing twice."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

import viva
from viva.api.suites import run_suite_async
from viva.cli.group import viva as command_line
from viva.errors import SetupError
from viva.exam.stored_runs import read_run_states
from viva.journal.reader import read_records
from viva.journal.writer import scan
from viva.records.run_record import Outcome, RunRecord
from viva.statistics.adaptive.until import Aim, Until
from viva.suites.adaptive.batches import StratumKey, after, planned_number, read_batches
from viva.suites.adaptive.decisions import Answer, decide, decisions_in, exit_code, score_for_decision, scores_in
from viva.suites.adaptive.supply import AdaptivePlan
from viva.suites.adaptive.words import decision_lines
from viva.suites.at_work.status import State, StatusReader

NAMES = ("always", "often", "half", "seldom", "most")
SHARES = dict(zip(NAMES, (1.0, 0.9, 0.5, 0.2, 0.95), strict=True))


class Drawn:
    """An agent whose reply depends on the run alone, so that a run that is conducted again ends in the same way."""

    more = 0.0
    workspace: Path

    def __init__(self, task_description: str, app_dir: str | None = None, config_var: Any = None) -> None:
        """Keep nothing."""

    def get_reply_from_agent(self, message: str) -> str:
        name = Path(self.workspace).name
        draw = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32
        return "yes" if draw < SHARES[message] + self.more else "no"

    def close(self) -> None:
        """Close nothing."""


class Abler(Drawn):
    more = 0.4


def cases() -> list[viva.Case]:
    point = {"score_point": "It says yes.", "weight": 1, "check": {"contains": "yes"}}
    return [viva.Case(name, script=[name], scoring_points=[point]) for name in NAMES]


class Stopper:
    """Cancels the suite after some runs have ended."""

    def __init__(self, runs: int) -> None:
        self.left = runs
        self.task: asyncio.Task[Any] | None = None

    async def on_end(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0 and self.task is not None:
            self.task.cancel()


def run(out: Path, stop: int | None = None, **options: Any) -> Any:
    """Run a suite, or as much of it as ends before it is stopped."""
    stopper = Stopper(stop or -1)

    async def begin() -> Any:
        stopper.task = asyncio.current_task()
        agents = options.pop("agents", Drawn)
        return await run_suite_async(cases(), agents, out=out, resume=True, subscribers=stopper, **options)

    try:
        return asyncio.run(begin())
    except asyncio.CancelledError:
        return None


@pytest.mark.parametrize(
    ("until", "options", "answer"),
    [
        ("ci=0.1", {}, Answer.PRECISE),
        ("compare", {"margin": 0.1}, Answer.SECOND),
        ("gate=0.5", {"margin": 0.1}, Answer.ABOVE),
    ],
)
def test_a_suite_stopped_anywhere_decides_the_same_and_conducts_nothing_twice(
    tmp_path: Path, until: str, options: dict[str, Any], answer: Answer
) -> None:
    agents: Any = [Drawn, Abler] if until == "compare" else Drawn
    whole = run(tmp_path / "whole", until=until, concurrency=4, agents=agents, **options)
    assert whole.decisions[0].answer is answer
    stops = 0
    again = {"until": until, "concurrency": 3, "agents": agents, **options}
    while (resumed := run(tmp_path / "stopped", stop=11, **again)) is None:
        stops += 1
    assert stops >= 2
    assert resumed.decisions[0].plain() == whole.decisions[0].plain()
    assert read_batches(tmp_path / "stopped") == read_batches(tmp_path / "whole")
    ended = Counter(event.run for event in scan(tmp_path / "stopped") if event.kind == "run")
    assert set(ended.values()) == {1}
    assert len(ended) == planned_number(tmp_path / "stopped") == whole.decisions[0].runs


def test_a_comparison_and_a_gate_are_decided(tmp_path: Path) -> None:
    both = run(tmp_path / "both", until="compare", margin=0.2, agents={"plain": Drawn, "abler": Abler})
    (decision,) = both.decisions
    assert (decision.agents, decision.answer) == (("plain", "abler"), Answer.SECOND)
    assert decision.estimate > 0
    assert decision.interval.low > 0
    assert decision.runs < decision.fixed_runs
    gate = run(tmp_path / "gate", until="gate=0.5", margin=0.2)
    assert gate.decisions[0].answer is Answer.ABOVE
    lines = decision_lines(gate.decisions)
    assert lines[0].startswith("--until gate=0.5: ")
    assert "surely above 0.5" in lines[0]
    assert "fixed trials with the same error" in lines[1]


def test_a_limit_leaves_the_decision_open_and_a_higher_one_continues(tmp_path: Path) -> None:
    short = run(tmp_path / "j", until="ci=0.1", max_runs=32)
    assert short.decisions[0].answer is Answer.OPEN
    assert short.reason == "--max-runs of 32 leaves no further batch"
    assert planned_number(tmp_path / "j") == short.decisions[0].runs <= 32
    status = StatusReader(tmp_path / "j").read()
    assert (status.state, status.planned) == (State.ENDED, status.ended)
    assert run(tmp_path / "j", until="ci=0.1").decisions[0].answer is Answer.PRECISE


def test_max_runs_limits_other_suites_too(tmp_path: Path) -> None:
    result = run(tmp_path / "j", trials=3, max_runs=4)
    assert (result.ended, result.left_out, result.reason) == (4, 11, "--max-runs is reached")
    assert run(tmp_path / "j", trials=3, max_runs=6).ended == 2
    assert run(tmp_path / "j", trials=3).ended == 9


def test_reports_of_the_journal_say_what_was_decided(tmp_path: Path) -> None:
    decided = run(tmp_path / "j", until="ci=0.2").decisions[0]
    words = decision_lines([decided])[0]
    for kind in ("console", "markdown", "json", "html"):
        shown = CliRunner().invoke(command_line, ["report", str(tmp_path / "j"), "--format", kind, "--out", "-"])
        assert shown.exit_code == 0, shown.output
        flat = " ".join(shown.stdout.replace("\\", "").split())
        assert f"mean score of these 5 cases {decided.estimate:.3f}" in flat, kind
    assert f"{decided.estimate:.3f}" in words
    assert decisions_in(tmp_path / "j")[0].plain() == decided.plain()


def test_a_gate_over_an_adaptive_suite_misses_its_decision(tmp_path: Path) -> None:
    def gated() -> Result:
        return CliRunner().invoke(command_line, ["report", str(tmp_path / "j"), "--fail-under", "0"])

    short = run(tmp_path / "j", until="ci=0.1", max_runs=32)
    assert short.left_out == 0
    undecided = gated()
    assert undecided.exit_code == 3, undecided.output
    assert "some runs could not be completed: --until ci=0.1 has not been decided" in undecided.stderr
    run(tmp_path / "j", until="ci=0.1")
    decided = gated()
    assert decided.exit_code == 0, decided.output


KEYS = [StratumKey(name, "a") for name in NAMES]
CI = Until(aim=Aim.CI, value=0.1)


def scored(batch: Any, value: float = 1.0) -> dict[str, float | None]:
    return {run: value for row in batch.rows for _, run in row.runs()}


def test_excluded_runs_are_replaced_and_cannot_be_chosen() -> None:
    """A run that is excluded is replaced by a further trial of its case; what counts is the first ones that do."""
    plan = AdaptivePlan(CI, KEYS)
    first = plan.first()
    scores = scored(first)
    lost = KEYS[0].run(2)
    scores[lost] = None
    fill = plan.next([first], scores)
    assert fill is not None
    assert fill.fills
    assert [(row.key, row.trials) for row in fill.rows] == [(KEYS[0], 1)]
    scores |= scored(fill, 0.0)
    found = decide(CI, ("a",), [first, fill], scores)
    assert (found.excluded, found.runs) == (1, sum(row.trials for row in first.rows))
    assert found.bounds is not None
    assert found.bounds.low < found.estimate < found.bounds.high  # type: ignore[operator]
    requeued = decide(CI, ("a",), [first, fill], {**scores, lost: 1.0})
    assert requeued.runs == found.runs, "the run that had stood in for it is not counted as well"
    assert requeued.estimate == 1.0


def test_a_case_that_cannot_be_scored_leaves_the_decision_open() -> None:
    plan = AdaptivePlan(CI, KEYS)
    batches = [plan.first()]
    scores = scored(batches[0])
    broken = {run for row in batches[0].rows if row.key == KEYS[1] for _, run in row.runs()}
    scores |= dict.fromkeys(broken)
    while (more := plan.next(batches, scores)) is not None:
        assert more.fills
        batches.append(more)
        scores |= dict.fromkeys(scored(more))
    assert len(batches) == 3
    found = decide(CI, ("a",), batches, scores)
    assert (found.answer, found.missing) == (Answer.OPEN, ("often",))
    assert "no run of often counts" in "\n".join(decision_lines([found]))


def test_what_is_planned_depends_on_records_alone(tmp_path: Path) -> None:
    run(tmp_path / "j", until="ci=0.1", concurrency=5)
    until = Until(aim=Aim.CI, value=0.1)
    batches, scores = read_batches(tmp_path / "j"), scores_in(tmp_path / "j", until)
    keys = [row.key for row in batches[0].rows]
    plan = AdaptivePlan(until, keys)
    assert [plan.next(batches[:k], scores) for k in range(1, len(batches) + 1)] == [*batches[1:], None]
    assert after(batches, {keys[0]: 2}).rows[0].first > 1
    assert all(record.outcome is Outcome.SCORED for record in read_records(tmp_path / "j"))
    assert set(read_run_states(tmp_path / "j")) == set(scores)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"until": "compare"}, "requires two agents, and 1 is given"),
        ({"until": "gate=2"}, "between 0 and 1"),
        ({"until": "ci=0.1", "trials": 3}, "--until and --trials exclude each other"),
        ({"until": "ci=0.1", "max_runs": 4}, "--max-runs 4 is too small"),
        ({"until": "ci=0.1", "margin": 0.1}, "--margin is for"),
        ({"margin": 0.1}, "margin requires until"),
    ],
)
def test_impossible_suites_are_refused_and_leave_no_journal(tmp_path: Path, options: Any, words: str) -> None:
    with pytest.raises(SetupError, match=words):
        run(tmp_path / "j", **options)
    assert not (tmp_path / "j").exists()


def test_the_command_line_reports_the_decision_and_ends_with_its_code(tmp_path: Path) -> None:
    base = [
        "suite",
        "echo",
        "repeat_words",
        "--agent",
        "example:careful",
        "--sandbox",
        "process",
        "--out",
        str(tmp_path / "j"),
    ]
    done = CliRunner().invoke(command_line, [*base, "--until", "gate=0.2", "--margin", "0.3", "--json"])
    assert done.exit_code == 0, done.output
    (decision,) = json.loads(done.stdout)["decisions"]
    assert (decision["answer"], decision["batches"]) == ("above", 1)
    for wrong, words in (
        (["--until", "ci=0.1", "--fail-under", "0.5"], "exclude each other"),
        (["--until", "nothing"], "is not a decision"),
        (["--margin", "0.1"], "--margin requires --until"),
        (["--until", "ci=0.1", "--where", "case=echo"], "cannot be given"),
    ):
        failed = CliRunner().invoke(command_line, [*base[:-1], str(tmp_path / "k"), *wrong])
        assert failed.exit_code == 2, (wrong, failed.output)
        assert words in failed.stderr, (wrong, failed.stderr)
    changed = CliRunner().invoke(command_line, ["suite", "--resume", str(tmp_path / "j"), "--until", "ci=0.2"])
    assert changed.exit_code == 2
    assert "cannot be changed" in changed.stderr


class Crashing:
    """An agent that says what is asked for, and fails at the second message."""

    def __init__(self, task_description: str, app_dir: str | None = None, config_var: Any = None) -> None:
        """Keep nothing."""

    def get_reply_from_agent(self, message: str) -> str:
        if message == "crash":
            raise KeyError("gone")
        return "yes"

    def close(self) -> None:
        """Close nothing."""


def crashing_cases() -> list[viva.Case]:
    point = {"score_point": "It says yes.", "weight": 1, "check": {"contains": "yes", "over": "any_round"}}
    return [viva.Case(name, script=[name, "crash"], scoring_points=[point]) for name in NAMES]


@pytest.mark.parametrize(
    ("until", "answer", "estimate"), [("gate=0.9", Answer.BELOW, 0.0), ("ci=0.2", Answer.PRECISE, 1.0)]
)
def test_an_agent_that_earned_its_points_and_then_crashed_is_surely_below_a_gate(
    tmp_path: Path, until: str, answer: Answer, estimate: float
) -> None:
    result = asyncio.run(run_suite_async(crashing_cases(), Crashing, out=tmp_path / "j", until=until))
    records = list(read_records(tmp_path / "j"))
    assert {(each.outcome, each.score, each.low) for each in records} == {(Outcome.TARGET_ERROR, 1.0, 0.0)}
    (decision,) = result.decisions
    assert (decision.answer, decision.estimate) == (answer, pytest.approx(estimate))
    assert exit_code(result.decisions) == (1 if answer is Answer.BELOW else 0)
    (line, *_) = decision_lines(result.decisions)
    assert ("mean score (low bound) of these 5 cases 0.000" in line) is (answer is Answer.BELOW)


GATE = Until(aim=Aim.GATE, value=0.5)
OPEN_POINTS = (
    ("all points open", RunRecord("r", "c", "a", Outcome.SCORED, 0.8, low=0.0, high=1.0), 0.0),
    ("nothing open", RunRecord("r", "c", "a", Outcome.SCORED, 0.8, low=0.8, high=0.8), 0.8),
    ("failed later", RunRecord("r", "c", "a", Outcome.TARGET_ERROR, 0.8, low=0.8, high=0.8), 0.0),
    ("excluded", RunRecord("r", "c", "a", Outcome.JUDGE_ERROR, 0.8, low=0.8, high=0.8), None),
)


@pytest.mark.parametrize(("record", "low"), [each[1:] for each in OPEN_POINTS], ids=[each[0] for each in OPEN_POINTS])
def test_a_gate_takes_the_low_bound_of_a_run_and_others_its_score(record: RunRecord, low: float | None) -> None:
    assert score_for_decision(record, GATE) == low
    for other in (CI, Until(aim=Aim.COMPARE)):
        assert score_for_decision(record, other) == (None if low is None else 0.8)
