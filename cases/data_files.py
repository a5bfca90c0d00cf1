"""The data files of a case: which names may stand there, and the digest that tells a case's versions apart."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path


def data_file_fault(file: Path, name: str) -> str | None:
    """Why a data file cannot be used, in words that follow its name; None if it can.

    Args:
        file: The case's YAML file.
        name: As it stands there.
    """
    home = os.path.realpath(file.parent)
    if os.path.isabs(name):
        return "is an absolute path; name it relative to the case folder"
    try:
        place = os.path.realpath(os.path.join(home, name))
        there = os.path.exists(place)
    except (ValueError, OSError):
        return "is not a possible file name"
    if place != home and not place.startswith(home.rstrip(os.sep) + os.sep):
        return "lies outside the case folder"
    if place == home or ".." in Path(name).parts:
        return "must be named by its path inside the case folder, without '..' or '.' alone"
    if place == os.path.realpath(file):
        return "is the case file itself: the agent would see its own scoring points"
    if there:
        return None if os.path.isfile(place) or os.path.isdir(place) else "is neither a file nor a folder"
    if os.path.islink(os.path.join(home, name)):
        return "is a link that leads nowhere"
    near = difflib.get_close_matches(name, _names(home, os.path.dirname(name)) + _names(home, ""), 1, 0.5)
    return "is not in the case folder" + (f"; did you mean {near[0]!r}?" if near else "")


def copied_to(file: Path, name: str) -> str:
    """Where in the agent's workspace a data file lands, as TaskWeaver has it: a file by its name, a folder by path."""
    path = file.parent / name
    return os.path.normpath(name) if path.is_dir() else path.name


def hash_case(raw: bytes, folder: Path, data_files: tuple[str, ...]) -> str:
    """SHA-256 in hex over the YAML file and the data files, in the order of their names."""
    total = hashlib.sha256(raw)
    for name in sorted(data_files):
        for file in sorted(data_tree(folder / name)):
            total.update(b"\0" + os.fsencode(file.relative_to(folder).as_posix()) + b"\0")
            with file.open("rb") as stream:
                total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def data_tree(path: Path) -> Iterator[Path]:
    """The regular files at or below `path`; links inside a folder are not followed."""
    if path.is_file():
        yield path
        return
    for parent, _, names in os.walk(path):
        for name in names:
            file = Path(parent) / name
            if file.is_file() and not file.is_symlink():
                yield file


def _names(home: str, folder: str) -> list[str]:
    try:
        return [os.path.join(folder, entry) for entry in sorted(os.listdir(os.path.join(home, folder)))]
    except OSError:
        return []
