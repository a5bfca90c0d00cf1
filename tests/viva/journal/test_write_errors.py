"""A disk that does not take what is written: a word that helps, and a journal that goes on once there is room again."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from viva.journal.kept_files import name_for
from viva.journal.writer import FILE, Damage, Journal, JournalError, scan
from viva.records import Round

NOBODY = 65534


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size` bytes; Python ignores the signal, so writes are cut or refused."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB, where this process may mount one."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(disk)], capture_output=True)
    if mounted.returncode:
        pytest.skip("may not mount a file system")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def numbers(folder: Path, damage: Damage | None = None) -> list[int]:
    return [event.data["number"] for event in scan(folder, damage)]


def fill(journal: Journal, words: str = "x" * 1000) -> int:
    """Append until the disk refuses; how many rounds it took."""
    for number in range(1, 1000):
        try:
            journal.append("round", "run", 1, Round(number, words))
        except JournalError:
            return number - 1
    raise AssertionError("the disk was never full")


@pytest.mark.parametrize("limit", [1, 2, 40, 500, 5000, 5013, 5999])
def test_an_append_after_a_short_write_can_be_read(tmp_path: Path, limit: int) -> None:
    with Journal(tmp_path) as journal:
        with file_size_limit(limit):
            taken = fill(journal)
            with pytest.raises(JournalError, match=r"journal in .*(is the disk full|File too large)"):
                journal.append("round", "run", 1, Round(77, "y" * 9000))
        journal.append("round", "run", 1, Round(99))
    damage = Damage()
    assert numbers(tmp_path, damage) == [*range(1, taken + 1), 99]
    assert damage.torn <= 2


def test_a_full_disk_is_said_and_costs_only_the_events_it_refused(small_disk: Path) -> None:
    folder = small_disk / "journal"
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"0" * 16384)
    with Journal(folder) as journal:
        taken = fill(journal)
        with pytest.raises(JournalError, match=f"{folder}.*(disk full|No space left)"):
            journal.append("round", "run", 1, Round(77, "y" * 9000))
        with pytest.raises(JournalError, match="No space left"):
            journal.keep(name_for("texts", b"z" * 50_000, "txt"), b"z" * 50_000)
        assert not list(folder.rglob("*.part"))
        assert not list(folder.glob("texts/*"))
        ballast.unlink()
        journal.append("round", "run", 1, Round(99))
        journal.keep(name := name_for("texts", b"z" * 5000, "txt"), b"z" * 5000)
        journal.sync()
    assert taken > 10
    assert numbers(folder) == [*range(1, taken + 1), 99]
    assert (folder / name).read_bytes() == b"z" * 5000


def test_a_long_text_that_finds_no_room_is_a_journal_error_not_half_an_event(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        with file_size_limit(100_000), pytest.raises(JournalError, match=r"texts/.*: File too large"):
            journal.append("round", "run", 1, Round(1, "ask", "z" * 600_000))
        journal.append("round", "run", 1, Round(2))
    assert numbers(tmp_path) == [2]
    assert not list((tmp_path / "texts").iterdir())


def test_a_folder_on_a_read_only_disk_is_said_with_a_way_out(small_disk: Path) -> None:
    with Journal(small_disk / "old") as journal:
        journal.append("round", "run", 1, Round(1))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    for folder in (small_disk / "new", small_disk / "old"):
        with pytest.raises(JournalError, match=r"Read-only file system\. Choose another folder with --out"):
            Journal(folder)
    assert numbers(small_disk / "old") == [1]


@pytest.mark.parametrize("parents", [0o755, 0o700])
def test_a_folder_that_is_not_ones_own_is_said_with_a_way_out(parents: int) -> None:
    """In a child process without privileges, as root may write anywhere."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(parents)
    (folder / "locked").mkdir(mode=0o555)
    code = (
        "import os, sys; from pathlib import Path; from viva.journal.writer import Journal, JournalError\n"
        f"if os.getuid() == 0: os.setgroups([]); os.setuid({NOBODY})\n"
        "try: Journal(Path(sys.argv[1]))\n"
        "except JournalError as error: print(error)"
    )
    for locked in (folder / "locked", folder / "locked" / "deeper"):
        done = subprocess.run([sys.executable, "-c", code, str(locked)], capture_output=True, text=True)
        assert done.stderr == ""
        assert (
            done.stdout == f"cannot write a journal in {locked}: Permission denied. Choose another folder with --out.\n"
        )


def test_a_path_that_is_a_file_is_said_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalError, match=r"it is a file, not a folder\. Choose another folder with --out"):
        Journal(tmp_path / "file")
    with pytest.raises(JournalError, match="Not a directory"):
        Journal(tmp_path / "file" / "deeper")
    (tmp_path / "odd" / FILE).mkdir(parents=True)
    with pytest.raises(JournalError, match="Is a directory"):
        Journal(tmp_path / "odd")


def test_a_closed_journal_refuses_with_a_journal_error(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.close()
    journal.close()
    with pytest.raises(JournalError, match=os.strerror(errno.EBADF)):
        journal.append("round", "run", 1, Round(1))
