"""Reads YAML safely, and remembers the line of everything."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from viva.cases.errors import CaseError, Mistake
from viva.cases.yaml.quick import compose

# A case file is a page or two; more than this is a mistake or an attack on the parser.
MAX_BYTES = 2 * 1024 * 1024
MAX_DEPTH = 40
MAX_VALUES = 100_000
# Python neither prints nor reads decimal numbers of more than 4,300 digits; hexadecimal ones grow by a fifth.
MAX_DIGITS = 1000
MAX_WORDS = 300
"""Characters shown of a message from the YAML parser: it quotes names, which may be as long as the file."""
_HALF = re.compile("[\ud800-\udfff]")


@dataclass(slots=True)
class LineNumbers:
    """The line numbers of a parsed document, by path: `("scoring_points", 0, "weight")`."""

    at: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    duplicates: list[tuple[str, int]] = field(default_factory=list)
    """Keys that occur twice in one mapping, with the line of the second."""
    blocks: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    """The first line of each literal block (`|`), by path: its lines are lines of the file."""

    def of(self, *path: str | int) -> int | None:
        """Return the line of a path, or of the nearest thing around it."""
        for end in range(len(path), -1, -1):
            if path[:end] in self.at:
                return self.at[path[:end]]
        return None

    def has(self, *path: str | int) -> bool:
        """Return whether the document has something at a path."""
        return path in self.at

    def inside(self, line: int, *path: str | int) -> int | None:
        """Return where a text's line (from 1) is in the file; for other text than a literal block, where it begins."""
        return self.blocks[path] + line - 1 if path in self.blocks else self.of(*path)


class _TooManyError(Exception):
    """There are more values than a case file has."""


class _Loader(yaml.SafeLoader):
    """The safe loader, within bounds: two megabytes of short values take it more than a minute."""

    _values = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        self._values += 1
        if self._values > MAX_VALUES:
            raise _TooManyError
        return super().compose_node(parent, index)


def read_yaml(file: Path, kind: str = "case file", most_bytes: int = MAX_BYTES) -> tuple[Any, LineNumbers, bytes]:
    """Parse one file.

    Args:
        file: The file.
        kind: What kind of file it is, for messages.
        most_bytes: The maximum size of a file of this kind.

    Returns:
        The plain data, the line numbers, and the file's bytes.

    Raises:
        CaseError: the file cannot be read, is not UTF-8, is not YAML, or uses aliases (which could grow without end).
    """
    try:
        with file.open("rb") as stream:
            raw = stream.read(most_bytes + 1)
    except OSError as error:
        raise CaseError(file, [f"cannot be read: {error.strerror}"]) from error
    if len(raw) > most_bytes:
        raise CaseError(file, [f"is longer than {most_bytes:,} bytes, which no {kind} needs"])
    return (*parse_yaml(raw, file, kind), raw)


def parse_yaml(raw: bytes, file: Path, kind: str = "case file") -> tuple[Any, LineNumbers]:
    """Parse the bytes of a file.

    Args:
        raw: The bytes.
        file: The file, for messages.
        kind: What kind of file it is, for messages.

    Raises:
        CaseError: as `read_yaml`.
    """
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CaseError(file, [Mistake("is not UTF-8 text", raw[: error.start].count(b"\n") + 1)]) from error
    lines = LineNumbers()
    try:
        # Composing before constructing: the nodes still know their lines. The safe loader makes no Python objects.
        loader, node = compose(_Loader, text)
        if node is None:
            return None, lines
        _walk(node, (), lines, file, set())
        data = loader.construct_document(node)
    except yaml.YAMLError as error:
        raise CaseError(file, [_syntax(error, text)]) from error
    except _TooManyError as error:
        raise CaseError(file, [f"holds more than {MAX_VALUES:,} values, which no {kind} needs"]) from error
    except RecursionError as error:
        raise CaseError(file, [f"is nested deeper than {MAX_DEPTH} levels"]) from error
    except (ValueError, LookupError, AttributeError, TypeError, OverflowError) as error:
        # PyYAML lets these through for dates like 2024-99-99, for `!!bool maybe`, `!!float ''` and "\\UFFFFFFFF".
        raise CaseError(file, [f"holds a value that cannot be read: {error}"]) from error
    return data, lines


def _walk(node: yaml.Node, path: tuple[str | int, ...], lines: LineNumbers, file: Path, seen: set[int]) -> None:
    if id(node) in seen:
        raise CaseError(file, [Mistake("uses a YAML alias (*name); write the value out", node.start_mark.line + 1)])
    seen.add(id(node))
    lines.at.setdefault(path, node.start_mark.line + 1)
    if len(path) > MAX_DEPTH:
        raise CaseError(file, [Mistake(f"is nested deeper than {MAX_DEPTH} levels", node.start_mark.line + 1)])
    if isinstance(node, yaml.ScalarNode) and node.tag.endswith(":int") and len(node.value) > MAX_DIGITS:
        raise CaseError(file, [Mistake(f"holds a number of more than {MAX_DIGITS:,} digits", node.start_mark.line + 1)])
    if isinstance(node, yaml.ScalarNode) and (half := _HALF.search(node.value)):
        words = (
            f"holds half a character, U+{ord(half.group()):04X}, which can be neither stored nor sent; write it whole"
        )
        raise CaseError(file, [Mistake(words, node.start_mark.line + 1)])
    if isinstance(node, yaml.ScalarNode) and node.style == "|":
        lines.blocks[path] = node.start_mark.line + 2
    if isinstance(node, yaml.MappingNode):
        keys: set[tuple[str, str]] = set()
        for key, value in node.value:
            _walk(key, path, lines, file, seen)
            name = str(key.value)
            if (key.tag, name) in keys:
                lines.duplicates.append((name, key.start_mark.line + 1))
            keys.add((key.tag, name))
            lines.at[(*path, name)] = key.start_mark.line + 1
            _walk(value, (*path, name), lines, file, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _walk(item, (*path, index), lines, file, seen)


def _syntax(error: yaml.YAMLError, text: str) -> Mistake:
    if isinstance(error, yaml.reader.ReaderError):
        line = text[: error.position].count("\n") + 1
        return Mistake(f"holds a character that YAML does not allow, U+{ord(text[error.position]):04X}", line)
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    problem = getattr(error, "problem", None) or str(error).splitlines()[0]
    context = getattr(error, "context", None)
    words = f"is not valid YAML: {problem}" + (f" ({context})" if context else "")
    if "mapping values are not allowed" in words:
        words += "; put text that holds ': ' in quotes, or correct the indentation"
    if len(words) > MAX_WORDS:
        words = words[: MAX_WORDS - 1] + "…"
    return Mistake(words, mark.line + 1 if mark else None)
