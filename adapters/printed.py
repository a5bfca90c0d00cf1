"""Keeps the end of what an agent in Viva's own process prints, for each run on its own; it is still printed.

Runs share `sys.stdout` and `sys.stderr`. What is written there belongs to the run whose context it is written in, if it
is an agent's code that writes (`calls.IN_AGENT`) and not Viva's: the task or the thread that Viva calls the agent in,
and tasks that it starts there. Not kept is what bypasses these two objects or this context: threads that the agent
starts itself, other processes, native code, `sys.stdout.buffer`, and loggers that took the stream before the run began.
"""

from __future__ import annotations

import io
import sys
import threading
from collections.abc import Mapping
from contextvars import ContextVar
from typing import Any

from viva.adapters.calls import IN_AGENT
from viva.records.redact import redact_end
from viva.records.text import printable, storable

LIMIT = 32_768
"""Characters of each stream that are kept: the last ones."""
CUT = "[… the beginning is left out]\n"
SHOWN = 1_000
"""Characters at the end of a stream that an error quotes."""
STREAMS = ("stdout", "stderr")
_noting = threading.Lock()
"""Held while text is added; one for all runs, because most runs print nothing."""


class Printed:
    """What was printed in one run."""

    __slots__ = ("_cut", "_tails")

    def __init__(self) -> None:
        self._tails: dict[str, str] = {}
        self._cut: dict[str, bool] = {}

    def note(self, stream: str, text: str) -> None:
        """Add what was written to a stream."""
        with _noting:
            tail = self._tails.get(stream, "") + text[-2 * LIMIT :]
            if len(tail) > 2 * LIMIT or len(text) > 2 * LIMIT:  # not with every letter of a long text
                tail, self._cut[stream] = tail[-LIMIT:], True
            self._tails[stream] = tail

    def texts(self) -> dict[str, str]:
        """Return the end of each stream to which something was written."""
        if not self._tails:
            return {}
        return texts_of({name: self._tails.get(name, "") for name in STREAMS}, self._cut)


def texts_of(tails: Mapping[str, str], cut: Mapping[str, bool]) -> dict[str, str]:
    """Return the ends of streams as they are kept: bounded, without secrets, and without streams that are empty."""
    found = {}
    for stream, tail in tails.items():
        whole = len(tail) <= LIMIT and not cut.get(stream)
        if tail.strip():
            found[stream] = storable(("" if whole else CUT) + redact_end(tail, LIMIT, cut=not whole))
    return found


def add_last_words(error: Exception, printed: Mapping[str, str]) -> None:
    """Add the end of what an agent printed to the error of an agent that did not open, unless the error has it.

    Such an agent has no session, which would keep what it printed.
    """
    words = str(error)
    for stream, text in printed.items():
        end = printable(text.strip()[-SHOWN:])
        if end[-20:] not in words:
            words += f"; the end of its {stream}: {end}"
    error.args = (words,)


class keep_printed:  # noqa: N801  # a context manager; a generator takes twice as long
    """Keep what is printed in this context, until the block ends."""

    __slots__ = ("_printed", "_token")

    def __enter__(self) -> Printed:
        printed = self._printed = Printed()
        self._token = _CURRENT.set(printed)
        _users.add(printed)
        if type(sys.stdout) is not _Stream or type(sys.stderr) is not _Stream:
            with _lock:
                _install()
        return printed

    def __exit__(self, *_: object) -> None:
        _users.discard(self._printed)
        if not _users:
            with _lock:
                _remove()
        _CURRENT.reset(self._token)


class _Stream(io.TextIOBase):
    """Stands in for a stream, and notes for the current run what is written to it."""

    def __init__(self, stream: Any, name: str) -> None:
        self._viva_stream, self._viva_name = stream, name

    def write(self, text: str) -> int:
        printed = _CURRENT.get()
        # Viva's own progress is printed in the run's context, too.
        if printed is not None and IN_AGENT.get() and isinstance(text, str):
            printed.note(self._viva_name, text)
        written: int = self._viva_stream.write(text)
        return written

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        self._viva_stream.flush()

    def close(self) -> None:
        """Close nothing: an agent that closes its stdout must not close everybody's."""

    def isatty(self) -> bool:
        return bool(self._viva_stream.isatty())

    def fileno(self) -> int:
        descriptor: int = self._viva_stream.fileno()
        return descriptor

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> Any:  # type: ignore[override]
        return getattr(self._viva_stream, "encoding", "utf-8")

    @property
    def errors(self) -> Any:  # type: ignore[override]
        return getattr(self._viva_stream, "errors", None)

    @property
    def closed(self) -> bool:
        return bool(getattr(self._viva_stream, "closed", False))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._viva_stream, name)


_CURRENT: ContextVar[Printed | None] = ContextVar("printed", default=None)
_lock = threading.Lock()
"""Held while a stream is replaced, or put back."""
_users: set[Printed] = set()
_installed: dict[str, tuple[Any, _Stream]] = {}


def _install() -> None:
    for name in STREAMS:
        stream = getattr(sys, name)
        if stream is not None and (name not in _installed or stream is not _installed[name][1]):
            stand_in = _Stream(stream, name)
            _installed[name] = (stream, stand_in)
            setattr(sys, name, stand_in)


def _remove() -> None:
    if _users:
        return
    for name, (stream, stand_in) in _installed.items():
        if getattr(sys, name) is stand_in:  # else somebody has replaced it since
            setattr(sys, name, stream)
    _installed.clear()
    if _users:  # another thread saw the streams in place a moment before
        _install()
