"""The workspace inside: the server keeps it in memory, and gives each check a fresh copy that is wiped afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from typing import Any


class Workspace:
    """What the agent left. No check can reach it: only copies are written to disk."""

    def __init__(self, payload: memoryview) -> None:
        size = int.from_bytes(payload[:4], "big")
        self.header: dict[str, Any] = json.loads(bytes(payload[4 : 4 + size]))
        self._bytes = payload[4 + size :]

    @property
    def entries(self) -> int:
        """The number of files, folders and links."""
        return len(self.header["entries"])

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return self._bytes.nbytes

    @property
    def largest(self) -> int:
        """The bytes of the largest file."""
        return max((length for _kind, _path, _mode, length, _extra in self.header["entries"]), default=0)

    def lay_out(self, home: str) -> None:
        """Write a fresh copy to the folder `home`, which must not exist yet."""
        os.mkdir(home, 0o700)
        at = 0
        for kind, path, mode, length, extra in self.header["entries"]:
            # The paths come from our own packer, yet nothing is gained by believing that.
            if path.startswith("/") or ".." in path.split("/"):
                raise ValueError("entry outside the workspace")
            full = home + "/" + path
            if kind == "d":
                os.mkdir(full, 0o700)
            elif kind == "l":
                os.symlink(extra, full)
            else:
                descriptor = os.open(full, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode)
                try:
                    piece = self._bytes[at : at + length]
                    while piece:
                        piece = piece[os.write(descriptor, piece) :]
                    os.utime(descriptor, ns=(extra, extra))
                finally:
                    os.close(descriptor)
                at += length


def wipe(directory: str) -> None:
    """Empty a directory of any depth and with any modes. Links are removed, never followed.

    Nested directories are moved up and emptied in turn, so that neither recursion nor path length grows with depth.
    """
    fresh = 0
    _restore(directory)
    while True:
        nested = _unlink_files(directory)
        if not nested:
            return
        for path in nested:
            os.chmod(path, 0o700)
            for deeper in _unlink_files(path):
                os.chmod(deeper, 0o700)  # a directory can only be moved by whom may write to it
                target = directory + "/.wiped"
                while os.path.lexists(target):
                    fresh += 1
                    target = f"{directory}/.wiped{fresh}"
                os.rename(deeper, target)
            os.rmdir(path)


def _restore(directory: str) -> None:
    """Make the directory usable again: a check may have locked it, removed it, or put a link in its place."""
    try:
        state = os.lstat(directory)
    except FileNotFoundError:
        os.mkdir(directory, 0o700)
        return
    if not stat.S_ISDIR(state.st_mode):
        os.unlink(directory)
        os.mkdir(directory, 0o700)
    elif state.st_uid == os.getuid():
        os.chmod(directory, 0o700)
        with contextlib.suppress(OSError):  # not every file system has them
            for name in os.listxattr(directory):
                os.removexattr(directory, name)
        os.utime(directory)  # whatever times a check gave it


def _unlink_files(directory: str) -> list[str]:
    """Remove everything but directories, and return these."""
    with os.scandir(directory) as scan:
        entries = [(entry.path, entry.is_dir(follow_symlinks=False)) for entry in scan]
    for path, is_directory in entries:
        if not is_directory:
            os.unlink(path)
    return [path for path, is_directory in entries if is_directory]


def used_bytes(mounts: list[str]) -> int:
    """Return the bytes in use on the file systems that a check can write to. Nobody else uses them."""
    total = 0
    for mount in mounts:
        try:
            state = os.statvfs(mount)
        except OSError:
            continue
        total += (state.f_blocks - state.f_bfree) * state.f_frsize
    return total


def used_entries(mounts: list[str]) -> int:
    """Return the number of files and folders on these file systems."""
    total = 0
    for mount in mounts:
        state = os.statvfs(mount)
        total += state.f_files - state.f_ffree
    return total


def size_of(directory: str, budget: int = 20000) -> int:
    """Return the size in bytes of a directory that shares its file system with others.

    At most `budget` entries are counted.
    """
    total, waiting = 0, [directory]
    while waiting and budget > 0:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    budget -= 1
                    state = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(state.st_mode):
                        waiting.append(entry.path)
                    total += state.st_blocks * 512
        except OSError:
            continue
    return total
