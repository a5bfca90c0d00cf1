"""Writes CSV with one row for each run. TaskWeaver's columns come first, so programs that read its CSV keep working.

Four columns for each evaluator come last, those of primary evaluators first: its label, its score, its named scores and
its summary.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TextIO

from viva.filters.stored_cases import CaseFacts
from viva.records.run_record import RunRecord
from viva.records.text import one_line
from viva.records.wording import IN_PART, UNKNOWN, agent_words, named_scores
from viva.reports.facts import usage_of
from viva.reports.journals import Entry, Journals
from viva.statistics.scores import evaluator_names, insight_of, score_of

# fmt: off
COLUMNS = (
    "case_file", "score", "normalized_score", "agent", "trial", "outcome", "rounds", "stop", "tokens", "cost",
    "seconds", "journal", "run", "agent_runs", "persona", "strategy", "suite", "error", "requeued",
    "tokens_reported", "row", "columns", "metadata", "points_metadata",
)
# fmt: on
ADDED = ("requeued", "tokens_reported")
"""Columns that files of older versions lack."""
FACTS = 4
"""Number of columns with what the case says of itself; they follow those of the run."""
MOST_FACTS = 4000
"""Characters of each of them."""
OWN_COLUMNS = ("label", "score", "scores", "summary")
"""The columns of each evaluator."""
MOST_EVALUATORS = 50
"""Maximum number of evaluators with columns."""
# Characters that begin a formula at the start of a cell, with their full-width forms; a cell also starts behind a
# semicolon if that separates the columns. https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = re.compile(r"(^|;)([\s\"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")


def write(journals: Journals, out: TextIO) -> None:
    """Write CSV according to RFC 4180: commas, CRLF, and quotes where they are required.

    Runs that say nothing about the agent have no score here, so that nobody includes it in an average.

    Raises:
        JournalError: a journal cannot be read.
    """
    writer = csv.writer(out)
    evaluators = _evaluators(journals)
    writer.writerow(head(evaluators))
    writer.writerows(_rows(journals, evaluators))


def head(evaluators: Sequence[str]) -> tuple[str, ...]:
    """Write the names of the columns.

    Args:
        evaluators: Those that have columns of their own.
    """
    return (*COLUMNS, *(cell(f"{name} {what}") for name in evaluators for what in OWN_COLUMNS))


def row(entry: Entry, facts: CaseFacts, evaluators: Sequence[str]) -> tuple[str | int, ...]:
    """Fill the columns of one run.

    Args:
        entry: The run.
        facts: What its case says beyond the exam.
        evaluators: Those that have columns of their own.
    """
    return (*_row(entry), *_facts(facts), *(text for name in evaluators for text in _judgement(entry.record, name)))


def cell(text: str, limit: int = 1000) -> str:
    """Return text on one line without control characters that no spreadsheet interprets as a formula."""
    return _FORMULA.sub(lambda match: f"{match[1]}'{match[2]}", one_line(text, limit))


@dataclass(frozen=True, slots=True)
class _Named:
    evaluator: str


@dataclass(frozen=True, slots=True)
class _Names:
    evaluators: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Judged:
    """What tells a run's evaluators: a part of its record, as a whole one takes three times as long to read."""

    insights: tuple[_Named, ...] = ()
    setting: _Names = field(default_factory=_Names)


def _evaluators(journals: Journals) -> list[str]:
    """Return the evaluators of all runs, primary ones first; the table's head requires them before the first row."""
    primary: dict[str, None] = {}
    others: dict[str, None] = {}
    for record in journals.parts(_Judged):
        names = evaluator_names(record)
        primary.update(dict.fromkeys(names[:1]))
        others.update(dict.fromkeys(names[1:]))
    return list(primary | others)[:MOST_EVALUATORS]


def _rows(journals: Journals, evaluators: Sequence[str]) -> Iterator[tuple[str | int, ...]]:
    for entry in journals.quick_entries():
        yield row(entry, journals.facts(entry), evaluators)
    for run in journals.unfinished():
        yield (
            *(cell(run.case), "", "", cell(run.agent), "", "unfinished", "", "", "", "", ""),
            *(cell(str(run.folder)), cell(run.id), "", "", "", "", "the run did not end", "", ""),
            *("",) * FACTS,
            *("",) * (len(OWN_COLUMNS) * len(evaluators)),
        )


def _judgement(record: RunRecord, evaluator: str) -> tuple[str, ...]:
    """Return an evaluator's columns; no score if it could not judge or if the run says nothing about the agent."""
    insight, scored = insight_of(record.insights, evaluator, record.id), score_of(record, evaluator)
    if insight is None:
        return ("",) * len(OWN_COLUMNS)
    score = "" if scored is None else f"{scored.score:.6g}"
    return cell(insight.label, 40), score, cell(", ".join(named_scores(insight))), cell(insight.summary)


def _row(entry: Entry) -> tuple[str | int, ...]:
    record = entry.record
    scored, used = score_of(record), usage_of(record)
    tokens, cost = used.known_tokens, used.known_cost
    return (
        cell(record.subject),
        "" if scored is None else _points(record),
        "" if scored is None else f"{scored.score:.6g}",
        cell(record.agent),
        record.trial,
        record.outcome.value,
        record.rounds,
        record.stop.value if record.stop else "",
        UNKNOWN if tokens is None else tokens,
        UNKNOWN if cost is None else f"{cost:.6f}",
        f"{record.timing.seconds:.3f}",
        cell(str(entry.folder)),
        cell(record.id),
        agent_words(record.setting),
        cell(record.setting.persona, 60),
        cell(record.setting.strategy, 60),
        cell(record.setting.suite, 100),
        cell(record.error or ""),
        cell(", ".join(record.setting.requeued)),
        "" if tokens is None else "all" if used.reported else IN_PART,
    )


def _facts(facts: CaseFacts) -> tuple[str, ...]:
    """Fill the columns of what a case says of itself: a row's id, and JSON of columns and metadata."""
    if not facts:
        return ("",) * FACTS
    return cell(facts.row, 200), *map(_json, (facts.columns, facts.metadata, facts.points))


def _json(values: Mapping[str, Any]) -> str:
    return cell(json.dumps(values, ensure_ascii=False), MOST_FACTS) if values else ""


def _points(record: RunRecord) -> str:
    """Return the points if there are scoring points; an agent that failed before its first reply has 0 points."""
    return f"{record.points:g}" if record.points is not None else "0" if record.score is None else ""
