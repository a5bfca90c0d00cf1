"""The errors of journals, and their messages."""

from __future__ import annotations

from pathlib import Path


class JournalError(Exception):
    """A journal cannot be written or read; the message says where and what to do."""


class JournalBusy(JournalError):
    """Another process is writing to this journal."""


class JournalLost(JournalError):
    """A journal can no longer be written, because the disk is full or gone. What it holds can still be read."""


def no_journal(folder: Path, file: str) -> JournalError:
    """Return the error for a missing journal, which says where journals are.

    Args:
        folder: The folder that should be a journal.
        file: The name of a journal's file.
    """
    if folder.is_file() or (not folder.parent.is_dir() and any(parent.is_file() for parent in folder.parents)):
        return JournalError(f"{folder} is a file; a journal is the folder that contains its {file}.")
    if not folder.exists():
        return JournalError(f"there is no folder {folder}. Journals are under runs/, unless --out named another one.")
    return JournalError(
        f"{folder} is not a journal: it has no {file}. Journals are under runs/, unless --out named another one."
    )
