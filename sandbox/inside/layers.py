"""A workspace that is written once, and that each check sees through a writable layer of its own (overlayfs).

A copy of a thousand files takes the kernel a thousand inodes for each check. Instead, a world's server keeps one copy,
and mounts an overlay over the file system that holds it: what a check reads comes from that copy, and what it writes or
removes goes to a layer that was empty before the check and is emptied after it. The overlay covers both, so a check,
which may unmount nothing, has no path to either; and the kernel never writes to the copy.

The layer lies on the same file system as the copy, so that its size and number of files are limited as before, and
files keep their inode numbers when they are first written to. In a user namespace an overlay cannot rename a folder of
the copy (EXDEV), and shared mappings of a file do not see later writes: `plain_files` says which checks can tell.
"""

from __future__ import annotations

import os
from typing import Any

from viva.sandbox.inside import files, hardening, namespaces

MANY_FILES = 200
MANY_BYTES = 2 * 1024 * 1024
"""Beyond either, a layer costs less than a copy."""
_COPY, _WRITTEN, _SCRATCH = "/copy", "/written", "/scratch"
_WORK = "/work"


class Layers:
    """The layers of one world's server, on the file system mounted at `root`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.is_on = False
        """Whether the overlay is mounted."""
        self.entries = 0
        """Number of files and folders of the copy and its folder; 0 while there is no copy."""
        self.are_offered = False
        """Whether checks of this run may have layers."""
        self.are_wanted = False
        """Whether the next check is prepared to have one: whether the last one could, or there was none."""

    def offer(self, workspace: files.Workspace) -> None:
        """Offer layers to the checks of a run whose workspace is so large that they cost less than copies."""
        self.are_offered = self.are_wanted = workspace.entries > MANY_FILES or workspace.size > MANY_BYTES

    def set_up(self, workspace: files.Workspace) -> None:
        """Write the copy, where there is none yet, and put a layer on it. Raises OSError."""
        if not self.entries:
            os.mkdir(self.root + _COPY, 0o700)
            workspace.lay_out(self.root + _COPY + _WORK)
            self.entries = files.used_entries([self.root]) - 1
        self.put_on()

    def put_on(self) -> None:
        """Mount the overlay with an empty layer. What is forked from now on can see it. Raises OSError."""
        os.mkdir(self.root + _WRITTEN, 0o700)
        os.mkdir(self.root + _SCRATCH, 0o700)
        before = os.getcwd()
        os.chdir(self.root)  # relative names, which tell a check nothing in its list of mounts
        try:
            namespaces.overlay(self.root, _COPY[1:], _WRITTEN[1:], _SCRATCH[1:])
        finally:
            os.chdir(before)
        self.is_on = True

    def take_off(self) -> None:
        """Unmount the overlay, if it is mounted. Raises OSError."""
        if self.is_on:
            namespaces.unmount(self.root)
            self.is_on = False

    def wipe(self) -> None:
        """Remove what a check wrote, whose overlay was unmounted."""
        for folder in (self.root + _WRITTEN, self.root + _SCRATCH):
            if os.path.lexists(folder):
                files.wipe(folder)
                os.rmdir(folder)

    def become_copy(self) -> None:
        """Make the copy an ordinary one that a check may write to, where no check has seen it yet."""
        self.take_off()
        self.wipe()
        os.rename(self.root + _COPY + _WORK, self.root + _WORK)
        os.rmdir(self.root + _COPY)
        self.entries = 0

    def forget(self) -> None:
        """Unmount the overlay, before the file system below it is replaced."""
        self.take_off()
        self.entries = 0


def suit(request: dict[str, Any], workspace: files.Workspace) -> bool:
    """Return whether a check works with a layer as with a copy. A file is copied within the check's own limit when it
    is first written to."""
    return bool(request.get("plain")) and workspace.largest <= request["limits"]["file_mb"] * hardening.MIB


def work(root: str) -> bool:
    """Return whether the kernel has what layers need: tries it on an empty file system of a world at `root`."""
    layers = Layers(root)
    copy, seen = root + _COPY + _WORK, root + _WORK
    try:
        os.makedirs(copy + "/folder/inner")
        _put(copy + "/file", b"1")
        layers.put_on()
        os.rmdir(seen + "/folder/inner")
        os.rmdir(seen + "/folder")
        os.mkdir(seen + "/folder")  # without extended attributes, the old contents would be in it
        _put(seen + "/file", b"2")
        same = os.listdir(seen + "/folder") == [] and files.used_entries([root]) > 0
        layers.take_off()
        return same and os.path.getsize(copy + "/file") == 1
    except OSError:
        return False
    finally:
        layers.take_off()


def _put(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
