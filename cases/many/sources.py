"""Splits a case file into the cases that it holds: one, several under `cases:`, and a case for each row of a family."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from viva.cases.data_files import data_file_fault
from viva.cases.errors import CaseError, Mistake
from viva.cases.many.placeholders import (
    FIXED,
    RowMistake,
    code_mistakes,
    filled,
    key_mistakes,
    names_in,
    whole_points,
    with_ids,
)
from viva.cases.many.references import Reference, base_name, joined
from viva.cases.many.rows import FamilyRow, read_rows
from viva.cases.many.rows import with_ids as rows_with_ids
from viva.cases.plain_fields import PlainReader, nearest
from viva.cases.text import describe
from viva.cases.yaml.lines import LineNumbers

CASES, DEFAULTS = "cases", "defaults"
SHARED_KEYS = (CASES, DEFAULTS)
"""The keys of a file that holds several cases."""
FAMILY_KEYS = ("for_each", "group_by")
"""The keys that make a case a family."""
ADDED = ("scoring_points", "tags")
"""The keys of defaults that are added to those of a case."""
MERGED = ("metadata", "config_var")
"""The keys of defaults whose own keys are added to those of a case."""
MAX_NAME = 100
MOST_WRONG_ROWS = 20

Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class CaseSource:
    """One case as it stands in a file, with its defaults and the values of its row."""

    name: str
    data: dict[Any, Any]
    lines: LineNumbers
    entry: str = ""
    row: str = ""
    columns: Mapping[str, Any] = field(default_factory=dict)
    group_by: tuple[str, ...] = ()

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the tags by which figures of a family are shown: the family, and the values of columns."""
        if not self.row:
            return ()
        family = self.name.removesuffix(f"[{self.row}]")
        return (family, *(f"{column}={_word(self.columns.get(column))}" for column in self.group_by))

    @property
    def content(self) -> bytes:
        """Return everything that the case says, for its hash: it changes only if the case does, not its neighbours."""
        whole = {"case": self.data, "columns": self.columns, "group_by": self.group_by}
        return json.dumps(whole, sort_keys=True, default=str).encode("utf-8", "replace")


def is_shared(data: Mapping[Any, Any]) -> bool:
    """Return whether a file holds several cases."""
    return CASES in data


class SourcesReader(PlainReader):
    """Reads which cases a file holds."""

    def __init__(self, file: Path, data: dict[Any, Any], lines: LineNumbers) -> None:
        super().__init__(data, lines)
        self._file = file
        self._shared = is_shared(data)

    def read(self, wanted: Reference) -> Iterator[CaseSource]:
        """Yield the cases to which a reference refers, in the order of the file.

        Raises:
            CaseError: there is no such case, or a table of rows is wrong.
        """
        for template in self.templates(wanted):
            yield from self._family(template, wanted.row)

    def templates(self, wanted: Reference) -> Iterator[CaseSource]:
        """Yield what `read` does, a family as one case without the values of its rows.

        Raises:
            CaseError: there is no such case.
        """
        base = base_name(self._file, shared=self._shared)
        if not self._shared:
            if wanted.entry is not None:
                words = f"holds one case, and not several under 'cases:', so none is called {wanted.entry!r}"
                raise CaseError(self._file, [words])
            yield CaseSource(base, self.data, self.lines)
            return
        self.check_keys(self.data, SHARED_KEYS)
        defaults = self._defaults()
        entries = self._entries()
        if wanted.entry is not None and wanted.entry not in entries:
            hint = nearest(wanted.entry, entries)
            raise CaseError(self._file, [f"no case is called {wanted.entry!r}; {hint}"])
        for name, data in entries.items():
            if wanted.entry in (None, name):
                counts = {key: len(data[key]) for key in ADDED if isinstance(data.get(key), list)}
                lines = _LinesOfEntry(self.lines, (CASES, name), counts)
                yield CaseSource(joined(base, name, None), _with_defaults(data, defaults), lines, name)

    def _defaults(self) -> dict[Any, Any]:
        found = self.mapping(DEFAULTS) or {}
        for key in FAMILY_KEYS:
            if key in found:
                self.add_mistake(f"{key} cannot be a default: write it in each case that is a family", DEFAULTS, key)
        return {key: value for key, value in found.items() if key not in FAMILY_KEYS}

    def _entries(self) -> dict[str, dict[Any, Any]]:
        value = self.data.get(CASES)
        if not isinstance(value, dict) or not value:
            self.add_mistake("cases must be a mapping of names to cases", CASES)
            return {}
        found = {}
        for name, entry in value.items():
            if not isinstance(name, str) or _name_fault(name):
                fault = _name_fault(name) if isinstance(name, str) else "must be text; put it in quotes"
                self.add_mistake(f"the name of a case {fault}, not {describe(name)}", CASES, str(name))
            elif not isinstance(entry, dict):
                words = f"a case is a mapping with scoring_points, not {describe(entry)}"
                self.add_mistake(words, CASES, name)
            else:
                found[name] = entry
        return found

    def _family(self, template: CaseSource, row: str | None) -> Iterator[CaseSource]:
        """Yield a case, or one for each row if it is a family."""
        data, lines = template.data, template.lines
        own = {key: value for key, value in data.items() if key not in FAMILY_KEYS}
        if data.get("for_each") is None:
            if row is not None:
                words = f"{template.name} has no rows: it has no for_each"
                raise CaseError(self._file, [Mistake(words, lines.of())])
            for key in FAMILY_KEYS:
                if key in data:
                    self._note(f"{key} requires for_each, which names a file of rows", lines, (key,))
            yield replace(template, data=own)
            return
        rows = self._rows(data["for_each"], lines)
        columns = dict.fromkeys(name for each in rows for name in each.columns)
        group_by = self._group_by(data.get("group_by"), columns, lines)
        if not rows or not self._placeholders_fit(own, columns, lines):
            return
        chosen = rows if row is None else [each for each in rows if each.id == row]
        if not chosen:
            hint = nearest(row or "", [each.id for each in rows])
            words = f"no row of {template.name} has the id {row!r}; {hint}"
            raise CaseError(self._file, [Mistake(words, lines.of("for_each"))])
        yield from self._filled(replace(template, data=own, group_by=group_by), chosen)

    def _filled(self, template: CaseSource, rows: list[FamilyRow]) -> Iterator[CaseSource]:
        data = {**template.data, "scoring_points": with_ids(template.data.get("scoring_points"))}
        wrong = 0
        for row in rows:
            try:
                content = filled(data, row.columns)
            except RowMistake as error:
                self._note(f"{error} (row {row.id!r})", template.lines, error.path)
                wrong += 1
                if wrong == MOST_WRONG_ROWS:
                    return
                continue
            content["scoring_points"] = whole_points(content["scoring_points"])
            name = f"{template.name}[{row.id}]"
            yield replace(template, name=name, data=content, row=row.id, columns=row.columns)

    def _rows(self, value: Any, lines: LineNumbers) -> list[FamilyRow]:
        if isinstance(value, list):
            found = ((row, lines.of("for_each", index)) for index, row in enumerate(value))
            return rows_with_ids(self._file, found)
        if not isinstance(value, str):
            self._note(
                f"for_each must be a file of rows, or a list of them, not {describe(value)}", lines, ("for_each",)
            )
            return []
        if (fault := data_file_fault(self._file, value)) is not None:
            self._note(f"for_each: {describe(value)} {fault}", lines, ("for_each",))
            return []
        return read_rows(self._file.parent / value)

    def _group_by(self, value: Any, columns: Mapping[str, Any], lines: LineNumbers) -> tuple[str, ...]:
        names = [value] if isinstance(value, str) else value or []
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            self._note(f"group_by must be a list of columns, not {describe(value)}", lines, ("group_by",))
            return ()
        for name in names:
            if columns and name not in columns:
                self._note(f"no row has a column {name!r}; {nearest(name, columns)}", lines, ("group_by",))
        return tuple(dict.fromkeys(names))

    def _placeholders_fit(self, own: dict[Any, Any], columns: Mapping[str, Any], lines: LineNumbers) -> bool:
        """Note the placeholders that no row can fill, and those where no row may; return whether there are none."""
        before = len(self.mistakes)
        for name, path in names_in(own):
            if path[0] in FIXED:
                words = f"{path[0]} cannot hold {{{{ {name} }}}}: it says what runs on this machine, and no row may"
                self._note(words, lines, path)
            elif name not in columns:
                self._note(f"no row has a column {name!r}; {nearest(name, columns)}", lines, path)
        for words, path in (*key_mistakes(own), *code_mistakes(own)):
            self._note(words, lines, path)
        return len(self.mistakes) == before

    def _note(self, message: str, lines: LineNumbers, path: Place) -> None:
        self.mistakes.append(Mistake(message, lines.of(*path)))


class _LinesOfEntry(LineNumbers):
    """The lines of one of several cases, whose points and tags are followed by those of the defaults."""

    def __init__(self, lines: LineNumbers, path: Place, own: Mapping[str, int]) -> None:
        """Args:
        lines: Those of the file.
        path: Where the case stands.
        own: The lengths of its lists that may be followed by those of the defaults, by key.
        """
        super().__init__()
        self._lines = lines
        self._path = path
        self._own = own

    def of(self, *path: str | int) -> int | None:
        """Return the line of a path, or of the nearest thing around it."""
        return self._lines.of(*self._whole(path))

    def has(self, *path: str | int) -> bool:
        """Return whether the file has something at a path."""
        return self._lines.has(*self._whole(path))

    def inside(self, line: int, *path: str | int) -> int | None:
        """Return where a line of a text is in the file."""
        return self._lines.inside(line, *self._whole(path))

    def _whole(self, path: Place) -> Place:
        match path:
            case (str(key), int(index), *rest) if index >= self._own.get(key, index + 1):
                return (DEFAULTS, key, index - self._own[key], *rest)
            case (str(key), *_) if (*self._path, key) not in self._lines.at and (DEFAULTS, key) in self._lines.at:
                return (DEFAULTS, *path)
            case (str(key), str(name), *_) if (
                key in MERGED
                and (*self._path, key, name) not in self._lines.at
                and (DEFAULTS, key, name) in self._lines.at
            ):
                return (DEFAULTS, *path)
        return (*self._path, *path)


def _with_defaults(data: dict[Any, Any], defaults: dict[Any, Any]) -> dict[Any, Any]:
    whole = {**defaults, **data}
    for key in (*ADDED, *MERGED):
        own, shared = data.get(key), defaults.get(key)
        if key in ADDED and isinstance(own, list) and isinstance(shared, list):
            whole[key] = [*own, *shared]
        elif key in MERGED and isinstance(own, dict) and isinstance(shared, dict):
            whole[key] = {**shared, **own}
    return whole


def _name_fault(name: str) -> str | None:
    """Return what is wrong with the name of a case, in words that follow "the name of a case"."""
    if not name.strip() or name != name.strip() or not name.isprintable() or len(name) > MAX_NAME:
        return f"must be a line of at most {MAX_NAME} characters without spaces around it"
    return "must not contain '#', '[', ']' or '/'" if set(name) & set("#[]/") else None


def _word(value: Any) -> str:
    """Return a value of a column as it stands in a tag."""
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)
