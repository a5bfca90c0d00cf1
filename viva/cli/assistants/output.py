"""Keeps the end of what a process prints, however much that is."""

from __future__ import annotations

import threading

KEPT = 64_000
"""Number of bytes that are kept."""
END_SECONDS = 1.0
"""How long the end of a process's output is waited for: what an agent left behind may hold it open."""


class Tail:
    """The end of a pipe's content, read by a thread of its own, so that whoever writes never has to wait."""

    def __init__(self, reading: int) -> None:
        self._kept = bytearray()
        self._lock = threading.Lock()
        self._thread = threading.Thread(target=self._read, args=(reading,), daemon=True)
        self._thread.start()

    def text(self) -> str:
        """Return the end, which is whole if the process has ended."""
        self._thread.join(END_SECONDS)
        with self._lock:
            return self._kept.decode("utf-8", "replace")

    def _read(self, reading: int) -> None:
        with open(reading, "rb", buffering=0) as pipe:
            while piece := pipe.read(KEPT):
                with self._lock:
                    self._kept += piece
                    del self._kept[:-KEPT]
