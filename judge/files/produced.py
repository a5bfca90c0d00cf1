"""Tells what an agent wrote from what it was given: words of a file count as the agent's if they are new in it."""

from __future__ import annotations

from pathlib import Path

from viva.judge.files.given import GivenFile
from viva.judge.quotes import LongText
from viva.judge.steps import readings
from viva.regular_files import open_plain

MOST_GIVEN_TEXT = 4 * 1024 * 1024
"""Maximum size in bytes of a given file that is searched; of a longer one, it is not known what is new in it."""


class WordsGiven:
    """The words that a file held when the agent was given it."""

    def __init__(self, file: GivenFile | None) -> None:
        """Read the file.

        Args:
            file: The file; None if it is not known.
        """
        content = None if file is None else _content(file)
        forms = () if content is None else readings(content.decode("utf-8-sig", "replace"))
        self._known = content is not None
        self._texts = tuple(LongText(form.words) for form in forms)

    def may_hold(self, quote: str) -> bool:
        """Return whether the file held these words, or may have, because it cannot be read any more."""
        return not self._known or any(text.holds(quote) for text in self._texts)


def _content(file: GivenFile) -> bytes | None:
    if file.size > MOST_GIVEN_TEXT:
        return None
    if not isinstance(file.source, Path):
        return file.source
    try:
        with open_plain(file.source) as stream:
            content = stream.read(MOST_GIVEN_TEXT + 1)
    except OSError:
        return None
    return content if len(content) == file.size else None
