"""Puts causes into words, for the console, Markdown and the page alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from viva.records.text import one_line
from viva.records.wording import counted
from viva.reports.number_words import percent
from viva.statistics.causes.tally import Cause

HEADING = "Causes found in several points"
MOST_CAUSES_SHOWN = 6
MOST_NAMED = 6


class CauseWords(NamedTuple):
    """A cause in words, each on one line and safe on a terminal; markup is escaped by each format."""

    runs: str
    """Number of runs, and their share of the runs that missed something."""
    words: str
    where: str
    """Points, cases, and agents if there are several."""
    id: str
    run: str


def cause_words(cause: Cause, labels: Mapping[str, str], most: int = 200) -> CauseWords:
    """Return a cause in words.

    Args:
        cause: The cause.
        labels: The short name of each agent.
        most: Maximum number of characters of the reason.
    """
    where = [counted(cause.statements, "point"), counted(cause.cases, "case")]
    if len(labels) > 1:
        named = list(cause.agents.items())
        where += [f"{labels.get(agent) or one_line(agent, 60)} {runs}" for agent, runs in named[:MOST_NAMED]]
        if len(named) > MOST_NAMED:
            where.append(counted(len(named) - MOST_NAMED, "more agent"))
    return CauseWords(
        f"{counted(cause.runs, 'run')} ({percent(cause.share)})",
        one_line(cause.words, most),
        ", ".join(where),
        cause.id,
        one_line(cause.run, 200),
    )
