"""The texts of contents of eval sets, whose other parts are files, calls of tools and their results."""

from __future__ import annotations

from collections.abc import Iterator

from viva.interchange.drafts.spelling import entries, field
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

CALLS = ("function_call", "functionCall", "function_response", "functionResponse")


def parts(content: Source | None) -> Iterator[Source]:
    """Yield the parts of a content."""
    role = field(content, "role")
    if role is not None:
        role.express("who speaks")
    yield from entries(field(content, "parts"))


def spoken(content: Source | None) -> str:
    """Return the text of a content, and report its parts that are not text."""
    texts = []
    for part in parts(content):
        for name, value in part.items():
            if name == "text" and value.is_text:
                texts.append(str(value.take()))
            elif name != "text" and name not in CALLS:
                value.report(Gap.NO_HOME, "a message of a case is text; give files as data_files")
    return "".join(texts)
