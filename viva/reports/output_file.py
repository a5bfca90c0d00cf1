"""Writes the file that a user names with `--out`: a regular file appears whole, anything else is written through.

Every command that writes such a file does it here. Journals and the files inside them are not the user's to name, and
are written by `records`.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TextIO

import click

from viva.journal.writer import JournalError
from viva.processes import process_is_alive
from viva.records.text import printable
from viva.streams import descriptor_named, open_descriptor, standard_output

STANDARD_OUTPUT = Path("-")
LONGEST_NAME = 180
"""Bytes of a file's name that its temporary name repeats; file systems take 255."""


def is_standard_output(out: Path | None) -> bool:
    """Return whether a path means standard output: none at all, `-`, or a name of its descriptor (`/dev/stdout`)."""
    return out is None or out == STANDARD_OUTPUT or descriptor_named(out) == 1


def is_stream(out: Path) -> bool:
    """Return whether a path leads to something that is not a regular file: a device, a FIFO, a descriptor."""
    if descriptor_named(out) is not None:
        return True
    try:
        return not stat.S_ISREG(out.stat().st_mode)
    except OSError:
        return False


@contextlib.contextmanager
def output_file(out: Path | None, *, follow_links: bool = True) -> Iterator[TextIO]:
    """Open what the user named, as UTF-8 text without line-end translation.

    A regular file appears under its name when it is complete, with the permissions of the file that it replaces; a link
    keeps leading to it. A device, a FIFO or a descriptor is written through. Whether a file can be created is known
    when this is entered, before any work.

    Args:
        out: The path; None and `-` are standard output.
        follow_links: Whether to write to where a link leads. False for a name inside a journal that may be a
            stranger's: whatever is there is replaced, so that a planted link or FIFO leads nowhere.

    Raises:
        JournalError: it cannot be written.
        BrokenPipeError: nobody reads it any more.
    """
    if is_standard_output(out):
        with standard_output() as file:
            yield file
        return
    assert out is not None
    try:
        with _stream(out) if follow_links and is_stream(out) else _whole_file(out, follow_links) as file:
            yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        raise JournalError(f"cannot write {out}: {error.strerror}. Choose another file with --out.") from error


@contextlib.contextmanager
def _stream(out: Path) -> Iterator[TextIO]:
    number = descriptor_named(out)
    if number is not None:
        (sys.stderr if number == 2 else sys.stdout).flush()
    descriptor = _open(out) if number is None else os.dup(number)
    with open_descriptor(descriptor, encoding="utf-8", newline="") as file:
        yield file


def _open(out: Path) -> int:
    flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOCTTY
    try:
        descriptor = os.open(out, flags | os.O_NONBLOCK)
    except OSError as error:
        if error.errno != errno.ENXIO or not stat.S_ISFIFO(out.stat().st_mode):
            raise
        click.echo(printable(f"waiting for a reader of {out}"), err=True)
        return os.open(out, flags)
    os.set_blocking(descriptor, True)
    return descriptor


@contextlib.contextmanager
def _whole_file(out: Path, follow_links: bool) -> Iterator[TextIO]:
    target = Path(os.path.realpath(out)) if follow_links else out
    mode = _replaced_mode(target, follow_links)
    stem = _stem(target.name)
    _sweep(target.parent, stem)
    part = target.with_name(f".{stem}.{os.getpid()}.{secrets.token_hex(8)}.part")
    # The name is random, so nobody can have planted a link under it, and links are not followed.
    descriptor = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
    try:
        # Under its final name, so that what is written can refer to files by their place.
        with open(target, "w", encoding="utf-8", newline="", opener=lambda _name, _flags: descriptor) as file:
            if mode is not None:
                with contextlib.suppress(PermissionError):  # file systems without permissions
                    os.fchmod(descriptor, mode)
            yield file
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def _replaced_mode(target: Path, follow_links: bool) -> int | None:
    """Return the permissions of the regular file that is replaced; None without one.

    Raises:
        OSError: it is a folder, is not to be written, or is at the end of a circle of links.
    """
    try:
        found = target.stat(follow_symlinks=follow_links).st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found):
        return None
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return stat.S_IMODE(found)


def _stem(name: str) -> str:
    """Return what a temporary name repeats of a file's name, which may be as long as the file system permits."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= LONGEST_NAME else hashlib.sha256(encoded).hexdigest()


def _sweep(folder: Path, stem: str) -> None:
    """Remove what processes that were killed left; the name of each file contains the id of its process."""
    form = re.compile(rf"\.{re.escape(stem)}\.(\d{{1,9}})(?:\.[0-9a-f]{{16}})?\.part")
    for entry in os.scandir(folder):
        if (match := form.fullmatch(entry.name)) and not process_is_alive(int(match[1])):
            with contextlib.suppress(OSError):
                # A link is removed itself, not its target.
                os.unlink(entry.path)
