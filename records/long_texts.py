"""What is too long for a journal's line: cut where it stands, kept whole in files beside it, put back in reading."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from records.kept_files import name_for, read_sound
from records.text import storable

TEXT_LIMIT = 64 * 1024
"""Characters of one text that a line holds; a longer one is kept whole in `texts/` and cut in the line."""

MOST_RESTORED = 512 * 1024 * 1024
"""Bytes that are put back into one conversation: many lines may name the same file."""

Keep = Callable[[str, bytes], None]
"""Takes the name and the content of a file."""


def shorten(data: Any, keep: Keep, limit: int) -> bytes:
    """A line's data as JSON of about `limit` bytes: long texts are cut first, then the later steps of a round.

    What has neither, many short texts outside of steps, stays longer.
    """
    data = cut_texts(data, keep)
    line = json.dumps(data).encode()
    if len(line) > limit and isinstance(data, dict) and isinstance(data.get("steps"), list):
        line = json.dumps(_move_steps(data, keep, limit)).encode()
    return line


def cut_texts(data: Any, keep: Keep) -> Any:
    """The same data with its long texts cut; a mapping gets `_texts`, JSON pointer (RFC 6901) to file name.

    Args:
        data: Plain data, as `json.loads` gives.
        keep: Takes the name and the content of each file.
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
    """The same round with as many steps as there is room for; the rest, a list in JSON, lies in the file `_steps`."""
    steps = data["steps"]
    room = limit - len(json.dumps({**data, "steps": []}))
    shown = 0
    for step in steps:
        room -= len(json.dumps(step)) + 2
        if room < 0:
            break
        shown += 1
    content = json.dumps(steps[shown:]).encode()
    name = name_for("texts", content, "json")
    keep(name, content)
    return {**data, "steps": steps[:shown], "_steps": name}


@dataclass(slots=True)
class KeptTexts:
    """Reads the files of one conversation's lines, up to a limit."""

    folder: Path
    left: int = MOST_RESTORED

    def read(self, name: str) -> bytes:
        """The content of a file, or nothing where it cannot be had, or is more than may be put back."""
        content = read_sound(self.folder, name) if self.left > 0 else None
        if content is None or len(content) > self.left:
            return b""
        self.left -= len(content)
        return content


def restore_texts(folder: Path | KeptTexts, data: dict[str, Any]) -> dict[str, Any]:
    """Put back what was too long for a line. A lost file leaves standing what the line shows."""
    texts = folder if isinstance(folder, KeptTexts) else KeptTexts(folder)
    if (name := data.pop("_steps", None)) is not None:
        # First: the texts below may stand in these steps.
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


def _restore_steps(texts: KeptTexts, data: dict[str, Any], name: object) -> None:
    try:
        steps = json.loads(texts.read(name)) if isinstance(name, str) else None
    except (ValueError, RecursionError):
        steps = None
    shown = data.get("steps", [])
    if isinstance(steps, list) and isinstance(shown, list):
        data["steps"] = [*shown, *steps]
    elif isinstance(attributes := data.setdefault("attributes", {}), dict):
        attributes["steps_lost"] = f"the later steps of this round lay in {name}, which cannot be read"


def _spilled(data: dict[str, Any]) -> list[tuple[str, str]]:
    texts = data.get("_texts")
    if not isinstance(texts, dict):
        return []
    return [(path, name) for path, name in texts.items() if isinstance(name, str)]


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
