"""Stores the names that models gave causes, beside journals, and finds the name of a cause among them.

A name belongs to the content that was named: it is found for a cause with the same id that still has the commonest
reason, or one of the statements, that the cause had when it was named.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from viva.errors import SetupError
from viva.full_disk import error_words
from viva.journal.append_file import AppendFile
from viva.judge.measurements import add_measurement, read_measurements
from viva.records.text import one_line
from viva.statistics.causes.cause import Cause, CauseName, same_up_to_numbers
from viva.statistics.summary import Figures

FILE = "cause-names.jsonl"
FORMAT = 1
MOST_NAME = 60
"""Maximum number of characters of a name."""
MOST_SENTENCE = 300


class CauseNames:
    """The names that are stored beside journals."""

    def __init__(self, journals: Iterable[Path]) -> None:
        """Args:
        journals: The folders of the journals; of two names for the same content, the newest of the last file counts.
        """
        self._names: dict[str, list[CauseName]] = {}
        for file in dict.fromkeys(map(store_beside, journals)):
            for each in read_measurements(file, CauseName, FORMAT):
                self._names.setdefault(each.cause, []).append(each)

    def of(self, cause: Cause) -> CauseName | None:
        """Return the name of a cause, with its words on one line and safe to show; None if it has none."""
        content = set(content_of(cause))
        for each in reversed(self._names.get(cause.id, ())):
            # The file may be anybody's: it travels with journals.
            if content.intersection(each.content) and (name := one_line(each.name, MOST_NAME)):
                model, reason = one_line(each.model, MOST_NAME), one_line(each.reason, MOST_SENTENCE)
                return replace(each, name=name, model=model, reason=reason)
        return None

    def named(self, cause: Cause) -> Cause:
        """Return a cause with its name, if it has one."""
        name = self.of(cause)
        return cause if name is None else replace(cause, named=name)

    def in_figures(self, figures: Figures) -> Figures:
        """Return statistics with the names of their causes."""
        if not self._names:
            return figures
        return replace(figures, misses=tuple(map(self.named, figures.misses)))


def content_of(cause: Cause) -> tuple[str, ...]:
    """Return the digests by which the name of a cause is found: of its commonest reason, and of each statement."""
    texts = filter(None, (cause.reason, cause.words, *cause.also))
    return tuple(dict.fromkeys(_digest(same_up_to_numbers(text)) for text in texts))


def store_beside(journal: Path) -> Path:
    """Return the file with the names that belong to a journal: it is beside the journal's folder."""
    return journal.resolve().parent / FILE


def check_store(file: Path) -> None:
    """Check that names can be stored, before a model is paid for one.

    Raises:
        SetupError: the file cannot be written.
    """
    try:
        AppendFile(file).close()
    except OSError as error:
        words = error_words(error, [file.parent])
        raise SetupError(f"the names of causes cannot be stored in {one_line(str(file))}: {words}.") from error


def add_name(file: Path, name: CauseName) -> None:
    """Append a name with one write.

    Raises:
        SetupError: it cannot be written.
    """
    add_measurement(file, name, "the name of a cause")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
