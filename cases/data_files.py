"""The data files of a case: which names are allowed, and the digest that tells versions of a case apart."""

from __future__ import annotations

import difflib
import errno
import hashlib
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

MAX_BYTES = 1024 * 1024 * 1024
"""Of all data files of a case. Reading them all must not take for ever, as a sparse file would."""
MAX_FILES = 20_000


def data_file_fault(file: Path, name: str) -> str | None:
    """Return why a data file cannot be used, in words that follow its name; None if it can.

    Args:
        file: The case's YAML file.
        name: The name as the case file gives it.
    """
    home = os.path.realpath(file.parent)
    if os.path.isabs(name):
        return "is an absolute path; name it relative to the case folder"
    try:
        path = os.path.realpath(os.path.join(home, name))
        there = os.path.exists(path)
    except (ValueError, OSError):
        return "is not a possible file name"
    if path != home and not path.startswith(home.rstrip(os.sep) + os.sep):
        return "lies outside the case folder"
    if path == home or ".." in Path(name).parts:
        return "must be named by its path inside the case folder, without '..' or '.' alone"
    if path == os.path.realpath(file):
        return "is the case file itself: the agent would see its own scoring points"
    if there:
        return None if os.path.isfile(path) or os.path.isdir(path) else "is neither a file nor a folder"
    if os.path.islink(os.path.join(home, name)):
        return "is a link that leads nowhere"
    near = difflib.get_close_matches(name, _names(home, os.path.dirname(name)) + _names(home, ""), 1, 0.5)
    return "is not in the case folder" + (f"; did you mean {near[0]!r}?" if near else "")


def copied_to(file: Path, name: str) -> str:
    """Return the path of a data file in the agent's workspace.

    As in TaskWeaver, a file keeps only its name, and a folder its path.
    """
    path = file.parent / name
    return os.path.normpath(name) if path.is_dir() else path.name


def hash_case(raw: bytes, folder: Path, data_files: tuple[str, ...]) -> str:
    """Return the SHA-256, in hex, of the YAML file and the data files in the order of their names.

    Raises:
        OSError: one cannot be read, or they are too many or too large to be copied for every exam.
    """
    total = hashlib.sha256(raw)
    left, number = MAX_BYTES, 0
    for name in sorted(data_files):
        for file in sorted(islice(data_tree(folder / name), MAX_FILES + 1)):
            left, number = left - file.stat().st_size, number + 1
            if left < 0 or number > MAX_FILES:
                limit = f"the data files are more than {MAX_FILES:,}, or more than {MAX_BYTES // 2**20:,} MiB"
                raise OSError(errno.EFBIG, limit, name)
            total.update(b"\0" + os.fsencode(file.relative_to(folder).as_posix()) + b"\0")
            with file.open("rb") as stream:
                total.update(hashlib.file_digest(stream, "sha256").digest())
    return total.hexdigest()


def data_tree(path: Path) -> Iterator[Path]:
    """Yield the regular files at or below `path`. Links inside a folder are not followed."""
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
