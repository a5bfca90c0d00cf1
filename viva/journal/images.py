"""Stores the images of a conversation in the journal, under names made from their content."""

from __future__ import annotations

import base64
import binascii
from dataclasses import replace
from operator import is_
from pathlib import Path

from viva.journal.kept_files import is_kept_name, name_for
from viva.journal.writer import JournalWriter
from viva.records.transcript import Round, Transcript
from viva.regular_files import open_linked

MOST_BYTES = 20 * 1024 * 1024
MOST_TEXT = MOST_BYTES * 7 // 5
"""The maximum size of an image in base64, with line breaks."""
_KINDS = ((b"\x89PNG\r\n\x1a\n", "png"), (b"\xff\xd8\xff", "jpeg"), (b"GIF87a", "gif"), (b"GIF89a", "gif"))


def keep_recorded_pictures(transcript: Transcript, journal: JournalWriter, workspace: Path | None) -> Transcript:
    """Do the same as `keep_transcript_pictures` for a recording, but read only images in its workspace.

    A recording may be untrusted, and an image that it names elsewhere may be one of the user's own.

    Raises:
        JournalError: the journal cannot be written.
    """
    keeper = _Keeper(journal, workspace, confined=True)
    rounds = tuple(keeper.keep_round(round_) for round_ in transcript.rounds)
    return replace(transcript, rounds=rounds, images=keeper.keep_all(transcript.images))


def keep_transcript_pictures(transcript: Transcript, journal: JournalWriter, workspace: Path | None) -> Transcript:
    """Copy all images of a conversation into `images/`, and return the conversation with their new names.

    See `keep_pictures`. Images that were stored before are left unchanged.

    Raises:
        JournalError: the journal cannot be written.
    """
    if not transcript.images and not any(round_.images or round_.steps for round_ in transcript.rounds):
        return transcript
    keeper = _Keeper(journal, workspace)
    rounds = tuple(keeper.keep_round(round_) for round_ in transcript.rounds)
    if not transcript.images and all(map(is_, rounds, transcript.rounds)):
        return transcript
    return replace(transcript, rounds=rounds, images=keeper.keep_all(transcript.images))


def keep_pictures(round_: Round, journal: JournalWriter, workspace: Path | None) -> Round:
    """Copy the images of a round and its steps into `images/`, and return the round with their new names.

    An image is a path (relative to the agent's workspace) or a `data:` URI. If it cannot be read, is too large or is
    not an image, it keeps the name from the source.

    Raises:
        JournalError: the journal cannot be written.
    """
    if not round_.images and not round_.steps:
        return round_
    return _Keeper(journal, workspace).keep_round(round_)


def kind_of(content: bytes) -> str | None:
    """Return the kind of raster image that begins with these bytes, or None."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "webp"
    return next((kind for magic, kind in _KINDS if content.startswith(magic)), None)


class _Keeper:
    """Reads the images of one conversation and stores them."""

    def __init__(self, journal: JournalWriter, workspace: Path | None, *, confined: bool = False) -> None:
        self._journal, self._workspace, self._confined = journal, workspace, confined

    def keep_round(self, round_: Round) -> Round:
        if not round_.images and not any(step.images for step in round_.steps):
            return round_
        steps = tuple(
            replace(step, images=self.keep_all(step.images)) if step.images else step for step in round_.steps
        )
        return replace(round_, steps=steps, images=self.keep_all(round_.images))

    def keep_all(self, images: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(self._keep(image) for image in images)

    def _keep(self, image: str) -> str:
        if is_kept_name(image) and self._journal.holds(image):
            return image
        content = embedded_picture(image) if image.startswith("data:image/") else self._from_file(image)
        # The agent may have chosen the path, so only content that begins like an image is accepted.
        kind = kind_of(content)
        if kind is None:
            return image if len(image) <= 1000 else f"{image[:1000]}…"
        name = name_for("images", content, kind)
        self._journal.keep(name, content)
        return name

    def _from_file(self, image: str) -> bytes:
        """Return the bytes of the image; empty if it cannot be read."""
        try:
            path = Path(self._workspace or Path(), image)
            if self._confined and not self._is_inside(path):
                return b""
            with open_linked(path) as file:
                content = file.read(MOST_BYTES + 1)
            return content if len(content) <= MOST_BYTES else b""
        except (OSError, ValueError, RuntimeError):
            return b""

    def _is_inside(self, path: Path) -> bool:
        return self._workspace is not None and path.resolve().is_relative_to(self._workspace.resolve())


def embedded_picture(image: str) -> bytes:
    """Return the bytes of a `data:` URI; empty if it is invalid."""
    _, _, data = image.partition(";base64,")
    try:
        # Some encoders insert line breaks, which `validate` would refuse.
        return base64.b64decode("".join(data.split()), validate=True) if len(data) <= MOST_TEXT else b""
    except (binascii.Error, ValueError):
        return b""
