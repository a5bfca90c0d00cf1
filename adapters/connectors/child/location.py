"""Where an agent for a process of its own is found: `file.py:Class@/path/to/venv`, taken apart."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from adapters.errors import SetupError

_SPEC = re.compile(r"(?P<place>.+):(?P<name>[^\W\d]\w*)@(?P<python>.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Place:
    """Where an agent's class is found, and what runs it."""

    place: str
    """A module's name, or the path of a file that ends in .py."""
    name: str
    python: str
    """An interpreter."""
    memory_mb: int | None = None
    """Address space of each of the agent's processes at most, in MiB."""
    suffix: str = ""
    """What follows the class in the SPEC."""

    def __str__(self) -> str:
        return f"{self.place}:{self.name}" if self.name else self.place


def split(spec: str) -> Place | None:
    """The parts of a SPEC that ends in `:Class@/path/to/venv`; None for one of another form.

    Raises:
        SetupError: there is no interpreter.
    """
    match = _SPEC.fullmatch(spec)
    return (
        None
        if match is None
        else Place(match["place"], match["name"], find_python(match["python"]), suffix=f"@{match['python']}")
    )


def find_python(path: str) -> str:
    """The interpreter of a virtual environment's folder, or the interpreter that `path` is.

    Raises:
        SetupError: there is none.
    """
    place = Path(path).expanduser()
    if place.is_dir():
        for name in ("bin/python", "bin/python3"):
            if (place / name).is_file():
                return str((place / name).absolute())  # not resolved: the link is what makes it that environment's
        raise SetupError(f"{path} is no virtual environment: it has no bin/python. Make one: python -m venv {path}")
    if place.is_file():
        return str(place.absolute())
    if "/" not in path and (found := shutil.which(path)):
        return found
    raise SetupError(f"there is no virtual environment or interpreter {path}.")
