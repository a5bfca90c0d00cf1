"""A message about a full disk names what is full, by the file and by where its file system is mounted."""

from __future__ import annotations

import errno
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from tests.viva.viva_command import clean_environment, run_viva
from viva.full_disk import error_words


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", folder], capture_output=True)
    if made.returncode:
        pytest.skip("this user cannot mount a file system")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path) -> OSError:
    try:
        (folder / "much").write_bytes(bytes(4 << 20))
    except OSError as error:
        return error
    raise AssertionError("the file system is not small")


def test_the_file_system_is_named_where_the_error_names_nothing(small: Path, tmp_path: Path) -> None:
    error = fill(small)
    assert error.filename is None
    assert error_words(error, [small / "runs" / "journal"]) == f"No space left on the file system of {small}"
    named = OSError(errno.ENOSPC, "No space left on device", str(small / "file"))
    assert error_words(named) == f"{small}/file cannot be written: No space left on the file system of {small}"


def test_other_errors_stay_as_they_are() -> None:
    assert error_words(FileNotFoundError(errno.ENOENT, "No such file", "x")) == "[Errno 2] No such file: 'x'"


def test_a_full_disk_under_the_journal_is_named(small: Path, desk: Desk) -> None:
    (small / "much").write_bytes(bytes((2 << 20) - 8192))
    arguments = ("suite", "echo", "--trials", "50", "--sandbox", "process", "--out", small / "journal")
    done = desk.viva(*arguments, process=True)
    assert done.returncode == 3
    assert str(small / "journal") in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no such device")
@pytest.mark.parametrize("arguments", [("report", "journal"), ("replay", "journal"), ("--help",), ("run", "echo")])
def test_standard_output_that_is_full_is_no_success(desk: Desk, arguments: tuple[str, ...]) -> None:
    desk.run("echo")
    more = ("--sandbox", "process") if arguments[0] == "run" else ()
    with open("/dev/full", "w") as full:
        done = run_viva(
            *arguments,
            *more,
            cwd=desk.folder,
            env=clean_environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            timeout=120,
        )
    assert done.returncode == 3
    assert "No space left" in done.stderr
    assert "Traceback" not in done.stderr
