"""Makes a case of each row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from viva.errors import SetupError
from viva.interchange.drafts.asked import CHATS, GUIDED, add_input
from viva.interchange.drafts.asked import USUAL as SAID_IN
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.expected import USUAL as ANSWERED_IN
from viva.interchange.drafts.expected import add_expected
from viva.interchange.drafts.personas import as_persona
from viva.interchange.drafts.wording import as_text
from viva.interchange.files import SourceFile
from viva.interchange.formats import ImportOptions
from viva.interchange.ledger import Gap
from viva.interchange.rows.shapes import chosen_paths, rows_of
from viva.interchange.rows.targets import TARGETS
from viva.interchange.source import Source

_AGAIN = re.compile(r" \(duplicate \d+\)$")


def recognises(source: SourceFile) -> bool:
    """Return whether the rows have a known shape; others need `--format rows` or `--map`."""
    return not source.path.is_dir() and bool(rows_of(source.tree()))


def read(source: SourceFile, options: ImportOptions) -> Sequence[CaseDraft]:
    """Return a case for each row that says what the agent is asked.

    Raises:
        SetupError: there are no rows, or nothing says what the agent is asked.
    """
    rows = rows_of(source.tree())
    if not rows:
        raise SetupError(f"{source.path} has no rows: it must be CSV, a list of JSON objects, or JSON Lines.")
    paths = chosen_paths(rows, options.mapping)
    return list(_drafts(rows, paths))


def _drafts(rows: Sequence[Source], paths: Mapping[str, str]) -> Iterator[CaseDraft]:
    for number, row in enumerate(rows, 1):
        found = {part: node for part, path in paths.items() if (node := row.find(path)) is not None}
        draft = CaseDraft("")
        if "task" in found:
            _add_task(draft, found)
        if "input" in found:
            add_input(draft, found["input"])
        if not draft.task_description and not draft.script:
            row.remark(Gap.NEEDS_A_PERSON, "the row does not say what the agent is asked, and was left out")
            row.report(Gap.NEEDS_A_PERSON, "a row that does not say what the agent is asked")
            continue
        if "expected" in found:
            add_expected(draft, found["expected"])
        if not draft.points:
            draft.mark("say what a good answer is: the row has no expectation")
        _add_rest(draft, found)
        _remark_keys(found, paths)
        used = {str(step) for node in found.values() for step in node.path[len(row.path) :][:1]}
        draft.columns = {key: each.take() for key, each in row.items() if key not in used and _is_column(key, each)}
        draft.row = _identity(found.get("name"))
        draft.title = draft.row or f"{number:04} {str((draft.script or [draft.task_description])[0])[:40]}"
        yield draft


def _add_task(draft: CaseDraft, found: dict[str, Source]) -> None:
    """Add what the user wants. Where the task is a part of the inputs, these are no message."""
    task = found["task"]
    draft.task_description = as_text(task.take() if task.is_text else task.express("the task"))
    if "guidance" in found:
        guidance = found["guidance"]
        draft.task_description += GUIDED + as_text(
            guidance.take() if guidance.is_text else guidance.express("the task")
        )
    asked = found.get("input")
    if asked is not None and task.path[: len(asked.path)] == asked.path:
        del found["input"]
        parts = {each.path for each in found.values()}
        for rest in (each for _, each in asked.items()):
            if rest.path not in parts:
                rest.report(Gap.NO_HOME, "a further input beside the task; add it to the task, or to config_var")


def _remark_keys(found: Mapping[str, Source], paths: Mapping[str, str]) -> None:
    """Name the keys of mappings that become a text, and that an export to the same platform does not give back."""
    for part, usual in (("input", SAID_IN), ("expected", ANSWERED_IN)):
        node = found.get(part)
        fields: dict[str, Source] = {} if node is None else dict(node.items())
        key = next((name for name in usual if name in fields), None)
        given_back = {target.inside.get(part) for target in TARGETS if target.paths.get(part) == paths.get(part)}
        if part == "input" and len(fields) > 1:
            given_back.add("question")
        if node is not None and key is not None and key not in given_back and not set(CHATS) & fields.keys():
            node.remark(Gap.NO_HOME, f"a case keeps the text, and not its key {key!r}: an export has another or none")


def _identity(name: Source | None) -> str:
    if name is None or not isinstance(name.peek(), str | int) or isinstance(name.peek(), bool) or name.peek() == "":
        return ""
    return str(name.express("the id of a row"))


def _is_column(key: str, value: Source) -> bool:
    """Return whether a table keeps a value. The first value of a key that is given twice is reported."""
    return value.peek() not in (None, "", [], {}) and _AGAIN.search(key) is None


def _add_rest(draft: CaseDraft, found: dict[str, Source]) -> None:
    if "tags" in found:
        tags = found["tags"]
        for key, each in tags.items():
            if each.is_text:
                draft.tags.append(f"{key}:{each.take()}")
        for each in tags.leaves() if not tags.is_mapping else ():
            if each.is_text:
                draft.tags.append(each.take().strip())
    if "persona" in found:
        persona = found["persona"]
        words = persona.take() if persona.is_text else as_text(persona.express("a persona"))
        draft.fields["user"] = {"persona": as_persona(words)}
    if "background" in found:
        background = found["background"]
        taken = background.take() if background.is_text else as_text(background.express("background"))
        draft.fields["background"] = taken
    if "context" in found:
        draft.fields["config_var"] = {**draft.fields.get("config_var", {}), "context": found["context"].take()}
    if "metadata" in found:
        _add_metadata(draft, found["metadata"])


def _add_metadata(draft: CaseDraft, metadata: Source) -> None:
    if metadata.peek() not in (None, "", {}, []):
        draft.metadata |= metadata.take() if metadata.is_mapping else {"metadata": metadata.take()}
