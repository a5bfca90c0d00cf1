"""Reads `evaluation.log` as a program would that knows what UFO and Viva write."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.records.codec import loads


@dataclass(frozen=True, slots=True)
class Evaluations:
    """The contents of an `evaluation.log`."""

    entries: tuple[dict[str, Any], ...] = ()
    broken: int = field(default=0)
    """The number of lines that are not JSON objects."""


def read_evaluations(file: Path) -> Evaluations:
    """Read a log. A line that is not a JSON object is skipped and counted; UFO writes an object on several lines.

    Raises:
        OSError: the file cannot be read.
    """
    content = file.read_bytes()
    if (whole := _object(content)) is not None:
        return Evaluations((whole,))
    entries, broken = [], 0
    for lines in _objects(content):
        entry = _object(b"\n".join(lines))
        broken += len(lines) if entry is None else 0
        entries += [entry] if entry is not None else []
    return Evaluations(tuple(entries), broken)


def as_ufo_reads(folder: Path) -> dict[str, Any]:
    """Read the evaluation of a session as UFO's `Trajectory` does: the whole file is one JSON document."""
    try:
        found: dict[str, Any] = json.loads((folder / "evaluation.log").read_text(encoding="utf-8"))
    except json.JSONDecodeError:
        return {}
    return found


def _objects(content: bytes) -> Iterator[list[bytes]]:
    """Yield the lines of each object: one, or those from a brace to the next one at the left margin."""
    begun: list[bytes] = []
    for line in content.splitlines():
        if begun and line.startswith(b"{"):  # what was begun has no end
            yield begun
            begun = []
        if begun or line.rstrip() == b"{":
            begun.append(line)
            if line.rstrip() == b"}":
                yield begun
                begun = []
        elif line.strip():
            yield [line]
    if begun:
        yield begun


def _object(content: bytes) -> dict[str, Any] | None:
    try:
        value = loads(content.strip())
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
