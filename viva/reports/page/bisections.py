"""What the page shows of a bisection: the decisive round, the forks, and the replies side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from viva.reports.bisection.words import ForkRow, ShownReply, lead_of, lines_of, message_of, rows_of, side_by_side
from viva.statistics.bisection.plan import read_bisection


@dataclass(frozen=True, slots=True)
class ShownBisection:
    """One bisection on the page."""

    lead: str
    lines: tuple[str, ...]
    rows: tuple[ForkRow, ...]
    round: int | None
    message: str
    replies: tuple[ShownReply, ...]


def shown_bisections(folders: Iterable[Path]) -> Iterator[ShownBisection]:
    """Yield the bisections among journals.

    Raises:
        JournalError: a journal cannot be read.
    """
    for folder in dict.fromkeys(folders):
        found = read_bisection(folder)
        if found is not None and found.results:
            yield ShownBisection(
                lead=lead_of(found),
                lines=tuple(lines_of(found)),
                rows=tuple(rows_of(found)),
                round=found.round,
                message=message_of(found),
                replies=tuple(side_by_side(found, folder)),
            )
