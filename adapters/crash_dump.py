"""Reads what Python's faulthandler writes when a process crashes: which signal, and where in the agent's code."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

OWN = Path(__file__).parents[1]
_FATAL = re.compile(r"^Fatal Python error: (?P<what>.*)$")
_HEAD = re.compile(r"^(?:Current thread|Thread|Stack|Current thread's C stack) ?.*most recent call first\):?$")
_FRAME = re.compile(r'^ {2}File "(?P<file>.*)", line (?P<line>\d+|\?\?\?) in (?P<name>.*)$')
_REST = re.compile(
    r"^(?: {2}<no Python frame>| {2}\.\.\.| {2}Binary file .*| {2}<.*>|Extension modules: .*|Python runtime .*|)$"
)


@dataclass(frozen=True, slots=True)
class Crash:
    """What a dump says."""

    what: str
    """In Python's words: `Segmentation fault`, `Aborted`…"""
    place: str | None
    """The innermost line of code that is neither Viva's nor Python's own: `agent.py:11 in get_reply_from_agent`."""


def read_dump(text: str, own: Sequence[Path | str] = (OWN,)) -> tuple[str, Crash | None]:
    """Separate the dumps in a process's last words from what else it printed.

    Args:
        text: The end of what it wrote to stderr. It is not trusted: an agent can print a dump too.
        own: Folders of code that is not the agent's.

    Returns:
        The text without dumps, and the last crash, if there was one.
    """
    kept: list[str] = []
    what: str | None = None
    frames: list[tuple[str, str, str]] = []
    crashed_thread = False
    for line in text.splitlines():
        if match := _FATAL.match(line):
            what, frames, crashed_thread = match["what"], [], False
        elif what is None:
            kept.append(line)
        elif _HEAD.match(line):
            crashed_thread = line.startswith(("Current thread 0x", "Stack"))
        elif match := _FRAME.match(line):
            if crashed_thread:
                frames.append((match["file"], match["line"], match["name"]))
        elif not _REST.match(line):
            kept.append(line)
    if what is None:
        return text, None
    return "\n".join(kept).strip(), Crash(what[:200], _place(frames, own))


def _place(frames: Sequence[tuple[str, str, str]], own: Sequence[Path | str]) -> str | None:
    for file, line, name in frames:
        if file.startswith("<") or _is_library(file) or any(Path(file).is_relative_to(folder) for folder in own):
            continue
        return f"{Path(file).name}:{line} in {name}"[:300]
    return None


def _is_library(file: str) -> bool:
    return "site-packages" in file or re.search(r"/lib(?:64)?/python3\.\d+/", file) is not None
