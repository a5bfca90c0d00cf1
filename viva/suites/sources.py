"""Stores the request of `viva judge`, `replay --against` and `trace` in the new journal, so that it can be resumed."""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from viva.cases import Case
from viva.errors import SetupError
from viva.exam.options import Options
from viva.journal.kept_cases import NOWHERE
from viva.journal.reader import read_runs
from viva.journal.writer import FILE as JOURNAL_FILE
from viva.journal.writer import Journal, raw_lines
from viva.records.codec import decode, encode
from viva.suites.signature import chosen, read_signed, refuse_unsigned, signed

FILE = "sources.json"
OLDER_NAMES = {"places": "references", "mended": "replacement"}
"""Fields of `Sources` by the names under which older journals hold them."""
Command = Literal["judge", "replay", "trace"]


@dataclass(frozen=True, slots=True)
class Sources:
    """The stored conversations that a command reads, and its options."""

    command: Command
    references: tuple[tuple[str, str | None], ...] = ()
    """The absolute folder of each journal, and the id of one run, or None for all runs."""
    options: Options = field(default_factory=Options)
    replacement: Case | None = None
    """The case that replaces the stored case of the same name."""
    recordings: tuple[str, ...] = ()
    """SPECs of the recordings to import."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Names that the user gave for what the recordings do not tell: `agent`, `version`, `framework`, `technique`."""
    compared: str | None = None
    """The SPEC, also among `recordings`, of what the others are compared with."""
    compared_labels: Mapping[str, str] = field(default_factory=dict)
    """Names for its recordings."""
    limit: int | None = None
    """Maximum number of recordings to import."""
    sample: float = 1.0
    """Share of the recordings to import."""
    since: float | None = None
    """Seconds since the epoch: recordings that began before are not imported."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """Definitions of tools that are added to those of the recordings."""
    mapping: str | None = None
    """A mapping file, which says how the recordings name things, for readers that take one."""
    sizes: tuple[int, ...] = ()
    """The size of each journal when the command started, in bytes."""
    folder: str = ""
    """The working directory when the command started: paths and SPECs are relative to it."""

    def labels_of(self, spec: str) -> Mapping[str, str]:
        """Return the user's names for the recordings of a source."""
        return self.compared_labels if spec == self.compared else self.labels

    def samples(self, key: str) -> bool:
        """Tell whether a recording belongs to the sample: by its key alone, so always or never."""
        digest = hashlib.sha256(key.encode(errors="replace")).digest()
        return int.from_bytes(digest[:8], "big") < self.sample * 2**64

    @property
    def journals(self) -> list[tuple[Path, str | None]]:
        """Return the references with paths."""
        return [(Path(folder), run) for folder, run in self.references]


def sources_of(
    command: Command, references: list[tuple[Path, str | None]], options: Options, replacement: Case | None = None
) -> Sources:
    """Return the request with the present sizes of its journals.

    Raises:
        JournalError: a journal or a requested run does not exist.
    """
    for folder, run in references:
        next(iter(raw_lines(folder) if run is None else read_runs(folder, run)), None)
    sizes = tuple(_size(folder) for folder, _ in references)
    absolute = tuple((str(folder.absolute()), run) for folder, run in references)
    return Sources(command, absolute, options, replacement, sizes=sizes, folder=os.getcwd())


def save_sources(sources: Sources, journal: Journal) -> None:
    """Store the request next to a new journal.

    Raises:
        SetupError: the folder already holds a request.
    """
    if journal.holds(FILE):
        again = f"viva {sources.command} --resume {journal.folder}"
        raise SetupError(f"{journal.folder} is already in use: resume it ({again}), or name another --out.")
    journal.keep(FILE, signed(encode(sources)))


def load_sources(folder: Path, command: Command, *, trusted: bool = False) -> Sources:
    """Return the request that is stored in a folder.

    Args:
        folder: The journal's folder.
        command: The command that resumes it.
        trusted: Whether the user permits resuming a request without the user's signature.

    Raises:
        SetupError: the folder holds no request of this command, the request does not have the user's signature, or a
            journal has changed since.
    """
    try:
        data, ours = read_signed(folder, FILE)
        sources = decode(Sources, {OLDER_NAMES.get(name, name): value for name, value in data.items()})
    except FileNotFoundError:
        raise SetupError(f"{folder} was not made by viva {command}: it has no {FILE}.") from None
    except (OSError, ValueError) as error:
        raise SetupError(f"{folder / FILE} cannot be read: {error}") from error
    if sources.replacement is not None:
        # The files that it requires were copied when the command started.
        sources = replace(sources, replacement=replace(sources.replacement, data_folder=NOWHERE))
    if sources.command != command:
        raise SetupError(f"{folder} was made by viva {sources.command}: viva {sources.command} --resume {folder}")
    if not ours and not trusted:
        refuse_unsigned(folder, FILE, _choices(sources))
    for (journal, _), size in zip(sources.journals, sources.sizes, strict=False):
        if _size(journal) != size:
            raise SetupError(f"the journal {journal} has changed since {folder} was started; start a new one.")
    return sources


def _choices(sources: Sources) -> dict[str, object]:
    agent = {"agent": sources.options.agent} if sources.options.agent else {}
    case = {"the case": sources.replacement.file} if sources.replacement is not None else {}
    found = {
        "journals": tuple(journal for journal, _ in sources.references),
        "recordings": sources.recordings,
        "mapping": sources.mapping,
    }
    read = {what: value for what, value in found.items() if value}
    return {**read, **case, **agent, **dict(chosen(sources.options)), "in the folder": sources.folder or "."}


def _size(folder: Path) -> int:
    with contextlib.suppress(OSError):
        return (folder / JOURNAL_FILE).stat().st_size
    return -1
