"""Finds the files that a source names: a file, everything in a folder and below it, or what a glob matches."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from viva.recordings.recording import NothingYet

JSON_FILES = (".json", ".jsonl", ".ndjson")
PACKED = (".gz", ".zst", ".zstd")
MOST_SHOWN = 3


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files of one or several sources."""

    files: tuple[Path, ...]
    """Each file once, in the order of the sources and, in a folder or glob, of the names."""
    notes: tuple[str, ...] = ()
    """Which files of folders were left out because of their names."""


def find_files(sources: Iterable[str], endings: Sequence[str]) -> FoundFiles:
    """Return the files of some sources.

    Args:
        sources: Files, folders and globs. A file that is named itself is taken whatever its name is.
        endings: Of the files that are read in a folder; packed files have `.gz` or `.zst` after it.

    Raises:
        NothingYet: a folder or glob holds no such file.
    """
    files: dict[Path, None] = {}
    left: list[Path] = []
    for source in sources:
        path = Path(source)
        # A path that may not be looked at is left to its opening, which says why. `Path.is_dir` would raise.
        if os.path.isdir(path):
            inside = _in_folder(path, endings, left)
            if not inside:
                raise NothingYet(f"{path}: no file in this folder or below it ends in {', '.join(endings)}.")
            files.update(dict.fromkeys(inside))
        elif os.path.exists(path) or not glob.has_magic(source):
            files[path] = None
        else:
            files.update(dict.fromkeys(_matching(source, endings, left)))
    notes: tuple[str, ...] = ()
    if left:
        shown = ", ".join(each.name for each in left[:MOST_SHOWN]) + (", …" if len(left) > MOST_SHOWN else "")
        notes = (f"files left out because their names end in none of {', '.join(endings)}: {len(left)} ({shown})",)
    return FoundFiles(tuple(files), notes)


def _matching(source: str, endings: Sequence[str], left: list[Path]) -> list[Path]:
    matched = [Path(each) for each in sorted(glob.glob(source, recursive=True))]
    found: dict[Path, None] = {}
    for path in matched:
        found.update(dict.fromkeys(_in_folder(path, endings, left) if path.is_dir() else [path]))
    if not found:
        raise NothingYet(f"{source}: no file matches this pattern.")
    return list(found)


def _in_folder(root: Path, endings: Sequence[str], left: list[Path]) -> list[Path]:
    found = []
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in sorted(names):
            path = Path(folder, name)
            if _is_one(name, endings):
                found.append(path)
            else:
                left.append(path)
    return found


def _is_one(name: str, endings: Sequence[str]) -> bool:
    plain = name.lower()
    for packed in PACKED:
        plain = plain.removesuffix(packed)
    return plain.endswith(tuple(endings)) and not name.startswith(".")
