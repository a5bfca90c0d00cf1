"""Images for a page: read from the journal, or taken from a data URI, within a limit; never fetched from anywhere."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path

from records.images import kind_of

ONE_LIMIT = 2_000_000
"""Bytes of one image."""
ALL_LIMIT = 16_000_000
"""Bytes of all images of a page, before base64."""

_DATA_URI = re.compile(r"data:image/[a-z+.-]{1,20};base64,([A-Za-z0-9+/=\s]+)\Z")


class Images:
    """Hands out images as data URIs until there is no more room."""

    def __init__(self, limit: int = ALL_LIMIT) -> None:
        self._left = limit
        self.left_out = 0
        """Images that exist and did not fit."""

    def uri(self, folder: Path, name: str) -> str | None:
        """A data URI for an image of a journal; None where it is not there, is no image, or does not fit.

        A journal may come from a stranger: nothing outside its folder is read, and nothing but raster images is
        shown, by their first bytes, whatever they are called.
        """
        content = _embedded(name) if name.startswith("data:") else self._from_file(folder, name)
        kind = kind_of(content) if content else None
        if content is None or kind is None:
            return None
        if len(content) > min(ONE_LIMIT, self._left):
            self.left_out += 1
            return None
        self._left -= len(content)
        return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"

    def _from_file(self, folder: Path, name: str) -> bytes | None:
        try:
            path = (folder / name).resolve()
            if not path.is_relative_to(folder.resolve()) or not path.is_file():
                return None
            with path.open("rb") as file:
                return file.read(ONE_LIMIT + 1)
        except (OSError, ValueError, RuntimeError):
            return None


def _embedded(name: str) -> bytes | None:
    if len(name) > ONE_LIMIT * 2 or not (match := _DATA_URI.match(name)):
        return None
    try:
        return base64.b64decode(match[1])
    except (binascii.Error, ValueError):
        return None
