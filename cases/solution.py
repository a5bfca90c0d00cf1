"""The `solution` of a case: the replies of an agent that earns every scoring point, and the files that it writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from viva.cases.text import describe

SOLUTION_KEYS = ("say", "files")


@dataclass(frozen=True, slots=True)
class SolutionReply:
    """One reply of the solution."""

    say: str
    files: Mapping[str, str] = field(default_factory=dict)
    """The content of each file that is written before the reply, by its path in the agent's workspace."""


class SolutionMistake(ValueError):
    """One reply is wrong. `key` names the part that is, if that is known."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def read_solution_reply(item: Any) -> SolutionReply:
    """Read one entry of `solution`: plain text, or a mapping with `say` and optionally `files`.

    Raises:
        SolutionMistake: it is neither.
    """
    if isinstance(item, str):
        return SolutionReply(item)
    if not isinstance(item, dict):
        keys = ", ".join(SOLUTION_KEYS)
        raise SolutionMistake(f"a reply of the solution is text, or has the keys {keys}; this is {describe(item)}")
    said, files = item.get("say"), item.get("files")
    if not isinstance(said, str):
        raise SolutionMistake(f"a reply of the solution needs text in 'say', not {describe(said)}", "say")
    if files is not None and not isinstance(files, dict):
        raise SolutionMistake(f"files must be a mapping of paths to contents, not {describe(files)}", "files")
    for path, content in (files or {}).items():
        _check_file(path, content)
    return SolutionReply(said, dict(files or {}))


def _check_file(path: Any, content: Any) -> None:
    if not isinstance(path, str) or not _stays_inside(path):
        raise SolutionMistake(f"{describe(path)} is not a path inside the agent's workspace", "files")
    if not isinstance(content, str):
        words = f"the content of {describe(path)} must be text, not {describe(content)}; put it in quotes"
        raise SolutionMistake(words, "files")


def _stays_inside(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return bool(parts) and "\0" not in path and "\\" not in path and not path.startswith("/") and ".." not in parts
