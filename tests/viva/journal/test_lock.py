"""One process at a time writes in a journal's folder; what a dead one still held is waited for."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from viva.journal import lock as journal_lock
from viva.journal.lock import exclusive_writer
from viva.journal.writer import JournalBusy

HOLDER = """
import os, sys, time
from pathlib import Path
from viva.journal.lock import exclusive_writer
with exclusive_writer(Path(sys.argv[1])):
    if os.fork() == 0:  # as when a process is being started: it holds the lock until its program begins
        os.closerange(0, 3)
        time.sleep(float(sys.argv[2]))
        os._exit(0)
    print(os.getpid(), flush=True)
    sys.stdin.read() if len(sys.argv) > 3 else os.kill(os.getpid(), 9)
"""


def test_a_lock_that_a_killed_process_left_to_its_child_is_waited_for(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", HOLDER, tmp_path, "0.5"], stdout=subprocess.PIPE, timeout=60)
    assert done.returncode == -9
    with exclusive_writer(tmp_path):
        assert (tmp_path / ".lock").read_text() == f"{os.getpid()}\n"


def test_it_is_not_waited_for_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal_lock, "INHERITED_SECONDS", 0.05)
    subprocess.run([sys.executable, "-c", HOLDER, tmp_path, "20"], stdout=subprocess.PIPE, timeout=60)
    with pytest.raises(JournalBusy), exclusive_writer(tmp_path):
        pass


@pytest.mark.parametrize("noted", [None, "", "x", "0\n", "-1\n", "1\n"])
def test_whoever_lives_or_is_not_known_is_writing(tmp_path: Path, noted: str | None) -> None:
    """An older version notes nothing; process 1 lives and is another user's."""
    lock = os.open(tmp_path / ".lock", os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        os.write(lock, (noted if noted is not None else f"{os.getpid()}\n").encode())
        with pytest.raises(JournalBusy, match="another viva process is writing"), exclusive_writer(tmp_path):
            pass
    finally:
        os.close(lock)


def test_a_second_name_of_another_file_is_locked_and_not_written(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "journal").mkdir()
    os.link(tmp_path / "precious", tmp_path / "journal" / ".lock")
    with exclusive_writer(tmp_path / "journal"):
        pass
    assert (tmp_path / "precious").read_text() == "mine"
