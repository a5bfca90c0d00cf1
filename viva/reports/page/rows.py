"""Makes one small row for each run of a page; long texts stay in the journal until they are written."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field

from viva.records.run_record import RunRecord
from viva.records.text import one_line, printable
from viva.records.wording import played_words, score_line
from viva.reports.facts import Standing, cost_of, standing, tokens_of
from viva.reports.journals import Journals, Unfinished
from viva.reports.page.failures import Failures, misses
from viva.reports.page.reason_diffs import without_line
from viva.statistics.causes.cause_trends import CauseTrend, CauseTrendTally
from viva.statistics.over_time.trend import TaskTrend
from viva.statistics.over_time.trends import Conversations, TrendTally
from viva.statistics.scores import evaluator_names, score_of
from viva.statistics.summary import Figures, summarize

MOST_COLUMNS = 4
"""Maximum number of evaluators other than the primary one that have a column."""
MOST_ROWS = 2_000
"""Maximum number of rows, which browsers still show without a wait; what else there is, the page says."""
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
    played: str = ""
    """The persona and strategy of the examiner; empty if there are none."""
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
    """The runs of a report that have a row on the page, and the statistics of all."""

    rows: list[Row]
    figures: Figures
    failures: Failures
    standings: Counter[str]
    """The number of all runs by standing, also of those without a row."""
    outcomes: Counter[str]
    """The number of all runs by outcome."""
    trials: Trials
    trends: Sequence[TaskTrend] = ()
    """The trends over journals that are joined, regressions first; one journal's runs are not history."""
    cause_trends: Sequence[CauseTrend] = ()
    """The same of the causes of misses."""
    numbers: dict[tuple[str, str], int] = field(default_factory=dict)
    """The row number, by journal and run id."""

    @property
    def left_out(self) -> int:
        """The number of runs without a row."""
        return self.standings.total() - len(self.rows)

    @property
    def failures_first(self) -> list[Row]:
        """The rows, with those of failed runs first and those of passed runs last."""
        return sorted(self.rows, key=lambda row: ORDER.index(row.standing))


class Trials:
    """The standing of each run, by case and agent: some ten bytes for each run."""

    def __init__(self) -> None:
        self.agents: dict[str, None] = {}
        """The agents, in the order of their first runs."""
        self._found: dict[tuple[str, str], tuple[array[int], bytearray]] = {}

    def add(self, case: str, agent: str, trial: int, standing: Standing) -> None:
        """Add one run."""
        self.agents.setdefault(agent)
        numbers, standings = self._found.setdefault((case, agent), (array("q"), bytearray()))
        numbers.append(max(-(1 << 62), min(trial, 1 << 62)))
        standings.append(ORDER.index(standing))

    def of(self, case: str, agent: str) -> list[Standing]:
        """Return the standings of a case with an agent in the order of the trials."""
        numbers, standings = self._found.get((case, agent), (array("q"), bytearray()))
        return [ORDER[standings[place]] for place in sorted(range(len(numbers)), key=numbers.__getitem__)]


def gather_rows(journals: Journals, most: int = MOST_ROWS) -> Rows:
    """Read all records once, and make rows of those that a reader wants to see first.

    Args:
        journals: The journals.
        most: Maximum number of rows, apart from those of the runs that the failures name as examples.

    Raises:
        JournalError: a journal cannot be read.
    """
    conversations = Conversations()
    failures, trials, trends, chosen = Failures(), Trials(), TrendTally(conversations), _ShownRuns(most)
    cause_trends = CauseTrendTally(conversations)
    several = len({folder.resolve() for folder, _ in journals.locations}) > 1
    outcomes: Counter[str] = Counter()

    def passing() -> Iterator[RunRecord]:
        for place, entry in enumerate(journals.quick_entries()):
            record = entry.record
            found = standing(record, journals.threshold)
            named = failures.add(place, record, found)
            trials.add(one_line(record.subject, 200), record.agent, record.trial, found)
            outcomes[record.outcome.value] += 1
            if chosen.take(place, found, named=named):
                chosen.rows[place] = str(entry.folder), record.id, row_of(place, record, journals.threshold)
            if several:
                trends.add(record)
                cause_trends.add(record, str(entry.folder))
            yield journals.grouped(entry)

    figures = summarize(passing(), journals.threshold, absent=journals.absent(), truths=journals.truths)
    figures = journals.names().in_figures(figures)
    for place, run in enumerate(journals.unfinished(), outcomes.total()):
        trials.add(one_line(run.case or run.id, 200), run.agent, 0, Standing.UNFINISHED)
        if chosen.take(place, Standing.UNFINISHED):
            chosen.rows[place] = str(run.folder), run.id, _unfinished_row(place, run)
    if unfinished := chosen.standings[Standing.UNFINISHED.value]:
        outcomes["unfinished"] = unfinished
    found = trends.trends().trends, cause_trends.trends(journals.names())
    rows = Rows([], figures, failures, chosen.standings, outcomes, trials, *found)
    places: dict[int, int] = {}
    failures.group(figures)
    for folder, name, row in chosen.shown(failures.examples()):
        rows.numbers[folder, name] = places[row.number] = row.number = len(rows.rows)
        rows.rows.append(row)
    failures.renumber(places)
    return rows


class _ShownRuns:
    """Chooses the runs that get a row: by `ORDER`, then in the order in which they ended."""

    def __init__(self, most: int) -> None:
        self.rows: dict[int, tuple[str, str, Row]] = {}
        """The rows of all runs that may be chosen, by place, each with the journal and the id of its run."""
        self.standings: Counter[str] = Counter()
        """The number of all runs."""
        self._most = most

    def take(self, place: int, found: Standing, *, named: bool = False) -> bool:
        """Count a run, and return whether it may get a row.

        Args:
            place: The position of the run among all.
            found: Its standing.
            named: Whether it is an example of a failure.
        """
        self.standings[found.value] += 1
        return named or self.standings[found.value] <= self._most

    def shown(self, examples: Container[int]) -> Iterator[tuple[str, str, Row]]:
        """Yield the chosen rows in the order of their places."""
        left = self._most
        wanted: set[int] = set()
        for kind in ORDER:
            of_kind = [place for place, (_, _, row) in self.rows.items() if row.standing is kind]
            wanted.update(of_kind[: max(0, left)])
            left -= self.standings[kind.value]
        return (self.rows[place] for place in self.rows if place in wanted or place in examples)


def _unfinished_row(number: int, run: Unfinished) -> Row:
    return Row(
        number=number,
        case=one_line(run.case or run.id, 200),
        agent=run.agent,
        standing=Standing.UNFINISHED,
        outcome="unfinished",
        reason=one_line(run.id, 200),
    )


def row_of(number: int, record: RunRecord, threshold: float) -> Row:
    """Return the row of a run that ended.

    Args:
        number: Its position on the page.
        record: Its record.
        threshold: The score of a passing run.
    """
    missing = [] if record.error else misses(record)
    return Row(
        number=number,
        case=one_line(record.subject, 200),
        agent=record.agent,
        standing=standing(record, threshold),
        outcome=record.outcome.value,
        trial=record.trial,
        played=played_words(record.setting.persona, record.setting.strategy),
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
