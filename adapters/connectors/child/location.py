"""The location of an agent for its own process, parsed from `file.py:Class@/path/to/venv`, and mistakes in it."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viva.adapters import contract_messages as mistakes
from viva.adapters.calls import in_words
from viva.adapters.connectors.spec import CHILD, connector_meant
from viva.errors import SetupError
from viva.plugins.old_names import hint


@dataclass(frozen=True, slots=True)
class Location:
    """The location of an agent's class, and the interpreter that runs it."""

    module: str
    """A module's name, or the path of a file that ends in .py."""
    name: str
    python: str
    """The path of the interpreter."""
    memory_mb: int | None = None
    """Maximum address space of each of the agent's processes, in MiB."""
    suffix: str = ""
    """The rest of the SPEC after the class."""

    def __str__(self) -> str:
        return f"{self.module}:{self.name}" if self.name else self.module


def split(spec: str) -> Location | None:
    """Parse a SPEC that ends in `:Class@/path/to/venv`; return None for any other form.

    Raises:
        SetupError: there is no interpreter.
    """
    match = CHILD.fullmatch(spec)
    return (
        None
        if match is None
        else Location(match["module"], match["name"], find_python(match["python"]), suffix=f"@{match['python']}")
    )


def find_python(path: str) -> str:
    """Return the interpreter of a virtual environment's folder, or `path` itself if it is an interpreter.

    Raises:
        SetupError: there is no interpreter.
    """
    found = Path(path).expanduser()
    if found.is_dir():
        for name in ("bin/python", "bin/python3"):
            if (found / name).is_file():
                return str((found / name).absolute())  # not resolved: the link identifies the environment
        raise SetupError(f"{path} is not a virtual environment: it has no bin/python. Make one: python -m venv {path}")
    if found.is_file():
        return str(found.absolute())
    if "/" not in path and (program := shutil.which(path)):
        return program
    raise SetupError(f"there is no virtual environment or interpreter {path}.")


def setup_words(location: Location, facts: dict[str, Any]) -> str:
    """Return in words what is wrong with the class at a location.

    Args:
        location: The location.
        facts: What the agent's process found, as `adapters/inside` sends it.
    """
    if "broken" in facts:
        where, told, kind, at = location.module, "", str(facts["broken"]), None
        if isinstance(line := facts.get("line"), int):
            at = (str(facts.get("file") or location.module), line)
            where = f"{where}:{line}" if at[0] == where else f"{where} ({at[0]}:{line})"
        if kind in ("ImportError", "ModuleNotFoundError"):
            told = hint(str(facts.get("missing") or ""), at)
        if kind == "ModuleNotFoundError":
            told = told or f" Install it into the agent's environment ({location.python})."
        return f"{where} cannot be imported: {in_words(kind, facts.get('text'))}.{told}"
    if "no_module" in facts:
        meant = connector_meant(location.module, location.name)
        return (
            f"there is no module {facts['no_module']!r} here or in the agent's environment ({facts['prefix']}).{meant}"
        )
    return mistakes.in_words(facts, location.module, location.name, location.suffix)
