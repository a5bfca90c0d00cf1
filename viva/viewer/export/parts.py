"""Writes data for a page without a server: scripts of a limited size, because a page that was opened as a file may load
scripts, but neither modules nor JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from viva.viewer.wire import to_json

MOST_BYTES = 1_900_000
"""Maximum size of a part in bytes."""
_PIECE = 200_000
"""Number of characters of a long entry that are written at once; each takes at most six bytes."""
_ESCAPES = {
    ord("\\"): "\\\\",
    ord("'"): "\\'",
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    0x2028: "\\u2028",  # ends a line in older scripts
    0x2029: "\\u2029",
    ord("<"): "\\u003c",  # never looks like markup, wherever the file is shown
}

Place = Sequence[int]
"""The number of a part, and the position of an entry in it."""


class PartWriter:
    """Writes entries into `data/NAME-0.js`, `data/NAME-1.js`… An entry that does not fit goes on in the next part."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder, self._name = folder, name
        self._number = 0
        self._entries: list[str] = []
        self._size = 0

    def add(self, value: object) -> Place:
        """Add a value as JSON; return where it is."""
        return self.add_text(to_json(value))

    def add_text(self, text: str) -> Place:
        """Add a text without lone surrogates as it is; return where it is."""
        first = self._quoted(text[:_PIECE])
        if self._entries and self._size + len(first.encode()) > MOST_BYTES:
            self._write()
        place = self._number, len(self._entries)
        self._put(first)
        for begin in range(_PIECE, len(text), _PIECE):
            piece = self._quoted(text[begin : begin + _PIECE])
            if self._size + len(piece.encode()) > MOST_BYTES:
                self._write(goes_on=True)
                self._put(piece)
            else:
                self._entries[-1] += piece
                self._size += len(piece.encode())
        return place

    def close(self) -> None:
        """Write what is left."""
        if self._entries:
            self._write()

    def _put(self, quoted: str) -> None:
        self._entries.append(quoted)
        self._size += len(quoted.encode()) + 4

    def _write(self, *, goes_on: bool = False) -> None:
        name = f"{self._name}-{self._number}"
        entries = ",\n".join(f"'{entry}'" for entry in self._entries)
        content = f"vivaPart('{name}', [\n{entries}\n], {'true' if goes_on else 'false'});\n"
        (self._folder / f"{name}.js").write_bytes(content.encode())
        self._number += 1
        self._entries, self._size = [], 0

    @staticmethod
    def _quoted(text: str) -> str:
        return text.translate(_ESCAPES)


def columns(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return rows of plain values as columns, with each text stored once.

    Args:
        rows: Rows, of which some may lack a value. Texts and lists of texts become numbers of `texts`.
    """
    texts: dict[str, int] = {}

    def coded(value: object) -> object:
        if isinstance(value, str):
            return {"t": texts.setdefault(value, len(texts))}
        if isinstance(value, list | tuple):
            return [coded(each) for each in value]
        if isinstance(value, dict):
            return {"d": [[texts.setdefault(str(key), len(texts)), coded(each)] for key, each in value.items()]}
        return value

    names = dict.fromkeys(name for row in rows for name in row)
    plain: dict[str, list[object]] = {}
    of_texts = []
    for name in names:
        values = [row.get(name) for row in rows]
        if all(value is None or isinstance(value, str) for value in values):
            of_texts.append(name)
            plain[name] = [-1 if value is None else texts.setdefault(str(value), len(texts)) for value in values]
        else:
            plain[name] = [coded(value) for value in values]
    return {"count": len(rows), "texts": list(texts), "textual": of_texts, "columns": plain}
