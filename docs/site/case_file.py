"""The page about the keys of a case file: the table of `docs/write-a-case.md`, with a section for each key."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "write-a-case.md"
PLACE = "reference/case-file.md"


def rows(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield the keys and the meaning of each row of the table."""
    table = text.partition("\n## Fields\n")[2].partition("\n## ")[0]
    for line in table.splitlines():
        if found := re.fullmatch(r"\| (`.+?`(?:, `.+?`)*) \| (.+) \|", line):
            yield re.findall(r"`(.+?)`", found[1]), found[2]


def pages() -> Iterator[tuple[str, str]]:
    """Yield path and text of the page."""
    first = "Every key that a case file may have at its top or in a scoring point."
    parts = ["# Keys of a case file", f"{first} [Write a case](../write-a-case.md) explains them with examples."]
    for keys, meaning in rows(PAGE.read_text(encoding="utf-8")):
        linked = re.sub(r"\]\(#", "](../write-a-case.md#", meaning)
        linked = re.sub(r"\]\((?!\.\.|[a-z]+:)", "](../", linked)
        parts += [f"## {key}\n\nThe key `{key}` of a case file: {linked}" for key in keys]
    yield PLACE, "\n\n".join(parts) + "\n"
