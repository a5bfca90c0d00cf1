"""Divides what a page's script reads into the page itself or, if that is too much, into files beside the page.

A browser lets a page that was opened as a file load neither JSON nor modules from its folder, but it runs scripts. So a
part is a script of one call, `vivaPart(number, [[id, text], …])`, whose texts are JSON; an entry that does not fit into
one part goes on in the next one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec

from viva.reports.page.page_files import PageFiles

MOST_INLINE = 1_000_000
"""Maximum size in bytes of what is in the page itself; with more, everything is in parts."""
MOST_PART = 1_800_000
"""Maximum size in bytes of a part."""

# An entry is inside of <script>, where only `</script` and `<!--` have a meaning; without these characters, nothing
# has. U+2028 and U+2029 end lines in older scripts.
_ESCAPES = tuple((sign.encode(), f"\\u{ord(sign):04x}".encode()) for sign in "<>&\u2028\u2029")
_ENCODER = msgspec.json.Encoder()


@dataclass(slots=True)
class PageParts:
    """Collects the entries of a page in their order."""

    files: PageFiles | None
    """Writes the parts; None if the page has no folder, as on standard output, so that everything is in it."""
    size: int = 0
    """Bytes of all entries."""
    inline: list[tuple[str, str]] = field(default_factory=list)
    """The entries that the page itself holds."""
    addresses: list[str] = field(default_factory=list)
    """The addresses of the parts, relative to the page."""
    places: dict[str, tuple[int, int]] = field(default_factory=dict)
    """The numbers of the first and the last part with an entry, by its id."""
    _waiting: list[tuple[str, bytes]] = field(default_factory=list)
    """Pieces of entries for the next part, or whole entries as long as the page may hold them."""
    _held: int = 0

    @property
    def divided(self) -> bool:
        """Whether the entries are in parts."""
        return bool(self.addresses)

    def add(self, entry: str, value: object) -> None:
        """Add an entry.

        Args:
            entry: Its id: letters and digits.
            value: Plain data.

        Raises:
            OSError: a part cannot be written.
        """
        text = json_bytes(value)
        self.size += len(text)
        if self.files is None:
            self.inline.append((entry, text.decode()))
        elif self.divided:
            self._put(entry, text)
        else:
            self._waiting.append((entry, text))
            self._held += len(text)
            if self._held > MOST_INLINE:
                self._divide()

    def close(self) -> None:
        """Put what is left where it belongs.

        Raises:
            OSError: a part cannot be written.
        """
        if self.divided:
            if self._waiting:
                self._write()
        else:
            self.inline += [(entry, text.decode()) for entry, text in self._waiting]
            self._waiting = []

    def index(self) -> str:
        """Return JSON that tells where each entry is; safe between `<script>` and `</script>`."""
        return in_script({"files": self.addresses, "at": self.places})

    def _divide(self) -> None:
        entries, self._waiting, self._held = self._waiting, [], 0
        for entry, text in entries:
            self._put(entry, text)
        if not self.divided:
            self._write()

    def _put(self, entry: str, text: bytes) -> None:
        for piece in _pieces(_in_quotes(text), MOST_PART):
            if self._held + len(piece) > MOST_PART:
                self._write()
            number = len(self.addresses)
            self.places[entry] = self.places.get(entry, (number, 0))[0], number
            self._waiting.append((entry, piece))
            self._held += len(piece) + len(entry) + 8

    def _write(self) -> None:
        assert self.files is not None
        number = len(self.addresses)
        entries = b",\n".join(b"[\"%s\",'%s']" % (entry.encode(), piece) for entry, piece in self._waiting)
        self.addresses.append(self.files.write_part(number, b"vivaPart(%d,[\n%s\n]);\n" % (number, entries)))
        self._waiting, self._held = [], 0


def in_script(value: object) -> str:
    """Return JSON that is safe between `<script>` and `</script>`."""
    return json_bytes(value).decode()


def json_bytes(value: Any) -> bytes:
    """Return JSON without `<`, `>`, `&` and the line ends that only older scripts know."""
    text = plain_bytes(value)
    for sign, escape in _ESCAPES:
        text = text.replace(sign, escape)
    return text


def plain_bytes(value: Any) -> bytes:
    """Return JSON."""
    try:
        return _ENCODER.encode(value)
    except OverflowError:  # integers of more than 64 bits
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _in_quotes(text: bytes) -> bytes:
    """Return JSON as it stands between single quotes of a script."""
    return text.replace(b"\\", b"\\\\").replace(b"'", b"\\'")


def _pieces(text: bytes, most: int) -> Iterator[bytes]:
    """Yield a text in pieces, none of which ends within a character or an escape."""
    start = 0
    while len(text) - start > most:
        end = start + most
        while text[end] & 0xC0 == 0x80:  # within a character of UTF-8
            end -= 1
        slashes = end
        while slashes > start and text[slashes - 1] == 0x5C:
            slashes -= 1
        end -= (end - slashes) % 2
        yield text[start:end]
        start = end
    yield text[start:]
