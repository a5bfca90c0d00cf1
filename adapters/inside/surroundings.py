"""Sets up what surrounds the agent in its process: input, outputs, limits. It uses only the standard library."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

TAIL = 32768
"""Number of bytes at the end of stdout and of stderr that are kept."""


def wire_up(out: int, err: int, *, streams: bool) -> None:
    """Set up an empty input, and outputs that only the supervisor reads, separate from the agent's replies.

    Args:
        out: The descriptor for stdout.
        err: The descriptor for stderr.
        streams: Whether to make new objects that write there; in a fork, modules hold those that there are.
    """
    null = os.open(os.devnull, os.O_RDONLY)
    for source, target in ((null, 0), (out, 1), (err, 2)):
        os.dup2(source, target)
    if null > 2:
        os.close(null)
    if not streams:
        return
    sys.stdout = sys.__stdout__ = _stream(1, io.BufferedWriter(_file(1)))  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = _stream(2, _file(2))  # type: ignore[misc]
    import faulthandler

    faulthandler.enable(2, all_threads=False)


def _stream(descriptor: int, below: Any) -> Any:
    """Return a stream that writes the last output before the agent dies: stdout by line, stderr at once."""
    return io.TextIOWrapper(
        below, encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=descriptor == 2
    )


def _file(descriptor: int) -> Any:
    return Noted(descriptor, "w", closefd=False)


class Noted(io.FileIO):
    """A file that also keeps the end of what is written to it, while the agent's module is imported."""

    kept: bytearray | None = None

    def write(self, data: Any) -> int:
        if self.kept is not None:
            self.kept += data
            del self.kept[:-TAIL]
        return super().write(data)


def limit(memory: int | None, files: int | None) -> None:
    """Limit the memory of this process and the number of files that it can open."""
    import resource

    if files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    set_memory_limit(memory)


def set_memory_limit(memory: int | None, *, for_good: bool = False) -> None:
    """Limit the address space of this process; other than for good, a fork of it can lift the limit."""
    import resource

    if memory is not None:
        most = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = memory if most == resource.RLIM_INFINITY else min(memory, most)
        resource.setrlimit(resource.RLIMIT_AS, (most, most if for_good else resource.getrlimit(resource.RLIMIT_AS)[1]))


def lift_memory_limit() -> None:
    """Free a supervisor from the limit of the agent's process that it was forked from."""
    import resource

    most = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
