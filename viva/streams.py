"""Standard output and error that outlive their reader: what is written after `| head` has ended is dropped.

Otherwise a reader that stops early would end a suite, fail an agent that prints, or turn a gate's exit code into
another. Imported at every start, so it imports nothing that costs.
"""

from __future__ import annotations

import contextlib
import errno
import io
import os
import re
import stat
import sys
from collections.abc import Iterator
from typing import Any, TextIO

_LOST = (errno.EPIPE, errno.ECONNRESET)
_STANDARD = {"stdin": 0, "stdout": 1, "stderr": 2}
_DESCRIPTOR = r"/dev/(stdin|stdout|stderr)|/(?:dev/fd|proc/self/fd)/(\d{1,9})"


class DroppingPipe(io.RawIOBase):
    """The writing end of a pipe or socket, which drops what nobody reads any more."""

    def __init__(self, descriptor: int, *, closes: bool = False) -> None:
        """Write to an open descriptor.

        Args:
            descriptor: The open descriptor.
            closes: Whether closing this closes the descriptor.
        """
        self._descriptor = descriptor
        self._closes = closes
        self.reader_left = False

    def writable(self) -> bool:
        """Return True."""
        return True

    def fileno(self) -> int:
        """Return the descriptor."""
        return self._descriptor

    def write(self, data: Any, /) -> int:
        """Write some of the bytes, or drop all of them if nobody reads them any more."""
        if not self.reader_left:
            try:
                return os.write(self._descriptor, data)
            except OSError as error:
                if error.errno not in _LOST:
                    raise
                self.reader_left = True
        return len(data)

    def close(self) -> None:
        """Close the descriptor, if this owns it."""
        if not self.closed and self._closes:
            os.close(self._descriptor)
        super().close()


class _Heard(io.TextIOWrapper):
    """Text that stops its writer when the reader has left: for long output that is only computed to be read."""

    def write(self, text: str, /) -> int:
        if reader_left():
            raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))
        return super().write(text)


def protect_streams() -> None:
    """Replace `sys.stdout` and `sys.stderr` by streams that outlive their reader, where they are pipes or sockets.

    Where the shell closed one (`>&-`), what is written to it is dropped: otherwise, the next file that is opened would
    take its descriptor, and receive the output of agents.
    """
    sys.stdout, sys.stderr = _protected(sys.stdout, 1), _protected(sys.stderr, 2)


def open_descriptor(descriptor: int, **options: Any) -> TextIO:
    """Return a text stream that owns a descriptor, and outlives its reader if that is a pipe or socket.

    Args:
        descriptor: The open descriptor.
        options: Those of `io.TextIOWrapper`.
    """
    raw = DroppingPipe(descriptor, closes=True) if _is_pipe(descriptor) else io.FileIO(descriptor, "w")
    return io.TextIOWrapper(io.BufferedWriter(raw), **options)


def descriptor_named(path: str | os.PathLike[str]) -> int | None:
    """Return the descriptor of this process that a path names, as `/dev/stdout` and `/dev/fd/63` do, or else None.

    Opening such a path again would fail for a socket, and would lose the position in a file that the shell opened.
    """
    match = re.fullmatch(_DESCRIPTOR, os.path.normpath(os.path.abspath(path)))
    if match is None:
        return None
    return _STANDARD[match[1]] if match[1] else int(match[2])


def reader_left() -> bool:
    """Return whether nobody reads standard output any more."""
    pipe = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return isinstance(pipe, DroppingPipe) and pipe.reader_left


@contextlib.contextmanager
def standard_output() -> Iterator[TextIO]:
    """Open standard output as UTF-8 without line-end translation, whatever the locale: file formats prescribe both.

    Raises:
        BrokenPipeError: nobody reads it any more, so the rest need not be computed.
    """
    sys.stdout.flush()
    file = _Heard(sys.stdout.buffer, encoding="utf-8", newline="")
    try:
        yield file
        file.flush()
    finally:
        file.detach()


def _protected(stream: Any, number: int) -> Any:
    if stream is None:
        nothing = os.open(os.devnull, os.O_WRONLY)
        if nothing != number:
            os.dup2(nothing, number)
            os.close(nothing)
        return open(number, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    try:
        descriptor = stream.fileno()
        if not _is_pipe(descriptor):
            return stream
    except (AttributeError, OSError, ValueError):  # one of a test
        return stream
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(DroppingPipe(descriptor)),
        encoding=stream.encoding,
        errors=stream.errors,
        line_buffering=stream.line_buffering or stream.write_through,
    )


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
