"""Writes the cases of an import, reads them back with the reader of cases, and fails if anything differs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.cases import CaseError, load_cases
from viva.cases.many.references import base_name, joined
from viva.cases.yaml.lines import read_yaml
from viva.errors import SetupError
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.rows import OPTIONAL, DraftRow, row_of, title_of
from viva.interchange.drafts.shared import with_defaults
from viva.interchange.names import CaseNames, safe_name
from viva.interchange.yaml_text import cases_text, yaml_text

CASE_FILE = "case.yaml"
CASES_FILE = "cases.yaml"
MOST_IN_A_FILE = 500
"""Maximum number of cases in one file."""
MOST_TEXT = 1_000_000
"""Maximum number of characters of the cases in one file, if there are several."""


@dataclass(slots=True)
class WrittenCases:
    """What was written."""

    names: list[str] = field(default_factory=list)
    """The names of the cases as journals have them, in the order of the drafts."""
    documents: list[Any] = field(default_factory=list)
    """Everything that the files hold."""
    files: list[str] = field(default_factory=list)
    """The files with cases and rows, relative to the folder."""
    marked: dict[str, list[str]] = field(default_factory=dict)
    """What a person has to do, by the name of the case or of the family."""


@dataclass(slots=True)
class _Entry:
    """A case, or a family, in a file with others."""

    name: str
    document: dict[str, Any]
    marks: list[str]
    places: list[int]
    """Which of the drafts it stands for."""
    rows: list[dict[str, Any]] = field(default_factory=list)


def write_cases(drafts: Sequence[CaseDraft], folder: Path, out: Path) -> WrittenCases:
    """Write cases: those with files of their own into folders, rows of one table as a family, all others together.

    Args:
        drafts: The cases.
        folder: An empty folder.
        out: The place to which the folder will be moved; the names of cases follow from it.

    Raises:
        SetupError: a case that was written cannot be read, or reads differently. That is a fault of the importer.
    """
    names = CaseNames()
    made = WrittenCases(names=[""] * len(drafts))
    for place, draft in enumerate(drafts):
        if draft.files:
            name = made.names[place] = names.of(draft.title)
            made.documents.append(_write_folder(draft, folder / name))
            made.files.append(f"{name}/{CASE_FILE}")
            if draft.marks:
                made.marked[name] = draft.marks
    for number, entries in enumerate(_files(_entries(drafts, names)), 1):
        file = CASES_FILE if number == 1 else f"{safe_name(out.resolve().name)}-{number}.yaml"
        _write_file(entries, folder / file, base_name(out / file, shared=True), made)
    return made


def _entries(drafts: Sequence[CaseDraft], names: CaseNames) -> list[_Entry]:
    families: dict[str, tuple[_Entry, list[DraftRow]]] = {}
    entries = []
    for place, draft in enumerate(drafts):
        if draft.files:
            continue
        row = row_of(draft)
        if row is None:
            if draft.columns:
                draft.metadata = {**draft.metadata, "columns": draft.columns}
            entries.append(_Entry(names.of(draft.title), draft.document(), draft.marks, [place]))
            continue
        family, rows = families.setdefault(row.shape, (_Entry(title_of(row), {}, draft.marks, []), []))
        if not rows:
            entries.append(family)
        family.places.append(place)
        rows.append(row)
    for family, rows in families.values():
        family.name = names.of(family.name)
        _complete(family, rows)
    return entries


def _complete(family: _Entry, rows: Sequence[DraftRow]) -> None:
    """Give a family its template and its table. A column that any row has is in all of them."""
    optional = {key for row in rows for key in row.template if key in OPTIONAL}
    empty = {key: value for key, value in OPTIONAL.items() if key in optional}
    template = rows[0].template | {key: f"{{{{ {key} }}}}" for key in empty}
    family.document = {"for_each": f"{family.name}.jsonl", **template}
    given: Counter[str] = Counter()
    for row in rows:
        given[row.id] += 1
        identity = row.id if given[row.id] == 1 else f"{row.id}-{given[row.id]}"
        lacking = {key: value for key, value in empty.items() if key not in row.columns}
        family.rows.append({"id": identity, **row.columns, **lacking})


def _files(entries: Sequence[_Entry]) -> Iterator[list[_Entry]]:
    """Yield the cases of each file."""
    held: list[_Entry] = []
    length = 0
    for entry in entries:
        size = len(json.dumps(entry.document, default=str))
        if held and (len(held) == MOST_IN_A_FILE or length + size > MOST_TEXT):
            yield held
            held, length = [], 0
        held.append(entry)
        length += size
    if held:
        yield held


def _write_file(entries: Sequence[_Entry], file: Path, base: str, made: WrittenCases) -> None:
    defaults, rest = with_defaults([entry.document for entry in entries])
    document: dict[str, Any] = {"defaults": defaults} if defaults else {}
    document["cases"] = {entry.name: own for entry, own in zip(entries, rest, strict=True)}
    cases = [(entry.name, own, entry.marks) for entry, own in zip(entries, rest, strict=True)]
    _write_text(file, cases_text(defaults, cases))
    made.files.append(file.name)
    made.documents.append(document)
    for entry in entries:
        ids: list[Any] = [row["id"] for row in entry.rows] or [None]
        for place, row in zip(entry.places, ids, strict=True):
            made.names[place] = joined(base, entry.name, row)
        if entry.marks:
            made.marked[joined(base, entry.name, None)] = entry.marks
        if entry.rows:
            made.files.append(f"{entry.name}.jsonl")
            made.documents.append(entry.rows)
            lines = (json.dumps(row, ensure_ascii=False) for row in entry.rows)
            _write_text(file.parent / f"{entry.name}.jsonl", "\n".join(lines) + "\n")
    number = sum(len(entry.places) for entry in entries)
    _read_back(file, document, number)


def _write_folder(draft: CaseDraft, folder: Path) -> dict[str, Any]:
    folder.mkdir()
    for name, content in draft.files.items():
        place = folder / name
        if ".." in place.parts or place.is_absolute() is not folder.is_absolute():
            raise SetupError(f"the importer gave a data file the name {name!r}, which lies outside the case.")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    document = draft.document()
    _write_text(folder / CASE_FILE, yaml_text(document, draft.marks))
    _read_back(folder / CASE_FILE, document, 1)
    return document


def _write_text(file: Path, text: str) -> None:
    file.write_text(text, encoding="utf-8", newline="\n")


def _read_back(file: Path, document: dict[str, Any], number: int) -> None:
    where = file.name if file.name != CASE_FILE else f"{file.parent.name}/{file.name}"
    try:
        read, _, _ = read_yaml(file)
        cases = load_cases(file)
    except CaseError as error:
        raise SetupError(f"the file {where} that was imported cannot be read, so nothing was kept: {error}") from error
    if read != document or len(cases) != number:
        raise SetupError(f"the file {where} that was imported reads differently than it was written; nothing was kept.")
