"""Reads which files an agent was given: those of its case on this machine, or as the journal has kept them."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from viva.cases import Case
from viva.cases.data_files import copied_to, data_tree
from viva.errors import SetupError
from viva.journal.kept_cases import NOWHERE, kept_data_files


@dataclass(frozen=True, slots=True)
class GivenFile:
    """A file that the agent found in its workspace."""

    size: int
    digest: bytes
    source: Path | bytes | None = field(default=None, compare=False, repr=False)
    """Where its content is, or the content itself; None if it is not known."""


def given_files(case: Case, journal: Path | None) -> dict[str, GivenFile] | None:
    """Return the files that an agent was given, by their path in its workspace; None if they cannot be read any more.

    Args:
        case: The case.
        journal: The folder of the journal, which holds the data files of a stored case.
    """
    if not case.data_files:
        return {}
    try:
        if case.data_folder == NOWHERE:
            kept = {} if journal is None else kept_data_files(case, journal)
            return {path: _of(content) for path, content in kept.items()} or None
        return dict(_on_disk(case))
    except (OSError, SetupError):
        return None


def _on_disk(case: Case) -> Iterator[tuple[str, GivenFile]]:
    file = case.folder / case.file.name
    for name in case.data_files:
        source, target = case.folder / name, copied_to(file, name)
        for found in data_tree(source):
            path = target if found == source else f"{target}/{found.relative_to(source).as_posix()}"
            with found.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").digest()
            yield path, GivenFile(found.stat().st_size, digest, found.resolve())


def _of(content: bytes) -> GivenFile:
    return GivenFile(len(content), hashlib.sha256(content).digest(), content)
