"""Watches what this process writes: every path that Python opens for writing, makes, removes, renames or changes.

An audit hook (PEP 578) sees every such call, in whatever library, before it happens; what it does not tell is the
folder that a path given to `os.open` with `dir_fd` begins in, so that function is watched itself.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_ONE = {"os.mkdir": 2, "os.rmdir": 1, "os.remove": 1, "os.truncate": None, "os.chmod": 2, "os.chown": 3, "os.utime": 3}
"""Events about one path, and where among their arguments stands the folder that it begins in."""
_HARMLESS = ("/dev/", "/proc/self/fd")


class Watch:
    """The places at which something was written, but for those where it may be."""

    def __init__(self, allowed: tuple[Path, ...]) -> None:
        self.allowed = tuple(os.path.realpath(path) for path in allowed)
        self.strayed: list[str] = []

    def saw(self, what: str, path: object, folder: object = None) -> None:
        """Note a write unless it is allowed there."""
        if isinstance(path, int) or path is None:
            return
        name = os.fsdecode(path)  # type: ignore[arg-type]
        if not os.path.isabs(name):
            start = os.readlink(f"/proc/self/fd/{folder}") if isinstance(folder, int) and folder >= 0 else os.getcwd()
            name = os.path.join(start, name)
        # Where a link leads counts, but for what acts on the link itself.
        head, tail = os.path.split(name.rstrip("/"))
        real = os.path.realpath(name) if what == "open" else os.path.join(os.path.realpath(head), tail)
        if real.startswith(_HARMLESS):
            return
        if not any(real == each or real.startswith(each + "/") for each in self.allowed):
            self.strayed.append(f"{what} {real}")


_current: Watch | None = None
_hooked = False
_inside = threading.local()
_open = os.open


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    watch = _current
    if watch is None or getattr(_inside, "on", False):
        return
    _inside.on = True
    try:
        if event == "open":
            path, mode, flags = arguments
            # `os.open` has no mode in its event: it is watched below.
            if mode is not None and isinstance(flags, int) and flags & _WRITES:
                watch.saw("open", path)
        elif event in _ONE:
            at = _ONE[event]
            watch.saw(event, arguments[0], None if at is None else arguments[at])
        elif event == "os.rename":
            watch.saw(event, arguments[0], arguments[2])
            watch.saw(event, arguments[1], arguments[3])
        elif event == "os.link":
            watch.saw(event, arguments[1], arguments[3])
        elif event == "os.symlink":
            watch.saw(event, arguments[1], arguments[2])
    finally:
        _inside.on = False


def _watched_open(path: Any, flags: int, *rest: Any, **named: Any) -> int:
    if _current is not None and flags & _WRITES:
        _inside.on = True
        try:
            # With O_NOFOLLOW or O_EXCL the last name is not followed.
            what = "open itself" if flags & (os.O_NOFOLLOW | os.O_EXCL) else "open"
            _current.saw(what, path, named.get("dir_fd"))
        finally:
            _inside.on = False
    return _open(path, flags, *rest, **named)


@contextlib.contextmanager
def watched(*allowed: Path) -> Iterator[Watch]:
    """Watch the writes of this process; they may go below `allowed` only.

    Raises:
        AssertionError: something was written elsewhere.
    """
    global _current, _hooked
    if not _hooked:
        sys.addaudithook(_hook)
        _hooked = True
    watch = _current = Watch(allowed)
    try:
        with mock.patch.object(os, "open", _watched_open):
            yield watch
    finally:
        _current = None
    assert not watch.strayed, f"written outside of {watch.allowed}: {watch.strayed[:5]}"


def contents(folder: Path) -> dict[str, tuple[int, str]]:
    """What lies below a folder: mode, and content or what a link says."""
    found = {}
    for path in sorted(folder.rglob("*")):
        mode = path.lstat().st_mode
        if stat.S_ISREG(mode):
            what = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            what = os.readlink(path) if stat.S_ISLNK(mode) else ""
        found[str(path.relative_to(folder))] = (mode, what)
    return found


def unchanged(folder: Path) -> Callable[[], bool]:
    """Remember what lies below a folder; the function tells whether it still does."""
    before = contents(folder)
    return lambda: contents(folder) == before
