"""Finds the journals below folders that the user names."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from viva.errors import SetupError
from viva.journal.lines import FILE

MOST_JOURNALS = 500
MOST_FOLDERS = 20_000
"""Maximum number of folders that are looked into."""
MOST_DEPTH = 6
_PASSED_OVER = frozenset({"workspaces", "images", "texts", "files", "cases", "node_modules", "__pycache__"})


def find_journals(paths: Sequence[Path]) -> list[Path]:
    """Return the folders of all journals that are, or are below, these paths, the newest first.

    Raises:
        SetupError: a path does not exist, or there is no journal.
    """
    found: dict[Path, float] = {}
    for path in paths:
        if not path.exists():
            raise SetupError(f"there is no {path}. Name a journal, or a folder with journals.")
        folder = path.parent if path.name == FILE else path
        for each in _below(folder):
            found.setdefault(each.absolute(), _changed(each))
    if not found:
        named = ", ".join(str(path) for path in paths)
        raise SetupError(f"there is no journal below {named}: no folder there holds a {FILE}.")
    return sorted(found, key=lambda each: (-found[each], str(each)))[:MOST_JOURNALS]


def _below(folder: Path) -> Iterator[Path]:
    waiting, looked_at = [(folder, 0)], 0
    while waiting and looked_at < MOST_FOLDERS:
        here, depth = waiting.pop()
        looked_at += 1
        if (here / FILE).is_file():
            yield here
            continue  # what is below a journal belongs to it
        if depth == MOST_DEPTH:
            continue
        try:
            with os.scandir(here) as entries:
                inner = [each.name for each in entries if each.is_dir(follow_symlinks=False)]
        except OSError:
            continue
        waiting += [(here / name, depth + 1) for name in inner if name not in _PASSED_OVER and not name.startswith(".")]


def _changed(folder: Path) -> float:
    try:
        return (folder / FILE).stat().st_mtime
    except OSError:
        return 0.0
