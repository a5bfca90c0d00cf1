"""What the figures of a suite look like on a terminal: nothing is cut off, nothing goes unsaid."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from harness.figures.summary import summarize
from harness.suites.console import suite_report
from records.run import Outcome, RunRecord, Setting

STRONG = Setting(examiner="script", judge="code", sandbox="docker", sandbox_isolates=True)
WEAK = Setting(examiner="script", judge="model", judge_model="m", sandbox="process", sandbox_isolates=False)


def run(
    case: str,
    score: float,
    trial: int = 1,
    outcome: Outcome = Outcome.SCORED,
    setting: Setting = STRONG,
    agent: str = "a",
) -> RunRecord:
    name = f"{case}/{agent}/{trial}"
    return RunRecord(name, case, agent, outcome, score, score, score, trial=trial, setting=setting)


def shown(*records: RunRecord, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(suite_report(summarize(records), Path("journal")))
    return out.getvalue()


def test_the_weaker_sandbox_and_every_judge_are_named() -> None:
    text = shown(run("x", 1), run("y", 1), run("z", 1, setting=WEAK), width=120)
    assert "examiner script, judge code, sandbox docker (2 runs)" in text
    assert "judge model (m), sandbox process (does NOT isolate) (1 runs)" in text


@pytest.mark.parametrize("width", [80, 100])
def test_no_figure_and_no_note_is_cut_off(width: int) -> None:
    faults = [Outcome.EXAMINER_ERROR, Outcome.JUDGE_ERROR, Outcome.INFRA_ERROR]
    records = [run("a case of a long name", float(trial % 2), trial) for trial in range(1, 5)]
    records += [run("another", 1, trial) for trial in range(1, 5)]
    records += [run("another", 0, 10 + place, fault) for place, fault in enumerate(faults)]
    records.append(run("another", 0, 20, Outcome.TARGET_ERROR))
    text = shown(*records, width=width)
    for words in ("1 examiner_error", "1 judge_error", "1 infra_error", "1 failed", "1 flaky", "pass^4"):
        assert words in text
    assert max(len(line) for line in text.splitlines()) <= width
    assert "…" not in text


def test_where_pass_k_ends_early_is_said_and_why() -> None:
    even = [run(case, 1, trial) for case in "xy" for trial in (1, 2, 3)]
    assert "pass^k ends there" not in shown(*even)
    text = shown(*even, run("lost", 1, 1), run("lost", 1, 2), width=120)
    assert "up to 3 of a case count, but 2 of lost by a: pass^k ends there" in text


def test_what_is_in_no_average_is_said_to_be_in_none_and_an_agents_failure_to_count() -> None:
    text = shown(run("x", 1), run("y", 0, outcome=Outcome.JUDGE_ERROR), run("z", 0, outcome=Outcome.TARGET_ERROR))
    assert "judge_error: not the agent's fault, in no average" in text
    assert "judged as they stand, and counted" in text
