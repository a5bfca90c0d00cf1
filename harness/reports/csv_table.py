"""CSV: one row for each run. TaskWeaver's columns come first, so its readers of `auto_eval` results keep working.

Four columns for each evaluator come last, the primary one's first: its label, its score, the scores it names and its
summary.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from typing import TextIO

from harness.reports.facts import cost_of, tokens_of
from harness.reports.journals import Entry, Journals
from harness.statistics.scores import evaluator_names, insight_of, score_of
from harness.wording import UNKNOWN, agent_words, named_scores
from records.run_record import RunRecord
from records.text import one_line

# fmt: off
COLUMNS = (
    "case_file", "score", "normalized_score", "agent", "trial", "outcome", "rounds", "stop", "tokens", "cost",
    "seconds", "journal", "run", "agent_runs", "error",
)
# fmt: on
OWN_COLUMNS = ("label", "score", "scores", "summary")
"""Of each evaluator."""
MOST_EVALUATORS = 50
"""That have columns of their own."""
# What a spreadsheet takes for a formula at the start of a cell, full-width forms included; a cell also starts behind
# a semicolon where that separates the columns. https://owasp.org/www-community/attacks/CSV_Injection
_FORMULA = re.compile(r"(^|;)([\s\"']*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20])")


def write(journals: Journals, out: TextIO) -> None:
    """Write CSV as RFC 4180 has it: comma, CRLF, quotes where needed.

    Runs that say nothing about the agent have no score here, so that nobody averages it in.

    Raises:
        JournalError: a journal cannot be read.
    """
    writer = csv.writer(out)
    evaluators = _evaluators(journals)
    writer.writerow((*COLUMNS, *(cell(f"{name} {what}") for name in evaluators for what in OWN_COLUMNS)))
    writer.writerows(_rows(journals, evaluators))


def cell(text: str, limit: int = 1000) -> str:
    """Make text that no spreadsheet takes for a formula, on one line, without control characters."""
    return _FORMULA.sub(lambda match: f"{match[1]}'{match[2]}", one_line(text, limit))


def _evaluators(journals: Journals) -> list[str]:
    """List the evaluators of all runs, primary ones first: the head of the table needs them before the first row."""
    primary: dict[str, None] = {}
    others: dict[str, None] = {}
    for entry in journals.entries():
        names = evaluator_names(entry.record)
        primary.update(dict.fromkeys(names[:1]))
        others.update(dict.fromkeys(names[1:]))
    return list(primary | others)[:MOST_EVALUATORS]


def _rows(journals: Journals, evaluators: Sequence[str]) -> Iterator[tuple[str | int, ...]]:
    for entry in journals.entries():
        yield (*_row(entry), *(text for name in evaluators for text in _judgement(entry.record, name)))
    for run in journals.unfinished():
        yield (
            *(cell(run.case), "", "", cell(run.agent), "", "unfinished", "", "", "", "", ""),
            *(cell(str(run.folder)), cell(run.id), "", "the run did not end"),
            *("",) * (len(OWN_COLUMNS) * len(evaluators)),
        )


def _judgement(record: RunRecord, evaluator: str) -> tuple[str, ...]:
    """What an evaluator says; no score where it failed to judge, or the run says nothing about the agent."""
    insight, scored = insight_of(record.insights, evaluator, record.id), score_of(record, evaluator)
    if insight is None:
        return ("",) * len(OWN_COLUMNS)
    score = "" if scored is None else f"{scored.score:.6g}"
    return cell(insight.label, 40), score, cell(", ".join(named_scores(insight))), cell(insight.summary)


def _row(entry: Entry) -> tuple[str | int, ...]:
    record = entry.record
    scored, tokens, cost = score_of(record), tokens_of(record), cost_of(record)
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
        cell(record.error or ""),
    )


def _points(record: RunRecord) -> str:
    """The points, where there are scoring points; an agent that failed before any could be judged has none of them."""
    return f"{record.points:g}" if record.points is not None else "0" if record.score is None else ""
