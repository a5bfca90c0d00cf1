"""Addresses of pictures for the viewer's page, which loads them when they are looked at."""

from __future__ import annotations

from pathlib import Path

from viva.journal.images import kind_of
from viva.journal.kept_files import is_kept_name, read_sound
from viva.reports.page.images import PageImages


class ServedImages(PageImages):
    """Gives addresses below the journal's own instead of data URIs; every picture is whole."""

    def uri(self, folder: Path, name: str) -> str | None:
        """Return the address of a stored picture, relative to the journal's; None if it is not a stored name."""
        if name.startswith("data:"):
            return super().uri(folder, name)
        return name if is_kept_name(name) and name.startswith("images/") else None


def picture(folder: Path, name: str) -> tuple[str, bytes] | None:
    """Return the media type and the bytes of a stored picture; None if there is none, or if it is no raster image."""
    content = read_sound(folder, name) if is_kept_name(name) else None
    kind = kind_of(content) if content else None
    return None if content is None or kind is None else (f"image/{kind}", content)
