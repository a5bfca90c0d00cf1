"""One process at a time writes in a journal's folder; what a dead one still held is waited for."""

from __future__ import annotations

import errno
import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from viva.exam import last_words
from viva.journal import lock as journal_lock
from viva.journal.lock import exclusive_writer, holder
from viva.journal.writer import JournalBusy, JournalError

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


NO_LOCKS = (errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP)


def refuse_locks(patch: pytest.MonkeyPatch, number: int) -> None:
    """Let every lock fail with an error, as a file system does."""

    def refuse(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    patch.setattr(fcntl, "flock", refuse)


@pytest.mark.parametrize("number", NO_LOCKS)
def test_a_file_system_without_locks_is_written_to_with_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    refuse_locks(monkeypatch, number)
    for _ in range(2):
        with exclusive_writer(tmp_path) as note:
            assert "on a file system without locks" in (note or "")
            assert holder(tmp_path) == os.getpid()
        assert holder(tmp_path) is None


def test_where_there_are_locks_there_is_no_note(tmp_path: Path) -> None:
    with exclusive_writer(tmp_path) as note:
        assert note is None


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.EACCES])
def test_only_a_lock_that_is_taken_means_another_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    refuse_locks(monkeypatch, number)
    with pytest.raises(JournalBusy, match="another viva process is writing"), exclusive_writer(tmp_path):
        pass


def test_another_error_is_told_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_locks(monkeypatch, errno.EIO)
    with (
        pytest.raises(JournalError, match="it cannot be locked: Input/output error") as caught,
        exclusive_writer(tmp_path),
    ):
        pass
    assert not isinstance(caught.value, JournalBusy)


def test_without_locks_a_living_process_that_is_noted_is_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_locks(monkeypatch, errno.ENOSYS)
    (tmp_path / ".lock").write_text(f"{os.getppid()}\nunlocked\n")
    with (
        pytest.raises(JournalBusy, match=rf"seems to be writing .* names the process {os.getppid()}\."),
        exclusive_writer(tmp_path),
    ):
        pass
    assert (tmp_path / ".lock").read_text() == f"{os.getppid()}\nunlocked\n"


def test_without_locks_a_second_writer_of_one_process_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_locks(monkeypatch, errno.ENOSYS)
    with exclusive_writer(tmp_path):
        with pytest.raises(JournalBusy, match="seems to be writing"), exclusive_writer(tmp_path):
            pass
        assert holder(tmp_path) == os.getpid()


@pytest.mark.parametrize("noted", ["{dead}\nunlocked\n", "{living}\n", "{own}\nunlocked\n", "x\nunlocked\n", ""])
def test_without_locks_what_another_process_left_is_no_writer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, noted: str
) -> None:
    """One that was killed, perhaps with the id that this one has now; or one that had a lock, on another system."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    refuse_locks(monkeypatch, errno.ENOSYS)
    (tmp_path / ".lock").write_text(noted.format(dead=dead.pid, living=os.getppid(), own=os.getpid()))
    with exclusive_writer(tmp_path):
        assert holder(tmp_path) == os.getpid()


def test_without_locks_the_last_words_of_a_killed_process_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refuse_locks(monkeypatch, errno.ENOSYS)
    (tmp_path / last_words.FILE).write_text("")
    with exclusive_writer(tmp_path):
        assert last_words.read_last_words(tmp_path) is None
    assert last_words.read_last_words(tmp_path) is not None


def test_a_run_on_a_file_system_without_locks_says_so(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    refuse_locks(monkeypatch, errno.ENOSYS)
    for case in ("echo", desk.case()):
        done = desk.viva(
            *("run", case, "--agent", "example:careful", "--sandbox", "process", "--out", "journal"), expect=0
        )
        assert "on a file system without locks" in " ".join(done.stderr.split())
