"""A case that is a row of a table: what all rows share, with the names of columns in it, and the row's own values."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass
from typing import Any

from viva.cases.many.placeholders import RowMistake, filled
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.expected import ANY

DIGITS = 12
"""Number of hex digits of an id that is made from the content of a row."""
MOST = 100
"""Maximum number of characters of an id."""
WHOLE = {
    "task_description": "task",
    "conversation": "conversation",
    "background": "background",
    "config_var": "config_var",
}
"""Fields whose whole value is that of a column, and the names of the columns."""
OPTIONAL: dict[str, Any] = {"tags": [], "metadata": {}}
"""Fields that some rows of a table may lack, and what stands in the column then."""
_OF_CASE = frozenset({"id", "input", "expected", "persona", *WHOLE.values(), *OPTIONAL})
_EXPECTED = re.compile(r"expected_\d+")
_LABEL = re.compile(r".*?:[ \n]", re.S)
"""What a statement says before the value of the row."""


@dataclass(slots=True)
class DraftRow:
    """One row."""

    template: dict[str, Any]
    columns: dict[str, Any]
    id: str
    """Of its own, or a digest of the case: never its position, so that it stays when rows are added."""
    marks: list[str]

    @property
    def shape(self) -> str:
        """Return what a row must have in common with others in order to stand in one table with them."""
        fixed = {key: value for key, value in self.template.items() if key not in OPTIONAL}
        return json.dumps([fixed, self.marks], sort_keys=True, default=str)


def row_of(draft: CaseDraft) -> DraftRow | None:
    """Return a case as a row; None if it is none, or has something that no column can hold."""
    if draft.row is None or draft.files:
        return None
    document = draft.document()
    columns: dict[str, Any] = {}
    template = {key: _templated(key, value, columns) for key, value in document.items()}
    for name, value in draft.columns.items():
        columns[_free(name, columns)] = value
    try:
        if filled(template, columns) != document:
            return None
    except RowMistake:
        return None
    return DraftRow(template, columns, _identity(draft.row) or _digest([document, draft.columns]), draft.marks)


def _free(name: str, columns: dict[str, Any]) -> str:
    """Return a name for a column that no other has."""
    free = name or "column"
    while free in columns or is_of_case(free):
        free += "_"
    return free


def is_of_case(column: str) -> bool:
    """Return whether a column of this name has a part of the case, which stands where the template says."""
    return column in _OF_CASE or _EXPECTED.fullmatch(column) is not None


def title_of(row: DraftRow) -> str:
    """Return the name of a table with such rows."""
    template = row.template
    words = "tasks" if "script" not in template else "chats" if "conversation" in template else "rows"
    points = template["scoring_points"]
    number = sum("{{" in json.dumps(point) for point in points)
    if number == 1 and str(points[0]).startswith(ANY):
        return f"{words} with several answers"
    return words + ("" if number == 1 else f" with points: {number}" if number else " without expectation")


def _templated(key: str, value: Any, columns: dict[str, Any]) -> Any:
    if key == "script":
        single = len(value) == 1 and isinstance(value[0], str)
        columns["input"] = value[0] if single else value
        return ["{{ input }}"] if single else "{{ input }}"
    if key == "scoring_points":
        return [_point(point, columns) for point in value]
    if key == "user" and list(value) == ["persona"]:
        columns["persona"] = value["persona"]
        return {"persona": "{{ persona }}"}
    if key in WHOLE or key in OPTIONAL:
        name = WHOLE.get(key, key)
        columns[name] = value
        return f"{{{{ {name} }}}}"
    return value


def _point(point: Any, columns: dict[str, Any]) -> Any:
    if isinstance(point, str):
        label = _LABEL.match(point)
        return point if label is None else label.group() + _column(point[label.end() :], columns)
    if isinstance(point, dict) and list(point) == ["check"]:
        return {"check": {kind: _value(value, columns) for kind, value in point["check"].items()}}
    return point


def _value(value: Any, columns: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        return {key: _value(each, columns) for key, each in value.items()}
    return _column(value, columns) if isinstance(value, str | list) else value


def _column(value: Any, columns: dict[str, Any]) -> str:
    number = sum(name.startswith("expected") for name in columns) + 1
    name = "expected" if number == 1 else f"expected_{number}"
    columns[name] = value
    return f"{{{{ {name} }}}}"


def _identity(given: str) -> str:
    """Return an id as a command line and a report can show it: on one line, without the marks that surround it."""
    return "".join(each if each.isprintable() and each not in "[]#" else "-" for each in given.strip()[:MOST])


def _digest(content: Any) -> str:
    words = json.dumps(content, sort_keys=True, default=str)
    return hashlib.sha256(words.encode("utf-8", "replace")).hexdigest()[:DIGITS]
