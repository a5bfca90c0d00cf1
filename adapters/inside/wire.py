"""Frames on a socket: four bytes of length, big-endian, then JSON."""

from __future__ import annotations

import json
import os
from typing import Any

# Taken before the agent's code can replace them.
_read, _write, _loads = os.read, os.write, json.loads

LIMIT = 32 * 1024 * 1024
"""Bytes of one frame; a longer reply is an error of the agent's. Viva refuses to read more than this."""


def receive(descriptor: int) -> dict[str, Any] | None:
    """The next frame, or None when the other side is gone."""
    head = _exactly(descriptor, 4)
    body = None if head is None else _exactly(descriptor, int.from_bytes(head, "big"))
    return None if body is None else _loads(body)


def send(descriptor: int, body: bytes) -> None:
    """Raises OSError when the other side is gone."""
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
