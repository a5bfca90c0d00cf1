"""A journal that is deleted or replaced under a suite is noticed while it runs, not hours later."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.viva.real_suites import until, viva, write_agent, write_cases
from tests.viva.viva_command import VIVA, clean_environment, start_viva
from viva.journal.reader import read_records
from viva.journal.writer import FILE


def deleted(folder: Path) -> None:
    (folder / FILE).unlink()


def replaced(folder: Path) -> None:
    (folder / "other").write_bytes((folder / FILE).read_bytes())
    (folder / "other").replace(folder / FILE)


def moved(folder: Path) -> None:
    folder.rename(folder.with_name("moved"))


@pytest.mark.parametrize("how", [deleted, replaced, moved])
def test_a_journal_that_is_gone_stops_the_suite_and_names_the_way_on(
    tmp_path: Path, how: Callable[[Path], None]
) -> None:
    cases, agent = write_cases(tmp_path / "cases", 6), write_agent(tmp_path, seconds=0.1, free=1)
    process = start_viva(
        *("suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--concurrency", "1"),
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until((tmp_path / "waiting").exists, process)
    how(tmp_path / "j")
    (tmp_path / "go").touch()
    _, said = process.communicate(timeout=60)
    assert process.returncode == 3, said
    assert "was deleted or replaced while it was written" in said
    assert f"--resume {tmp_path / 'j'}" in said
    assert "Traceback" not in said
    if how is not moved:
        done = viva("suite", "--resume", "j", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert len(list(read_records(tmp_path / "j"))) == 6


@pytest.mark.parametrize(
    "signals",
    [
        [signal.SIGHUP],
        [signal.SIGINT] * 5,
        [signal.SIGTERM] * 3,
        [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGINT],
    ],
)
def test_hang_ups_and_several_signals_at_once_end_in_words(tmp_path: Path, signals: list[signal.Signals]) -> None:
    cases, agent = write_cases(tmp_path / "cases", 2), write_agent(tmp_path, free=0)
    process = start_viva(
        *("suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet"),
        cwd=tmp_path,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    until((tmp_path / "waiting").exists, process)
    for each in signals:
        os.kill(process.pid, each)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130, said
    assert "viva: stopped. Finished runs are kept; to resume: viva suite --resume j" in said
    assert "Traceback" not in said
    (tmp_path / "go").touch()
    assert viva("suite", "--resume", "j", cwd=tmp_path).returncode == 0


def test_a_hang_up_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 1), write_agent(tmp_path, free=0)
    process = subprocess.Popen(
        ["nohup", VIVA, "suite", str(cases), "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet"],
        cwd=tmp_path,
        env=clean_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    until((tmp_path / "waiting").exists, process)
    os.kill(process.pid, signal.SIGHUP)
    (tmp_path / "go").touch()
    process.communicate(timeout=60)
    assert process.returncode == 0
