"""Says which files a case names, and puts these first: an agent can leave thousands of others."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from enum import IntEnum

from viva.cases import Case
from viva.judge.files.workspace import WorkspaceFile
from viva.records.text import storable

MOST_NAMES = 2_000
"""Maximum number of words of a case that are tried as names of files."""
MOST_PARTS = 30
"""Maximum number of parts of an absolute path that is tried as one inside of the workspace."""
_QUOTED = re.compile(
    r"([\"`'])([^\"`'\n]{1,200})\1|[\u201c\u201e\u2018\u00ab]([^\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb\n]{1,200})[\u201d\u201c\u2019\u00bb]"
)
_WORDS = re.compile(r"[^\s\"`'\u201c\u201d\u201e\u2018\u2019\u00ab\u00bb()\[\]{}<>|,;:!?*=]+")
# In Chinese, for example, a name stands between other words without blanks.
_ASCII = re.compile(r"[A-Za-z0-9_./~+@#%-]+")


class Rank(IntEnum):
    """How a case names a file, from the surest to the least."""

    PATH = 0
    """By its whole path, which is in quotation marks or has a dot or a slash in it."""
    NAME = 1
    """By its name in such words, but in another folder."""
    GIVEN = 2
    """It is one of the files that the agent was given."""
    WORD = 3
    """By its whole path, which is any word of the case."""
    PART = 4
    """Its name is a part of the case's words."""
    NONE = 5


class NamedFiles:
    """The names of files in the task and the points of a case."""

    def __init__(self, case: Case) -> None:
        self._text = "\n".join([case.task_description, *(point.score_point for point in case.scoring_points)])
        quoted = [_path(match[2] or match[3]) for match in _QUOTED.finditer(self._text)]
        words = [_path(match[0]) for form in (_WORDS, _ASCII) for match in form.finditer(self._text)]
        sure = [*quoted, *(word for word in words if "." in word or "/" in word)]
        self._sure = dict.fromkeys([*sure, *(end for path in sure for end in _ends(path))])
        self._sure_names = {_last(name) for name in self._sure}
        self._words = dict.fromkeys(sorted(words, key=len, reverse=True))
        self._sure.pop("", None)
        self._words.pop("", None)

    @property
    def paths(self) -> list[str]:
        """Return the words that can be paths of files, the surest first."""
        paths = [path for path in (self._sure | self._words) if ".." not in path.split("/") and "\0" not in path]
        return paths[:MOST_NAMES]

    def ordered(self, files: Iterable[WorkspaceFile], given: Collection[str]) -> list[tuple[Rank, WorkspaceFile]]:
        """Return files with their ranks, those first that the case names.

        Only one file of each name counts as named by it, a given one if there is one: an agent can make thousands.

        Args:
            files: The files.
            given: The paths of the files that the agent was given.
        """
        nearest = sorted(files, key=lambda file: (file.path not in given, file.path.count("/"), storable(file.path)))
        seen: set[str] = set()
        keyed = []
        for file in nearest:
            rank, name = self._rank(file.path, given), _last(file.path)
            if rank == Rank.NAME and name in seen:
                rank = Rank.GIVEN if file.path in given else Rank.PART
            seen.add(name)
            # The longer a word, the less likely it is one of those of which every text is made.
            keyed.append(
                ((rank, -len(name) if rank == Rank.WORD else 0, file.path.count("/"), storable(file.path)), file)
            )
        keyed.sort(key=lambda each: each[0])
        return [(key[0], file) for key, file in keyed]

    def _rank(self, path: str, given: Collection[str]) -> Rank:
        if path in self._sure:
            return Rank.PATH
        if _last(path) in self._sure_names:
            return Rank.NAME
        if path in given:
            return Rank.GIVEN
        if path in self._words:
            return Rank.WORD
        return Rank.PART if _last(path) in self._text else Rank.NONE


def _path(word: str) -> str:
    """Return a word as a path would be written: without what begins a path, and without the end of a sentence."""
    return word.strip().removeprefix("./").rstrip("./")


def _ends(path: str) -> Iterator[str]:
    """Yield what an absolute path can be inside of the workspace: its ends of several parts, the longest first."""
    if path.startswith(("/", "~/")) and path.count("/") <= MOST_PARTS:
        parts = path.split("/")[1:]
        yield from ("/".join(parts[first:]) for first in range(len(parts) - 1))


def _last(path: str) -> str:
    return path.rpartition("/")[2]
