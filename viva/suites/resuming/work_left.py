"""Says what of the work on a journal is missing in its records, so that no gate takes a part for the whole."""

from __future__ import annotations

from collections.abc import Container, Iterator
from contextlib import suppress
from pathlib import Path

from viva.errors import SetupError
from viva.journal.errors import JournalError
from viva.journal.run_index import RunIndex
from viva.records.wording import counted
from viva.suites.adaptive.decisions import decisions_in
from viva.suites.request import BisectRequest, JournalsRequest, SuiteRequest
from viva.suites.resuming.planned import not_begun
from viva.suites.resuming.stored_request import load_request, unreadable_words
from viva.suites.resuming.unread import unread_words


def work_left(
    folder: Path,
    index: RunIndex,
    runs: Container[str] | None = None,
    *,
    named: bool = False,
    conversations: bool = False,
) -> list[str]:
    """Return in words what is missing: runs that did not end or begin, that are to be repeated, or could not be read.

    Args:
        folder: The journal's folder.
        index: Where its runs are.
        runs: The ids of the runs in question; None for all.
        named: Whether each of them was named, so that none can be among those that did not begin.
        conversations: Whether only conversations are in question, which can be judged without a record.
    """
    words = []
    if not conversations and (number := sum(runs is None or each.run in runs for each in index.unfinished())):
        words.append(f"{counted(number, 'run')} did not end")
    if number := sum(runs is None or name in runs for name in index.waiting()):
        words.append(f"{counted(number, 'run')} still to be repeated")
    if not named and (unread := unread_words(folder)):
        words.append(unread)
    if not named:
        words += _of_request(folder, index, filtered=runs is not None)
    return words


def _of_request(folder: Path, index: RunIndex, *, filtered: bool) -> Iterator[str]:
    """Yield what the journal's request says is missing; of a journal without one, nobody knows what was planned."""
    try:
        request = load_request(folder)
    except SetupError as error:
        yield unreadable_words(error)
        return
    if request is None or isinstance(request, BisectRequest):
        return  # a bisection ends when it has found the round
    if missing := not_begun(folder, request, index.places):
        some = ", some of which the filters may keep" if filtered else ""
        yield f"{counted(missing, 'planned run')} did not begin{some}"
    if isinstance(request, SuiteRequest) and request.until is not None and _is_undecided(folder, request):
        yield f"--until {request.until} has not been decided"
    if isinstance(request, JournalsRequest) and request.incomplete:
        yield request.incomplete


def _is_undecided(folder: Path, request: SuiteRequest) -> bool:
    with suppress(SetupError, JournalError):
        return not all(each.ended for each in decisions_in(folder, request))
    return True
