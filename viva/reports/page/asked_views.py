"""Prepares what judges' models answered for a page's script: the answers alone, and the command that shows the rest."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from viva.exam.judging.exchanges import NotReadable, exchanges_of
from viva.journal.reader import StoredRun
from viva.records.exchange.exchanges import Exchange
from viva.records.text import one_line, printable
from viva.records.verdict import Insight
from viva.reports.exchanges import exchanges_behind

MOST_ANSWERS = 12
"""Maximum number of answers behind one verdict; the first ones and the last are shown."""
ANSWER_SHOWN = 1_500
"""Maximum number of characters of one answer."""
MOST_SHOWN = 40_000
"""Maximum number of characters of all answers of one run."""


def asked_views(stored: StoredRun, insights: Sequence[Insight]) -> list[dict[str, Any] | None]:
    """Return what the page shows behind each verdict of the insights, in order; None behind one that has nothing.

    Where one answer led to several verdicts, it is shown behind the first of them.
    """
    try:
        read = exchanges_of(stored)
    except NotReadable:
        return []
    if not read.exchanges and not read.note():
        return []
    views: list[dict[str, Any] | None] = []
    left = MOST_SHOWN
    verdicts = [verdict for insight in insights for verdict in insight.verdicts]
    for verdict, found in zip(verdicts, exchanges_behind(read.exchanges, insights, stored.id), strict=True):
        view = _view(found) if found and left > 0 else None
        if not views and (note := read.note()):
            view = {**(view or _no_view(verdict.criterion)), "note": f"Of what the judge was asked, {note}."}
        left -= sum(len(answer) for *_, answer in view["answers"]) if view else 0
        views.append(view)
    return views


def _no_view(criterion: str) -> dict[str, Any]:
    return {"how": f" --judge {printable(shlex.quote(criterion), 300)}", "more": 0, "answers": []}


def _view(exchanges: Sequence[Exchange]) -> dict[str, Any]:
    shown = exchanges if len(exchanges) <= MOST_ANSWERS else [*exchanges[: MOST_ANSWERS - 1], exchanges[-1]]
    return {
        **_no_view(exchanges[0].criterion),
        "more": len(exchanges) - len(shown),
        "answers": [
            [
                one_line(each.judge, 60),
                each.vote,
                each.digest,
                printable(each.answer or f"(no answer: {each.error})", ANSWER_SHOWN),
            ]
            for each in shown
        ],
    }
