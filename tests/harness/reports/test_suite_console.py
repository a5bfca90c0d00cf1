"""What the figures of a suite look like on a terminal: nothing is cut off, nothing goes unsaid."""

from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from harness.reports.suite_console import suite_report
from harness.statistics.summary import summarize
from records.run_record import Outcome, RunRecord, Setting

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
    return RunRecord(name, case, agent, outcome, score, low=score, high=score, trial=trial, setting=setting)


def shown(*records: RunRecord, width: int = 80) -> str:
    out = io.StringIO()
    Console(file=out, width=width).print(suite_report(summarize(records), Path("journal")))
    return out.getvalue()


def test_the_weaker_sandbox_and_every_judge_are_named() -> None:
    text = shown(run("x", 1), run("y", 1), run("z", 1, setting=WEAK), width=120)
    assert "examiner script, judge code, sandbox docker (2 runs)" in text
    assert "judge model (m), sandbox process (does NOT isolate) (1 run)" in text


@pytest.mark.parametrize("width", [80, 100])
def test_no_figure_and_no_note_is_cut_off(width: int) -> None:
    faults = [Outcome.EXAMINER_ERROR, Outcome.JUDGE_ERROR, Outcome.INFRA_ERROR]
    records = [run("a case of a long name", float(trial % 2), trial) for trial in range(1, 5)]
    records += [run("another", 1, trial) for trial in range(1, 5)]
    records += [run("another", 0, 10 + number, fault) for number, fault in enumerate(faults)]
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
    assert "other cases have up to 3 counted runs, but lost by a has 2: pass^k ends there" in text


def test_what_is_in_no_average_is_said_to_be_in_none_and_an_agents_failure_to_count() -> None:
    text = shown(run("x", 1), run("y", 0, outcome=Outcome.JUDGE_ERROR), run("z", 0, outcome=Outcome.TARGET_ERROR))
    assert "judge_error: not the agent's fault, so in no average" in text
    assert "judged up to that point, and counted" in text


def test_several_agents_are_never_shown_as_one_not_even_by_tag() -> None:
    records = [run(f"c{i}", score, agent=agent) for i in range(6) for agent, score in (("x:A", 1.0), ("x:B", 0.0))]
    text = shown(*(dataclasses.replace(record, tags=("memory",)) for record in records))
    assert re.search(r"^memory A +│ +6 │ 1.00 \(", text, re.MULTILINE)
    assert re.search(r"^memory B +│ +6 │ 0.00 \(", text, re.MULTILINE)
    assert not re.search(r"^(all|suite)\b", text, re.MULTILINE)
    assert "0.50" not in text, "a mean over agents"


@pytest.mark.parametrize(("cases", "marked"), [(4, True), (5, False)])
def test_of_few_cases_no_interval_is_shown(cases: int, marked: bool) -> None:
    text = shown(*(run(f"c{i}", float(i % 2), trial=t) for i in range(cases) for t in (1, 2)))
    (line,) = [line for line in text.splitlines() if line.startswith("all")]
    assert ("too few" in line) is marked
    assert ("(" in line) is not marked
    assert ("intervals need at least 5 cases" in text) is marked


def failed(trial: int, words: str, outcome: Outcome = Outcome.TARGET_ERROR) -> RunRecord:
    return dataclasses.replace(run("x y", 0.0, trial, outcome), error=words)


def test_why_runs_failed_is_said_once_with_the_command_that_shows_one_of_them() -> None:
    text = shown(
        *(failed(trial, f"my.py:3: KeyError: 'k' after {trial} s") for trial in (1, 2, 3)),
        failed(4, "the daemon is gone", Outcome.INFRA_ERROR),
    )
    assert "3 runs, target_error: my.py:3: KeyError: 'k' after 1 s" in text
    assert "1 run, infra_error: the daemon is gone" in text
    assert text.index("infra_error: the daemon") < text.index("target_error: my.py"), (
        "what nobody is to blame for first"
    )
    assert "viva replay 'journal#x y/a/1'" in text, "quoted for a shell"


def test_many_kinds_of_errors_are_counted_and_a_long_one_does_not_break_the_command_to_copy() -> None:
    names = "abcdefgh"
    text = shown(*(failed(number, f"{name} {'long words ' * 40}") for number, name in enumerate(names)), width=60)
    assert text.count("viva replay") == 5
    assert "3 more kinds of errors" in text
    assert "viva replay 'journal#x y/a/0'" in text


def test_what_an_agent_puts_into_its_error_is_shown_as_it_is() -> None:
    text = shown(failed(1, "\x1b[31m[bold]red[/bold]\nviva: all is well"), run("y", 1))
    assert "\x1b" not in text
    assert r"\x1b[31m[bold]red[/bold] viva: all is well" in text


def test_of_recordings_the_evaluators_are_named_and_not_a_judge_that_they_never_had() -> None:
    recorded = Setting(examiner="recorded", judge="code", evaluators=("reward",), source="chat:a")
    several = Setting(
        examiner="script", judge="both", judge_model="m", evaluators=("scoring_points", "fair\x1b"), sandbox="docker"
    )
    text = shown(run("x", 1, setting=recorded), run("y", 1, setting=several), width=120)
    assert "examiner recorded, judge reward (1 run)" in text
    assert "judge scoring_points by both, fair" in text
    assert "(m), sandbox docker (1 run)" in text
    assert "\x1b" not in text
    alone = Setting(examiner="script", judge="code", evaluators=("scoring_points",), sandbox="docker")
    assert "examiner script, judge code, sandbox docker" in shown(run("x", 1, setting=alone), width=120)
