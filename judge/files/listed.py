"""The agent's files as a judge sees them: the list, what is shown of each, and what a judge's quotes rest on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from viva.judge.evidence import FILE
from viva.judge.files.named import Rank
from viva.judge.files.produced import WordsGiven
from viva.judge.files.workspace import Change, WorkspaceFile
from viva.judge.steps import indented, readings
from viva.models.model import PictureFile
from viva.records.text import counted, storable
from viva.records.verdict import Evidence

FEWEST_LISTED = 50
"""Maximum number of files in the list for a judge whose provider refuses longer requests."""
PLACE_SHOWN = 300
"""Maximum number of characters of a path in evidence."""
OF_THE_AGENT = (Change.NEW, Change.CHANGED, Change.FOUND)


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file of the list."""

    number: int
    file: WorkspaceFile
    line: str
    rank: Rank = Rank.NONE
    head: str | None = None
    """The beginning of its text."""
    caption: str | None = None
    """The words above the picture, if the judge is shown it."""
    cut: bool = False
    """Whether the judge is not shown all that there is."""
    given: WordsGiven | None = None
    """What a changed file held before; None if no scoring point asks for it."""

    def holds(self, quote: str) -> bool:
        """Return whether the judge was shown words in the file, or above the picture that it is."""
        texts = (*(readings(self.head) if self.head is not None else ()), *readings(self.caption))
        return any(text.find(quote) for text in texts)

    def shows_of_the_agent(self, quote: str) -> bool:
        """Return whether the judge was shown words that the agent wrote into the file, or a picture that it made."""
        if self.file.is_link or self.file.change not in (Change.NEW, Change.CHANGED) or not self.holds(quote):
            return False
        if self.file.change is Change.NEW or self.head is None:
            return True
        return self.given is not None and not self.given.may_hold(quote)


@dataclass(frozen=True, slots=True)
class ShownFiles:
    """The agent's files as a judge sees them."""

    text: str
    """Between marks: all lines of names and contents are indented, as in a transcript."""
    parts: tuple[PictureFile | str, ...]
    """Pictures, each after words that say which file it is."""
    listed: tuple[ListedFile, ...]
    available: bool = True
    """Whether there was anything to look at."""
    cut: bool = False
    """Whether something of the agent's is not shown because there is too much of it."""

    @property
    def digest(self) -> str:
        """Return the SHA-256, in hex, of what the judge is shown; the random words that mark a cut are not in it."""
        total = hashlib.sha256()
        for each in self.listed:
            total.update(json.dumps([each.line, each.head, each.caption, each.cut]).encode() + b"\n")
        for part in self.parts:
            total.update(part.encode() if isinstance(part, str) else hashlib.sha256(part.content).digest())
        return total.hexdigest()

    @property
    def any_of_the_agents(self) -> bool:
        """Return whether the agent left any file of its own."""
        return any(each.file.change in OF_THE_AGENT for each in self.listed)

    def without_pictures(self) -> ShownFiles:
        """Return the same without pictures."""
        return replace(self, parts=(), listed=tuple(replace(each, caption=None) for each in self.listed), cut=True)

    def names_alone(self) -> ShownFiles:
        """Return the first lines of the list, without what the files hold."""
        listed = tuple(replace(each, head=None, caption=None) for each in self.listed[:FEWEST_LISTED])
        more = len(self.listed) - len(listed)
        lines = [each.line for each in listed] + ([f"(not listed: {counted(more, 'more file')})"] if more else [])
        return ShownFiles("\n".join(["[files]:", indented("\n".join(lines))]), (), listed, cut=True)

    def find(self, quotes: Iterable[str]) -> tuple[list[Evidence], list[str]]:
        """Return evidence for the quotes that are in a shown file or in a line of the list, and those that are not."""
        lines = [(each, readings(each.line)) for each in self.listed]
        found, lost = [], []
        for quote in quotes:
            where = (
                next((each for each in self.listed if each.shows_of_the_agent(quote)), None)
                or next((each for each in self.listed if each.holds(quote)), None)
                or next((each for each, forms in lines if any(text.find(quote) for text in forms)), None)
            )
            if where is None:
                lost.append(quote)
            else:
                found.append(Evidence(f"{FILE}{storable(where.file.path)[:PLACE_SHOWN]}", storable(quote.strip())))
        return found, lost

    def shows_of_the_agent(self, quote: str) -> bool:
        """Return whether the judge was shown these words as content that the agent produced.

        They are in the shown beginning of a file that is new, or of one that is changed and did not hold them when the
        agent was given it; or they stand above a picture that is new or changed. Names, links, what was deleted, and
        files of which it is not known whether the agent was given them, do not count.
        """
        return any(each.shows_of_the_agent(quote) for each in self.listed)


NO_FILES = ShownFiles("(The agent's files are not available.)", (), (), available=False)
"""What a judge is shown if there is nothing to look at."""
