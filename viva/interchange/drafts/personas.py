"""Personas of sources are descriptions, even of one word, which a case would take for the name of a bundled persona."""

from __future__ import annotations

from viva.examiner.library import name_in

LIKE_THIS = "You are like this: "


def as_persona(words: str) -> str:
    """Return the description of a user so that a case does not take it for the name of a bundled persona."""
    return f"{LIKE_THIS}{words}" if name_in("persona", words.removeprefix(LIKE_THIS)) else words


def as_given(persona: str) -> str:
    """Return what `as_persona` was called with, for an export."""
    words = persona.removeprefix(LIKE_THIS)
    return words if as_persona(words) == persona else persona
