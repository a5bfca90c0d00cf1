"""Reads a case folder into a Case, and reports everything that is wrong with it at once."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from viva.cases.case import Case
from viva.cases.data_files import hash_case
from viva.cases.errors import CaseError, Mistake
from viva.cases.field_readers import CaseReader
from viva.cases.find import case_files
from viva.cases.yaml_lines import read_yaml

MAX_MISTAKES = 200
"""The maximum number of mistakes that are reported of one file: one with more is not a case."""


def load_case(path: Path) -> Case:
    """Load a case.

    Args:
        path: The case's folder, or the YAML file in it.

    Raises:
        CaseError: the case is not sound. The error holds every mistake that was found, with its line.
    """
    file = _case_file(path)
    data, lines, raw = read_yaml(file)
    if not isinstance(data, dict):
        raise CaseError(file, [Mistake("is not a mapping of fields; see `viva docs write-a-case`", 1)])
    reader = CaseReader(data, lines, file)
    fields = reader.read()
    if reader.mistakes:
        mistakes: list[Mistake] = sorted(reader.mistakes, key=_line)
        if len(mistakes) > MAX_MISTAKES:
            more = len(mistakes) - MAX_MISTAKES
            mistakes = [*mistakes[:MAX_MISTAKES], Mistake(f"further mistakes: {more:,}")]
        raise CaseError(file, mistakes)
    try:
        case = Case(name=file.parent.resolve().name, file=file, hash="", **fields)
        return replace(case, hash=hash_case(raw, file.parent, case.own_files))
    except OSError as error:
        raise CaseError(file, [f"data file {error.filename!r} cannot be read: {error.strerror}"]) from error


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
