"""What a first look at a journal tells of its runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.journals import edit
from tests.viva.conftest import Desk
from viva.exam.stored_runs import read_run_states
from viva.journal.reader import read_conversation_lines, read_runs
from viva.journal.writer import Journal
from viva.records import Outcome, Round, RunRecord, Setting, StopReason, Transcript
from viva.suites.resuming.next_step import ResumeStep, next_step


def write(folder: Path, transcript: Transcript) -> None:
    """A journal with one run that has not been judged."""
    with Journal(folder) as journal:
        journal.append("setting", "run", 1, Setting(case="task"))
        journal.append("round", "run", 1, Round(1, "ask", "tell"))
        journal.append("transcript", "run", 1, transcript)


@pytest.mark.parametrize("fault", [None, "infra", "examiner"])
@pytest.mark.parametrize("stop", [None, StopReason.CANCELLED, StopReason.FINISHED, StopReason("of_tomorrow")])
def test_a_recording_has_ended_for_every_reader_whatever_its_stop_reason_says(
    tmp_path: Path, stop: StopReason | None, fault: str | None
) -> None:
    write(tmp_path, Transcript(source="chat", stop=stop, fault=fault))
    (stored,) = read_runs(tmp_path)
    (lines,) = read_conversation_lines(tmp_path)
    state = read_run_states(tmp_path)["run"]
    assert (stored.ended, lines.ended, state.ended) == (True, True, True)
    assert next_step(state).step is ResumeStep.JUDGE


@pytest.mark.parametrize(("stop", "ended"), [(None, False), (StopReason.CANCELLED, False), (StopReason.TIMEOUT, True)])
def test_of_a_conversation_that_viva_held_all_readers_say_the_same(
    tmp_path: Path, stop: StopReason | None, ended: bool
) -> None:
    write(tmp_path, Transcript(stop=stop))
    (stored,) = read_runs(tmp_path)
    assert stored.ended == ended
    assert read_run_states(tmp_path)["run"].ended == ended


@pytest.mark.parametrize(("outcome", "again"), [("scored", "skip"), ("of_tomorrow", "judge")])
def test_a_record_of_a_newer_version_is_a_record_that_counts_against_nobody(
    tmp_path: Path, outcome: str, again: str
) -> None:
    write(tmp_path, Transcript(stop=StopReason.FINISHED))
    with Journal(tmp_path) as journal:
        journal.append("run", "run", 1, RunRecord("run", "task", "me", Outcome(outcome), None))
    state = read_run_states(tmp_path)["run"]
    assert next_step(state).step == "skip"
    assert next_step(state, retry_errors=True).step == again


def test_a_recording_with_a_case_is_judged_by_its_checks_in_a_sandbox(desk: Desk) -> None:
    desk.case()
    desk.run("exam")

    def record(line: bytes) -> bytes | None:
        kind = json.loads(line)["event"]
        if kind == "transcript":
            return line.replace(b'"stop":"finished"', b'"source":"chat","stop":"cancelled"')
        return None if kind in ("insight", "run") else line

    edit(desk.folder / "journal", record)
    done = desk.viva("judge", "journal", "--sandbox", "process", "--out", "judged", "--json", expect=0)
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["outcome"], run["score"], run["setting"]["sandbox"]) == ("scored", 1.0, "process")
    assert [verdict["by"] for verdict in run["insights"][0]["verdicts"]] == ["code"]
