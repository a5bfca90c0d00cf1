"""The protocol of a server and its keeper: frames on stdin and stdout.

A frame is four bytes of length (big-endian), one byte of kind, the payload.
In: `W` (begin a run, to a keeper), `O` (a workspace and what the check sees of the run), `C` (a check), `X` (the run
has ended), `P` (are you there?). `O` is described in `archive.py`; the others are JSON.
Out: `H` (hello), `W` (begun), `R` (ready), `V` (an ending), `X` (it has ended), `P` (I am), `E` (it cannot go on), all
JSON.
"""

from __future__ import annotations

import json
import os
from typing import Any

from viva.sandbox.inside import watch

_held: list[bytes] = []
"""Frames that wait for the next one."""


def receive() -> tuple[bytes, memoryview]:
    """Return the kind and the payload of the next frame.

    Raises:
        ServerStop: stdin has ended.
    """
    head = _take(5)
    return bytes(head[4:5]), memoryview(_take(int.from_bytes(head[:4], "big")))


def _take(size: int) -> bytes:
    """Read exactly `size` bytes."""
    data = bytearray(size)
    view, at = memoryview(data), 0
    while at < size:
        got = os.readv(0, [view[at:]])
        if not got:
            raise watch.ServerStop("stdin ended")
        at += got
    view.release()
    return bytes(data) if size < 65536 else data  # type: ignore[return-value]


def send(kind: bytes, message: dict[str, Any], *, with_next: bool = False) -> None:
    """Write one frame; `with_next`, together with the next one, so that nobody on the way is woken twice."""
    text = json.dumps(message).encode("utf-8")
    _held.append(len(text).to_bytes(4, "big") + kind + text)
    if with_next:
        return
    data = b"".join(_held)
    _held.clear()
    while data:
        data = data[os.write(1, data) :]
