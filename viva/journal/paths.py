"""Names the folders of new journals, and finds the newest one under `runs/`."""

from __future__ import annotations

import os
import re
import secrets
import time
from pathlib import Path

from viva.errors import SetupError
from viva.journal.fresh_folder import holds_any
from viva.journal.kept_files import UNREAD
from viva.journal.writer import FILE, JournalError
from viva.records.text import slug

RUNS = Path("runs")
FILE_ENDINGS = frozenset(
    (".txt", ".log", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".md", ".markdown", ".html", ".htm", ".pdf")
)
"""Extensions that a folder hardly has: a user who gives one to the folder of a journal wants a report."""


def new_journal_folder(out: Path | None, name: str) -> Path:
    """Return the folder of a new journal.

    Raises:
        JournalError: `out` is something other than a folder.
        SetupError: `out` has the name of a report's file.
    """
    if out is not None:
        _check_folder(out)
        return out
    return RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(name, 40)}-{secrets.token_hex(2)}"


def _check_folder(out: Path) -> None:
    if out.is_dir():
        return
    if os.path.lexists(out):
        raise JournalError(f"{out} is not a folder; --out names the folder of a journal. Choose another one.")
    if out == Path("-") or out.suffix.lower() in FILE_ENDINGS:
        raise SetupError(
            f"--out names the folder of a journal, and {out} is the name of a file. Choose a folder, and write the "
            "report afterwards: viva report FOLDER --out FILE."
        )


def refuse_journal(folder: Path) -> None:
    """Check that a folder contains no journal yet, so that runs of different commands are not mixed.

    Raises:
        SetupError: it contains one, or what an import could not read, which would be said of the new journal.
    """
    file = folder / FILE
    if file.is_file() and file.stat().st_size:
        raise SetupError(f"{folder} already contains a journal; choose another folder with --out.")
    if os.path.lexists(folder / UNREAD):
        raise SetupError(
            f"{folder} contains {UNREAD}, which says what an import could not read; remove it, or choose another "
            "folder with --out."
        )


def derived_name(source: Path, what: str) -> str:
    """Return the name of a journal derived from another, without the time stamp and suffix of the other."""
    plain = re.sub(r"^\d{8}-\d{6}-|-[0-9a-f]{4}$", "", source.resolve().name)
    return f"{what}-{plain.removeprefix(f'{what}-')}"


def newest_journal() -> Path:
    """Return the newest journal under `runs/` in which anything was said; if there is none, the newest.

    Raises:
        SetupError: there is none.
    """
    found = list(RUNS.glob(f"*/{FILE}")) if RUNS.is_dir() else []
    if not found:
        raise SetupError("there is no journal under runs/ yet; run an exam first, or name a journal's folder.")
    newest = [file.parent for file in sorted(found, key=lambda file: file.stat().st_mtime, reverse=True)]
    # One whose agent could not be examined, say, is not what the user means by the last one.
    return next((folder for folder in newest if holds_any(folder)), newest[0])
