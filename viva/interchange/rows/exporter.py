"""Writes cases as rows: what the user says, what is expected, metadata and tags."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from typing import Any

from viva.interchange.drafts.asked import GUIDED
from viva.interchange.drafts.personas import as_given
from viva.interchange.ledger import Gap
from viva.interchange.rows.expectations import expected_of
from viva.interchange.rows.targets import RowTarget, put
from viva.interchange.source import Source

ROLES = {"agent": "assistant", "user": "user", "system": "system"}


def export(cases: Sequence[tuple[str, Source]], target: RowTarget, *, as_table: bool) -> str:
    """Return rows as JSON Lines, or as CSV with JSON in the cells that are not text.

    Args:
        cases: Names and trees.
        target: Where the parts of a case stand.
        as_table: Whether CSV is wanted.
    """
    rows = [_row(name, tree, target) for name, tree in cases]
    if not as_table:
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    columns = list(dict.fromkeys(column for row in rows for column in row))
    writer.writerow(columns)
    for row in rows:
        writer.writerow([_cell(row.get(column, "")) for column in columns])
    return out.getvalue()


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _row(name: str, tree: Source, target: RowTarget) -> dict[str, Any]:
    paths = target.paths
    row: dict[str, Any] = {}
    if "name" in paths:
        put(row, paths["name"], name)
    _add_asked(row, tree, target)
    expected = expected_of(tree)
    if expected not in (None, {}):
        key = target.inside.get("expected")
        if not isinstance(expected, dict) and key is not None:
            expected = {key: expected}
        elif isinstance(expected, dict) and key is not None and "answer" in expected:
            expected = {key if part == "answer" else part: value for part, value in expected.items()}
        put(row, paths["expected"], expected)
    for part in ("metadata", "background"):
        value = tree.get(part)
        if value is not None and part in paths:
            put(row, paths[part], value.take())
    tags = tree.get("tags")
    if tags is not None and "tags" in paths:
        put(row, paths["tags"], _tags(tags, target))
    columns = tree.get("columns")
    for column, value in columns.items() if columns is not None else ():
        if column not in row:
            row[column] = value.take()
    return row


def _tags(tags: Source, target: RowTarget) -> Any:
    if target.tags == "mapping":
        named = {}
        for each in tags.elements():
            key, colon, value = str(each.peek()).partition(":")
            named[key] = value if colon else "true"
            each.express("a tag")
        return named
    given = tags.take()
    return given[0] if target.tags == "text" and len(given) == 1 else given


def _add_asked(row: dict[str, Any], tree: Source, target: RowTarget) -> None:
    paths = target.paths
    script, task, opening = tree.get("script"), tree.get("task_description"), tree.get("opening")
    persona = tree.get("user", "persona")
    if persona is not None and "persona" in paths:
        put(row, paths["persona"], as_given(persona.take()))
    context = tree.get("config_var", "context")
    if context is not None and "context" in paths:
        put(row, paths["context"], context.take())
    if script is None and task is not None and "task" in paths:
        goal, is_guided, guidance = str(task.take()).partition(GUIDED if "guidance" in paths else "\0")
        put(row, paths["task"], goal)
        if is_guided:
            put(row, paths["guidance"], _guidance(guidance))
        return
    if script is None:
        asked = opening if opening is not None else task
        if asked is not None:
            asked.remark(Gap.NEEDS_A_PERSON, "a row has one message and no task of a user: this is said to the agent")
            said = asked.take()
    else:
        said = _said(tree, script)
        if task is not None:
            task.express("input")
        rounds = tree.get("max_rounds")
        if rounds is not None and rounds.peek() == len(script.peek()):
            rounds.express("input")
    further = tree.get("config_var", "inputs")
    key = target.inside.get("input", "question" if further is not None and further.is_mapping else None)
    if key is not None:
        said = {"messages": said} if isinstance(said, list) and said and isinstance(said[0], dict) else {key: said}
        said |= further.take() if further is not None and further.is_mapping else {}
    put(row, paths["input"], said)


def _guidance(text: str) -> Any:
    """Return guidance as it was given: as text, or as a list of texts, which a task holds as JSON."""
    try:
        listed = json.loads(text) if text.startswith('["') else None
    except ValueError:
        return text
    return listed if isinstance(listed, list) else text


def _said(tree: Source, script: Source) -> Any:
    """Return the message, several messages, or the conversation already begun and the message that follows."""
    conversation = tree.get("conversation")
    lines = script.take()
    if conversation is None:
        return lines[0] if len(lines) == 1 and isinstance(lines[0], str) else lines
    turns = [{"role": ROLES[turn["role"]], "content": turn["content"]} for turn in conversation.take()]
    for index, line in enumerate(lines):
        if isinstance(line, str):
            turns.append({"role": "user", "content": line})
        elif (special := script.get(index)) is not None:
            special.report(Gap.NO_HOME, "a row has messages, without conditions and repetitions")
    return turns
