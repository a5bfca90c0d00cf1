"""Eight processes of eight threads write one journal; some are killed, the disk fills up: nothing completed is lost."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.viva.journal import crowd
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import Damage, scan
from viva.records.codec import decode
from viva.records.run_record import RunRecord

PROCESSES = 8
KILLED = 2


def start(folder: Path, logs: Path, number: int, count: int, torn: bool) -> subprocess.Popen[bytes]:
    arguments = (folder, logs / f"p{number}", f"p{number}", count, "torn" if torn else "")
    return subprocess.Popen([sys.executable, crowd.__file__, *map(str, arguments)])


def logged(logs: Path) -> Counter[str]:
    """What the writers say that they appended, a line each; the last line of a killed one may be cut."""
    return Counter(line for file in logs.iterdir() for line in file.read_text().split("\n")[:-1])


def wait_for(logs: Path, lines: int, writers: list[subprocess.Popen[bytes]]) -> None:
    """Wait until so much has been written, also by each of those that are killed."""
    killed = [logs / f"p{number}" for number in range(PROCESSES - KILLED, PROCESSES)]
    while sum(file.stat().st_size for file in logs.iterdir()) < lines * 14 or not all(
        file.exists() and file.stat().st_size for file in killed
    ):
        assert any(writer.poll() is None for writer in writers), "they ended too early"
        time.sleep(0.01)


def check(folder: Path, logs: Path) -> Damage:
    """Everything that is logged is there once, whole, with its picture and its text; nothing else is but what a writer
    had no time to log. Returns what the readers skipped."""
    said = logged(logs)
    damage = Damage()
    found: Counter[str] = Counter()
    for event in scan(folder, damage):
        found[f"{event.kind} {event.run}"] += 1
        if event.kind == "run":
            assert decode(RunRecord, event.data) == crowd.record_of(event.run)
    completed = {line for line in said if not line.startswith("torn ")}
    assert completed <= set(found)
    assert max(found.values()) == 1
    # A process that is killed between an append and its log loses the log; each has eight threads.
    assert len(set(found) - completed) <= KILLED * crowd.THREADS
    records = {record.id: record for record in read_records(folder)}
    assert set(records) == {line.removeprefix("run ") for line in found if line.startswith("run ")}
    pictures = 0
    for run in read_runs(folder):
        for round_ in run.transcript.rounds:
            number = int(run.id.rpartition("-")[2])
            expected = crowd.round_of(run.id, number)
            assert expected is not None
            assert (round_.examiner, round_.agent) == (expected.examiner, expected.agent)
            (name,) = round_.images
            assert (folder / name).read_bytes() == crowd.picture_of(run.id)
            pictures += 1
    assert pictures == sum(line.startswith("round ") for line in found)
    assert pictures
    return damage


def run_crowd(folder: Path, logs: Path, count: int, *, torn: bool) -> list[subprocess.Popen[bytes]]:
    """Let them write, and kill two of them midway."""
    logs.mkdir()
    # Those that are killed would not end for a long time, however slow the others are.
    counts = [count] * (PROCESSES - KILLED) + [count * 1000] * KILLED
    writers = [start(folder, logs, number, each, torn and number == 0) for number, each in enumerate(counts)]
    wait_for(logs, PROCESSES * crowd.THREADS * count // 4, writers)
    for writer in writers[-KILLED:]:
        writer.kill()
    return writers


def end(writers: list[subprocess.Popen[bytes]]) -> None:
    codes = [writer.wait() for writer in writers]
    assert codes == [0] * (PROCESSES - KILLED) + [-9] * KILLED


def test_what_many_processes_complete_is_there_once_and_whole(tmp_path: Path) -> None:
    writers = run_crowd(tmp_path / "journal", tmp_path / "logs", 24, torn=True)
    end(writers)
    damage = check(tmp_path / "journal", tmp_path / "logs")
    torn = sum(line.startswith("torn ") for line in logged(tmp_path / "logs"))
    assert 1 <= torn <= damage.torn <= torn + KILLED


@contextlib.contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of its own in memory.

    Nothing is told of why it cannot be mounted, other than that: it takes a privilege.
    """
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting a file system requires a privilege")
    try:
        yield
    finally:
        subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.soak
def test_a_hundred_thousand_records_survive_kills_and_a_full_disk(tmp_path: Path) -> None:
    disk, logs = tmp_path / "disk", tmp_path / "logs"
    with small_disk(disk, "400m"):
        writers = run_crowd(disk / "journal", logs, 140_000 // (PROCESSES * crowd.THREADS), torn=False)
        free = os.statvfs(disk)
        ballast = disk / "ballast"
        with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
            for _ in range(free.f_bavail * free.f_frsize // 2**20 + 1):
                file.write(bytes(2**20))
        while not any(line.startswith("torn ") for line in logged(logs)):
            assert any(writer.poll() is None for writer in writers), "no append was torn"
            time.sleep(0.05)
        ballast.unlink()
        end(writers)
        damage = check(disk / "journal", logs)
        torn = sum(line.startswith("torn ") for line in logged(logs))
        assert 1 <= torn <= damage.torn <= torn + KILLED
        assert sum(line.startswith("run ") for line in logged(logs)) >= 100_000
