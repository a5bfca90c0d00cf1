"""Reads case files into Cases, and reports everything that is wrong with a file at once."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from viva.cases.case import Case
from viva.cases.data_files import hash_case
from viva.cases.errors import CaseError, Mistake
from viva.cases.field_readers import CaseReader
from viva.cases.find import case_files
from viva.cases.many.references import Reference, split_reference
from viva.cases.many.sources import CaseSource, SourcesReader
from viva.cases.yaml.lines import LineNumbers, read_yaml

MAX_MISTAKES = 200
"""The maximum number of mistakes that are reported of one file: one with more is not a case."""
SHOWN = 5
"""Number of cases that are named where one of several is to be chosen."""


def load_case(path: Path) -> Case:
    """Load a case.

    Args:
        path: The case's folder, or the YAML file in it; of several cases in a file, `FILE#NAME`.

    Raises:
        CaseError: the case is not sound, or there are several. The error holds every mistake that was found, with its
            line.
    """
    cases = load_cases(path)
    if len(cases) > 1:
        names = ", ".join(case.name for case in cases[:SHOWN]) + (", …" if len(cases) > SHOWN else "")
        words = f"holds several cases ({names}): name one, as in {cases[0].reference}"
        raise CaseError(path, [f"{words}; to test with all of them: viva suite {path}"])
    return cases[0]


def load_cases(path: Path) -> list[Case]:
    """Load all cases of a file: one, those under `cases:`, and one for each row of a family.

    Args:
        path: The file, a folder that holds one, or a reference (`FILE#NAME`, `FILE#NAME[ROW]`).

    Raises:
        CaseError: a case is not sound. The error holds every mistake that was found, with its line.
    """
    wanted = split_reference(os.fspath(path))
    file = _case_file(wanted.path)
    data, lines, raw = read_yaml(file)
    sources = _sources(file, data, lines)
    cases, mistakes = [], []
    for source in sources.read(wanted):
        reader = CaseReader(source.data, source.lines, file)
        fields = reader.read()
        if reader.mistakes:
            about = f" (row {source.row!r})" if source.row else ""
            mistakes += [replace(each, message=f"{each.message}{about}") for each in reader.mistakes]
            if len(mistakes) > MAX_MISTAKES and source.row:
                break
        elif not mistakes:
            cases.append(_case(source, file, raw, fields))
    mistakes = [*sources.mistakes, *mistakes]
    if mistakes:
        raise CaseError(file, _shown(mistakes))
    return cases


@lru_cache(maxsize=4)
def _parsed(file: str, stamp: tuple[int, int]) -> tuple[Any, LineNumbers]:
    data, lines, _ = read_yaml(Path(file))
    return data, lines


def source_of(case: Case) -> CaseSource:
    """Return a case as it stands in its file, with its lines.

    Raises:
        CaseError: the file has become unreadable since it was loaded.
    """
    try:
        stamp = case.file.stat()
    except OSError as error:
        raise CaseError(case.file, [f"cannot be read: {error.strerror}"]) from error
    data, lines = _parsed(str(case.file), (stamp.st_mtime_ns, stamp.st_size))
    # Of a family, the file alone: the rows would be read again for each of them.
    reference = Reference(case.file, case.entry or None)
    return next(_sources(case.file, data, lines).templates(reference))


def table_of(case: Case) -> Path | None:
    """Return the file of rows to which a case belongs; None if its rows stand in the case file, or cannot be read."""
    with suppress(CaseError, StopIteration):
        name = source_of(case).data.get("for_each")
        return case.file.parent / name if isinstance(name, str) else None
    return None


def _sources(file: Path, data: Any, lines: LineNumbers) -> SourcesReader:
    if not isinstance(data, dict):
        raise CaseError(file, [Mistake("is not a mapping of fields; see `viva docs write-a-case`", 1)])
    sources = SourcesReader(file, data, lines)
    for key, line in lines.duplicates:
        sources.mistakes.append(Mistake(f"{key!r} is a duplicate key; YAML would silently drop the first value", line))
    return sources


def _case(source: CaseSource, file: Path, raw: bytes, fields: dict[str, Any]) -> Case:
    alone = not source.entry and not source.row
    case = Case(
        name=source.name, file=file, hash="", entry=source.entry, row=source.row, columns=source.columns, **fields
    )
    if source.tags:
        case = replace(case, tags=tuple(dict.fromkeys((*case.tags, *source.tags))))
    try:
        return replace(case, hash=hash_case(raw if alone else source.content, file.parent, case.own_files))
    except OSError as error:
        raise CaseError(file, [f"data file {error.filename!r} cannot be read: {error.strerror}"]) from error


def _shown(mistakes: list[Mistake]) -> list[Mistake]:
    """Return mistakes in the order of their lines, each once; of very many, the first ones."""
    ordered = sorted(dict.fromkeys(mistakes), key=_line)
    if len(ordered) <= MAX_MISTAKES:
        return ordered
    more = len(ordered) - MAX_MISTAKES
    return [*ordered[:MAX_MISTAKES], Mistake(f"further mistakes: {more:,}")]


def _case_file(path: Path) -> Path:
    if os.path.isfile(path):
        return path
    if not os.path.isdir(path):
        raise CaseError(path, ["there is no such case folder or file"])
    found = case_files(path)
    if not found:
        raise CaseError(path, ["holds no YAML file; a case is a folder with exactly one"])
    if len(found) > 1:
        names = ", ".join(file.name for file in found)
        raise CaseError(path, [f"holds {len(found)} YAML files ({names}); a case is a folder with exactly one"])
    return found[0]


def _line(mistake: Mistake) -> int:
    return mistake.line or 0
