"""Finds the nearest `viva.yaml` from a folder upwards, and reads its bytes once."""

from __future__ import annotations

import hashlib
import os
import pwd
from dataclasses import dataclass
from pathlib import Path

from viva.cases.errors import CaseError
from viva.regular_files import open_plain

NAME = "viva.yaml"
MOST_BYTES = 256 * 1024
"""Maximum size of the file: hundreds of suites."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """A `viva.yaml`, read once: what is checked, shown and trusted is what is used, whatever happens to the file."""

    path: Path
    """The absolute path, without links."""
    raw: bytes
    owner: int
    """The id of the user to whom the file belongs."""

    @property
    def folder(self) -> Path:
        """The folder to which the paths in it are relative."""
        return self.path.parent

    @property
    def digest(self) -> str:
        """The SHA-256 of the content, in hex."""
        return hashlib.sha256(self.raw).hexdigest()

    @property
    def is_strangers(self) -> bool:
        """Whether it belongs to another user. The administrator, who can change any file, is none."""
        return self.owner not in (os.geteuid(), 0)

    @property
    def owner_name(self) -> str:
        """The name of the user to whom it belongs, or the user's number."""
        try:
            return pwd.getpwuid(self.owner).pw_name
        except KeyError:
            return str(self.owner)


def find_file(start: Path | None = None) -> FoundFile | None:
    """Return the `viva.yaml` of a folder or of the nearest folder above it; None if there is none.

    The search ends at the user's home folder and at the border of the file system.

    Args:
        start: The folder; None for the working folder.

    Raises:
        CaseError: the nearest one is not a regular file, cannot be read, or is too long.
    """
    folder = Path(os.path.realpath(start or os.getcwd()))
    home = Path(os.path.realpath(Path.home()))
    try:
        device = _device(folder)
        for each in (folder, *folder.parents):
            if _device(each) != device:
                return None
            if os.path.lexists(each / NAME):
                return read_file(each / NAME)
            if each == home:
                return None
    except OSError:  # a folder above that may not be entered
        return None
    return None


def read_file(path: Path) -> FoundFile:
    """Read a `viva.yaml` of any name.

    Raises:
        CaseError: it is a link, a pipe or a folder, cannot be read, or is too long.
    """
    path = Path(os.path.realpath(path.parent), path.name)
    try:
        with open_plain(path) as stream:
            owner = os.fstat(stream.fileno()).st_uid
            raw = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise CaseError(path, [f"cannot be read: {error.strerror}"]) from error
    if len(raw) > MOST_BYTES:
        raise CaseError(path, [f"is longer than {MOST_BYTES:,} bytes, which no {NAME} needs"])
    return FoundFile(path, raw, owner)


def _device(folder: Path) -> int:
    return folder.stat().st_dev
