"""What the figures of a suite look like on a terminal: nothing is cut off, nothing goes unsaid."""

from __future__ import annotations

import dataclasses
import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from tests.viva.reports.conftest import report
from tests.viva.reports.made import write_run
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.verdict import Insight, Verdict
from viva.reports.console.suite import suite_report
from viva.reports.console.whys import print_whole
from viva.statistics.summary import summarize

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
    for words in ("1 examiner_error", "1 judge_error", "1 infra_error", "1 target_error", "1 flaky", "pass^4"):
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
    assert "judge_error: not the agent's fault, so in none of the averages" in text
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
    assert r"\x1b[31m[bold]red[/bold]⏎ viva: all is well" in text


def test_of_recordings_the_evaluators_are_named_and_not_a_judge_that_they_never_had() -> None:
    recorded = Setting(examiner="recorded", judge="code", evaluators=("reward",), source="chat:a")
    several = Setting(
        examiner="script", judge="both", judge_model="m", evaluators=("scoring_points", "fair\x1b"), sandbox="docker"
    )
    text = shown(run("x", 1, setting=recorded), run("y", 1, setting=several), width=120)
    assert "examiner recorded, judge reward (1 run)" in text
    assert "judge scoring_points by code and model, fair" in text
    assert "(m), sandbox docker (1 run)" in text
    assert "\x1b" not in text
    alone = Setting(examiner="script", judge="code", evaluators=("scoring_points",), sandbox="docker")
    assert "examiner script, judge code, sandbox docker" in shown(run("x", 1, setting=alone), width=120)


def missing(
    case: str,
    trial: int,
    reason: str,
    *,
    agent: str = "a",
    statement: str = "It names the city.",
    label: str = "miss",
    error: str | None = None,
) -> RunRecord:
    record = run(case, 0.0, trial, agent=agent)
    verdict = Verdict(record.id, "p1", label, 0.0 if label == "miss" else None, reason=reason, statement=statement)
    insight = Insight("scoring_points", record.id, "scored", 0.0, verdicts=(verdict,))
    return dataclasses.replace(record, insights=(insight,), error=error)


def test_the_commonest_misses_are_told_with_their_reason_and_a_run_to_replay() -> None:
    text = shown(
        *(missing("x y", trial, f"AssertionError: it says Rome after {trial} s") for trial in (1, 2, 3)),
        missing("x y", 4, "AssertionError: it says nothing"),
        missing("z", 1, "The file is not there.", statement="It writes the file."),
        run("fine", 1.0),
    )
    assert text.index("4 runs, miss: It names the city. (x y; 80%") < text.index("1 run, miss: It writes the file. (z;")
    assert "  AssertionError: it says Rome after 1 s (3 of 4; 1 other reason)" in text
    assert "it says nothing" not in text
    assert text.count("viva replay") == 2
    assert "  viva replay 'journal#x y/a/1'" in text, "a run with the commonest reason, quoted for a shell"


def test_of_several_agents_it_is_told_how_often_each_missed_a_point() -> None:
    records = [missing(case, trial, "No.", agent="x:Hasty") for case in "vw" for trial in (1, 2)]
    records += [missing("v", 1, "No.", agent="x:Careful"), run("w", 1, agent="x:Careful")]
    assert "5 runs, miss: It names the city. (2 cases; Hasty 4, Careful 1;" in shown(*records)


def test_what_is_open_is_told_as_such_and_misses_of_runs_with_an_error_are_not_told_twice() -> None:
    text = shown(
        missing("x", 1, "Nothing says so.", label="unsure"),
        missing("y", 1, "The agent did not reply.", statement="Never told.", error="it hung"),
    )
    assert "1 run, unsure: It names the city. (x;" in text
    assert "Never told." not in text


def test_many_misses_are_counted_and_hostile_words_in_them_drive_no_terminal() -> None:
    hostile = "\x1b[2J[red]x[/red]\r\n\u202e"
    records = [missing("c", trial, hostile * 50, statement=f"{'ab'[trial % 2] * trial}{hostile}") for trial in range(9)]
    text = shown(*records)
    assert text.count("viva replay") == 5
    assert "4 more kinds of misses" in text
    assert not re.search("[\x00-\x09\x0b-\x1f\u202e]", text)
    assert "[red]x[/red]" in text


def test_the_next_useful_commands_follow_the_figures() -> None:
    records = [run("x", 1.0, agent=agent) for agent in ("x:A", "x:B")]
    figures = summarize([*records, run("y", 0, outcome=Outcome.INFRA_ERROR, agent="x:A")])
    out = io.StringIO()
    print_whole(Console(file=out, width=60), suite_report(figures, Path("my runs"), again="viva suite"))
    lines = [line.strip() for line in out.getvalue().split("Next\n")[1].splitlines()]
    assert lines == [
        "repeat 1 excluded run: viva suite --resume 'my runs' --retry-errors",
        "see every run in a browser: viva report 'my runs' --format html",
        "compare the two agents: viva compare 'my runs'",
    ], "not wrapped, so that they can be copied"
    assert "--retry-errors" not in shown(*records)


def test_of_joined_journals_the_run_to_replay_is_named_in_the_journal_that_has_it(tmp_path: Path) -> None:
    """Both have runs of the same ids."""
    for name, missed in (("before", False), ("after", True)):
        with Journal(tmp_path / name) as journal:
            write_run(journal, trial=1, hits=(not missed,), reason="It asks nobody.")
            write_run(journal, trial=2, error=None if missed else "it hung", outcome=OUTCOMES[missed])
    text = report("console", tmp_path / "before", tmp_path / "after")
    shown = [line.strip().split("/")[-1] for line in text.splitlines() if "viva replay" in line]
    assert [line.split("#")[0] for line in shown] == ["before", "after"]
    assert "Next" not in text, "no command would show both"


OUTCOMES = (Outcome.TARGET_ERROR, Outcome.SCORED)
