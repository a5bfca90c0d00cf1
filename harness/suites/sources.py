"""What `viva judge`, `replay --against` and `trace` were asked to do: kept in the new journal, to be resumed."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from adapters.errors import SetupError
from cases import Case
from harness.exam.kept_cases import NOWHERE
from harness.exam.options import Options
from harness.suites.signature import chosen, read_signed, refuse_strange, signed
from records.codec import decode, encode
from records.journal import FILE as JOURNAL_FILE
from records.journal import Journal, raw_lines
from records.journal_reader import read_runs

FILE = "sources.json"
Command = Literal["judge", "replay", "trace"]


@dataclass(frozen=True, slots=True)
class Sources:
    """Stored conversations, and what is done with them once more."""

    command: Command
    places: tuple[tuple[str, str | None], ...] = ()
    """Each journal's folder, absolute, and the one run that is meant or None for all."""
    options: Options = field(default_factory=Options)
    mended: Case | None = None
    """Replaces the stored case of the same name."""
    recordings: tuple[str, ...] = ()
    """SPECs of recordings that are imported."""
    limit: int | None = None
    """How many recordings are imported at most."""
    mapping: str | None = None
    """A mapping file: how the recordings name things, for readers that take one."""
    sizes: tuple[int, ...] = ()
    """Bytes of each journal when it began."""
    folder: str = ""
    """The working directory in which it began: relative paths and SPECs hold from there."""

    @property
    def journals(self) -> list[tuple[Path, str | None]]:
        """The places as paths."""
        return [(Path(folder), run) for folder, run in self.places]


def sources_of(
    command: Command, places: list[tuple[Path, str | None]], options: Options, mended: Case | None = None
) -> Sources:
    """Note what is asked for, and how long the journals are now.

    Raises:
        JournalError: one is not there, or not the run that is meant.
    """
    for folder, run in places:
        next(iter(raw_lines(folder) if run is None else read_runs(folder, run)), None)
    sizes = tuple(_size(folder) for folder, _ in places)
    absolute = tuple((str(folder.absolute()), run) for folder, run in places)
    return Sources(command, absolute, options, mended, sizes=sizes, folder=os.getcwd())


def save_sources(sources: Sources, journal: Journal) -> None:
    """Keep them beside a new journal.

    Raises:
        SetupError: something was begun there before.
    """
    if journal.holds(FILE):
        again = f"viva {sources.command} --resume {journal.folder}"
        raise SetupError(f"something was begun in {journal.folder}: go on with it ({again}), or name another --out.")
    journal.keep(FILE, signed(encode(sources)))


def load_sources(folder: Path, command: Command, *, trusted: bool = False) -> Sources:
    """What was begun in a folder.

    Args:
        folder: The journal's.
        command: Goes on with it.
        trusted: Whether the user said that what this user did not begin may be gone on with, too.

    Raises:
        SetupError: nothing was, or by another command or a stranger, or a journal changed since.
    """
    try:
        data, ours = read_signed(folder, FILE)
        sources = decode(Sources, data)
    except FileNotFoundError:
        raise SetupError(f"{folder} was not made by viva {command}: it has no {FILE}.") from None
    except (OSError, ValueError) as error:
        raise SetupError(f"{folder / FILE} cannot be read: {error}") from error
    if sources.mended is not None:
        # What it needs of this machine was copied when it began.
        sources = replace(sources, mended=replace(sources.mended, data_folder=NOWHERE))
    if sources.command != command:
        raise SetupError(f"{folder} was made by viva {sources.command}: viva {sources.command} --resume {folder}")
    if not ours and not trusted:
        refuse_strange(folder, FILE, _choices(sources))
    for (place, _), size in zip(sources.journals, sources.sizes, strict=False):
        if _size(place) != size:
            raise SetupError(f"the journal in {place} changed since {folder} was begun; begin a new one.")
    return sources


def _choices(sources: Sources) -> dict[str, object]:
    agent = {"agent": sources.options.agent} if sources.options.agent else {}
    mended = {"the case": sources.mended.file} if sources.mended is not None else {}
    places = {
        "journals": tuple(place for place, _ in sources.places),
        "recordings": sources.recordings,
        "mapping": sources.mapping,
    }
    read = {what: value for what, value in places.items() if value}
    return {**read, **mended, **agent, **dict(chosen(sources.options)), "in the folder": sources.folder or "."}


def _size(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return (folder / JOURNAL_FILE).stat().st_size
    return -1
