"""Reads cases that a Python program passes: by name, by path, or as Case objects."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from viva.api.arguments import checked
from viva.cases import Case, CaseError, find_case
from viva.cases import load_case as load_case_at
from viva.cases.data_files import hash_case
from viva.cases.in_python.completing import check
from viva.errors import SetupError

CaseLike = Case | str | os.PathLike[str]


@checked
def load_case(case: str | os.PathLike[str]) -> Case:
    """Load a case.

    Args:
        case: The path of its folder or of the YAML file in it, or the name of a bundled case.

    Raises:
        CaseError: there is no such case, or it is invalid; `mistakes` holds everything that is wrong with it.
    """
    return load_case_at(find_case(os.fspath(case)))


def listed(cases: CaseLike | Iterable[CaseLike]) -> tuple[CaseLike, ...]:
    """Return one or several cases or folders of cases as a tuple."""
    return (cases,) if isinstance(cases, Case | str | os.PathLike) else tuple(cases)


def as_paths(cases: Iterable[CaseLike]) -> tuple[tuple[str, ...], dict[str, Case]]:
    """Return the names of the cases in a plan, and the Case objects by these names.

    A Case that equals its file is named by its path, so that the command line can resume the suite. Any other Case
    exists only in this program and gets a new hash, by which journals distinguish cases.

    Raises:
        CaseError: a case that was made or changed in this program is invalid.
        SetupError: two different cases have the same name.
    """
    paths: list[str] = []
    given: dict[str, Case] = {}
    for case in cases:
        if not isinstance(case, Case):
            paths.append(os.fspath(case))
        elif _is_as_its_file_says(case):
            paths.append(case.reference)
        else:
            path, made = f"{case.name} (made in Python)", with_own_hash(case)
            if given.setdefault(path, made) != made:
                raise SetupError(f"two cases are called {case.name!r}: give one another name (replace(case, name=…)).")
            paths.append(path)
    return tuple(paths), given


def as_one(case: CaseLike) -> tuple[Case, tuple[str, ...], dict[str, Case]]:
    """Return one case, and the result of `as_paths` for it.

    Raises:
        CaseError: there is no such case, or it is invalid.
    """
    loaded = load_case(case) if isinstance(case, str | os.PathLike) else case
    paths, given = as_paths([loaded])
    return given.get(paths[0], loaded), paths, given


def with_own_hash(case: Case) -> Case:
    """Return the case with the hash of its present content, after checking it.

    Raises:
        CaseError: the case is invalid.
    """
    # Imported here, because it loads pydantic, which `load_case` does not require.
    from viva.records.codec import encode

    check(case)
    raw = encode(replace(case, hash="", file=Path(case.file.name)))
    return replace(case, hash=hash_case(raw, case.folder, case.own_files))


def _is_as_its_file_says(case: Case) -> bool:
    if not os.path.isfile(case.file):
        return False
    try:
        return replace(load_case_at(Path(case.reference)), file=case.file) == case
    except CaseError:
        return False
