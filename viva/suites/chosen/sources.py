"""The files that cases and agents consist of, found without importing or running anything."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

from viva.adapters.connectors.loaded_agent import file_digest
from viva.adapters.connectors.spec import CHILD, is_agent_file
from viva.adapters.connectors.varied_spec import split_settings
from viva.cases import Case
from viva.cases.load import table_of
from viva.journal.lines import FILE

COMMANDS = frozenset({"cmd", "cmd+plain", "acp"})
MOST_FILES = 20_000
"""Files of one folder that are looked at."""
PASSED_OVER = frozenset({"__pycache__", "node_modules", "runs", "venv"})
"""Folders that hold nothing that a user saves."""


def case_sources(case: Case) -> Iterator[Path]:
    """Yield the files of a case, its table of rows included, and the files and folders that its exam needs."""
    yield case.file
    if case.row and (table := table_of(case)) is not None:
        yield table
    for name in case.own_files:
        yield case.folder / name


def agent_sources(spec: str) -> list[Path]:
    """Return the files that an agent's SPEC names, as far as they exist here; none for an agent behind an address."""
    varied = split_settings(spec)
    if varied.settings:
        return [*agent_sources(varied.base), *(file for file in varied.files() if file.is_file())]
    scheme, _, rest = spec.partition(":")
    if scheme in COMMANDS:
        return [Path(word) for word in _words(rest) if os.path.isfile(word)]
    if scheme == "taskweaver":
        return [Path(rest)] if os.path.exists(rest) else []
    if is_agent_file(spec):
        return [Path(spec)] if os.path.isfile(spec) else []
    child = CHILD.fullmatch(spec)
    module = child["module"] if child is not None else spec.rpartition(":")[0] or spec
    plain = module.replace(".", "/")
    named = (module,) if module.endswith(".py") else (f"{plain}.py", f"{plain}/__init__.py")
    return [Path(name) for name in named if os.path.isfile(name)]


def agent_digest(spec: str) -> str | None:
    """Return the digest that an agent's runs have in their setting; None if only loading the agent can tell."""
    files = agent_sources(spec)
    return file_digest(files[0]) if len(files) == 1 and files[0].is_file() else None


def agent_folders(spec: str) -> list[Path]:
    """Return the folders with the Python files beside an agent's own: it may import them."""
    return list(dict.fromkeys(file.parent for file in agent_sources(spec) if file.suffix == ".py"))


def files_below(path: Path, endings: tuple[str, ...] = ()) -> Iterator[Path]:
    """Yield a file, or the files at and below a folder; hidden folders and those of tools are passed over.

    Args:
        path: The file or folder.
        endings: Only files with one of these extensions; empty for all.
    """
    if not path.is_dir():
        yield path
        return
    left = MOST_FILES
    for folder, folders, names in os.walk(path):
        folders[:] = sorted(each for each in folders if is_watched(folder, each))
        for name in sorted(names):
            if not endings or name.endswith(endings):
                left -= 1
                if left < 0:
                    return
                yield Path(folder, name)


def is_watched(folder: str, name: str) -> bool:
    """Return whether users save files in a folder: not in hidden ones, in those of tools, and in journals."""
    return not name.startswith(".") and name not in PASSED_OVER and not os.path.exists(os.path.join(folder, name, FILE))


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:
        return []
