"""Makes one small row for each run of a page; long texts stay in the journal until they are written."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from viva.records.run_record import RunRecord
from viva.records.text import one_line, printable
from viva.records.wording import score_line
from viva.reports.facts import Standing, cost_of, standing, tokens_of
from viva.reports.journals import Journals
from viva.reports.page.failures import Failures, misses
from viva.reports.page.reason_diffs import without_line
from viva.statistics.scores import evaluator_names, score_of
from viva.statistics.summary import Figures, summarize

MOST_COLUMNS = 4
"""Maximum number of evaluators other than the primary one that have a column."""
REASON_LIMIT = 240
"""Maximum number of characters of the reason in a row."""
ORDER = (Standing.FAILED, Standing.EXCLUDED, Standing.UNFINISHED, Standing.PASSED)
"""The order in which the page shows runs at first."""


@dataclass(slots=True, kw_only=True)
class Row:
    """One run in the page's table. Texts come from agents and cases, and are cut to one line."""

    number: int
    """The position on the page, from 0, which is also the run's address there."""
    case: str
    agent: str
    standing: Standing
    outcome: str
    trial: int | None = None
    attempt: int = 1
    score: float | None = None
    low: float | None = None
    words: str = ""
    """The score in words."""
    rounds: int | None = None
    tokens: int | None = None
    cost: float | None = None
    seconds: float = 0.0
    scores: dict[str, float] = field(default_factory=dict)
    """The scores of evaluators other than the primary one, by name."""
    missed: str = ""
    """The first point that was missed."""
    reason: str = ""
    """Why it was missed, or what went wrong, with its white space."""
    more: int = 0
    """Number of further points that were missed."""


@dataclass(slots=True)
class Rows:
    """All runs of a report, and their statistics."""

    rows: list[Row]
    figures: Figures
    failures: Failures
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    """The row number, by journal and run id."""

    @property
    def failures_first(self) -> list[Row]:
        """The rows, with those of failed runs first and those of passed runs last."""
        return sorted(self.rows, key=lambda row: ORDER.index(row.standing))


def gather_rows(journals: Journals) -> Rows:
    """Read all records once.

    Raises:
        JournalError: a journal cannot be read.
    """
    rows: list[Row] = []
    numbers: dict[tuple[str, str], int] = {}
    failures = Failures()

    def passing() -> Iterator[RunRecord]:
        for entry in journals.entries():
            numbers[(str(entry.folder), entry.record.id)] = len(rows)
            row = _row(len(rows), entry.record, journals.threshold)
            failures.add(row.number, entry.record, row.standing)
            rows.append(row)
            yield entry.record

    figures = summarize(passing(), journals.threshold)
    for run in journals.unfinished():
        numbers[(str(run.folder), run.id)] = len(rows)
        row = Row(
            number=len(rows),
            case=one_line(run.case or run.id, 200),
            agent=run.agent,
            standing=Standing.UNFINISHED,
            outcome="unfinished",
            reason=one_line(run.id, 200),
        )
        rows.append(row)
    return Rows(rows, figures, failures, numbers)


def _row(number: int, record: RunRecord, threshold: float) -> Row:
    missing = [] if record.error else misses(record)
    return Row(
        number=number,
        case=one_line(record.subject, 200),
        agent=record.agent,
        standing=standing(record, threshold),
        outcome=record.outcome.value,
        trial=record.trial,
        attempt=record.attempt,
        score=record.score,
        low=record.low,
        words=score_line(record),
        rounds=record.rounds,
        tokens=tokens_of(record),
        cost=cost_of(record),
        seconds=record.timing.seconds,
        scores={
            name: found.score
            for name in evaluator_names(record)[1 : MOST_COLUMNS + 1]
            if (found := score_of(record, name)) is not None
        },
        missed=one_line(missing[0].statement, 120) if missing else "",
        reason=_reason(record.error or (missing[0].reason if missing else "")),
        more=max(0, len(missing) - 1),
    )


def _reason(reason: str) -> str:
    # Without the line of the check, which says something only beside the check.
    text = without_line(reason).strip("\n")
    return printable(text[:REASON_LIMIT]) + ("…" if len(text) > REASON_LIMIT else "")
