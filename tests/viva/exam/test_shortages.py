"""A shortage of Viva's own threads, processes or memory is never charged to the agent."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk
from tests.viva.real_suites import until
from tests.viva.viva_command import VIVA, clean_environment, start_viva
from viva.exam import empty_folders
from viva.journal.reader import read_records

GOOD = "def get_reply_from_agent(self, message): return 'GUTENBERG'"
WAITS = """
def get_reply_from_agent(self, message):
    Path("talking").touch()
    while not Path("go").exists():
        time.sleep(0.01)
    return "GUTENBERG"
"""


class Group:
    """A control group with a limit of processes and threads together, as a container has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def limit(self, number: int | None) -> None:
        (self.folder / "pids.max").write_text("max" if number is None else str(number))

    def free(self, number: int) -> None:
        """Leave room for so many more than there are."""
        self.limit(int((self.folder / "pids.current").read_text()) + number)


@pytest.fixture
def group() -> Iterator[Group]:
    for parent in (Path("/sys/fs/cgroup/pids"), Path("/sys/fs/cgroup")):
        folder = parent / f"viva-test-{os.getpid()}"
        with contextlib.suppress(OSError):
            folder.mkdir()
            if (folder / "pids.max").exists():
                break
            folder.rmdir()
    else:
        pytest.skip("this user cannot make a control group")
    yield Group(folder)
    with contextlib.suppress(OSError):  # processes that are still ending
        folder.rmdir()


SOAK = pytest.mark.soak


def start(group: Group, desk: Desk, *arguments: str) -> subprocess.Popen[str]:
    return start_viva(
        *arguments,
        group=group.folder,
        cwd=desk.folder,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def suite(agent: str, *more: str) -> tuple[str, ...]:
    return ("suite", "echo", "--agent", agent, "--sandbox", "process", "--trials", "4", "--out", "journal", *more)


def counted(done: str) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads(done)["figures"]["suite"]
    return figures


@pytest.mark.parametrize("how", [(), ("--isolate",)])
def test_a_suite_that_does_not_fit_is_refused_before_it_begins(group: Group, desk: Desk, how: tuple[str, ...]) -> None:
    agent = desk.agent(GOOD)
    for limit in (6, 9, 12, 15):
        group.limit(limit)
        process = start(group, desk, *suite(agent, *how))
        _, errors = process.communicate(timeout=120)
        assert process.returncode in (2, 3), errors
        assert "ulimit -u" in errors
        assert "fix its __init__" not in errors
        assert not (desk.folder / "journal").exists()


def test_the_concurrency_that_is_said_to_fit_does(group: Group, desk: Desk) -> None:
    agent = desk.agent(GOOD)
    group.limit(30)
    process = start(group, desk, *suite(agent, "--concurrency", "100"))
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 2
    fits = errors.partition("--concurrency 100 requires")[2].partition("--concurrency ")[2].partition(" fits")[0]
    process = start(group, desk, *suite(agent, "--concurrency", fits, "--json"))
    out, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    assert counted(out)["mean"] == 1.0


@pytest.mark.parametrize("how", [(), ("--isolate",)])
@pytest.mark.parametrize("room", [0, 2, *(pytest.param(each, marks=SOAK) for each in (1, 3))])
def test_a_shortage_in_the_middle_is_an_infra_error_and_can_be_repeated(
    group: Group, desk: Desk, how: tuple[str, ...], room: int
) -> None:
    agent = desk.agent(WAITS)
    group.limit(None)
    process = start(group, desk, *suite(agent, "--concurrency", "1", "--attempts", "1", "--json", *how))
    until((desk.folder / "talking").exists, process)
    group.free(room)
    (desk.folder / "go").touch()
    out, errors = process.communicate(timeout=120)
    assert process.returncode in (0, 3), errors
    assert counted(out)["mean"] in (None, 1.0), "nothing counts against the agent"
    group.limit(None)
    process = start(group, desk, "suite", "--resume", "journal", "--retry-errors", "--json")
    out, errors = process.communicate(timeout=120)
    assert (process.returncode, counted(out)["mean"], counted(out)["runs"]) == (0, 1.0, 4), errors


@pytest.mark.parametrize("how", [(), ("--isolate",)])
@pytest.mark.parametrize("megabytes", [120, 600, *(pytest.param(each, marks=SOAK) for each in (200, 300, 400, 900))])
def test_a_shortage_of_memory_counts_against_nobody(desk: Desk, how: tuple[str, ...], megabytes: int) -> None:
    agent = desk.agent(GOOD)
    line = ["sh", "-c", f'ulimit -v {megabytes * 1024}; exec "$@"', "sh", str(VIVA), *suite(agent, "--json", *how)]
    done = subprocess.run(
        line, cwd=desk.folder, env=clean_environment(), capture_output=True, encoding="utf-8", timeout=120
    )
    if done.returncode == 0:
        assert counted(done.stdout)["mean"] == 1.0
    else:
        assert done.returncode in (2, 3), done.stderr
        assert "fix its __init__" not in done.stderr


NO_THREAD_AT_THE_END = """
async def get_reply_from_agent(self, message):
    import asyncio
    loop = asyncio.get_running_loop()
    given = loop.run_in_executor

    def run_in_executor(executor, function, *arguments):
        if function.__module__ == "viva.exam.empty_folders":
            Path("asked").touch()
            raise RuntimeError("can't start new thread")
        return given(executor, function, *arguments)

    loop.run_in_executor = run_in_executor
    (self.workspace / "file").write_text("It is left.")
    return "GUTENBERG"
"""


def test_a_record_is_not_replaced_if_no_thread_is_left_to_tidy_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(empty_folders, "SLOW", -1.0)
    monkeypatch.setattr(empty_folders, "SLOW_FOR", 3600.0)
    desk.agent(NO_THREAD_AT_THE_END)
    done = desk.viva(*suite("agent.py:Agent"), "--fail-under", "0.5", expect=0)
    assert (desk.folder / "asked").exists(), done.stderr
    kinds = desk.kinds()
    assert (kinds.count("run"), kinds.count("transcript")) == (4, 4)
    assert {record.outcome.value for record in read_records(desk.folder / "journal")} == {"scored"}
