"""Reads the parts of A2A messages and artifacts: texts and data become text, and files go into the workspace."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from google.protobuf.json_format import MessageToDict

from viva.adapters.connectors.workspace_files import FileRefused, write_file
from viva.errors import AgentError
from viva.records.redact import redacted_line
from viva.records.text import one_line, storable

_UNSAFE = re.compile(r"[^\w.\- ]")
LONGEST_NAME = 120


class Parts:
    """Collects what the parts of one reply say, and keeps their files."""

    def __init__(self, folder: Path | None) -> None:
        """Args:
        folder: The run's workspace; files are only mentioned without one.
        """
        self._folder = folder

    def text_of(self, parts: Iterable[Any]) -> str:
        """Return the text of parts; for each file, a line that names it."""
        return "\n".join(text for part in parts if (text := self._text(part)))

    def _text(self, part: Any) -> str:
        match part.WhichOneof("content"):
            case "text":
                return storable(part.text)
            case "data":
                return storable(json.dumps(MessageToDict(part.data), ensure_ascii=False))
            case "raw":
                return f"[file {self._kept(part.filename, part.raw)}]"
            case "url":
                name = one_line(storable(part.filename or "without a name"), LONGEST_NAME)
                return f"[file {name} at {redacted_line(part.url, 300)}]"
            case _:
                return ""

    def _kept(self, name: str, content: bytes) -> str:
        """Write a file into the workspace, and return its name; the agent's name for it cannot lead elsewhere."""
        safe = _UNSAFE.sub("_", os.path.basename(storable(name).replace("\\", "/")))[-LONGEST_NAME:].strip(". ")
        safe = safe or "artifact"
        if self._folder is None:
            return safe
        try:
            write_file(self._folder, (safe,), content, safe)
        except FileRefused as error:
            raise AgentError(f"the workspace cannot hold the agent's file {error}") from error
        return safe


class Artifacts:
    """The artifacts of one task. Each is shown once, and again if the agent replaces it by something else."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Any]] = {}
        self._shown: dict[str, int] = {}

    def add(self, artifact: Any, *, append: bool) -> None:
        """Add a new artifact, or continue one.

        Args:
            artifact: The artifact, or the next parts of one.
            append: Whether its parts follow those before, instead of replacing them.
        """
        name, parts = artifact.artifact_id, list(artifact.parts)
        known = self._parts.setdefault(name, [])
        if append:
            known += parts
            return
        if parts[: len(known)] != known:
            # What is asked for with its task may have the pieces of a streamed text as one.
            if _joined(parts) == _joined(known):
                return
            self._shown[name] = 0
        self._parts[name] = parts

    def take(self) -> Sequence[Sequence[Any]]:
        """Return the parts of each artifact that were not returned before."""
        new = []
        for name, parts in self._parts.items():
            if found := parts[self._shown.get(name, 0) :]:
                new.append(_joined(found))
            self._shown[name] = len(parts)
        return new


def _joined(parts: Sequence[Any]) -> list[Any]:
    """Return parts in which the texts that follow each other, as a stream sends them, are one."""
    joined: list[Any] = []
    for kind, alike in groupby(parts, key=lambda part: part.WhichOneof("content")):
        same = list(alike)
        if kind == "text" and len(same) > 1:
            one = type(same[0])()
            one.CopyFrom(same[0])
            one.text = "".join(part.text for part in same)
            same = [one]
        joined += same
    return joined
