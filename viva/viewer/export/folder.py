"""The folder of an export: made whole or not at all, and put in the place of nothing but an earlier export."""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from viva.errors import SetupError
from viva.full_disk import error_words
from viva.records.text import printable

MARK = "viva-export.json"
_OWN = frozenset({MARK, "index.html", "page", "data", "images"})
"""Everything at the top of an export."""


@contextmanager
def export_folder(folder: Path, journals: Sequence[Path]) -> Iterator[Path]:
    """Give a new folder next to the target, which it replaces at the end; after an error, nothing is left of it.

    Args:
        folder: The target.
        journals: The folders of the journals, none of which may hold the target.

    Raises:
        SetupError: the target holds something else, is in a journal, or cannot be written.
    """
    target = Path(os.path.realpath(folder))
    _check(target, journals)
    made = target.parent / f".{target.name}.{secrets.token_hex(6)}.part"
    try:
        made.mkdir(parents=True)
        try:
            yield made
            (made / MARK).write_text(json.dumps({"v": 1, "made_by": "viva view --export"}) + "\n")
            _check(target, journals)  # much may have happened meanwhile
            _put(made, target)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    except OSError as error:
        raise SetupError(f"{target} cannot be written: {error_words(error, [target.parent])}.") from error


def _put(made: Path, target: Path) -> None:
    if not target.exists():
        made.rename(target)
        return
    aside = made.with_suffix(".old")
    target.rename(aside)
    try:
        made.rename(target)
    except OSError:
        aside.rename(target)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def _check(target: Path, journals: Sequence[Path]) -> None:
    shown = printable(str(target))
    for journal in journals:
        if target.is_relative_to(os.path.realpath(journal)):
            raise SetupError(f"{shown} is in the journal {printable(str(journal))}; name a folder outside of it.")
    try:
        names = set(os.listdir(target))
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise SetupError(f"{shown} is a file; name a new folder for the export.") from None
    except OSError as error:
        raise SetupError(f"{shown} cannot be read: {error.strerror}.") from error
    if not names:
        return
    if MARK not in names:
        raise SetupError(f"{shown} is not empty, and is no earlier export; name a new folder.")
    if foreign := sorted(names - _OWN):
        raise SetupError(
            f"{shown} holds an earlier export and also {printable(foreign[0], 100)!r}, which would be lost; "
            "move it away, or name a new folder."
        )
