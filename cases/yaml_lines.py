"""Reads YAML safely and remembers in which line everything stood."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from cases.errors import CaseError, Mistake

# A case file is a page or two; more than this is a mistake or an attack on the parser.
MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 40


@dataclass(slots=True)
class Lines:
    """Line numbers of a parsed document, by path: `("scoring_points", 0, "weight")`."""

    at: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    duplicates: list[tuple[str, int]] = field(default_factory=list)
    """Keys that stand twice in one mapping, with the line of the second."""

    def of(self, *path: str | int) -> int | None:
        """The line of a path, or of the nearest thing around it."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.at:
                return self.at[path[:end]]
        return None


def read_yaml(file: Path) -> tuple[Any, Lines, bytes]:
    """Parse one file.

    Returns:
        The plain data, the line numbers, and the file's bytes.

    Raises:
        CaseError: the file cannot be read, is not UTF-8, is not YAML, or holds anchors (which could grow without end).
    """
    try:
        raw = file.read_bytes()
        text = raw.decode("utf-8-sig")
    except OSError as error:
        raise CaseError(file, [f"cannot be read: {error.strerror}"]) from error
    except UnicodeDecodeError as error:
        raise CaseError(file, [Mistake("is not UTF-8 text", raw[: error.start].count(b"\n") + 1)]) from error
    if len(raw) > MAX_BYTES:
        raise CaseError(file, [f"is {len(raw):,} bytes long; a case file has {MAX_BYTES:,} at most"])
    try:
        # Composing, not loading: the nodes still know their lines. The safe resolver makes no Python objects.
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        lines = Lines()
        if node is not None:
            _walk(node, (), lines, file, set())
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise CaseError(file, [_syntax(error)]) from error
    except (ValueError, RecursionError, OverflowError) as error:
        # PyYAML lets these through for dates like 2024-99-99 and for brackets nested a thousand deep.
        raise CaseError(file, [f"holds a value that cannot be read: {error}"]) from error
    return data, lines, raw


def _walk(node: yaml.Node, path: tuple[str | int, ...], lines: Lines, file: Path, seen: set[int]) -> None:
    if id(node) in seen:
        raise CaseError(file, [Mistake("uses a YAML alias (*name); write the value out", node.start_mark.line + 1)])
    seen.add(id(node))
    lines.at.setdefault(path, node.start_mark.line + 1)
    if len(path) > MAX_DEPTH:
        raise CaseError(file, [Mistake(f"is nested deeper than {MAX_DEPTH} levels", node.start_mark.line + 1)])
    if isinstance(node, yaml.MappingNode):
        keys: set[str] = set()
        for key, value in node.value:
            name = str(key.value)
            if name in keys:
                lines.duplicates.append((name, key.start_mark.line + 1))
            keys.add(name)
            lines.at[(*path, name)] = key.start_mark.line + 1
            _walk(value, (*path, name), lines, file, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _walk(item, (*path, index), lines, file, seen)


def _syntax(error: yaml.YAMLError) -> Mistake:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    context = getattr(error, "context", None)
    words = f"is not valid YAML: {problem}" + (f" ({context})" if context else "")
    if "mapping values are not allowed" in words:
        words += "; put text that holds ': ' in quotes"
    return Mistake(words, mark.line + 1 if mark else None)
