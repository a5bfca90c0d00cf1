"""Reads labels that exist already: CSV or JSON Lines with named columns, one row for each item or for each label."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from viva.errors import SetupError
from viva.records.bounded_json import UnfitJson, read
from viva.records.text import one_line, storable
from viva.regular_files import MIB

MOST = 256 * MIB
"""Maximum size of a file in bytes."""
MOST_COLUMNS = 10_000
"""Maximum number of columns, and of raters."""
MOST_LABELS = 50
"""Maximum number of different labels: a column with more holds something else, such as texts."""
MOST_LABEL = 100
"""Maximum number of characters of a label."""
MOST_NAMED = 12
_ITEM = ("item", "item_id", "id")
_LONG = ("rater", "label")
_WHOLE = re.compile(r"-?(?:0|[1-9][0-9]{0,14})\.0+")
"""A whole number as tools write it that have no gaps among whole numbers."""


@dataclass(frozen=True, slots=True)
class Columns:
    """Names the columns of a file. Empty names stand for the usual ones, which a file need not have."""

    item: str = ""
    """What was labelled. [default: item, item_id or id; without one of them, each row is an item]"""
    raters: tuple[str, ...] = ()
    """The columns with the labels of one rater each; in a file with a row for each label, the raters to keep."""
    rater: str = ""
    """In a file with a row for each label: who gave it."""
    label: str = ""
    """In a file with a row for each label: the label."""
    case: str = ""
    """What groups items that go together."""
    by: str = ""
    """The kind of item."""


@dataclass(frozen=True, slots=True)
class GivenLabel:
    """One label of one rater."""

    item: str
    """Unique in the file, together with `kind`."""
    rater: str
    label: str
    case: str = ""
    kind: str = ""


@dataclass(frozen=True, slots=True)
class _Row:
    where: str
    values: Mapping[str, str]


def labels_of_table(text: str, path: Path, columns: Columns, gold: str = "") -> list[GivenLabel]:
    """Return the labels of a table; empty cells, null and missing keys are gaps.

    Args:
        text: The content of a file: JSON Lines if it begins with `{`, otherwise CSV with a head.
        path: The file; fields of a file .tsv are separated by tabulators, those of others by commas or semicolons.
        columns: The names of its columns.
        gold: The rater whose labels are true, who need not be named among the raters.

    Raises:
        SetupError: it is neither, has no such column, or two labels are of the same rater and item. The message names
            file and line.
    """
    if gold and columns.raters:
        columns = replace(columns, raters=(gold, *(rater for rater in columns.raters if rater != gold)))
    head, rows = _json_lines(path, text) if text.lstrip()[:1] == "{" else _csv(path, text)
    _check_columns(path, head, columns)
    long = bool(columns.rater or columns.label) or set(_LONG) <= set(head)
    item = columns.item or next((name for name in _ITEM if name in head), "")
    found = list(_long(path, head, rows, columns, item) if long else _wide(path, head, rows, columns, item))
    if not found:
        raise SetupError(f"{_name(path)} holds no labels.")
    _check_labels(path, found)
    return found


def _wide(path: Path, head: Sequence[str], rows: Sequence[_Row], columns: Columns, item: str) -> Iterator[GivenLabel]:
    """Yield the labels of a file with a row for each item and a column for each rater."""
    aside = {item, columns.case, columns.by}
    raters = columns.raters or tuple(name for name in head if name not in aside)
    seen: dict[tuple[str, str], str] = {}
    for number, row in enumerate(rows, start=1):
        kind = row.values.get(columns.by, "")
        name = row.values.get(item, "") if item else str(number)
        _note(seen, (name, kind), row, f"the item {one_line(name, 60)!r}", columns)
        for rater in raters:
            if label := row.values.get(rater, ""):
                yield GivenLabel(name, rater, label, row.values.get(columns.case, ""), kind)


def _long(path: Path, head: Sequence[str], rows: Sequence[_Row], columns: Columns, item: str) -> Iterator[GivenLabel]:
    """Yield the labels of a file with a row for each label."""
    rater_column, label_column = columns.rater or _LONG[0], columns.label or _LONG[1]
    _check_columns(path, head, Columns(rater=rater_column, label=label_column))
    if not item:
        raise SetupError(f"{_name(path)} has a row for each label: name the column of the item with --item.")
    known = {row.values.get(rater_column, "") for row in rows}
    for rater in columns.raters:
        if rater not in known:
            raise SetupError(f"{_name(path)} has no rater {_shown(rater)}.{_nearest(rater, sorted(known))}")
    seen: dict[tuple[str, str, str], str] = {}
    for row in rows:
        name, rater, kind = (row.values.get(column, "") for column in (item, rater_column, columns.by))
        label = row.values.get(label_column, "")
        if not label or (columns.raters and rater not in columns.raters):
            continue
        if not name or not rater:
            raise SetupError(f"{row.where}: the label has no {'item' if not name else 'rater'}.")
        _note(seen, (name, rater, kind), row, f"the label of {one_line(rater, 60)} for {one_line(name, 60)!r}", columns)
        yield GivenLabel(name, rater, label, row.values.get(columns.case, ""), kind)


def _note(seen: dict[Any, str], key: Any, row: _Row, what: str, columns: Columns) -> None:
    """Note a row, or refuse it if it says the same thing a second time: which one applies is not for us to guess."""
    if key in seen:
        hint = "" if columns.by else " If a further column tells the two apart, name it with --by."
        raise SetupError(f"{row.where}: {what} occurs a second time, first in {seen[key].rpartition(', ')[2]}.{hint}")
    seen[key] = row.where


def _check_columns(path: Path, head: Sequence[str], columns: Columns) -> None:
    long = columns.rater or columns.label or set(_LONG) <= set(head)
    given = (columns.item, columns.rater, columns.label, columns.case, columns.by)
    flags = ("--item", "--rater", "--label", "--case", "--by")
    wanted = [(flag, name) for flag, name in zip(flags, given, strict=True) if name]
    wanted += [("--raters", name) for name in columns.raters if not long]
    for flag, name in wanted:
        if name not in head:
            raise SetupError(f"{flag}: {_name(path)} has no column {_shown(name)}.{_nearest(name, head)}")


def _nearest(name: str, known: Sequence[str]) -> str:
    near = get_close_matches(name.casefold(), [each.casefold() for each in known], 1, 0.5)
    if near:
        return f" Did you mean {_shown(next(each for each in known if each.casefold() == near[0]))}?"
    more = f" and {len(known) - MOST_NAMED} more" if len(known) > MOST_NAMED else ""
    return f" It has {', '.join(_shown(each) for each in known[:MOST_NAMED])}{more}."


def _check_labels(path: Path, found: Sequence[GivenLabel]) -> None:
    labels: dict[str, set[str]] = {}
    for each in found:
        if len(each.label) > MOST_LABEL:
            raise SetupError(
                f"{_name(path)}: {_shown(each.rater)} has texts of more than {MOST_LABEL} characters, which are not "
                "labels; name the columns of the raters with --raters."
            )
        labels.setdefault(each.rater, set()).add(each.label)
        if len(labels) > MOST_COLUMNS:
            raise SetupError(f"{_name(path)} has more than {MOST_COLUMNS:,} raters; name some of them with --raters.")
        if len(labels[each.rater]) > MOST_LABELS:
            raise SetupError(
                f"{_name(path)}: {_shown(each.rater)} has more than {MOST_LABELS} different labels; name the columns "
                "of the raters with --raters."
            )


def _separator(path: Path, text: str) -> str:
    """Return what separates the fields of a file: where numbers have a decimal comma, spreadsheets write semicolons."""
    if path.suffix.lower() == ".tsv":
        return "\t"
    head = text.lstrip().partition("\n")[0]
    return ";" if ";" in head and "," not in head else ","


def _csv(path: Path, text: str) -> tuple[list[str], list[_Row]]:
    lines = csv.reader(io.StringIO(text, newline=""), delimiter=_separator(path, text))
    head: list[str] = []
    rows: list[_Row] = []
    try:
        for fields in lines:
            where = f"{_name(path)}, line {lines.line_num}"
            if not any(field.strip() for field in fields):
                continue
            if not head:
                head = [storable(field.strip()) for field in fields]
                if len(head) > MOST_COLUMNS:
                    raise SetupError(f"{where}: {len(head):,} columns, and {MOST_COLUMNS:,} is the maximum.")
                name, times = Counter(head).most_common(1)[0]
                if times > 1:
                    raise SetupError(f"{where}: two columns have the name {_shown(name)}.")
                continue
            if len(fields) != len(head):
                raise SetupError(f"{where}: {len(fields)} fields, and the head has {len(head)}.")
            rows.append(_Row(where, dict(zip(head, map(plain_label, fields), strict=True))))
    except csv.Error as error:
        raise SetupError(f"{_name(path)}, line {lines.line_num}: it is not CSV: {error}.") from error
    return head, rows


def _json_lines(path: Path, text: str) -> tuple[list[str], list[_Row]]:
    head: dict[str, None] = {}
    rows = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        where = f"{_name(path)}, line {number}"
        try:
            plain = read(line.encode())
        except UnfitJson as error:
            raise SetupError(f"{where}: {error}. Each line is one JSON object.") from None
        if not isinstance(plain, dict):
            raise SetupError(f"{where}: it is not a JSON object.")
        head.update(dict.fromkeys(plain))
        rows.append(_Row(where, {name: plain_label(value) for name, value in plain.items()}))
    return list(head), rows


def plain_label(value: Any) -> str:
    """Return a value of a file as a label: `1`, `1.0` and 1 are the same; null and white space are the empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        text = storable(value.strip())
        return text.partition(".")[0] if _WHOLE.fullmatch(text) else text
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value)


def _shown(name: str) -> str:
    return repr(one_line(name, 60))


def _name(path: Path) -> str:
    return one_line(str(path))
