"""Environments of frameworks and programs that Viva reaches and must never need, each from a recipe in this folder.

A recipe is `NAME.txt` (requirements of Python packages) or `NAME.json` (a `package.json` for npm).
`tests/environments/make NAME…` makes the environments, in `.ci/environments/`; without names, all of them.
"""

from __future__ import annotations

import os
from pathlib import Path

from tests.conftest import missing

ROOT = Path(__file__).resolve().parents[2]
RECIPES = Path(__file__).resolve().parent
PART = "agents"
"""How `VIVA_REQUIRE` names all of them."""


def folder_of(name: str) -> Path:
    """Return the folder of an environment that was made from its present recipe; skip the test without one."""
    (recipe,) = RECIPES.glob(f"{name}.*")
    folder = _place_of(name)
    made = folder / recipe.name
    if not made.is_file() or made.read_bytes() != recipe.read_bytes():
        missing(PART, f"make the environment with tests/environments/make {name}")
    return folder


def python_of(name: str) -> Path:
    """Return the interpreter of an environment of Python packages."""
    return folder_of(name) / "bin" / "python"


def interpreter_of(name: str) -> Path:
    """Return where the interpreter of an environment is, or would be if it had been made."""
    return _place_of(name) / "bin" / "python"


def _place_of(name: str) -> Path:
    return Path(os.environ.get("VIVA_ENVIRONMENTS") or ROOT / ".ci" / "environments") / name


def program_of(name: str, program: str) -> Path:
    """Return a program that an environment has installed."""
    folder = folder_of(name)
    places = (folder / "bin" / program, folder / "node_modules" / ".bin" / program)
    return next(place for place in places if place.exists())
