"""A workspace that is written once, and that each check sees through a writable layer of its own (overlayfs).

A copy of a thousand files takes the kernel a thousand inodes for each check. Instead, a world's server keeps one copy,
and each check's process mounts an overlay over the file system that holds it, in its own mount namespace: what a check
reads comes from that copy, and what it writes or removes goes to a layer that was empty before the check and is emptied
after it. The overlay covers both, so a check, which may unmount nothing, has no path to either; and the kernel never
writes to the copy. The overlay is gone with the check's last process.

The layer lies on the same file system as the copy, so that its size and number of files are limited as before, and
files keep their inode numbers when they are first written to. In a user namespace an overlay cannot rename a folder of
the copy (EXDEV), and shared mappings of a file do not see later writes: `plain_files` says which checks can tell.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from viva.sandbox.inside import files, hardening, namespaces

MANY_FILES = 200
MANY_BYTES = 2_000_000
"""Beyond either, even the first check of a run has a layer; if it turns out to need a copy, that costs a process."""
_SOME_FILES = 20
_SOME_BYTES = 100_000
"""Beyond either, a layer costs less than a copy, and checks have one while all before them could have had one."""
_COPY, _WRITTEN, _SCRATCH = "/copy", "/written", "/scratch"
_WORK = "/work"


class Layers:
    """The layers of one world's server, on the file system mounted at `root`."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.entries = 0
        """Number of files and folders of the copy and its folder; 0 while there is no copy."""
        self.are_offered = False
        """Whether checks of this run may have layers."""
        self.are_wanted = False
        """Whether the next check is prepared to have one."""
        self._is_large = False

    def offer(self, workspace: files.Workspace) -> None:
        """Offer layers to the checks of a run whose workspace is so large that they cost less than copies."""
        self.are_offered = workspace.entries > _SOME_FILES or workspace.size > _SOME_BYTES
        self.are_wanted = self._is_large = workspace.entries > MANY_FILES or workspace.size > MANY_BYTES

    def set_up(self, workspace: files.Workspace, beside: Sequence[str]) -> None:
        """Write the copy, where there is none yet, and make an empty layer with the folders `beside` the workspace."""
        if not self.entries:
            os.mkdir(self.root + _COPY, 0o700)
            workspace.lay_out(self.root + _COPY + _WORK)
            self.entries = files.used_entries([self.root]) - 1
        _make_layer(self.root)
        for folder in beside:
            os.mkdir(self.root + _WRITTEN + folder[len(self.root) :], 0o700)

    @property
    def place(self) -> str:
        """Where the process that is prepared now has to put its layer on; empty where it has none."""
        return self.root if self.entries else ""

    def wipe(self) -> None:
        """Remove what a check wrote, whose processes are gone."""
        for folder in (self.root + _WRITTEN, self.root + _SCRATCH):
            if os.path.lexists(folder):
                files.wipe(folder)
                os.rmdir(folder)

    def note(self, request: dict[str, Any], workspace: files.Workspace) -> None:
        """Note whether a check works with a layer as with a copy; the next one is prepared for the same. A file is
        copied within the check's own limit when it is first written to."""
        plain = bool(request.get("plain")) and workspace.largest <= request["limits"]["file_mb"] * hardening.MIB
        self.are_wanted = plain
        self.are_offered = plain or self._is_large

    def become_copy(self) -> None:
        """Make the copy an ordinary one that a check may write to, where no check has seen it yet."""
        self.wipe()
        os.rename(self.root + _COPY + _WORK, self.root + _WORK)
        os.rmdir(self.root + _COPY)
        self.entries = 0


def _make_layer(root: str) -> None:
    os.mkdir(root + _WRITTEN, 0o700)
    os.mkdir(root + _SCRATCH, 0o700)


def put_on(root: str) -> None:
    """Mount the overlay, for this mount namespace and those made of it. Raises OSError."""
    os.chdir(root)  # relative names, which tell a check nothing in its list of mounts
    namespaces.overlay(root, _COPY[1:], _WRITTEN[1:], _SCRATCH[1:])
    os.chdir("/")


def work(root: str) -> bool:
    """Return whether the kernel has what layers need: tries it on an empty file system of a world at `root`."""
    copy, seen = root + _COPY + _WORK, root + _WORK
    try:
        os.makedirs(copy + "/folder/inner")
        _put(copy + "/file", b"1")
        _make_layer(root)
        put_on(root)
        os.rmdir(seen + "/folder/inner")
        os.rmdir(seen + "/folder")
        os.mkdir(seen + "/folder")  # without extended attributes, the old contents would be in it
        _put(seen + "/file", b"2")
        is_empty = os.listdir(seen + "/folder") == []
        namespaces.unmount(root)
        return is_empty and os.path.getsize(copy + "/file") == 1
    except OSError:
        return False


def _put(path: str, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        os.write(descriptor, data)
    finally:
        os.close(descriptor)
