"""Provides a page's images from the journal or from data URIs, scaled to a limit; nothing is fetched from a network."""

from __future__ import annotations

import base64
import binascii
import os
import re
from pathlib import Path
from urllib.parse import quote

from viva.journal.images import MOST_TEXT, kind_of
from viva.journal.kept_files import is_kept_name, read_sound
from viva.journal.scaled_pictures import scale_picture

ONE_LIMIT = 400_000
"""Maximum size of one image in bytes; a larger one is scaled down."""
LEAST_SHARE = 12_000
"""Minimum size in bytes that is granted to one image, as long as there is space."""
ALL_LIMIT = 16_000_000
"""Maximum size of all images of a page in bytes, before base64."""
FEWEST_EXPECTED = 64
"""Minimum number of images for which one run shares the space, so that later runs get some of it."""

_DATA_URI = re.compile(r"data:image/[a-z+.-]{1,20};base64,([A-Za-z0-9+/=\s]+)\Z")


class PageImages:
    """Provides images as data URIs until there is no more space."""

    def __init__(self, limit: int = ALL_LIMIT) -> None:
        self._left = limit
        self._share = ONE_LIMIT
        self.left_out = 0
        """Number of images that exist and did not fit."""
        self.beside: Path | None = None
        """The folder of the page, from which links lead to the images in a journal; None if it is not known."""
        self._reduced: set[tuple[Path, str]] = set()

    def expect(self, number: int) -> None:
        """Divide the remaining space among the images of the next run, so that all of them can be shown."""
        self._share = max(LEAST_SHARE, min(ONE_LIMIT, self._left // max(number, FEWEST_EXPECTED)))

    def uri(self, folder: Path, name: str) -> str | None:
        """Return a data URI for an image of a journal; None if it does not exist, is not an image, or does not fit.

        A journal may be untrusted: only files with the name of a stored image are read, and only raster images
        are shown, which are recognized by their first bytes.
        """
        content = _embedded(name) if name.startswith("data:") else read_sound(folder, name)
        kind = kind_of(content) if content else None
        if content is None or kind is None:
            return None
        room = min(self._share, self._left)
        if len(content) > room:
            self._reduced.add((folder, name))
            smaller = scale_picture(content, room)
            if smaller is None:
                self.left_out += 1
                return None
            content, kind = smaller, "jpeg"
        self._left -= len(content)
        return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"

    def full(self, folder: Path, name: str) -> str | None:
        """Return a link to the stored image that the page shows only scaled down or not at all; None if it is whole."""
        if self.beside is None or (folder, name) not in self._reduced or not is_kept_name(name):
            return None
        return quote(os.path.relpath(os.path.realpath(folder / name), os.path.realpath(self.beside)))


def _embedded(name: str) -> bytes | None:
    if len(name) > MOST_TEXT or not (match := _DATA_URI.match(name)):
        return None
    try:
        return base64.b64decode(match[1])
    except (binascii.Error, ValueError):
        return None
