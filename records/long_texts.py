"""Texts too long for a journal's line: cut where they stand, kept whole in files beside it, and put back in reading."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from records.text import storable

TEXT_LIMIT = 64 * 1024
"""Characters of one text that a line holds; a longer one is kept whole in `texts/` and cut in the line."""


def cut_texts(data: Any, keep: Callable[[str, bytes], None]) -> Any:
    """The same data with its long texts cut; a mapping gets `_texts`, JSON pointer (RFC 6901) to file name.

    Args:
        data: Plain data, as `json.loads` gives.
        keep: Takes the name and the content of each file.
    """
    spilled: dict[str, str] = {}

    def cut(value: Any, path: str) -> Any:
        if isinstance(value, str) and len(value) > TEXT_LIMIT:
            content = storable(value).encode()
            name = f"texts/{hashlib.sha256(content).hexdigest()}.txt"
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


def restore_texts(folder: Path, data: dict[str, Any]) -> dict[str, Any]:
    """Put the texts that were too long for a line back into its data. A lost file leaves the cut text standing."""
    for path, name in _spilled(data):
        place: Any = data
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]] or [""]
        try:
            # Bytes, not text: reading as text would turn "\r\n" into "\n".
            text = _inside(folder, name).read_bytes().decode("utf-8")
            for part in parents:
                place = place[int(part) if isinstance(place, list) else part]
            at: Any = int(last) if isinstance(place, list) else last
            if isinstance(place[at], str):
                place[at] = text
        except (OSError, LookupError, ValueError, TypeError, RuntimeError):
            continue
    data.pop("_texts", None)
    return data


def spilled_files(folder: Path, data: dict[str, Any]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each file that the data's texts were moved to and that is still there."""
    for _, name in _spilled(data):
        try:
            content = _inside(folder, name).read_bytes()
        except (OSError, ValueError, RuntimeError):
            continue
        yield name, content


def _spilled(data: dict[str, Any]) -> list[tuple[str, str]]:
    texts = data.get("_texts")
    if not isinstance(texts, dict):
        return []
    return [(path, name) for path, name in texts.items() if isinstance(name, str)]


def _inside(folder: Path, name: str) -> Path:
    """A journal may come from a stranger: it must not make Viva read, or show, any other file of this machine."""
    path = (folder / name).resolve()
    if not path.is_relative_to((folder / "texts").resolve()) or not path.is_file():
        raise ValueError(f"{name} is no text of this journal")
    return path


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")
