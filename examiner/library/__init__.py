"""The bundled personas and strategies of the examiner, by name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml

from viva.errors import SetupError
from viva.records.text import one_line

FOLDER = Path(__file__).parent
PERSONAS, STRATEGIES = FOLDER / "personas.yaml", FOLDER / "strategies.yaml"
ALL = "all"
"""The word for every name, on the command line and in Python."""
LONGEST_NAME = 40
_NAME = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")

Kind = Literal["persona", "strategy"]


@dataclass(frozen=True, slots=True)
class Strategy:
    """A bundled strategy."""

    how: str
    source: str
    """Author, year and title of the publication that describes it."""
    url: str


def personas() -> Mapping[str, str]:
    """Return the description of each bundled persona, by name."""
    return {name: str(words).strip() for name, words in _read(PERSONAS).items()}


def strategies() -> Mapping[str, Strategy]:
    """Return the bundled strategies, by name."""
    return {
        name: Strategy(**{key: str(value).strip() for key, value in each.items()})
        for name, each in _read(STRATEGIES).items()
    }


def names_of(kind: Kind) -> tuple[str, ...]:
    """Return the names of all bundled personas or strategies, in the order of their file."""
    return tuple(_read(PERSONAS if kind == "persona" else STRATEGIES))


def chosen_names(kind: Kind, given: Sequence[str]) -> tuple[str, ...]:
    """Return the names that an option gives; `all` gives every name.

    Raises:
        SetupError: a name is not in the library.
    """
    known = names_of(kind) if given else ()
    for name in given:
        if name != ALL and name not in known:
            raise SetupError(f"--{kind} {one_line(name, 60)!r}: {unknown_name(kind, name, (*known, ALL))}")
    names = known if ALL in given else given
    return tuple(dict.fromkeys(names))


def name_in(kind: Kind, words: str | None) -> str:
    """Return the name that a case gives: one of the library, however it is spelled, or a single word that looks like a
    name; empty if the case gives a description."""
    given = (words or "").strip()
    if not given or len(given) > LONGEST_NAME:
        return ""
    plain = re.sub(r"[\s_-]+", "-", given.casefold())
    return plain if plain in names_of(kind) else given if _NAME.fullmatch(given) else ""


def unknown_name(kind: Kind, name: str, known: Collection[str] = ()) -> str:
    """Return the message about a name that is not in the library, with the nearest name that is."""
    known = known or names_of(kind)
    near = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}."
    return f"there is no such {kind}; {hint}"


@cache
def _read(file: Path) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load(file.read_text(encoding="utf-8"))
    return found
