"""Writes cases as rows: what the user says, what is expected, metadata and tags."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from viva.interchange.drafts.expected import AGREES
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

COLUMNS = ("id", "input", "expected", "metadata", "tags")
CHECK = "a row has expected answers, not checks"


def export(cases: Sequence[tuple[str, Source]], *, as_table: bool) -> str:
    """Return rows as JSON Lines, or as CSV with JSON in the cells that are not text.

    Args:
        cases: Names and trees.
        as_table: Whether CSV is wanted.
    """
    rows = [_row(name, tree) for name, tree in cases]
    if not as_table:
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(row.get(column, "")) for column in COLUMNS])
    return out.getvalue()


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _row(name: str, tree: Source) -> dict[str, Any]:
    row: dict[str, Any] = {"id": name, "input": _said(tree)}
    expected = [text for point in (tree.get("scoring_points") or tree).elements() if (text := _expected(point))]
    if expected:
        row["expected"] = expected[0] if len(expected) == 1 else expected
    for column in ("metadata", "tags"):
        value = tree.get(column)
        if value is not None:
            row[column] = value.take()
    return row


def _said(tree: Source) -> Any:
    script, task = tree.get("script"), tree.get("task_description")
    if script is None:
        opening = tree.get("opening")
        return opening.take() if opening is not None else task.take() if task is not None else ""
    if task is not None:
        task.express("input")
    lines = script.take()
    return lines[0] if len(lines) == 1 and isinstance(lines[0], str) else lines


def _expected(point: Source) -> str:
    statement, check = point.get("score_point"), point.get("check")
    if check is not None:
        wanted = check.peek().get("equals") if list(check.peek()) == ["equals"] else None
        if isinstance(wanted, str):
            check.express("expected")
            if statement is not None:
                statement.express("expected")
            return wanted
        check.report(Gap.NO_HOME, CHECK)
        return ""
    if statement is None or point.get("eval_code") is not None:
        return ""
    return str(statement.take()).removeprefix(AGREES)
