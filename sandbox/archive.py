"""Packs a workspace for the way into a sandbox. Reads nothing outside of it, follows no link, opens no device."""

from __future__ import annotations

import contextlib
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.interface import RunView, SandboxError, WorkspaceTooLarge

MIB = 1024 * 1024
MOST_DEPTH = 200
MOST_PATH = 3500
"""Bytes of a path in the workspace: with its folder in front it must stay below what a system call takes (4096)."""
MOST_TALK = 64
"""MiB of conversation, as JSON: the server holds it in memory of its own."""


@dataclass
class _Packer:
    most_bytes: int
    most_entries: int
    entries: list[tuple[str, str, int, int, Any]] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0

    def folder(self, descriptor: int, prefix: str, depth: int) -> None:
        # Everything goes through directory descriptors and O_NOFOLLOW: an agent still at work may swap a folder
        # for a link between looking and opening.
        for name in sorted(os.listdir(descriptor)):
            # What cannot be read is not there, for the check as for us: no agent gets out of its exam by a mode.
            with contextlib.suppress(OSError):
                self._entry(descriptor, name, prefix, depth)

    def _entry(self, descriptor: int, name: str, prefix: str, depth: int) -> None:
        path = prefix + name
        if len(os.fsencode(path)) > MOST_PATH:
            raise WorkspaceTooLarge(f"a path of more than {MOST_PATH} bytes at {prefix[:60]!r}")
        state = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        if stat.S_ISDIR(state.st_mode):
            if depth > MOST_DEPTH:
                raise WorkspaceTooLarge(f"more than {MOST_DEPTH} folders inside each other at {prefix[:60]!r}")
            below = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=descriptor)
            try:
                self._add("d", path, 0o700, 0, None)
                self.folder(below, path + "/", depth + 1)
            finally:
                os.close(below)
        elif stat.S_ISREG(state.st_mode):
            self._file(descriptor, name, path)
        elif stat.S_ISLNK(state.st_mode):
            target = os.readlink(name, dir_fd=descriptor)
            if _stays_inside(prefix, target):
                self._add("l", path, 0o777, 0, target)

    def _file(self, folder: int, name: str, path: str) -> None:
        # O_NONBLOCK: what was a file a moment ago may be a fifo now, and opening that would wait for ever.
        descriptor = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
        with os.fdopen(descriptor, "rb") as file:
            state = os.fstat(descriptor)
            if not stat.S_ISREG(state.st_mode):
                return
            data = file.read(max(0, self.most_bytes - self.size) + 1)
        self.pieces.append(data)
        mode = 0o700 if state.st_mode & 0o100 else 0o600
        self._add("f", path, mode, len(data), state.st_mtime_ns)

    def _add(self, kind: str, path: str, mode: int, length: int, extra: Any) -> None:
        self.entries.append((kind, path, mode, length, extra))
        self.size += length
        if self.size > self.most_bytes:
            raise WorkspaceTooLarge(f"more than {self.most_bytes // MIB} MiB")
        if len(self.entries) > self.most_entries:
            raise WorkspaceTooLarge(f"more than {self.most_entries} files")


def _stays_inside(prefix: str, target: str) -> bool:
    """Whether a relative link in the folder `prefix` leads to a place in the workspace, by its words alone.

    Upwards only at its beginning: behind the name of another link, `..` leads to wherever that one's target lies.
    """
    parts = [part for part in target.split("/") if part not in ("", ".")]
    upwards = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    return not target.startswith("/") and upwards <= prefix.count("/") and ".." not in parts[upwards:]


def pack(workspace: Path | None, view: RunView, *, most_mb: int, most_entries: int = 20_000) -> bytes:
    """The payload of an `O` frame: four bytes of header length, a JSON header, then the files' bytes in its order.

    The header holds `chat_history`, `rounds` and `entries`: (kind `d`, `f` or `l`, path, mode, length, mtime in ns
    or a link's target). Links that leave the workspace, devices, fifos and sockets are left out.

    Raises:
        WorkspaceTooLarge: more than `most_mb` MiB, `most_entries` entries, folders too deep, a path too long, or more
            than `MOST_TALK` MiB of conversation.
        SandboxError: the workspace itself cannot be read; what cannot be read in it is left out.
    """
    packer = _Packer(most_mb * MIB, most_entries)
    if workspace is not None:
        # The workspace itself may be reached through a link: that one is ours.
        try:
            root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY)
        except OSError as error:
            raise SandboxError(f"the workspace {workspace} cannot be read: {error.strerror}") from error
        try:
            packer.folder(root, "", 0)
        finally:
            os.close(root)
    header = json.dumps(
        {
            "chat_history": [list(message) for message in view.chat_history],
            "rounds": list(view.rounds),
            "entries": packer.entries,
        },
        default=str,
    ).encode()
    if len(header) > MOST_TALK * MIB:
        raise WorkspaceTooLarge(f"more than {MOST_TALK} MiB of conversation")
    return b"".join([len(header).to_bytes(4, "big"), header, *packer.pieces])
