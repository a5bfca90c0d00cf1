"""Finds the files that a source names: a file, everything in a folder and below it, or what a glob matches."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from viva.recordings.recording import NothingYet, RecordingError, SourceNotes

JSON_FILES = (".json", ".jsonl", ".ndjson")
PACKED = (".gz", ".zst", ".zstd")
MOST_SHOWN = 3
Unlisted = Callable[[OSError], None]
"""Takes the error of a folder that cannot be listed."""


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files of one or several sources."""

    files: tuple[Path, ...]
    """Each file once, in the order of the sources and, in a folder or glob, of the names."""
    notes: tuple[str, ...] = ()
    """Which files of folders were left out because of their names."""
    lost: tuple[str, ...] = ()
    """Which folders cannot be listed, and may hold any number of files."""

    def tell(self, told: SourceNotes) -> None:
        """Note what was left out."""
        told.add(*self.notes)
        for words in self.lost:
            told.lose(words)


def find_files(sources: Iterable[str], endings: Sequence[str]) -> FoundFiles:
    """Return the files of some sources.

    Args:
        sources: Files, folders and globs. A file that is named itself is taken whatever its name is.
        endings: Of the files that are read in a folder; packed files have `.gz` or `.zst` after it.

    Raises:
        NothingYet: a folder or glob holds no such file.
        RecordingError: the same, but a folder cannot be listed.
    """
    files: dict[Path, None] = {}
    left: list[Path] = []
    lost: list[str] = []

    def unlisted(error: OSError, hint: str = "") -> None:
        if may_hide_files(error):
            lost.append(f"{unlisted_words(error)}{hint}")

    narrower = partial(unlisted, hint="; if you do not mean it, use a pattern that does not match it")
    for source in sources:
        path = Path(source)
        # A path that may not be looked at is left to its opening, which says why. `Path.is_dir` would raise.
        if os.path.isdir(path):
            inside = _in_folder(path, endings, left, unlisted)
            if not inside:
                raise _nothing(f"{path}: no file in this folder or below it ends in {', '.join(endings)}", lost)
            files.update(dict.fromkeys(inside))
        elif os.path.exists(path) or not glob.has_magic(source):
            files[path] = None
        else:
            inside = _matching(source, endings, left, narrower)
            if not inside:
                raise _nothing(f"{source}: no file matches this pattern", lost)
            files.update(dict.fromkeys(inside))
    notes: tuple[str, ...] = ()
    if left:
        shown = ", ".join(each.name for each in left[:MOST_SHOWN]) + (", …" if len(left) > MOST_SHOWN else "")
        notes = (f"files left out because their names end in none of {', '.join(endings)}: {len(left)} ({shown})",)
    return FoundFiles(tuple(files), notes, tuple(dict.fromkeys(lost)))


def unlisted_words(error: OSError) -> str:
    """Return which folder cannot be listed, and why."""
    return f"{os.path.normpath(error.filename)}: cannot be read: {error.strerror}"


def may_hide_files(error: OSError) -> bool:
    """Return whether a folder that cannot be listed may hold files of the user's.

    What is no folder, was removed in the meantime, or is a link to itself, holds none. So does `lost+found` of a file
    system, which is root's: anybody else may give a folder that name.
    """
    if isinstance(error, FileNotFoundError | NotADirectoryError) or error.errno == errno.ELOOP:
        return False
    path = Path(error.filename)
    return not any(each.name == "lost+found" and _is_roots(each) for each in (path, path.parent))


def _is_roots(path: Path) -> bool:
    try:
        return os.lstat(path).st_uid == 0
    except OSError:
        return False


def _nothing(words: str, lost: Sequence[str]) -> RecordingError:
    """Return the error for a source without files: whoever follows it waits for some, unless he may not see them."""
    return RecordingError(". ".join((words, *lost))) if lost else NothingYet(f"{words}.")


def _matching(source: str, endings: Sequence[str], left: list[Path], unlisted: Unlisted) -> list[Path]:
    matched = [Path(each) for each in sorted(glob.glob(source, recursive=True))]
    found: dict[Path, None] = {}
    for path in matched:
        inside = _in_folder(path, endings, left, unlisted) if os.path.isdir(path) else [path]
        found.update(dict.fromkeys(inside))
    first, *parts = Path(source).parts
    if glob.has_magic(first):
        first, parts = ".", [first, *parts]
    _list_on_the_way(first, parts, unlisted)
    return list(found)


def _list_on_the_way(folder: str, parts: Sequence[str], unlisted: Unlisted) -> None:
    """List the folders in which a pattern is looked for: `glob` passes over those that cannot be listed.

    Args:
        folder: Where the rest of the pattern begins.
        parts: The rest of the pattern.
        unlisted: Takes the error of a folder that cannot be listed.
    """
    if not parts:
        return
    part, rest = parts[0], parts[1:]
    if part == "**":
        for _, below, _ in os.walk(folder, onerror=unlisted):
            below[:] = [name for name in below if not name.startswith(".")]
        return
    names = [part]
    try:
        if glob.has_magic(part):
            with os.scandir(folder) as entries:
                hidden = part.startswith(".")
                names = [each.name for each in entries if hidden or not each.name.startswith(".")]
            names = [name for name in names if fnmatch(name, part)]
        else:
            os.stat(os.path.join(folder, part))
    except OSError as error:
        unlisted(error)
        return
    for name in sorted(names):
        _list_on_the_way(os.path.join(folder, name), rest, unlisted)


def _in_folder(root: Path, endings: Sequence[str], left: list[Path], unlisted: Unlisted) -> list[Path]:
    found = []
    for folder, below, names in os.walk(root, onerror=unlisted):
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
