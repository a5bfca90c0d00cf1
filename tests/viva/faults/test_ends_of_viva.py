"""Viva is stopped or killed in each phase of runs, with agents behind each connector: no process stays, and what was
done is not paid again."""

from __future__ import annotations

import signal
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.viva.faults.connections import CONNECTIONS
from tests.viva.faults.suites import FaultySuite, empty_environment, reached, words_of
from tests.viva.faults.test_faults_at_fifty import connection_named
from tests.viva.real_suites import until
from tests.viva.viva_command import clean_environment, in_a_process, start_viva
from viva.records.run_record import Outcome

SIGNALS = {"ctrl-c": signal.SIGINT, "term": signal.SIGTERM, "kill": signal.SIGKILL}
DONE, HELD = 3, 2
"""Runs that end before Viva does, and runs that are held in a phase then."""
FAULTS = {"open": "start-hold", "reply": "stay", "close": "depart", "judge": "well"}
"""The message, or the kind of start, with which an agent is held in a phase; judging needs none."""
CHEAP = [("command", "reply", "kill"), ("command", "open", "ctrl-c"), ("ready-process", "close", "term")]
STREAMS: dict[str, Any] = {
    "stdin": subprocess.DEVNULL,
    "stdout": subprocess.PIPE,
    "stderr": subprocess.PIPE,
    "encoding": "utf-8",
}
CHECK = """\
import pathlib, time
folder = pathlib.Path({folder!r})
while not (folder / "go").exists():
    (folder / "in-judge-{number}").touch()
    time.sleep(0.02)
assert rounds[-1]["agent"] == {words!r}
"""
ALL = [(name, phase, how) for name, each in CONNECTIONS.items() for phase in each.phases for how in SIGNALS]


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return empty_environment(tmp_path_factory.mktemp("ends") / "venv")


@pytest.mark.soak
@pytest.mark.parametrize(("name", "phase", "how"), ALL)
def test_a_suite_that_is_ended_in_any_phase_is_resumed_whole(
    name: str, phase: str, how: str, tmp_path: Path, venv: Path
) -> None:
    check(name, phase, how, tmp_path, venv)


@pytest.mark.parametrize(("name", "phase", "how"), CHEAP)
def test_a_suite_that_is_ended_is_resumed_whole(name: str, phase: str, how: str, tmp_path: Path, venv: Path) -> None:
    check(name, phase, how, tmp_path, venv)


def check(name: str, phase: str, how: str, folder: Path, venv: Path) -> None:
    connection, suite = connection_named(name), FaultySuite(folder)
    done = [suite.case("echo", number) for number in range(DONE)]
    held = [hold(suite, phase, number) for number in range(DONE, DONE + HELD)]
    with reached(suite, connection, venv) as arguments:
        stop(suite, arguments, phase, how)
        assert suite.left() == []
        paid = Counter(suite.asked())
        (folder / "state" / "go").touch()
        resumed = ["suite", "--resume", "journal", "--quiet"]
        again = in_a_process(*resumed, cwd=folder, environment=suite.variables())
    assert again.returncode == 0, again.stderr
    runs = suite.runs()
    assert {case: (run.record and run.record.outcome, run.score) for case, run in runs.items()} == dict.fromkeys(
        (*done, *held), (Outcome.SCORED, 1.0)
    )
    paid_later = Counter(suite.asked()) - paid
    assert not [line for line in paid_later for case in done if words_of(case) in line], "a run that had ended"
    if phase == "judge":
        assert not paid_later, "a conversation that had ended"
    assert suite.left() == []


def hold(suite: FaultySuite, phase: str, number: int) -> str:
    """Write a case that is held in a phase."""
    if phase != "judge":
        return suite.case(FAULTS[phase], number)
    words = words_of(f"{number}_{FAULTS[phase]}")
    code = CHECK.format(folder=str(suite.folder / "state"), number=number, words=words)
    point = {"score_point": "It recalls its words.", "weight": 1, "eval_code": code}
    return suite.case(FAULTS[phase], number, check=point)


def stop(suite: FaultySuite, arguments: list[str], phase: str, how: str) -> None:
    """Start the suite, and end it when all others have ended and the last runs are held in the phase."""
    state = suite.folder / "state"
    process = start_viva(
        *arguments,
        "--concurrency",
        DONE + HELD,
        cwd=suite.folder,
        **STREAMS,
        env={**clean_environment(), **suite.variables()},
    )

    def ready() -> bool:
        ended = suite.folder / "journal" / "journal.jsonl"
        others = sum(run.record is not None for run in suite.runs().values()) if ended.exists() else 0
        return others >= DONE and len(list(state.glob(f"in-{phase}-*"))) >= HELD

    until(ready, process)
    process.send_signal(SIGNALS[how])
    _, errors = process.communicate(timeout=120)
    assert process.returncode == (-signal.SIGKILL if how == "kill" else 130), errors
    assert "Traceback" not in errors
    assert "Task was" not in errors
    if how != "kill":
        assert "viva suite --resume journal" in errors
