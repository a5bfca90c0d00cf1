"""Packs the agent's files of one run into bytes that travel between node and driver, and unpacks them again.

The agent wrote these files: no link is followed on either side, and no name leads out of the run's folder.
"""

from __future__ import annotations

import io
import os
import stat
import tarfile
from pathlib import Path

from viva.journal.kept_files import open_folder
from viva.records.wording import counted
from viva.regular_files import open_plain

MIB = 1024 * 1024
MOST_BYTES = 64 * MIB
"""Maximum total size of the files of one run that travel between node and driver."""
MOST_ENTRIES = 20_000
MOST_DEPTH = 64
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class TooLarge(Exception):
    """The files are more than may travel. The message says how much is allowed."""


def pack_folder(folder: Path, most: int = MOST_BYTES) -> bytes | None:
    """Return an archive of a folder; None if the folder is missing or empty.

    Links are packed as links; pipes, sockets and devices are left out, as in a journal.

    Raises:
        TooLarge: the files are larger than `most` bytes in total, too many, or nested too deeply.
        OSError: a file cannot be read.
    """
    buffer = io.BytesIO()
    packer = _FolderPacker(most)
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        try:
            with open_folder(folder.parent, [folder.name]) as opened:
                packer.add(archive, opened, (), 0)
        except (FileNotFoundError, NotADirectoryError):
            return None
    return buffer.getvalue() if packer.entries else None


def unpack_folder(content: bytes, parent: Path, name: str) -> None:
    """Unpack an archive into the new folder `name` below `parent`.

    Raises:
        OSError: a file cannot be written, or an entry leads through a link.
        ValueError: the archive is damaged, or an entry leads out of the folder.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(content), mode="r:") as archive:
            with open_folder(parent, name.split("/"), make=True):
                pass
            for entry in archive:
                _extract(archive, entry, parent, name.split("/"))
    except tarfile.TarError as error:
        raise ValueError(f"an archive of agents' files is damaged: {error}") from error


class _FolderPacker:
    def __init__(self, most: int) -> None:
        self.entries, self._left, self._most = 0, most, most

    def add(self, archive: tarfile.TarFile, folder: int, parents: tuple[str, ...], depth: int) -> None:
        """Add the contents of an open folder."""
        if depth > MOST_DEPTH:
            raise TooLarge(f"folders are nested more than {MOST_DEPTH} levels deep")
        for name in sorted(os.listdir(folder)):
            self.entries += 1
            if self.entries > MOST_ENTRIES:
                raise TooLarge(f"there are more than {counted(MOST_ENTRIES, 'file')}")
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            entry = tarfile.TarInfo("/".join((*parents, name)))
            entry.mtime, entry.mode = int(found.st_mtime), stat.S_IMODE(found.st_mode) & 0o777
            if stat.S_ISDIR(found.st_mode):
                entry.type = tarfile.DIRTYPE
                archive.addfile(entry)
                inner = os.open(name, _FOLDER, dir_fd=folder)
                try:
                    self.add(archive, inner, (*parents, name), depth + 1)
                finally:
                    os.close(inner)
            elif stat.S_ISLNK(found.st_mode):
                entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=folder)
                archive.addfile(entry)
            elif stat.S_ISREG(found.st_mode):
                self._file(archive, entry, name, folder)

    def _file(self, archive: tarfile.TarFile, entry: tarfile.TarInfo, name: str, folder: int) -> None:
        with open_plain(name, folder) as file:
            # Read whole, because an agent's process may still be appending to it.
            content = file.read(self._left + 1)
        self._left -= len(content)
        if self._left < 0:
            raise TooLarge(f"there are more than {self._most / MIB:g} MiB")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))


def _extract(archive: tarfile.TarFile, entry: tarfile.TarInfo, parent: Path, inside: list[str]) -> None:
    *parents, last = entry.name.split("/")
    if {"", ".", ".."} & {*parents, last} or "\0" in entry.name:
        raise ValueError(f"an archive of agents' files has an entry {entry.name!r:.200}")
    if entry.isdir():
        with open_folder(parent, [*inside, *parents, last], make=True):
            return
    with open_folder(parent, [*inside, *parents], make=True) as folder:
        if entry.issym():
            os.symlink(entry.linkname, last, dir_fd=folder)
        elif entry.isreg() and (source := archive.extractfile(entry)) is not None:
            mode = 0o755 if entry.mode & 0o100 else 0o644
            with open(os.open(last, _NEW_FILE, mode, dir_fd=folder), "wb") as file:
                file.write(source.read())
            os.utime(last, (entry.mtime, entry.mtime), dir_fd=folder, follow_symlinks=False)
