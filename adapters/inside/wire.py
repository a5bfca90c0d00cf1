"""Frames on a socket: four bytes of length, big-endian, then JSON."""

from __future__ import annotations

import json
import os
from typing import Any

# Bound before the agent's code can replace them.
_read, _write, _loads = os.read, os.write, json.loads

LIMIT = 64 * 1024 * 1024
"""Maximum size of one frame in bytes; a longer reply is an error of the agent, and Viva does not read more."""
AT_A_TIME = 1 << 16
"""Bytes that are read at a time. For buffers of more than 128 KiB, the C library asks the kernel each time."""


def receive(descriptor: int) -> dict[str, Any] | None:
    """Return the next frame, or None if the other side is gone."""
    return receive_rest(descriptor, b"")


def receive_rest(descriptor: int, head: bytes) -> dict[str, Any] | None:
    """Return the frame whose first bytes, at most four, were read; None if the other side is gone."""
    more = _exactly(descriptor, 4 - len(head))
    body = None if more is None else _exactly(descriptor, int.from_bytes(head + more, "big"))
    return None if body is None else _loads(body)


def send(descriptor: int, body: bytes) -> None:
    """Send one frame.

    Raises:
        OSError: the other side is gone.
    """
    view = memoryview(len(body).to_bytes(4, "big") + body)
    while view:
        view = view[_write(descriptor, view) :]


class FrameReader:
    """Reads what has arrived, without waiting for the rest of a frame."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self._received = bytearray()

    def read(self) -> list[dict[str, Any]] | None:
        """Read once, and return the frames that are complete; None if the other side is gone."""
        try:
            part = _read(self.descriptor, AT_A_TIME)
        except OSError:
            return None
        if not part:
            return None
        received, found = self._received, []
        received += part
        while len(received) >= 4 and len(received) >= (end := 4 + int.from_bytes(received[:4], "big")):
            found.append(_loads(received[4:end]))
            del received[:end]
        return found


def _exactly(descriptor: int, size: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size:
        try:
            part = _read(descriptor, min(size - len(parts), 1 << 20))
        except OSError:
            return None
        if not part:
            return None
        parts += part
    return bytes(parts)
