"""Where an agent for a process of its own is found: `file.py:Class@/path/to/venv`, taken apart."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from adapters.connectors.spec import CHILD
from adapters.errors import SetupError


@dataclass(frozen=True, slots=True)
class Location:
    """Says where an agent's class is found, and what runs it."""

    module: str
    """A module's name, or the path of a file that ends in .py."""
    name: str
    python: str
    """An interpreter."""
    memory_mb: int | None = None
    """Address space of each of the agent's processes at most, in MiB."""
    suffix: str = ""
    """What follows the class in the SPEC."""

    def __str__(self) -> str:
        return f"{self.module}:{self.name}" if self.name else self.module


def split(spec: str) -> Location | None:
    """Take apart a SPEC that ends in `:Class@/path/to/venv`; None for one of another form.

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
    """Find the interpreter of a virtual environment's folder, or the interpreter that `path` is.

    Raises:
        SetupError: there is none.
    """
    found = Path(path).expanduser()
    if found.is_dir():
        for name in ("bin/python", "bin/python3"):
            if (found / name).is_file():
                return str((found / name).absolute())  # not resolved: the link is what makes it that environment's
        raise SetupError(f"{path} is no virtual environment: it has no bin/python. Make one: python -m venv {path}")
    if found.is_file():
        return str(found.absolute())
    if "/" not in path and (program := shutil.which(path)):
        return program
    raise SetupError(f"there is no virtual environment or interpreter {path}.")
