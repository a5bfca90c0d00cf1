"""Frames on a socket: four bytes of length, big-endian, then JSON."""

from __future__ import annotations

import json
import os
from typing import Any

# Bound before the agent's code can replace them.
_read, _write, _loads = os.read, os.write, json.loads

LIMIT = 64 * 1024 * 1024
"""Maximum size of one frame in bytes; a longer reply is an error of the agent, and Viva does not read more."""


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
