"""A suite at work, seen and held up from another process; a process that is killed leaves nothing paused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk
from viva.journal.lock import exclusive_writer, holder
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.transcript import Round
from viva.suites.at_work.pausing import FILE as PAUSE
from viva.suites.at_work.pausing import NotAtWork, is_paused, pause, resume
from viva.suites.at_work.status import State, StatusReader

# The agent fails in the case a as long as its server is down, and waits in the others until the test lets it go on.
AGENT = """
def __init__(self, task_description):
    self.task, self.here = task_description, Path({here!r})

async def get_reply_from_agent(self, message):
    import asyncio
    self.here.joinpath(f"asked-{{len(list(self.here.glob('asked-*')))}}").touch()
    if self.task == "Fail." and self.here.joinpath("broken").exists():
        raise RuntimeError("the server is down")
    while not self.here.joinpath("go").exists():
        await asyncio.sleep(0.02)
    return "Hi."
"""


@pytest.fixture
def at_work(desk: Desk) -> Iterator[tuple[Desk, subprocess.Popen[str]]]:
    """A suite whose first run has failed, and whose second one waits."""
    for name, task in (("a", "Fail."), ("b", "Wait."), ("c", "Wait.")):
        desk.case(name, task_description=task)
    desk.agent(AGENT.format(here=str(desk.folder)))
    (desk.folder / "broken").touch()
    words = ("--agent", "agent.py:Agent", "--sandbox", "process", "--judge", "code", "--concurrency", "1")
    with desk.start("suite", "a", "b", "c", *words, "--out", "journal") as process:
        try:
            until(lambda: asked(desk) >= 2, process)
            (desk.folder / "broken").unlink()
            yield desk, process
        finally:
            (desk.folder / "go").touch()
            if process.poll() is None:
                process.kill()


def asked(desk: Desk) -> int:
    return len(list(desk.folder.glob("asked-*")))


def until(holds: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < end
        time.sleep(0.02)


def status(desk: Desk) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(desk.viva("status", "journal", "--json", expect=0).stdout)
    return found


def test_a_suite_is_seen_paused_resumed_and_given_a_run_again_while_it_works(
    at_work: tuple[Desk, subprocess.Popen[str]],
) -> None:
    desk, process = at_work
    found = status(desk)
    assert (found["state"], found["planned"], found["ended"]) == ("working", 3, 1)
    assert found["statuses"] == {"failed": 1}
    assert found["outcomes"] == {"target_error": 1}
    assert [run["case"] for run in found["running"]] == ["b"]
    assert [run["case"] for run in found["failures"]] == ["a"]
    assert "the server is down" in found["failures"][0]["why"]
    shown = desk.viva("status", "journal", expect=0).stdout
    assert "at work" in shown
    assert "1 of 3 runs ended" in shown
    assert "b · Agent" in shown

    assert "paused" in desk.viva("pause", "journal", expect=0).stdout
    assert "it was paused before" in desk.viva("pause", "journal", expect=0).stdout
    (desk.folder / "go").touch()
    until(lambda: status(desk)["ended"] == 2, process)  # the run in progress goes on
    assert status(desk)["state"] == "paused"
    assert asked(desk) == 2
    done = desk.viva("requeue", "journal", "--outcome", "target_error", expect=0)
    assert "the suite in progress repeats them after its other runs" in done.stdout
    assert status(desk)["requeued"] == 1

    assert "resumed" in desk.viva("resume", "journal", expect=0).stdout
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert "paused: no further run starts" in errors
    assert "resumed" in errors
    found = status(desk)
    assert (found["state"], found["ended"], found["requeued"], found["statuses"]) == ("ended", 3, 0, {"passed": 3})
    for command in ("pause", "resume"):
        assert "no viva process is at work" in desk.viva(command, "journal", expect=2).stderr


def test_a_suite_that_is_killed_leaves_nothing_paused(at_work: tuple[Desk, subprocess.Popen[str]]) -> None:
    desk, process = at_work
    desk.viva("pause", "journal", expect=0)
    os.kill(status(desk)["process"], signal.SIGKILL)
    process.wait(30)
    found = status(desk)
    assert found["state"] == "stopped"
    assert [run["case"] for run in found["running"]] == ["b"]
    assert "viva suite --resume" in desk.viva("resume", "journal", expect=2).stderr
    (desk.folder / "go").touch()
    desk.viva("suite", "--resume", "journal", expect=0)
    assert status(desk)["state"] == "ended"
    assert not (desk.folder / "journal" / PAUSE).exists()


def test_a_mark_counts_only_for_the_process_that_it_names(tmp_path: Path) -> None:
    with Journal(tmp_path):
        pass
    with pytest.raises(NotAtWork):
        pause(tmp_path)
    with exclusive_writer(tmp_path):
        assert holder(tmp_path) == os.getpid()
        (tmp_path / PAUSE).write_text("1\n")  # of another process
        assert not is_paused(tmp_path)
        assert pause(tmp_path)
        assert is_paused(tmp_path)
        assert not pause(tmp_path)
        assert resume(tmp_path)
        assert not is_paused(tmp_path)
        assert not resume(tmp_path)
    assert holder(tmp_path) is None


@pytest.mark.parametrize("make", ["link", "folder", "pipe"])
def test_a_mark_of_a_stranger_is_not_followed(tmp_path: Path, make: str) -> None:
    other = tmp_path / "other"
    other.write_text("mine")
    folder = tmp_path / "journal"
    folder.mkdir()
    if make == "link":
        (folder / PAUSE).symlink_to(other)
    elif make == "folder":
        (folder / PAUSE).mkdir()
    else:
        os.mkfifo(folder / PAUSE)
    with exclusive_writer(folder):
        assert not is_paused(folder)
        if make == "link":
            assert pause(folder)
            assert is_paused(folder)
    assert other.read_text() == "mine"


def test_a_journal_is_read_as_it_grows(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        reader = StatusReader(tmp_path)
        journal.append("setting", "a-1", 1, Setting(case="a", agent="x.py:X", trial=2))
        journal.append("round", "a-1", 1, Round(1, "Hi.", "Hello."))
        found = reader.read()
        assert [(run.case, run.trial, run.rounds) for run in found.running] == [("a", 2, 1)]
        assert (found.state, found.ended, found.planned) == (State.STOPPED, 0, 0)
        journal.append("run", "a-1", 1, RunRecord("a-1", "a", "x.py:X", Outcome.SCORED, 1.0, low=1.0, high=1.0))
        half = b'{"v":1,"event":"setting","run":"b-1","attempt":1,"data":{"case":"b"}}'
        with (tmp_path / "journal.jsonl").open("ab") as file:
            file.write(half[:30])
        found = reader.read()
        assert (found.state, found.ended, found.running) == (State.ENDED, 1, ())
        with (tmp_path / "journal.jsonl").open("ab") as file:
            file.write(half[30:] + b"\n")
        assert [run.case for run in reader.read().running] == ["b"]
        journal.append(
            "run", "a-1", 2, RunRecord("a-1", "a", "x.py:X", Outcome.SCORED, 0.0, low=0.0, high=0.0, attempt=2)
        )
        found = reader.read()
        assert found.statuses == {"failed": 1}
        assert [run.run for run in found.failures] == ["a-1"]
        assert found == StatusReader(tmp_path).read()
