"""Says how many runs a command was to do, by its stored request, and how many of them never began."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

from viva.errors import SetupError
from viva.journal.lines import MOST_RUNS
from viva.suites.adaptive import batches
from viva.suites.request import Request, SuiteRequest
from viva.suites.resuming.request_facts import RequestFacts

MOST_CHARACTERS = 2_000 * MOST_RUNS
"""Maximum number of characters that the ids of planned runs are made from, which takes some seconds. The texts of a
request are multiplied by one another, so that a stranger's could keep Viva busy for days."""


def planned_number(folder: Path, request: Request | RequestFacts) -> int:
    """Return the number of runs that a command was to do, those of the batches so far if its suite is adaptive; 0 if it
    is not known.
    """
    return batches.planned_number(folder) or request.planned


def not_begun(folder: Path, request: Request, begun: Collection[str]) -> int:
    """Return how many of the runs that a command was to do never began.

    Those of a suite are told apart by their ids: further runs in its journal, such as those of `viva run --out`, must
    not make up for them.

    Args:
        folder: The journal's folder.
        request: What the command was asked to do.
        begun: The ids of the runs in the journal.
    """
    with suppress(SetupError):
        if isinstance(request, SuiteRequest) and (names := _names(request)) is not None:
            return sum(name not in begun for name in names)
    return max(0, planned_number(folder, request) - len(begun))


def _names(request: SuiteRequest) -> Collection[str] | Iterator[str] | None:
    """Return the ids of the runs of a suite; None if only their number is known.

    Raises:
        SetupError: the request does not say which agents there are.
    """
    if request.until is not None or not 0 < request.planned <= MOST_RUNS:
        return None  # the runs of an adaptive suite are those of its batches
    if request.only is not None:
        return request.only
    # Imported here: only who misses runs needs what plans them.
    from viva.suites.plan import longest_run, planned_ids, planned_product

    # The request may be a stranger's, or incomplete.
    is_whole = planned_product(request) == request.planned
    return planned_ids(request) if is_whole and request.planned * longest_run(request) <= MOST_CHARACTERS else None
