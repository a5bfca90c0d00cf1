"""Finds cases: by path, or by name among the bundled ones."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterator
from pathlib import Path

from cases.errors import CaseError
from cases.yaml_lines import MAX_BYTES

BUNDLED = Path(__file__).parent
SUFFIXES = (".yaml", ".yml")
_CASE = re.compile(rb"""^(?:\xef\xbb\xbf)?(?:\{\s*)?["']?(task_description|scoring_points)["']?\s*:""", re.MULTILINE)
"""A key at the top of a case file, in either style of YAML."""


def bundled() -> list[str]:
    """Return the names of the cases that come with Viva, sorted."""
    return sorted(folder.name for folder in BUNDLED.iterdir() if _is_case(folder))


def find_case(name: str) -> Path:
    """Return the folder of a case, which is given as a path or as the name of a bundled case.

    Raises:
        CaseError: there is neither; the message offers the nearest name.
    """
    path = Path(name)
    if _is_case(path) or (path.suffix in SUFFIXES and os.path.isfile(path)):
        return path
    if name in bundled():
        return BUNDLED / name
    if os.path.isfile(path):
        return path
    if os.path.isdir(path):
        raise CaseError(path, ["holds no YAML file; a case is a folder with exactly one"])
    here = [folder.name for folder in _entries(Path()) if _is_case(folder)]
    near = difflib.get_close_matches(name, [*bundled(), *here], 1, 0.4)
    hint = f"Did you mean {near[0]!r}?" if near else f"Bundled: {', '.join(bundled())}."
    raise CaseError(name, [f"there is no such case. {hint} A path to a case folder works too."])


def find_cases(path: Path) -> Iterator[Path]:
    """Yield all case folders at or below `path` in the order of their names, each once, whatever links lead to it.

    Raises:
        CaseError: `path` does not exist.
    """
    if not os.path.exists(path):
        raise CaseError(path, ["there is no such folder"])
    yield from _below(path, set())


def case_files(folder: Path) -> list[Path]:
    """Return the YAML files of a folder, without hidden ones, in the order of their names."""
    return [
        file
        for file in _entries(folder)
        if file.suffix in SUFFIXES and not file.name.startswith(".") and file.is_file()
    ]


def looks_like_a_case(file: Path) -> bool:
    """Tell whether a YAML file has a key that only cases have. Those of models or CI are passed over."""
    try:
        with file.open("rb") as stream:
            start = stream.read(MAX_BYTES)
        return _CASE.search(start) is not None
    except OSError:
        return True  # so that the loader reports why it cannot be read


def _below(path: Path, seen: set[str]) -> Iterator[Path]:
    real = os.path.realpath(path)
    if real in seen:
        return
    seen.add(real)
    if path.is_file() or any(looks_like_a_case(file) for file in case_files(path)):
        yield path
        return
    for folder in _entries(path):
        if folder.is_dir() and not folder.name.startswith("."):
            yield from _below(folder, seen)


def _entries(folder: Path) -> list[Path]:
    """Return what is in a folder, sorted; nothing where it cannot be read."""
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _is_case(folder: Path) -> bool:
    return os.path.isdir(folder) and bool(case_files(folder))
