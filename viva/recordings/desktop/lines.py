"""Reads the JSON lines of a session's log, and looks up the fields of a line by the names that `Names` gives."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.recordings.desktop.names import Names
from viva.recordings.json_pieces import bounded_lines, read_document, stripped
from viva.recordings.recording import RecordingError, SourceNotes
from viva.records.codec import loads
from viva.records.wording import counted
from viva.regular_files import open_linked


@dataclass(slots=True)
class LogLines:
    """The lines of a log."""

    good: list[dict[str, Any]] = field(default_factory=list)
    broken: list[int] = field(default_factory=list)
    """The numbers, from 1, of the lines that are not JSON objects."""


def read_lines(file: Path, inside: str | None = None, told: SourceNotes | None = None) -> LogLines:
    """Read a log. A line that is not a JSON object is skipped and counted.

    Args:
        file: The log.
        inside: The path of the list of lines if the log is one JSON document; empty if the document is the list.
        told: Says whether somebody may be writing it, and is told if its last line is half written.

    Raises:
        RecordingError: the file cannot be read, or holds no such list.
    """
    found = LogLines()
    half_written = None if told is None else told.passing_over(file)
    try:
        with open_linked(file) as lines:
            if inside is not None:
                _take_document(found, file, inside, read_document(file, lines))
                return found
            for number, line in bounded_lines(lines, half_written=half_written):
                _take(found, number, b"{" if line is None else line)
    except OSError as error:
        raise RecordingError(f"{file}: cannot be read: {error.strerror}") from error
    return found


def _take_document(found: LogLines, file: Path, inside: str, document: Any) -> None:
    lines = value_at(document, inside) if inside else document
    if not isinstance(lines, list):
        where = f"there is no list under {inside!r}" if inside else "it is not a list"
        raise RecordingError(f"{file}: {where}; correct `lines` in the mapping file.")
    for number, line in enumerate(lines, 1):
        if isinstance(line, dict):
            found.good.append(line)
        else:
            found.broken.append(number)


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


OF_SESSIONS = frozenset({"agent_type", "agent_name", "request", "round"})
"""The fields that say nothing of a step."""


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
    def is_known(self) -> bool:
        """Return whether the line has any key of a field or a picture."""
        return self._has_any({**self._names.fields, **self._names.pictures})

    @property
    def is_about_a_step(self) -> bool:
        """Return whether the line has any key of a step: one that does not only say what was asked and of whom."""
        of_steps = {name: keys for name, keys in self._names.fields.items() if name not in OF_SESSIONS}
        return self._has_any({**of_steps, **self._names.pictures})

    @property
    def rest(self) -> dict[str, Any]:
        """Return the keys and values that have not been read."""
        return {key: value for key, value in self._line.items() if key not in self._taken}

    def _has_any(self, names: Mapping[str, tuple[str, ...]]) -> bool:
        return any(_has(self._line, key) for keys in names.values() for key in keys)

    def _first(self, keys: tuple[str, ...]) -> Any:
        """Return the first value that is not empty. Empty values are not kept either."""
        for key in keys:
            if _has(self._line, key):
                value = value_at(self._line, key)
                if key in self._line:
                    self._taken.add(key)
                if value not in (None, ""):
                    return value
        return None


def _has(line: Mapping[str, Any], key: str) -> bool:
    return value_at(line, key, _ABSENT) is not _ABSENT


_ABSENT = object()


def value_at(line: Any, key: str, absent: Any = None) -> Any:
    """Return the value of a key, or of a path: `a.b` in an object, `a.0` in a list, `a.*.b` of each element of a list.

    A key that contains a dot is tried as a whole first. With `*`, the value is a list with None for each element that
    does not have it; if none has it, it is absent.
    """
    if isinstance(line, Mapping) and key in line:
        return line[key]
    value: Any = line
    parts = key.split(".")
    for place, part in enumerate(parts):
        if part == "*" and isinstance(value, list):
            rest = ".".join(parts[place + 1 :])
            found = [value_at(each, rest, absent) if rest else each for each in value]
            return (
                [None if each is absent else each for each in found] if any(e is not absent for e in found) else absent
            )
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isascii() and part.isdigit() and int(part[:9]) < len(value):
            value = value[int(part[:9])]
        else:
            return absent
    return value


def unfound_fields(lines: Sequence[Mapping[str, Any]], names: Names) -> list[str]:
    """Return a note for each field of the mapping file that no line has, nor any action in a line."""
    notes = []
    for name, keys in names.mapped.items():
        if not any(_has(each, key) for line in lines for each in (line, *_actions(line, names)) for key in keys):
            notes.append(f"field {name} ({', '.join(keys)}) was found in 0 of {counted(len(lines), 'line')}")
    return notes


def _actions(line: Mapping[str, Any], names: Names) -> list[Mapping[str, Any]]:
    values = [value_at(line, key) for key in names.fields.get("action", ())]
    flat = [each for value in values for each in (value if isinstance(value, list) else [value])]
    return [each for each in flat if isinstance(each, Mapping)]


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
