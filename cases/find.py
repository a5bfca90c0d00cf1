"""Finds cases: by path, or by name among the bundled ones."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from pathlib import Path

from cases.errors import CaseError

BUNDLED = Path(__file__).parent


def bundled() -> list[str]:
    """Names of the cases that come with Viva, sorted."""
    return sorted(folder.name for folder in BUNDLED.iterdir() if _is_case(folder))


def find_case(name: str) -> Path:
    """The folder of a case given as a path or as a bundled case's name.

    Raises:
        CaseError: neither is there; the message offers the nearest name.
    """
    path = Path(name)
    if path.exists() and (path.is_file() or _is_case(path)):
        return path
    if name in bundled():
        return BUNDLED / name
    if path.is_dir():
        raise CaseError(path, ["holds no YAML file; a case is a folder with exactly one"])
    here = [folder.name for folder in Path().iterdir() if _is_case(folder)]
    near = difflib.get_close_matches(name, [*bundled(), *here], 1, 0.4)
    hint = f"Did you mean {near[0]!r}?" if near else f"Bundled: {', '.join(bundled())}."
    raise CaseError(name, [f"there is no such case. {hint} A path to a case folder works too."])


def find_cases(path: Path) -> Iterator[Path]:
    """All case folders at or below `path`, in the order of their names.

    Raises:
        CaseError: `path` does not exist.
    """
    if not path.exists():
        raise CaseError(path, ["there is no such folder"])
    if path.is_file() or _is_case(path):
        yield path
        return
    for folder in sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith(".")):
        yield from find_cases(folder)


def _is_case(folder: Path) -> bool:
    return folder.is_dir() and any(file.suffix in (".yaml", ".yml") for file in folder.iterdir())
