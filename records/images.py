"""Keeps the pictures of a conversation in the journal, under names made from their content."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import replace
from pathlib import Path

from records.journal import Journal
from records.transcript import Round

MOST_BYTES = 20 * 1024 * 1024
MOST_TEXT = MOST_BYTES * 7 // 5
"""Of the same in base64, with line breaks."""
_KINDS = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF87a", "gif"), (b"GIF89a", "gif"))


def keep_pictures(round_: Round, journal: Journal, workspace: Path | None) -> Round:
    """Copy a round's pictures, its steps' too, into `images/`, and name them there.

    A picture is a path (relative ones lie in the agent's workspace) or a `data:` address. What cannot be read, is too
    large or is no picture keeps the name that the source gave it; nothing is lost for it.

    Raises:
        JournalError: the disk did not take it.
    """
    if not round_.images and not any(step.images for step in round_.steps):
        return round_
    steps = tuple(
        replace(step, images=tuple(_keep(image, journal, workspace) for image in step.images)) if step.images else step
        for step in round_.steps
    )
    return replace(round_, steps=steps, images=tuple(_keep(image, journal, workspace) for image in round_.images))


def kind_of(content: bytes) -> str | None:
    """What sort of raster image these bytes begin, or None."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    return next((kind for magic, kind in _KINDS if content.startswith(magic)), None)


def _keep(image: str, journal: Journal, workspace: Path | None) -> str:
    content = _content(image, workspace)
    # The path may have been the agent's idea: only what begins like a picture is taken.
    kind = kind_of(content)
    if kind is None:
        return image if len(image) <= 1000 else f"{image[:1000]}…"
    name = f"images/{hashlib.sha256(content).hexdigest()}.{kind}"
    journal.keep(name, content)
    return name


def _content(image: str, workspace: Path | None) -> bytes:
    """The picture's bytes, or none."""
    if image.startswith("data:image/"):
        _, _, data = image.partition(";base64,")
        try:
            # Some encoders break it into lines, which `validate` would refuse.
            return base64.b64decode("".join(data.split()), validate=True) if len(data) <= MOST_TEXT else b""
        except (binascii.Error, ValueError):
            return b""
    try:
        path = Path(workspace or Path(), image)
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            return b""
        return path.read_bytes()
    except (OSError, ValueError):
        return b""
