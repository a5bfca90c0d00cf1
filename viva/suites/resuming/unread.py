"""What of the sources of an import could not be read, as a file next to the journal: no gate passes over it.

A file or line that cannot be read may have held any number of runs, and the journal has none of them. The same is true
of what an import that was stopped had not read.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from viva.journal.errors import JournalLost
from viva.journal.kept_files import UNREAD, open_folder, read_kept, write_again
from viva.records.codec import decode, encode, loads
from viva.records.text import one_line

MOST_KEPT = 100
MOST_SHOWN = 3
LONGEST = 300
NOT_ENDED = "the import did not end"
"""What the file says from the first recording that is written until all sources were read."""


@dataclass(frozen=True, slots=True)
class Unread:
    """The content of the file."""

    unread: tuple[str, ...]
    """What was left out, in words; of much, the first."""
    more: int = 0
    """How much else was left out."""


def keep_unread(folder: Path, lost: Sequence[str]) -> None:
    """Store what the last reading of all sources left out, in place of what an earlier one did.

    Raises:
        JournalLost: it cannot be stored.
    """
    try:
        if lost:
            _write(folder, Unread(tuple(one_line(each, LONGEST) for each in lost[:MOST_KEPT]), len(lost[MOST_KEPT:])))
            return
        with open_folder(folder, ()) as inside, contextlib.suppress(FileNotFoundError):
            os.unlink(UNREAD, dir_fd=inside)
    except OSError as error:
        raise JournalLost(f"cannot write {folder / UNREAD}: {error.strerror}") from error


def begin_unread(folder: Path) -> None:
    """Store that the sources were not read to their ends, until `keep_unread` says what was left out of them.

    Raises:
        JournalLost: it cannot be stored.
    """
    try:
        _write(folder, Unread((NOT_ENDED,)))
    except OSError as error:
        raise JournalLost(f"cannot write {folder / UNREAD}: {error.strerror}") from error


def _write(folder: Path, unread: Unread) -> None:
    content = encode(unread)
    if read_kept(folder, UNREAD) != content:
        write_again(folder, UNREAD, content)


def unread_words(folder: Path) -> str:
    """Return what of the sources of a journal could not be read; empty if nothing is known to be missing."""
    content = read_kept(folder, UNREAD)
    if content is None:
        return ""
    try:
        found = decode(Unread, loads(content))
    except (ValueError, RecursionError):
        return f"{UNREAD} cannot be read, which says what of the sources could not be read"
    return words_of(found.unread, found.more)


def words_of(lost: Sequence[str], more: int = 0) -> str:
    """Return what could not be read, in words; of much, the first."""
    if not lost:
        return ""
    shown = "; ".join(one_line(each, LONGEST) for each in lost[:MOST_SHOWN])
    further = len(lost[MOST_SHOWN:]) + more
    return f"not all of the sources could be read: {shown}{f'; and {further:,} more' if further else ''}"
