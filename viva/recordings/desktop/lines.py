"""Reads the JSON lines of a session's log, and looks up the fields of a line by the names that `Names` gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.recordings.desktop.names import Names
from viva.recordings.json_pieces import bounded_lines, stripped
from viva.recordings.recording import RecordingError
from viva.records.codec import loads
from viva.regular_files import open_linked


@dataclass(slots=True)
class LogLines:
    """The lines of a log."""

    good: list[dict[str, Any]] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    """The numbers, from 1, of the lines that are not JSON objects."""


def read_lines(file: Path) -> LogLines:
    """Read a log. A line that is not a JSON object is skipped and counted.

    Raises:
        RecordingError: the file cannot be read.
    """
    found = LogLines()
    try:
        with open_linked(file) as lines:
            for number, line in bounded_lines(lines):
                _take(found, number, b"{" if line is None else line)
    except OSError as error:
        raise RecordingError(f"{file}: cannot be read: {error.strerror}") from error
    return found


def _take(found: LogLines, number: int, line: bytes) -> None:
    text = stripped(line)
    if not text:
        return
    try:
        value = loads(text)
    except (ValueError, RecursionError):
        value = None
    if isinstance(value, dict):
        found.good.append(value)
    else:
        found.broken.append(number)


class LineFields:
    """One line of the log, or one action in it. It notes which keys were read, so that the rest can be kept as well."""

    def __init__(self, line: Mapping[str, Any], names: Names) -> None:
        self._line, self._names = line, names
        self._taken: set[str] = set()

    def take(self, name: str) -> Any:
        """Return the value of a field, or None if the line does not have it."""
        return self._first(self._names.fields.get(name, ()))

    def text(self, name: str) -> str | None:
        """Return the value of a field as text, or None if it is empty."""
        return text_of(self.take(name))

    def number(self, name: str) -> int | None:
        """Return the value of a field if it is a whole number, or text that is one; else None."""
        return whole_number(self.take(name))

    def picture(self, role: str) -> str | None:
        """Return the path of a picture as the line has it: empty if the line names none, None if it has no such key."""
        keys = self._names.pictures.get(role, ())
        if not any(_has(self._line, key) for key in keys):
            return None
        value = self._first(keys)
        return value if isinstance(value, str) else ""

    @property
    def rest(self) -> dict[str, Any]:
        """Return the keys and values that have not been read."""
        return {key: value for key, value in self._line.items() if key not in self._taken}

    def _first(self, keys: tuple[str, ...]) -> Any:
        """Return the first value that is not empty. Empty values are not kept either."""
        for key in keys:
            if _has(self._line, key):
                value = _at(self._line, key)
                if key in self._line:
                    self._taken.add(key)
                if value not in (None, ""):
                    return value
        return None


def _has(line: Mapping[str, Any], key: str) -> bool:
    return _at(line, key, absent := object()) is not absent


def _at(line: Mapping[str, Any], key: str, absent: Any = None) -> Any:
    """Return the value of a key, or of `a.b` inside an object. A key that contains a dot is tried as a whole first."""
    if key in line:
        return line[key]
    value: Any = line
    for part in key.split("."):
        if not isinstance(value, Mapping) or part not in value:
            return absent
        value = value[part]
    return value


def text_of(value: Any) -> str | None:
    """Return a value as text: a list line by line, other values as JSON, and None if there is nothing."""
    if value is None or value in ("", [], {}):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "\n".join(part for each in value if (part := text_of(each)) is not None) or None
    try:
        return json.dumps(value, ensure_ascii=False)
    except (ValueError, RecursionError):
        return repr(value)


def whole_number(value: Any) -> int | None:
    """Return a whole number of at most nine digits, also from text; None for anything else."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value.strip()[:20])
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 <= value < 10**9 else None
