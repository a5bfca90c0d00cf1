"""Writes in Markdown why runs did not pass: a line for each distinct error and miss, as many as fit on a screen."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

from viva.records.run_record import RunRecord
from viva.records.wording import counted
from viva.reports.console.whys import id_words, left_out_words, name_words, points_words, reasons_words, where_words
from viva.reports.facts import Standing, further_insights, headline, standing
from viva.reports.markdown.bounded_text import BoundedText
from viva.reports.markdown.text import inert
from viva.statistics.causes.cause import Cause
from viva.statistics.error_groups import ErrorGroup
from viva.statistics.summary import Figures

SCREEN_LINES = 56
SCREEN_BYTES = 5_600
"""How far errors and misses are listed; a summary of a usual suite fits on a screen."""
FEWEST_WHYS = 6
"""Errors and misses that are listed whatever the size of the tables."""
MOST_ERRORS = 5
"""Maximum number of errors that are listed before the misses."""
MOST_INSIGHTS = 8


class _Size(NamedTuple):
    """Maximum number of characters of a miss."""

    statement: int
    reason: int
    quote: int


LONG, SHORT = _Size(200, 300, 160), _Size(72, 80, 0)
"""The second is used where not all misses would fit on a screen in the first."""


def add_whys(page: BoundedText, figures: Figures, labels: dict[str, str], insights: FurtherInsights) -> None:
    """Add a line for each distinct error and miss, as many as fit on a screen with the tables before them.

    Args:
        page: What was written before.
        figures: The statistics of the journals.
        labels: The short name of each agent.
        insights: Those of the runs that did not pass; they follow if they fit.
    """
    errors = [_error(group) for group in figures.troubles]
    for size in (LONG, SHORT):
        misses = [_miss(group, labels, size) for group in figures.misses]
        whys = [*errors[:MOST_ERRORS], *misses, *errors[MOST_ERRORS:], *insights.lines()]
        if page.size + sum(len(why.encode()) for why in whys) <= SCREEN_BYTES:
            break
    kinds = len(whys) + figures.misses_all - len(figures.misses)
    if not whys:
        return
    page.add("### What was missed\n\n")
    shown = page.items(whys, size=SCREEN_BYTES, lines=SCREEN_LINES, fewest=FEWEST_WHYS)
    if kinds > shown:
        page.add(
            f"\nLeft out here: {counted(kinds - shown, 'more kind')} of errors and misses; "
            "<code>viva report --format html</code> shows all.\n"
        )
    if figures.misses_left_out:
        page.add(f"\n{left_out_words(figures)}\n")


def _error(group: ErrorGroup) -> str:
    return (
        f"* {counted(group.runs, 'run')}, {inert(group.outcome.value, 30)}: <code>{inert(group.words, 120)}</code>, "
        f"as in <code>{inert(group.run, 80)}</code>\n"
    )


def _miss(group: Cause, labels: dict[str, str], size: _Size) -> str:
    head = f"{counted(group.runs, 'run')}, {inert(group.label, 30)}"
    where = (
        f"{where_words(group, labels)}; {id_words(group)}"
        if size.quote
        else f"{where_words(group, labels)}; {group.id}"
    )
    name = f"{inert(name_words(group).strip())} " if group.named else ""
    parts = [f"* {head}: {name}**{inert(points_words(group, size.statement))}** ({inert(where, 200)})"]
    if group.reason:
        parts.append(f"<code>{inert(group.reason, size.reason)}</code> {inert(reasons_words(group).strip())}".rstrip())
    if group.quotes and size.quote:
        quotes = (f"<q>{inert(quote, size.quote)}</q>" if quote else "(its screenshot)" for quote in group.quotes)
        parts.append(", ".join(quotes))
    return " — ".join(parts) + f", as in <code>{inert(group.run, 80)}</code>\n"


class FurtherInsights:
    """Collects what evaluators other than the primary ones said of runs that did not pass."""

    def __init__(self, threshold: float) -> None:
        """Args:
        threshold: A run passes if its low bound is at least this.
        """
        self._threshold = threshold
        self._found: dict[tuple[str, str], list[str]] = {}
        self._runs: Counter[tuple[str, str]] = Counter()

    def add(self, record: RunRecord) -> None:
        """Add one run; one that passed changes nothing."""
        if standing(record, self._threshold) is Standing.PASSED:
            return
        for insight in further_insights(record)[:MOST_INSIGHTS]:
            key = insight.evaluator[:80], insight.label[:80]
            if key not in self._found and len(self._found) < MOST_INSIGHTS:
                parts = [inert(headline(insight, record.id), 200)]
                parts += [inert(words, 160) for words in (insight.summary, *insight.notes[:1]) if words]
                self._found[key] = parts
            self._runs[key] += 1

    def lines(self) -> list[str]:
        """Return a line for each evaluator and label, as the first run had it."""
        return [f"* {counted(self._runs[key], 'run')}: {' — '.join(parts)}\n" for key, parts in self._found.items()]
