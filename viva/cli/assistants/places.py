"""The paths that an assistant may name: those below the folder in which it works."""

from __future__ import annotations

import os
from pathlib import Path

from viva.cases import bundled
from viva.cases.many.references import split_reference as split_case
from viva.errors import SetupError
from viva.journal.paths import new_journal_folder
from viva.journal.reader import split_reference
from viva.records.text import one_line


def is_below(path: str | Path) -> bool:
    """Return whether a path leads to a place below the working folder, also by links."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(os.getcwd()))


def below(name: str) -> str:
    """Return a path as it was given, if it leads to a place below the working folder, also by links.

    Raises:
        SetupError: it does not.
    """
    if "\0" in name or not is_below(name or "."):
        here = os.path.realpath(os.getcwd())
        raise SetupError(
            f"{one_line(name, 300)!r} is not below {here}, the folder in which these tools work. Name a path below it."
        )
    return name or "."


def journal_below(reference: str) -> tuple[Path, str | None]:
    """Return the folder of a journal, and the run that `FOLDER#RUN` names.

    Raises:
        SetupError: it is not below the working folder.
    """
    folder, run = split_reference(reference)
    return Path(below(str(folder))), run


def case_below(name: str) -> str:
    """Return the name of a bundled case, or a case's path with what follows a `#`.

    Raises:
        SetupError: it is a path that is not below the working folder.
    """
    if name in bundled():
        return name
    below(str(split_case(name).path))
    return name


def new_journal(name: str) -> Path:
    """Return the folder of a new journal below the working folder, wherever the `viva.yaml` is."""
    return Path(os.getcwd(), new_journal_folder(None, name))


def short(path: Path) -> str:
    """Return a path relative to the working folder where it is below it."""
    here = Path.cwd()
    return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)
