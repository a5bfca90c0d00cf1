"""Provides the tasks and the checks of cases for a page, each case once, from the journal that stored them."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from viva.cases.case import check_text
from viva.cases.person_words import person_lines
from viva.errors import SetupError
from viva.filters.stored_cases import facts_of
from viva.journal.kept_cases import stored_case
from viva.records.run_record import Setting
from viva.records.text import one_line, printable
from viva.reports.case_words import fact_rows

TASK_LIMIT = 6000
"""Maximum number of characters of a task."""
CHECK_LIMIT = 8000
"""Maximum number of characters of the source of one check."""
FACT_LIMIT = 1000
"""Maximum number of characters of a value of a row or of metadata."""
MOST_CHECKS = 50
"""Maximum number of checks of one case."""


@dataclass(slots=True)
class Papers:
    """Numbers the cases of a page, so that each is on it once, however many runs it has."""

    _numbers: dict[tuple[str, str], int | None] = field(default_factory=dict)
    _fresh: dict[int, dict[str, Any]] = field(default_factory=dict)
    _count: int = 0

    def number(self, folder: Path, setting: Setting) -> int | None:
        """Return the number of a run's case; None if the journal does not hold the case, as with recordings.

        Args:
            folder: The run's journal.
            setting: The run's setting, which names the case and its hash.
        """
        if not setting.case_hash:
            return None
        key = str(folder), setting.case_hash
        if key not in self._numbers:
            paper = _paper(folder, setting)
            self._numbers[key] = None if paper is None else self._count
            if paper is not None:
                self._fresh[self._count] = paper
                self._count += 1
        return self._numbers[key]

    def fresh(self) -> dict[int, dict[str, Any]]:
        """Return the cases that were numbered since the last call."""
        fresh, self._fresh = self._fresh, {}
        return fresh


def _paper(folder: Path, setting: Setting) -> dict[str, Any] | None:
    try:
        case = stored_case(folder, setting.case, setting.case_hash)
    except SetupError:
        # The page of a journal whose cases were deleted, or damaged by a stranger, shows the rest.
        return None
    person = "\n".join(person_lines(case))
    task = f"{case.task_description.rstrip()}\n\n{person}" if person else case.task_description
    points = [point for point in case.scoring_points if point.is_checked][:MOST_CHECKS]
    return {
        "task": printable(task, TASK_LIMIT),
        "facts": [[one_line(name, 100), printable(value, FACT_LIMIT)] for name, value in fact_rows(facts_of(case))],
        "checks": {printable(point.id, 200): printable(check_text(point), CHECK_LIMIT) for point in points},
    }
