"""Names the folders of new journals, and finds the newest one under `runs/`."""

from __future__ import annotations

import re
import secrets
import time
from pathlib import Path

from adapters.errors import SetupError
from records.journal import FILE
from records.text import slug

RUNS = Path("runs")


def new_journal_folder(out: Path | None, name: str) -> Path:
    """Return the folder of a new journal."""
    if out is not None:
        return out
    return RUNS / f"{time.strftime('%Y%m%d-%H%M%S')}-{slug(name, 40)}-{secrets.token_hex(2)}"


def refuse_journal(folder: Path) -> None:
    """Check that a folder contains no journal yet, so that runs of different commands are not mixed.

    Raises:
        SetupError: it contains one.
    """
    file = folder / FILE
    if file.is_file() and file.stat().st_size:
        raise SetupError(f"{folder} already contains a journal; choose another folder with --out.")


def derived_name(source: Path, what: str) -> str:
    """Return the name of a journal derived from another, without the time stamp and suffix of the other."""
    plain = re.sub(r"^\d{8}-\d{6}-|-[0-9a-f]{4}$", "", source.resolve().name)
    return f"{what}-{plain.removeprefix(f'{what}-')}"


def newest_journal() -> Path:
    """Return the newest journal under `runs/`.

    Raises:
        SetupError: there is none.
    """
    found = list(RUNS.glob(f"*/{FILE}")) if RUNS.is_dir() else []
    if not found:
        raise SetupError("there is no journal under runs/ yet; run an exam first, or name a journal's folder.")
    return max(found, key=lambda file: file.stat().st_mtime).parent
