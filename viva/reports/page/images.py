"""Provides a page's images from the journal or from data URIs, scaled to a limit; nothing is fetched from a network."""

from __future__ import annotations

import base64
import binascii
import re
from pathlib import Path

from viva.journal.images import MOST_TEXT, kind_of
from viva.journal.kept_files import read_sound
from viva.reports.page.page_files import PageFiles
from viva.reports.page.scaled_cache import ScaledPictures

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
        self.files: PageFiles | None = None
        """Where pictures are in full size; None if the page has no folder."""
        self.scaled = ScaledPictures()
        self._full: dict[tuple[Path, str], str] = {}

    def expect(self, number: int) -> None:
        """Divide the remaining space among the images of the next run, so that all of them can be shown."""
        self._share = max(LEAST_SHARE, min(ONE_LIMIT, self._left // max(number, FEWEST_EXPECTED)))

    def uri(self, folder: Path, name: str) -> str | None:
        """Return a data URI for an image of a journal; None if it does not exist, is not an image, or does not fit.

        A journal may be untrusted: only files with the name of a stored image are read, and only raster images
        are shown, which are recognized by their first bytes.

        Raises:
            OSError: the picture in full size cannot be written beside the page.
        """
        embedded = name.startswith("data:")
        content = _embedded(name) if embedded else read_sound(folder, name)
        kind = kind_of(content) if content else None
        if content is None or kind is None:
            return None
        room = min(self._share, self._left)
        if len(content) > room:
            if self.files is not None and (link := self.files.picture(folder, name, content)) is not None:
                self._full[folder, name] = link
            # A sound file is named after its content.
            smaller = self.scaled.scale(content, room, None if embedded else Path(name).stem)
            if smaller is None:
                self.left_out += 1
                return None
            content, kind = smaller, "jpeg"
        self._left -= len(content)
        return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"

    def full(self, folder: Path, name: str) -> str | None:
        """Return a link to the image in full size if the page shows it only scaled down or not at all, else None."""
        return self._full.get((folder, name))


def _embedded(name: str) -> bytes | None:
    if len(name) > MOST_TEXT or not (match := _DATA_URI.match(name)):
        return None
    try:
        return base64.b64decode(match[1])
    except (binascii.Error, ValueError):
        return None
