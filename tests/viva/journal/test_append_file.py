"""Appending: lines stay lines whatever threads and processes do at once, and whoever of them is killed."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from viva.journal.append_file import AppendFile
from viva.journal.reader import read_runs
from viva.journal.writer import FILE, Damage, Journal, scan
from viva.records import Round
from viva.records.codec import decode

WRITER = """
import sys, threading
from pathlib import Path
from viva.records import Round
from viva.journal.writer import Journal
folder, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
def write(run):
    for number in range(1, count + 1):
        journal.append("round", run, 1, Round(number, run, run * (number * 37 % 4000)))
        if number == 50:
            print(run, flush=True)
with Journal(folder) as journal:
    threads = [threading.Thread(target=write, args=(f"{name}-{index}",)) for index in range(3)]
    for thread in threads: thread.start()
    for thread in threads: thread.join()
"""


def writer(folder: Path, name: str, count: int) -> subprocess.Popen[str]:
    """A process that appends rounds of three runs, a thread each."""
    command = [sys.executable, "-c", WRITER, str(folder), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_threads_and_processes_append_at_once_and_one_that_is_killed_costs_one_line(tmp_path: Path) -> None:
    steady = [writer(tmp_path, "left", 400), writer(tmp_path, "right", 400)]
    killed = writer(tmp_path, "killed", 10**9)
    assert killed.stdout is not None
    killed.stdout.readline()
    os.kill(killed.pid, signal.SIGKILL)
    killed.communicate()
    for process in steady:
        process.communicate()
        assert process.returncode == 0
    with Journal(tmp_path) as journal:
        journal.append("round", "after", 1, Round(1))
    damage = Damage()
    seen: dict[str, list[int]] = {}
    for event in scan(tmp_path, damage):
        seen.setdefault(event.run, []).append(decode(Round, event.data).number)
    assert damage.torn <= 1
    for name in ("left", "right"):
        assert all(seen[f"{name}-{index}"] == list(range(1, 401)) for index in range(3))
    for index in range(3):
        numbers = seen.get(f"killed-{index}", [])
        assert numbers == list(range(1, len(numbers) + 1))
    assert seen["after"] == [1]
    assert b"\n\n" not in (tmp_path / FILE).read_bytes()


@pytest.mark.parametrize("end", ["whole", "torn"])
@pytest.mark.parametrize("when", ["before it was opened", "after it was opened", "between two appends"])
def test_a_fresh_line_is_begun_after_a_torn_one_and_only_then(tmp_path: Path, end: str, when: str) -> None:
    def other() -> None:
        with (tmp_path / "lines").open("ab") as file:
            file.write(b'{"other": 1}\n' if end == "whole" else b'{"other": 1')

    if when == "before it was opened":
        other()
    file = AppendFile(tmp_path / "lines")
    if when == "after it was opened":
        other()
    file.append(b'{"own": 1}\n')
    if when == "between two appends":
        other()
    file.append(b'{"own": 2}\n')
    file.append(b'{"own": 3}\n')
    file.close()
    lines = (tmp_path / "lines").read_bytes().split(b"\n")
    assert lines.pop() == b""
    assert b"" not in lines
    assert [json.loads(line)["own"] for line in lines if b"own" in line] == [1, 2, 3]
    assert sum(b"other" in line for line in lines) == 1
    assert len(lines) == 4


def test_a_journal_is_plain_json_lines(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        with Journal(tmp_path) as journal:
            journal.append("round", "run", 1, Round(number))
            journal.append("round", "other", 1, Round(number))
    *lines, rest = (tmp_path / FILE).read_text().split("\n")
    assert rest == ""
    assert [json.loads(line)["data"]["number"] for line in lines] == [1, 1, 2, 2, 3, 3]


def test_a_journal_of_before_with_an_empty_line_before_each_is_read_and_added_to(tmp_path: Path) -> None:
    lines = [f'{{"v":1,"event":"round","run":"run","attempt":1,"data":{{"number":{number}}}}}' for number in (1, 2)]
    (tmp_path / FILE).write_text("".join(f"\n{line}\n" for line in lines))
    with Journal(tmp_path) as journal:
        journal.append("round", "run", 1, Round(3))
    damage = Damage()
    (stored,) = read_runs(tmp_path, damage=damage)
    assert [each.number for each in stored.transcript.rounds] == [1, 2, 3]
    assert damage == Damage()


def test_a_writer_waits_for_its_turn(tmp_path: Path) -> None:
    file = AppendFile(tmp_path / "lines")
    other = os.open(tmp_path / "lines", os.O_RDWR)
    fcntl.flock(other, fcntl.LOCK_EX)
    thread = threading.Thread(target=file.append, args=(b"line\n",))
    thread.start()
    thread.join(0.1)
    assert thread.is_alive()
    assert (tmp_path / "lines").read_bytes() == b""
    os.close(other)
    thread.join(10)
    assert (tmp_path / "lines").read_bytes() == b"line\n"
    file.close()


def test_where_there_are_no_locks_lines_are_appended_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    file = AppendFile(tmp_path / "lines")
    file.append(b"one\n")
    file.append(b"two\n")
    file.close()
    assert (tmp_path / "lines").read_bytes() == b"one\ntwo\n"
