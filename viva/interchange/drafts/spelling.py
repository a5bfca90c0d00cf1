"""Fields whose names are written in snake case in one file, and in camel case in another."""

from __future__ import annotations

from collections.abc import Iterator

from viva.interchange.drafts.wording import as_text
from viva.interchange.source import Source


def field(source: Source | None, name: str) -> Source | None:
    """Return a field by its name in snake case, also where the file has it in camel case; None if there is none."""
    if source is None:
        return None
    first, *others = name.split("_")
    return source.get(name) or source.get(first + "".join(word.capitalize() for word in others))


def at(source: Source | None, *names: str) -> Source | None:
    """Return the field that a path of names leads to."""
    for name in names:
        source = field(source, name)
    return source


def entries(source: Source | None) -> Iterator[Source]:
    """Yield the elements of a list that may be missing."""
    if source is not None:
        yield from source.elements()


def text_of(source: Source | None, words: str = "text of a case") -> str:
    """Return a value as text: text as it is, anything else as JSON; empty text if there is none.

    Args:
        source: The value.
        words: What it becomes, for the report, if it is not text.
    """
    if source is None or source.peek() in ("", [], {}):
        return ""
    if isinstance(source.peek(), str):
        return str(source.take())
    return as_text(source.express(words))
