"""The JOURNAL argument of commands about one journal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import ParamSpec, TypeVar

import click

from viva.cli import completion

P = ParamSpec("P")
T = TypeVar("T")


def journal_argument(function: Callable[P, T]) -> Callable[P, T]:
    """Add the argument; `folder_from` reads it."""
    return click.argument(
        "journal", required=False, type=click.Path(path_type=Path), shell_complete=completion.journals
    )(function)


def folder_from(journal: Path | None) -> Path:
    """Return the folder of the journal that was named, or else of the newest under `runs/`.

    Raises:
        SetupError: there is none.
        JournalError: there is no journal in it.
    """
    from viva.journal.errors import no_journal
    from viva.journal.lines import FILE
    from viva.journal.paths import newest_journal

    folder = journal or newest_journal()
    if not (folder / FILE).exists():
        raise no_journal(folder, FILE)
    return folder
