"""What lowered the score of a run, or is still open: one entry for each verdict that is no hit."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import NamedTuple

from viva.judge.trajectory import SKIPPED
from viva.records.run_record import RunRecord
from viva.records.verdict import Evidence
from viva.statistics.scores import primary_insight

MOST_VERDICTS = 500
"""Maximum number of verdicts that are read of one run."""


class Miss(NamedTuple):
    """What lowered a run's score, or is still open; hostile text."""

    words: str
    label: str
    reason: str
    evidence: tuple[Evidence, ...] = ()
    open: bool = False
    """Whether the verdict has no score, such as `unsure`."""


def misses_of(record: RunRecord) -> Iterator[Miss]:
    """Yield everything that lowered a run's score, or is still open."""
    main = primary_insight(record)
    if main is None:
        return
    if not main.verdicts and main.score is not None and main.score < 1:
        yield Miss(main.evaluator, main.label, main.summary)
    for verdict in islice(main.verdicts, MOST_VERDICTS):
        if (verdict.score is None or verdict.score < 1) and verdict.label != SKIPPED:
            yield Miss(
                verdict.statement or verdict.criterion,
                verdict.label,
                verdict.reason,
                verdict.evidence,
                verdict.score is None,
            )
