"""Shortens what is too long for a journal's line, stores the whole of it in files, and restores it when reading."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viva.journal.kept_files import name_for, read_sound
from viva.journal.lines import sealed_data
from viva.records.text import storable

TEXT_LIMIT = 64 * 1024
"""Maximum number of characters of a text in a line; a longer text is stored in `texts/` and shortened in the line."""

MOST_RESTORED = 512 * 1024 * 1024
"""Maximum number of bytes that are restored into one conversation, because many lines can name the same file."""

Keep = Callable[[str, bytes], None]
"""Stores a file, given its name and its content."""


def shorten(data: Any, keep: Keep, limit: int) -> bytes:
    """Return a line's data as JSON of about `limit` bytes.

    Long texts are shortened first, then later steps are moved to a file. Data with neither (many short texts outside of
    steps) stays longer.
    """
    data = cut_texts(data, keep)
    line = json.dumps(data).encode()
    if len(line) > limit and isinstance(data, dict) and isinstance(data.get(_steps_key(data)), list):
        line = json.dumps(_move_steps(data, keep, limit)).encode()
    return line


def cut_texts(data: Any, keep: Keep) -> Any:
    """Return the same data with shortened texts; a mapping gets `_texts`, file names by JSON pointer (RFC 6901).

    Args:
        data: Plain data, as from `json.loads`.
        keep: Stores each file, given its name and its content.
    """
    spilled: dict[str, str] = {}

    def cut(value: Any, path: str) -> Any:
        if isinstance(value, str) and len(value) > TEXT_LIMIT:
            content = storable(value).encode()
            name = name_for("texts", content, "txt")
            keep(name, content)
            spilled[path] = name
            return f"{value[:TEXT_LIMIT]}… [cut here: {len(value):,} characters, whole in {name}]"
        if isinstance(value, dict):
            return {key: cut(item, f"{path}/{_escape(key)}") for key, item in value.items()}
        if isinstance(value, list):
            return [cut(item, f"{path}/{index}") for index, item in enumerate(value)]
        return value

    data = cut(data, "")
    if spilled:
        data["_texts"] = spilled
    return data


def _move_steps(data: dict[str, Any], keep: Keep, limit: int) -> dict[str, Any]:
    """Return the same data with as many steps as fit; the others are a JSON list in the file that `_steps` names."""
    key = _steps_key(data)
    steps = data[key]
    room = limit - len(json.dumps({**data, key: []}))
    shown = 0
    for step in steps:
        room -= len(json.dumps(step)) + 2
        if room < 0:
            break
        shown += 1
    content = json.dumps(steps[shown:]).encode()
    name = name_for("texts", content, "json")
    keep(name, content)
    return {**data, key: steps[:shown], "_steps": name}


def _steps_key(data: dict[str, Any]) -> str:
    """Return the field with the steps of an event: those of a round, or at the end of a conversation the late ones."""
    return "late_steps" if "late_steps" in data else "steps"


@dataclass(slots=True)
class KeptTexts:
    """Reads the files that one conversation's lines name, up to a limit."""

    folder: Path
    left: int = MOST_RESTORED

    def read(self, name: str) -> bytes:
        """Return the content of a file; empty if it cannot be read, or if the limit is reached."""
        content = read_sound(self.folder, name) if self.left > 0 else None
        if content is None or len(content) > self.left:
            return b""
        self.left -= len(content)
        return content


def restore_texts(folder: Path | KeptTexts, data: dict[str, Any]) -> dict[str, Any]:
    """Restore what was too long for a line. If a file is missing, the shortened version in the line stays."""
    texts = folder if isinstance(folder, KeptTexts) else KeptTexts(folder)
    if (name := data.pop("_steps", None)) is not None:
        # First, because the texts below may be in these steps.
        _restore_steps(texts, data, name)
    for path, name in _spilled(data):
        place: Any = data
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]] or [""]
        try:
            # Bytes, not text: reading as text would turn "\r\n" into "\n".
            text = texts.read(name).decode("utf-8")
            for part in parents:
                place = place[int(part) if isinstance(place, list) else part]
            at: Any = int(last) if isinstance(place, list) else last
            if text and isinstance(place[at], str):
                place[at] = text
        except (LookupError, ValueError, TypeError):
            continue
    data.pop("_texts", None)
    return data


def plain_data(line: bytes) -> bytes | None:
    """Return the JSON of an event's data; None if it has to be parsed, for a part of it may be in other files."""
    data = sealed_data(line)
    return None if data is None or b'"_texts"' in data or b'"_steps"' in data else data


def _restore_steps(texts: KeptTexts, data: dict[str, Any], name: object) -> None:
    try:
        steps = json.loads(texts.read(name)) if isinstance(name, str) else None
    except (ValueError, RecursionError):
        steps = None
    key = _steps_key(data)
    shown = data.get(key, [])
    if isinstance(steps, list) and isinstance(shown, list):
        data[key] = [*shown, *steps]
    elif isinstance(attributes := data.setdefault("attributes", {}), dict):
        attributes["steps_lost"] = f"the later steps were in {name}, which cannot be read"


def _spilled(data: dict[str, Any]) -> list[tuple[str, str]]:
    texts = data.get("_texts")
    if not isinstance(texts, dict):
        return []
    return [(path, name) for path, name in texts.items() if isinstance(name, str)]


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
