"""Packs a workspace to be sent into a sandbox. Reads nothing outside of it, follows no link, opens no device."""

from __future__ import annotations

import errno
import json
import os
import stat
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.sandbox.interface import ConversationTooLarge, RunView, SandboxError, WorkspaceTooLarge, WorkspaceUnreadable

MIB = 1024 * 1024
MAX_DEPTH = 200
MAX_PATH = 3500
"""Bytes of a path in the workspace. With its folder in front it must stay below what a system call takes (4096)."""
MAX_NAMES_MB = 16
"""MiB of paths and targets of links, as JSON, where a byte that is no UTF-8 takes six. The server holds them, too."""
MAX_CONVERSATION_MB = 64
"""MiB of conversation, as JSON. The server holds it in its own memory."""
# These say that Viva's own process or machine is at its end, and nothing about what the agent left.
_OURS = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO, errno.ESTALE)
_DEEP = 32
_deep = threading.Lock()
"""Held while folders of this depth are packed: each level takes a descriptor, and one tree must not take them all."""


@dataclass
class _TarPacker:
    max_bytes: int
    max_entries: int
    entries: list[tuple[str, str, int, int, Any]] = field(default_factory=list)
    pieces: list[bytes] = field(default_factory=list)
    size: int = 0
    names: int = 0
    """Bytes of paths and targets of links, as JSON."""
    seen: int = 0
    """Entries of folders, with those that are left out."""
    is_deep: bool = False

    def folder(self, descriptor: int, prefix: str, depth: int) -> None:
        # Everything goes through directory descriptors and O_NOFOLLOW: an agent that is still working may replace a
        # folder by a link between the look and the opening.
        for name in sorted(self._listed(descriptor)):
            try:
                self._entry(descriptor, name, prefix, depth)
            except OSError as error:
                # Unreadable files are left out, so that an agent cannot avoid a check with chmod.
                if error.errno in _OURS:
                    raise

    def _listed(self, descriptor: int) -> Iterator[str]:
        """Yield the names in a folder, one by one: it may hold millions."""
        with os.scandir(descriptor) as entries:
            for entry in entries:
                self.seen += 1
                if self.seen > self.max_entries:
                    raise WorkspaceTooLarge(f"more than {self.max_entries} files")
                yield entry.name

    def _entry(self, descriptor: int, name: str, prefix: str, depth: int) -> None:
        path = prefix + name
        if len(os.fsencode(path)) > MAX_PATH:
            raise WorkspaceTooLarge(f"a path of more than {MAX_PATH} bytes at {prefix[:60]!r}")
        state = os.stat(name, dir_fd=descriptor, follow_symlinks=False)
        if stat.S_ISDIR(state.st_mode):
            if depth > MAX_DEPTH:
                raise WorkspaceTooLarge(f"more than {MAX_DEPTH} folders inside each other at {prefix[:60]!r}")
            if depth == _DEEP and not self.is_deep:
                self.is_deep = _deep.acquire()
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
            data = file.read(max(0, self.max_bytes - self.size) + 1)
        self.pieces.append(data)
        mode = 0o700 if state.st_mode & 0o100 else 0o600
        self._add("f", path, mode, len(data), state.st_mtime_ns)

    def _add(self, kind: str, path: str, mode: int, length: int, extra: Any) -> None:
        self.entries.append((kind, path, mode, length, extra))
        self.size += length
        self.names += len(json.dumps([path, extra]))
        if self.names > MAX_NAMES_MB * MIB:
            raise WorkspaceTooLarge(f"names of files and links of more than {MAX_NAMES_MB} MiB")
        if self.size > self.max_bytes:
            raise WorkspaceTooLarge(f"more than {self.max_bytes // MIB} MiB")


def _stays_inside(prefix: str, target: str) -> bool:
    """Return whether a relative link in the folder `prefix` leads to a path in the workspace, judged by its text alone.

    It may lead upwards only at its beginning: behind the name of another link, `..` leads to wherever that one points.
    """
    parts = [part for part in target.split("/") if part not in ("", ".")]
    upwards = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    return not target.startswith("/") and upwards <= prefix.count("/") and ".." not in parts[upwards:]


def pack(workspace: Path | None, view: RunView, *, max_mb: int, max_entries: int = 20_000) -> bytes:
    """Return the payload of an `O` frame: four bytes of header length, a JSON header, the files' bytes in its order.

    The header holds `chat_history`, `rounds` and `entries`: (kind `d`, `f` or `l`, path, mode, length, mtime in ns
    or a link's target). Links that leave the workspace, devices, fifos and sockets are left out.

    Raises:
        WorkspaceTooLarge: more than `max_mb` MiB, `max_entries` entries or `MAX_NAMES_MB` MiB of names, folders too
            deep, or a path too long.
        WorkspaceUnreadable: the workspace itself is not a folder, or cannot be read; what cannot be read in it is left
            out.
        ConversationTooLarge: more than `MAX_CONVERSATION_MB` MiB of conversation.
        SandboxError: this machine cannot read it.
    """
    packer = _TarPacker(max_mb * MIB, max_entries)
    if workspace is not None:
        try:
            _pack_folder(packer, workspace)
        except OSError as error:
            raise SandboxError(f"the workspace {workspace} cannot be read: {error.strerror}") from error
        finally:
            if packer.is_deep:
                _deep.release()
    history = [list(message) for message in view.chat_history]
    said = json.dumps({"chat_history": history, "rounds": list(view.rounds)}, default=str)
    if len(said) > MAX_CONVERSATION_MB * MIB:
        raise ConversationTooLarge(f"more than {MAX_CONVERSATION_MB} MiB")
    header = f'{said[:-1]}, "entries": {json.dumps(packer.entries)}}}'.encode()
    return b"".join([len(header).to_bytes(4, "big"), header, *packer.pieces])


def _pack_folder(packer: _TarPacker, workspace: Path) -> None:
    # The folders above may be links: those are the user's. In the place of the workspace itself a link is the agent's.
    try:
        root = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError as error:
        if error.errno in _OURS:
            raise
        what = "is a link" if os.path.islink(workspace) else f"cannot be read: {error.strerror}"
        raise WorkspaceUnreadable(f"the agent's workspace {what}") from error
    try:
        packer.folder(root, "", 0)
    finally:
        os.close(root)
