"""Compares an agent's workspace with what it was given: which files are new, changed, deleted or as before.

Everything there is the agent's: links are not followed, pipes are not opened, and there is a limit to everything.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from viva.judge.files.given import GivenFile
from viva.records.text import storable
from viva.regular_files import open_plain

MOST_LOOKED_AT = 5_000
"""Maximum number of entries of a workspace that are looked at."""
MOST_DEPTH = 30
MOST_COMPARED = 64 * 1024 * 1024
"""Maximum number of bytes that are read to compare files of the same size."""


class Change(StrEnum):
    """What became of a file."""

    NEW = "new"
    CHANGED = "changed"
    DELETED = "deleted"
    SAME = "same"
    FOUND = "found"
    """It is not known what the agent was given, or whether this is it."""


@dataclass(frozen=True, slots=True)
class WorkspaceFile:
    """A file of a workspace, or one that was there."""

    path: str
    """Relative to the workspace, as the system names it; anybody may have chosen it."""
    change: Change
    size: int
    """In bytes; of a deleted one, the size that it had."""
    is_link: bool = False


@dataclass(frozen=True, slots=True)
class WorkspaceChanges:
    """The files of a workspace, in the order of their paths."""

    files: tuple[WorkspaceFile, ...]
    whole: bool
    """Whether all of the workspace was looked at."""


def compare(workspace: Path, given: Mapping[str, GivenFile] | None, named: Iterable[str] = ()) -> WorkspaceChanges:
    """Return what a workspace holds.

    Args:
        workspace: The folder, which may be gone.
        given: What the agent found there, by path; None if this is not known.
        named: Paths that are looked for one by one if not everything is searched.
    """
    budget = _Budget(MOST_LOOKED_AT, MOST_COMPARED)
    files = []
    for path, entry in _entries(workspace, budget):
        is_link = entry.is_symlink()
        size = entry.stat(follow_symlinks=False).st_size
        known = None if given is None or is_link else given.get(path)
        change = Change.FOUND if given is None else Change.NEW if path not in given else Change.CHANGED
        if known is not None and known.size == size:
            change = budget.compared(workspace / path, known)
        files.append(WorkspaceFile(path, change, size, is_link))
    seen = {file.path for file in files}
    # Looked at one by one: an agent must not hide what it did to a given file behind folders that are not searched.
    for path, known in () if given is None else given.items():
        if path not in seen:
            files.append(_given(workspace, path, known, budget))
    if budget.exhausted:
        new = Change.FOUND if given is None else Change.NEW
        wanted = dict.fromkeys(path for path in named if path not in seen and path not in (given or {}))
        files += [found for path in wanted if (found := _named(workspace, path, new)) is not None]
    return WorkspaceChanges(tuple(sorted(files, key=lambda file: storable(file.path))), not budget.exhausted)


def _given(workspace: Path, path: str, known: GivenFile, budget: _Budget) -> WorkspaceFile:
    """Look at a given file that was not found by searching."""
    try:
        folder = (workspace / path).parent.resolve()
        found = os.stat(workspace / path, follow_symlinks=False)
    except (OSError, RuntimeError, ValueError):
        return WorkspaceFile(path, Change.DELETED, known.size)
    if not folder.is_relative_to(workspace.resolve()):  # the agent has put a link in place of its folder
        return WorkspaceFile(path, Change.DELETED, known.size)
    if not stat.S_ISREG(found.st_mode) or found.st_size != known.size:
        return WorkspaceFile(path, Change.CHANGED, found.st_size, stat.S_ISLNK(found.st_mode))
    return WorkspaceFile(path, budget.compared(workspace / path, known), found.st_size)


def _named(workspace: Path, path: str, change: Change) -> WorkspaceFile | None:
    """Return a file that was not found by searching, if it is there."""
    try:
        folder = (workspace / path).parent.resolve()
        found = os.stat(workspace / path, follow_symlinks=False)
    except (OSError, RuntimeError, ValueError):
        return None
    is_link = stat.S_ISLNK(found.st_mode)
    if not folder.is_relative_to(workspace.resolve()) or not (is_link or stat.S_ISREG(found.st_mode)):
        return None
    return WorkspaceFile(path, change, found.st_size, is_link)


@dataclass(slots=True)
class _Budget:
    entries: int
    bytes: int
    exhausted: bool = False

    def compared(self, path: Path, known: GivenFile) -> Change:
        """Return whether a file of the same size is the same, as far as the budget goes."""
        self.bytes -= known.size
        if self.bytes < 0:
            return Change.FOUND
        try:
            with open_plain(path) as stream:
                same = hashlib.sha256(stream.read(known.size + 1)).digest() == known.digest
        except OSError:
            return Change.FOUND
        return Change.SAME if same else Change.CHANGED


def _entries(workspace: Path, budget: _Budget) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield the files and links below a folder, each with its path."""
    waiting = [("", 0)]
    while waiting:
        inner, depth = waiting.pop()
        try:
            with os.scandir(workspace / inner) as entries:
                for entry in entries:
                    budget.entries -= 1
                    if budget.entries < 0:
                        budget.exhausted = True
                        return
                    path = f"{inner}{entry.name}"
                    if entry.is_dir(follow_symlinks=False):
                        if depth >= MOST_DEPTH:
                            budget.exhausted = True
                        else:
                            waiting.append((f"{path}/", depth + 1))
                    elif entry.is_symlink() or entry.is_file(follow_symlinks=False):
                        yield path, entry
        except OSError:  # it cannot be read, or somebody is removing it
            budget.exhausted = True
