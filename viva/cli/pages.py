"""The pages of documentation that are installed with Viva: finds them by name, and searches them by words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from viva.errors import SetupError
from viva.records.text import one_line

_PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (_PACKAGE / "docs", _PACKAGE.parent / "docs")
"""Folders of the pages: in an installed Viva, and in a checkout."""
ENDING = ".md"
_HEADING = re.compile(r"#{1,6} +(.+)")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of Markdown."""

    name: str
    text: str

    @property
    def title(self) -> str:
        """The first heading."""
        return next((heading for heading, _ in self.sections()), self.name)

    def sections(self) -> Iterator[tuple[str, list[str]]]:
        """Yield each heading with the lines below it, up to the next heading."""
        heading, lines, fenced = "", list[str](), False
        for line in self.text.splitlines():
            fenced ^= line.lstrip().startswith("```")
            found = None if fenced else _HEADING.fullmatch(line)
            if found is None:
                lines.append(line)
                continue
            if heading:
                yield heading, lines
            heading, lines = found[1], []
        if heading:
            yield heading, lines


@dataclass(frozen=True, slots=True)
class Hit:
    """A section in which all words of a search occur."""

    page: str
    heading: str
    line: str
    """Its first line with one of the words."""


def pages() -> list[Page]:
    """Return all pages in alphabetical order.

    Raises:
        SetupError: the installation contains none.
    """
    for folder in FOLDERS:
        if found := sorted(folder.rglob(f"*{ENDING}"), key=lambda file: file.stem):
            return [Page(file.stem, file.read_text(encoding="utf-8")) for file in found]
    raise SetupError(f"this installation contains no documentation ({FOLDERS[0]} is missing). Install Viva again.")


def page(name: str) -> Page:
    """Return a page by its name; the name of its file is accepted, too.

    Raises:
        SetupError: there is no such page; the message names the most similar one.
    """
    known = {each.name: each for each in pages()}
    wanted = Path(name.partition("#")[0].lower()).name.removesuffix(ENDING)
    if wanted in known:
        return known[wanted]
    near = get_close_matches(wanted, known, 1, 0.5) or [each for each in known if wanted and wanted in each]
    hint = f"Did you mean {near[0]}?" if near else f"The pages are {', '.join(known)}."
    raise SetupError(f"there is no page {one_line(name, 60)!r}. {hint}")


def search(words: Iterable[str], among: Iterable[Page]) -> Iterator[Hit]:
    """Yield the sections that contain all words, in any case and order."""
    wanted = [word.casefold() for word in words]
    for each in among:
        for heading, lines in each.sections():
            whole = "\n".join((heading, *lines)).casefold()
            if wanted and all(word in whole for word in wanted):
                first = next((line for line in lines if any(word in line.casefold() for word in wanted)), "")
                yield Hit(each.name, heading, first.strip())
