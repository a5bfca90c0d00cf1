"""What a watched suite consists of, and which of its runs a saved file touches."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from viva.cases import Case
from viva.cases.many.references import split_reference
from viva.filters.expression import Comparison, Expression, Or
from viva.suites.chosen.sources import agent_folders, agent_sources, case_sources, files_below, is_watched

MOST_FOLDERS = 5_000
"""Folders in which new cases are noticed."""


@dataclass(frozen=True, slots=True)
class WatchedSuite:
    """The content of a suite's cases and agents, and where it is."""

    cases: Mapping[str, str]
    """The hash of each case, by name."""
    agents: Mapping[str, str]
    """A digest of all files of each agent, by SPEC."""
    places: tuple[str, ...]
    """The files, and the folders in which further ones can appear."""

    def touched_since(self, before: WatchedSuite) -> Expression | None:
        """Return a filter for the runs whose case or agent is not as it was; None if there is none."""
        cases = [Comparison("case", "=", name) for name in _differing(self.cases, before.cases)]
        agents = [Comparison("agent", "=", spec) for spec in _differing(self.agents, before.agents)]
        parts: list[Expression] = [*cases, *agents]
        if not parts:
            return None
        return parts[0] if len(parts) == 1 else Or(tuple(parts))


def watched(paths: Sequence[str], specs: Sequence[str], load: Callable[[], Sequence[Case]]) -> WatchedSuite:
    """Return what a suite consists of now.

    Args:
        paths: The cases and folders of cases that were named.
        specs: The SPECs of the agents.
        load: Loads the cases.

    Raises:
        SetupError, CaseError: a case cannot be loaded.
    """
    cases = load()
    return WatchedSuite(
        {case.name: case.hash for case in cases},
        {spec: _digest(sorted(set(_agent_files(spec)))) for spec in specs},
        tuple(sorted({str(place) for place in (*places_of(paths, specs), *_case_places(cases))})),
    )


def places_of(paths: Sequence[str], specs: Sequence[str]) -> Iterator[Path]:
    """Yield what can be watched without a case that can be loaded: the named folders, and the agents' files."""
    left = MOST_FOLDERS
    for reference in paths:
        path = split_reference(reference).path
        yield path
        for folder, folders, names in os.walk(path):
            folders[:] = [each for each in folders if is_watched(folder, each)]
            left -= 1
            if left < 0:
                return
            yield Path(folder)
            yield from (Path(folder, name) for name in names if name.endswith((".yaml", ".yml")))
    for spec in specs:
        yield from _agent_files(spec)
        yield from agent_folders(spec)


def _case_places(cases: Sequence[Case]) -> Iterator[Path]:
    for folder in {case.file.parent for case in cases}:
        yield folder
        with suppress(OSError):  # rows, for example, which a case names
            yield from (each for each in folder.iterdir() if each.is_file() and not each.name.startswith("."))
    for case in cases:
        for source in case_sources(case):
            yield source
            yield from files_below(source)


def _agent_files(spec: str) -> Iterator[Path]:
    for source in agent_sources(spec):
        yield from files_below(source)
    for folder in agent_folders(spec):
        yield from files_below(folder, (".py",))


def _digest(files: Sequence[Path]) -> str:
    found = hashlib.sha256()
    for file in files:
        with suppress(OSError):
            content = file.read_bytes()
            found.update(f"{file}\0{len(content)}\0".encode(errors="surrogateescape"))
            found.update(content)
    return found.hexdigest()


def _differing(now: Mapping[str, str], before: Mapping[str, str]) -> list[str]:
    return [name for name, digest in now.items() if before.get(name) != digest]
