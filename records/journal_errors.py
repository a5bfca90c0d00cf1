"""What can be wrong with a journal, and the words for it."""

from __future__ import annotations

from pathlib import Path


class JournalError(Exception):
    """A journal cannot be written or read; the message says where and what to do."""


class JournalBusy(JournalError):
    """Another process writes this journal."""


class JournalLost(JournalError):
    """A journal that was being written takes no more: the disk is full or gone. What it holds can be read."""


def no_journal(folder: Path, file: str) -> JournalError:
    """Say that there is no journal, and where journals are.

    Args:
        folder: Where one was looked for.
        file: The name of a journal's file.
    """
    if folder.is_file() or (not folder.parent.is_dir() and any(parent.is_file() for parent in folder.parents)):
        return JournalError(f"{folder} is a file; a journal is the folder around its {file}.")
    if not folder.exists():
        return JournalError(f"there is no folder {folder}. Journals lie under runs/ unless --out said otherwise.")
    return JournalError(
        f"{folder} is not a journal: it has no {file}. Journals lie under runs/ unless --out said otherwise."
    )
