"""Answers the page's questions with plain data. All texts are printable, and none of them is markup."""

from __future__ import annotations

from typing import Any

from viva.records.text import one_line, printable
from viva.reports.page.case_papers import Papers
from viva.reports.page.conversations import conversation
from viva.reports.page.images import PageImages
from viva.suites.at_work.status import State
from viva.viewer.pictures import ServedImages
from viva.viewer.places import NOWHERE
from viva.viewer.watched import ListedRun, WatchedJournal

MOST_ROWS = 500
"""Maximum number of runs in one answer."""
MOST_ROUNDS = 200
"""Maximum number of rounds in one answer."""


class NotFound(Exception):
    """The page asked for something that is not there."""


def journal_view(number: int, journal: WatchedJournal, *, labels: bool = False) -> dict[str, Any]:
    """Return the state of a journal, as the page's head and its list of journals show it."""
    state = None if journal.lost else journal.state()
    return {
        "n": number,
        "path": one_line(str(journal.folder), 500),
        "name": one_line(journal.name, 200),
        "command": one_line(journal.command, 30),
        "state": "missing" if state is None else state.value,
        "live": state in (State.WORKING, State.PAUSED),
        "planned": journal.planned,
        "runs": len(journal.runs),
        "counts": dict(journal.counts()),
        "version": journal.version,
        "damage": journal.places.damage.words(),
        "problem": printable(journal.lost or journal.problem, 1000),
        "labels": labels,
    }


def runs_view(journal: WatchedJournal, where: str, order: str, first: int, most: int) -> dict[str, Any]:
    """Return some of the runs that a filter keeps.

    Args:
        journal: The journal.
        where: A filter expression; empty for all runs.
        order: A key of the list's orders, after `-` for the reverse.
        first: The position of the first row that is wanted.
        most: The number of rows that are wanted.

    Raises:
        FilterError: `where` is not an expression.
    """
    found = journal.positions(where, order)
    shown = found[max(0, first) : max(0, first) + min(most, MOST_ROWS)]
    return {
        "total": len(found),
        "among": len(journal.runs),
        "first": first,
        "rows": [row_view(ListedRun(journal, each)) for each in shown],
        "version": journal.version,
    }


def row_view(listed: ListedRun) -> dict[str, Any]:
    """Return one run as the list shows it."""
    row, places = listed.row, listed.places
    shown: dict[str, Any] = {
        "id": places.run,
        "case": one_line(listed.case or places.run, 200),
        "agent": one_line(listed.agent, 200),
        "trial": listed.trial,
        "rounds": len(places.rounds),
        "standing": "running",
    }
    if row is None:
        return shown | {"judging": places.transcript != NOWHERE}
    return shown | {
        "standing": row.standing.value,
        "outcome": row.outcome,
        "score": row.score,
        "words": row.words,
        "seconds": row.seconds,
        "tokens": row.tokens,
        "cost": row.cost,
        "played": row.played,
        "missed": row.missed,
        "reason": row.reason,
        "requeued": listed.journal.places.runs.is_requeued_at(listed.position),
    }


def run_view(journal: WatchedJournal, run: str, first: int, most: int) -> dict[str, Any]:
    """Return a run with some of its rounds.

    Args:
        journal: The journal.
        run: The run's id.
        first: The position of the first round, from 0.
        most: The number of rounds.

    Raises:
        NotFound: there is no such run.
    """
    first, most = max(0, first), min(most, MOST_ROUNDS)
    stored = journal.conversation(run, first, first + most)
    listed = journal.runs.get(run)
    if stored is None or listed is None:
        raise NotFound(f"there is no run {run!r:.200}")
    images: PageImages = ServedImages()
    shown = conversation(stored, stored.attempt, images)
    papers = Papers()
    setting = stored.setting if stored.record is None else stored.record.setting
    number = papers.number(stored.folder, setting)
    shown["paper"] = {"task": "", "checks": {}} if number is None else papers.fresh()[number]
    numbers = listed.places.numbers
    return shown | {
        "row": row_view(listed),
        "asked": listed.places.asked != NOWHERE,
        "count": len(numbers),
        "first": first,
        "last": numbers[-1] if numbers else 0,
        "version": journal.version,
    }


def position_of(journal: WatchedJournal, run: str, number: int) -> int:
    """Return the position of the round with a number, or of the next one.

    A journal that was not read to its end is read until it is: the round may be in the part that is left.

    Raises:
        NotFound: there is no such run.
        JournalError: the journal cannot be read.
    """
    from bisect import bisect_left

    while True:
        listed, is_behind = journal.runs.get(run), journal.is_behind
        numbers = None if listed is None else listed.places.numbers
        if not is_behind or (numbers and numbers[-1] >= number):
            break
        journal.follow(whole=False)
    if numbers is None:
        raise NotFound(f"there is no run {run!r:.200}")
    return bisect_left(numbers, number)


def found_rounds(journal: WatchedJournal, run: str, words: str, most: int = 200) -> dict[str, Any]:
    """Return the numbers of the rounds in which words occur, without regard to case.

    Raises:
        NotFound: there is no such run.
    """
    listed = journal.runs.get(run)
    if listed is None:
        raise NotFound(f"there is no run {run!r:.200}")
    wanted, places, found = words.casefold(), listed.places, []
    for first in range(0, len(places.rounds), MOST_ROUNDS):
        stored = journal.conversation(run, first, first + MOST_ROUNDS)
        assert stored is not None
        for round_ in stored.transcript.rounds:
            if wanted in f"{round_.examiner}\n{round_.agent}".casefold():
                found.append(round_.number)
                if len(found) == most:
                    return {"numbers": found, "more": True}
    return {"numbers": found, "more": False}


def failure_view(error: Exception) -> dict[str, Any]:
    """Return an error as the page shows it."""
    return {"error": printable(str(error), 2000)}
