"""A journal from a stranger may be anything but a file of lines: it is refused, or read, in bounded time and memory."""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.journals import edit
from viva.exam.stored_runs import read_run_states
from viva.journal import conversation_lines as gathering
from viva.journal import lines as journal_lines
from viva.journal import long_texts
from viva.journal.lock import exclusive_writer
from viva.journal.reader import read_conversation_lines, read_records, read_runs
from viva.journal.writer import FILE, LINE_LIMIT, Damage, Journal, JournalError, scan
from viva.records import Round, Setting, StopReason, Transcript

READERS: tuple[Callable[[Path], object], ...] = (
    lambda folder: list(read_runs(folder)),
    lambda folder: list(read_conversation_lines(folder)),
    lambda folder: list(read_records(folder)),
    read_run_states,
    lambda folder: list(scan(folder)),
)
MIB, GIB = 1024**2, 1024**3


def write(folder: Path, run: str = "one") -> None:
    with Journal(folder) as journal:
        journal.append("setting", run, 1, Setting(case="echo"))
        said = (Round(1, "ask", "told"), Round(2, "ask", "told"))
        for round_ in said:
            journal.append("round", run, 1, round_)
        journal.append("transcript", run, 1, Transcript(said, stop=StopReason.FINISHED).without_rounds())


def odd(folder: Path, what: str) -> None:
    folder.mkdir()
    file = folder / FILE
    if what == "pipe":
        os.mkfifo(file)
    elif what == "folder":
        file.mkdir()
    elif what == "device":
        file.symlink_to("/dev/zero")
    elif what == "link":
        write(folder.parent / "real")
        file.symlink_to(folder.parent / "real" / FILE)
    elif what == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(os.path.relpath(file))


@pytest.mark.parametrize("what", ["pipe", "folder", "device", "link", "socket"])
def test_what_is_no_plain_file_is_neither_read_nor_written(
    tmp_path: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    odd(tmp_path / "journal", what)
    for read in READERS:
        with pytest.raises(JournalError, match="cannot read"):
            read(tmp_path / "journal")
    with pytest.raises(JournalError, match="cannot write a journal"):
        Journal(tmp_path / "journal")
    if what == "link":
        assert len(list(scan(tmp_path / "real"))) == 4


@pytest.mark.parametrize("what", ["link", "pipe"])
def test_a_lock_that_leads_elsewhere_is_not_followed(tmp_path: Path, what: str) -> None:
    folder = tmp_path / "journal"
    folder.mkdir()
    if what == "link":
        (folder / ".lock").symlink_to(tmp_path / "made")
    else:
        os.mkfifo(folder / ".lock")
    try:
        with exclusive_writer(folder):
            pass
    except JournalError:
        pass
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("read", "most"),
    [
        pytest.param(READERS[0], journal_lines.MOST_PASSED_OVER, marks=pytest.mark.soak),
        *((read, 16 * MIB) for read in READERS),
    ],
)
def test_a_sparse_file_of_30_gigabytes_is_refused_in_time(
    tmp_path: Path, read: Callable[[Path], object], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a soak, one reader goes as far as users' do; that each of them stops is shown by less."""
    monkeypatch.setattr(journal_lines, "MOST_PASSED_OVER", most)
    write(tmp_path)
    os.truncate(tmp_path / FILE, 30 * GIB)
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(JournalError, match="its lines are too long"):
        read(tmp_path)
    assert time.monotonic() - began < 60
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000


@pytest.mark.parametrize(
    "line", [b"x" * 5000, b'{"v":1,"event":"round","run":"one","attempt":1,"data":{' + b'"' * 5000]
)
def test_a_line_too_long_is_a_torn_one_and_the_lines_around_it_are_read(
    tmp_path: Path, line: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_lines, "MOST_LINE", 1000)
    write(tmp_path)
    lines = (tmp_path / FILE).read_bytes().splitlines(keepends=True)
    (tmp_path / FILE).write_bytes(b"".join([*lines[:2], line + b"\n", *lines[2:], line]))
    damage = Damage()
    (stored,) = read_runs(tmp_path, damage=damage)
    assert (len(stored.transcript.rounds), stored.gap, damage.torn, damage.lines) == (2, None, 2, [3, 6])


def test_no_line_that_is_written_is_too_long_to_be_read(tmp_path: Path) -> None:
    assert LINE_LIMIT < journal_lines.MOST_LINE
    with Journal(tmp_path) as journal:
        journal.append("round", "one", 1, Round(1, "x" * (journal_lines.MOST_LINE + 1)))
    (stored,) = read_runs(tmp_path)
    assert len(stored.transcript.rounds[0].examiner or "") == journal_lines.MOST_LINE + 1


@pytest.mark.parametrize("read", [READERS[0], READERS[1], READERS[3]])
def test_more_runs_than_can_be_told_apart_are_refused(
    tmp_path: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_lines, "MOST_RUNS", 20)
    for number in range(20):
        write(tmp_path, f"run-{number}")
    read(tmp_path)
    write(tmp_path, "one-more")
    with pytest.raises(JournalError, match="holds more than 20 runs"):
        read(tmp_path)


@pytest.mark.parametrize("read", READERS[:2])
def test_runs_that_are_all_open_at_once_are_not_all_held(
    tmp_path: Path, read: Callable[[Path], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interleaved(folder: Path) -> Path:
        with Journal(folder) as journal:
            for number in (1, 2):
                for run in range(200):
                    journal.append("round", f"run-{run}", 1, Round(number, "ask"))
        return folder

    monkeypatch.setattr(gathering, "MOST_OPEN", 40_000)
    with pytest.raises(JournalError, match="in progress at once"):
        read(interleaved(tmp_path / "open"))
    for number in range(200):
        write(tmp_path / "closed", f"run-{number}")
    read(tmp_path / "closed")


def test_many_lines_that_name_one_large_text_do_not_multiply_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(long_texts.KeptTexts.__init__, "__defaults__", (1_000_000,))
    with Journal(tmp_path) as journal:
        journal.append("round", "one", 1, Round(1, "x" * 300_000))
    line = (tmp_path / FILE).read_bytes()
    (tmp_path / FILE).write_bytes(
        line + b"".join(line.replace(b'"number": 1', b'"number": %d' % n) for n in range(2, 9))
    )
    edit(tmp_path, lambda each: each[: each.rindex(b',"crc"')] + b"}\n", seals=False)
    (stored,) = read_runs(tmp_path)
    whole = [len(round_.examiner or "") == 300_000 for round_ in stored.transcript.rounds]
    assert whole == [True, True, True, False, False, False, False, False]


def test_a_nested_line_is_a_torn_one(tmp_path: Path) -> None:
    write(tmp_path)
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"v":1,"event":"round","run":"one","attempt":1,"data":{"number":3,"x":' + b"[" * 200_000 + b"\n")
    damage = Damage()
    (stored,) = read_runs(tmp_path, damage=damage)
    assert (len(stored.transcript.rounds), damage.torn) == (2, 1)


def test_a_million_settings_are_read_in_little_memory(tmp_path: Path) -> None:
    """The same run a million times: one state, whatever the number of lines."""
    write(tmp_path)
    line = (tmp_path / FILE).read_bytes().splitlines(keepends=True)[0]
    with (tmp_path / FILE).open("ab") as file:
        for _ in range(100):
            file.write(line * 1000)
    code = (
        "import re,sys;from pathlib import Path;from viva.exam.stored_runs import read_run_states;"
        "read_run_states(Path(sys.argv[1]));print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 150_000
