"""Reads the rows of a family: from a CSV, JSON Lines, JSON or YAML file, or from the case file itself."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viva.cases.errors import CaseError, Mistake
from viva.cases.plain_fields import PlainReader
from viva.cases.text import describe
from viva.cases.yaml.lines import LineNumbers, read_yaml

MAX_BYTES = 64 * 1024 * 1024
MAX_ROWS = 100_000
MAX_ID = 200
"""Maximum number of characters of an id."""
MAX_LEVELS = 40
"""Maximum depth of the values of a row."""
ID = "id"
"""The column with the ids of rows."""
DIGITS = 12
"""Number of hex digits of an id that is made from the content of a row."""


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """One row of a table."""

    id: str
    """From the column `id`, or a digest of the row: never its position, so that it stays when rows are added."""
    columns: Mapping[str, Any]
    line: int | None = None


def read_rows(file: Path) -> list[FamilyRow]:
    """Read the rows of a file, whose ending says what it is: `.csv`, `.tsv`, `.jsonl`, `.json`, `.yaml` or `.yml`.

    Raises:
        CaseError: the file cannot be read, or rows in it are wrong.
    """
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise CaseError(file, [f"for_each reads files that end in {', '.join(_READERS)}"])
    return with_ids(file, reader(file))


def with_ids(where: Path, found: Iterator[tuple[Any, int | None]]) -> list[FamilyRow]:
    """Return rows with their ids.

    Args:
        where: Where the rows stand, for messages.
        found: Each row, and its line.

    Raises:
        CaseError: something is not a row, or two rows have one id.
    """
    rows: list[tuple[dict[str, Any], int | None]] = []
    for value, line in found:
        if len(rows) == MAX_ROWS:
            raise CaseError(where, [Mistake(f"there are more than {MAX_ROWS:,} rows: split them into several", line)])
        if not isinstance(value, dict) or not value or not all(isinstance(key, str) and key for key in value):
            raise CaseError(
                where, [Mistake(f"a row is a mapping of columns to values; this is {describe(value)}", line)]
            )
        rows.append((_as_json_holds(where, value, line), line))
    if not rows:
        raise CaseError(where, ["there are no rows"])
    has_ids = any(ID in row for row, _ in rows)
    made: dict[str, FamilyRow] = {}
    mistakes: list[Mistake] = []
    for row, line in rows:
        wrong, identity = _id_of(row) if has_ids else (None, _digest(row))
        if wrong is None and identity in made:
            first = made[identity].line
            other = f" in line {first}" if first is not None else ""
            wrong = f"another row{other} has the id {identity!r}, too" if has_ids else None
            wrong = wrong or f"this row is the same as another one{other}: remove it, or add a column {ID!r}"
        if wrong is not None:
            mistakes.append(Mistake(wrong, line))
            continue
        made[identity] = FamilyRow(identity, row, line)
    if mistakes:
        raise CaseError(
            where, [*mistakes[:20], *([f"further mistakes: {len(mistakes) - 20}"] if mistakes[20:] else [])]
        )
    return list(made.values())


def _as_json_holds(where: Path, row: dict[str, Any], line: int | None) -> dict[str, Any]:
    """Return a row as a journal can hold it: dates become text.

    Raises:
        CaseError: JSON cannot hold a value, or it is nested too deeply.
    """
    reader = PlainReader(row, LineNumbers())
    plain = reader.json_mapping(row, "row", most_levels=MAX_LEVELS)
    if reader.mistakes:
        raise CaseError(where, [Mistake(each.message, line) for each in reader.mistakes[:20]])
    return plain


def _id_of(row: dict[str, Any]) -> tuple[str | None, str]:
    """Return what is wrong with the id of a row, and the id."""
    value = row.get(ID)
    text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    if text is None or text == "":
        return f"this row has no {ID!r}, and others have one", ""
    if not isinstance(text, str) or len(text) > MAX_ID or not text.isprintable() or not text.strip():
        return f"an id is a word or a line of at most {MAX_ID} characters, not {describe(value)}", ""
    return None, text


def _digest(row: dict[str, Any]) -> str:
    words = json.dumps(row, sort_keys=True, default=str)
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:DIGITS]


def _text(file: Path) -> str:
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise CaseError(file, [f"cannot be read: {error.strerror}"]) from error
    if len(raw) > MAX_BYTES:
        raise CaseError(file, [f"is longer than {MAX_BYTES // 2**20} MiB: split it into several"])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CaseError(file, [Mistake("is not UTF-8 text", raw[: error.start].count(b"\n") + 1)]) from error


def _csv(file: Path) -> Iterator[tuple[Any, int | None]]:
    text = _text(file)
    delimiter = "\t" if file.suffix.lower() == ".tsv" else _delimiter(text)
    table = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    line = 1
    try:
        head = [name.strip() for name in next(table, [])]
        doubles = sorted({name for name in head if head.count(name) > 1 or not name})
        if doubles:
            raise CaseError(file, [Mistake(f"each column needs a name of its own; see {describe(doubles[0])}", 1)])
        line = table.line_num + 1
        for fields in table:
            if fields:
                if len(fields) != len(head):
                    words = f"this row has {len(fields)} fields, and the first line names {len(head)} columns"
                    raise CaseError(file, [Mistake(words, line)])
                yield dict(zip(head, fields, strict=True)), line
            line = table.line_num + 1
    except csv.Error as error:
        raise CaseError(file, [Mistake(f"is not CSV: {error}", line)]) from error


def _delimiter(text: str) -> str:
    """Return what is between the columns: spreadsheets of some countries write semicolons."""
    head = text[: text.find("\n") + 1 or len(text)]
    return ";" if ";" in head and "," not in head else ","


def _json_lines(file: Path) -> Iterator[tuple[Any, int | None]]:
    for number, text in enumerate(_text(file).split("\n"), 1):
        if text.strip():
            yield _json_value(file, text, number), number


def _json(file: Path) -> Iterator[tuple[Any, int | None]]:
    value = _json_value(file, _text(file), None)
    if not isinstance(value, list):
        raise CaseError(file, [f"is not a list of rows, but {describe(value)}"])
    for row in value:
        yield row, None


def _json_value(file: Path, text: str, line: int | None) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        at = line if line is not None else getattr(error, "lineno", None)
        raise CaseError(file, [Mistake(f"is not JSON: {error}", at)]) from error


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a value of JSON")


def _yaml(file: Path) -> Iterator[tuple[Any, int | None]]:
    data, lines, _ = read_yaml(file, "file of rows")
    if lines.duplicates:
        name, line = lines.duplicates[0]
        raise CaseError(file, [Mistake(f"{name!r} is a duplicate key; YAML would silently drop the first value", line)])
    if not isinstance(data, list):
        raise CaseError(file, [Mistake(f"is not a list of rows, but {describe(data)}", 1)])
    for index, row in enumerate(data):
        yield row, lines.of(index)


_READERS: dict[str, Callable[[Path], Iterator[tuple[Any, int | None]]]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".jsonl": _json_lines,
    ".json": _json,
    ".yaml": _yaml,
    ".yml": _yaml,
}
