"""Parses YAML, JSON, JSON Lines and CSV into plain data with text as keys, within limits."""

from __future__ import annotations

import base64
import codecs
import csv
import io
import json
import math
from datetime import date
from typing import Any

from viva.errors import SetupError
from viva.interchange.yaml_loading import MOST_DEPTH, UnusableError, load_yaml, pairs

PROGRAMS = (".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".py")
MOST_VALUES = 2_000_000
"""Maximum number of values of a document, after its aliases are written out."""
MOST_DIGITS = 1000
"""Whole numbers with more digits are kept as text."""
MOST_CELL = 16 * 1024 * 1024
BEYOND = "(beyond the header)"


def parse(raw: bytes, suffix: str, name: str, *, core_yaml: bool = False) -> Any:
    """Return plain data: mappings with text as keys, lists, text, numbers, flags and nulls.

    Args:
        raw: Content of the file.
        suffix: Ending of its name; without a known one, the content decides.
        name: Its name, for messages.
        core_yaml: Read YAML as tools in JavaScript do: by the core schema of YAML 1.2, in which `yes`, `no` and
            `12:30` are texts. Tools in Python, and otherwise this reader, follow YAML 1.1.

    Raises:
        SetupError: it is a program, cannot be parsed, or exceeds a limit.
    """
    if suffix in PROGRAMS:
        raise SetupError(f"{name} is a program, and an import runs none: name a file of data (YAML, JSON, CSV).")
    text = decoded(raw, name)
    try:
        if suffix in (".yaml", ".yml"):
            data = load_yaml(text, core=core_yaml)
        elif suffix in (".csv", ".tsv"):
            data = _csv(text)
        elif suffix in (".jsonl", ".ndjson"):
            data = _json_lines(text)
        elif suffix == ".json" or text.lstrip()[:1] in ("{", "["):
            data = _json_or_lines(text)
        else:
            data = load_yaml(text, core=core_yaml)
        return _Plain().of(data)
    except UnusableError as error:
        raise SetupError(f"{name} {error}") from error
    except RecursionError as error:
        raise SetupError(f"{name} is nested deeper than {MOST_DEPTH} levels.") from error


def decoded(raw: bytes, name: str) -> str:
    """Return the text of a file in UTF-8, or in UTF-16 with a byte order mark.

    Raises:
        SetupError: it is in another encoding.
    """
    utf16 = raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        return raw.decode("utf-16" if utf16 else "utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        words = f"is not UTF-8 in line {line}: {error.reason}; save it as UTF-8."
        raise SetupError(f"{name} {words}") from error


def _json(text: str, where: str = "") -> Any:
    try:
        return json.loads(text, object_pairs_hook=pairs, parse_int=_whole, parse_constant=str)
    except ValueError as error:
        raise UnusableError(f"is not valid JSON{where}: {error}.") from error


def _whole(digits: str) -> int | str:
    return int(digits) if len(digits) <= MOST_DIGITS else digits


def _json_or_lines(text: str) -> Any:
    try:
        return _json(text)
    except UnusableError:
        first = text.lstrip().partition("\n")[0].strip()
        if first.startswith("{") and first.endswith("}"):
            return _json_lines(text)
        raise


def _json_lines(text: str) -> list[Any]:
    # Not `splitlines`: JSON may hold U+2028 and its like unescaped.
    lines = enumerate(text.split("\n"), 1)
    return [_json(line, f" in line {number}") for number, line in lines if line.strip()]


def _csv(text: str) -> list[Any]:
    header = text.partition("\n")[0]
    delimiter = max(",;\t", key=header.count) if any(mark in header for mark in ",;\t") else ","
    before = csv.field_size_limit(MOST_CELL)
    try:
        table = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise UnusableError(f"is not valid CSV: {error}.") from error
    finally:
        csv.field_size_limit(before)
    if not table:
        return []
    names = [name.strip() or f"column {index}" for index, name in enumerate(table[0], 1)]
    rows = []
    for line in table[1:]:
        if any(line):
            cells = [(name, _cell(text)) for name, text in zip(names, line, strict=False)]
            rows.append(pairs([*cells, *((BEYOND, text) for text in line[len(names) :])]))
    return rows


def _cell(text: str) -> Any:
    """Return what a cell holds: the platforms write mappings, and lists of them or of texts, as JSON."""
    start = text.lstrip()[:2].replace(" ", "").replace("\n", "")
    if start.startswith("{") or start in ("[{", '["'):
        try:
            return _json(text)
        except (UnusableError, RecursionError):
            return text
    return text


class _Plain:
    """Makes plain data of what a parser returned; each value that an alias stands for counts."""

    def __init__(self) -> None:
        self._left = MOST_VALUES

    def of(self, value: Any, depth: int = 0) -> Any:
        self._left -= 1
        if self._left < 0:
            raise UnusableError(f"holds more than {MOST_VALUES:,} values, the maximum of an import.")
        if depth > MOST_DEPTH:
            raise UnusableError(f"is nested deeper than {MOST_DEPTH} levels.")
        if isinstance(value, dict):
            return {whole_text(str(key)): self.of(inner, depth + 1) for key, inner in value.items()}
        if isinstance(value, list | tuple | set | frozenset):
            return [self.of(inner, depth + 1) for inner in value]
        return _scalar(value)


def _scalar(value: Any) -> Any:
    if isinstance(value, str):
        return whole_text(value)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) < 10**MOST_DIGITS else hex(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    return value.isoformat() if isinstance(value, date) else str(value)


def whole_text(text: str) -> str:
    """Return text in which half characters (lone surrogates) are written as escapes: they cannot be stored."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace").decode("utf-8")
    return text
