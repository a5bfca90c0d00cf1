"""Notes in a request over journals of which of them only a part is used, so that no later report takes it for all."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from viva.filters.selection import named_words
from viva.journal.run_index import RunIndex, index_runs
from viva.records.text import one_line
from viva.suites.request import JournalsRequest
from viva.suites.resuming.stored_request import part_words, was_chosen_by_results
from viva.suites.resuming.work_left import work_left


def noting_parts(request: JournalsRequest) -> JournalsRequest:
    """Return the request with what its journals hold only a part of, and what of the work on them is missing.

    Raises:
        JournalError: a journal does not exist.
    """
    # The runs of each journal that were named one by one; none if the whole journal was named, too.
    named: dict[Path, list[str]] = {}
    for folder, run in request.journals:
        named.setdefault(folder, [])
        if run is not None and (folder, None) not in request.journals:
            named[folder].append(run)
    parts: list[str] = []
    missing: list[str] = []
    for folder, runs in named.items():
        whose = f"{one_line(str(folder), 300)}: " if len(named) > 1 else ""
        index = index_runs(folder)
        parts += [f"{whose}{words}" for words in _parts(folder, runs, index)]
        kept = frozenset(runs) if runs else None if request.only is None else frozenset(request.only)
        missing += [f"{whose}{each}" for each in work_left(folder, index, kept, named=bool(runs), conversations=True)]
    return replace(
        request,
        part_of="; ".join(parts),
        incomplete=", ".join(missing),
        # Conversations are only judged again: how they went was known. Those of a replay are new.
        only_by_results=request.only_by_results
        or (request.command == "judge" and any(map(was_chosen_by_results, named))),
    )


def _parts(folder: Path, runs: list[str], index: RunIndex) -> Iterator[str]:
    if runs and len(runs) < len(index.places):
        yield named_words(folder, len(runs), len(index.places))
    if words := part_words(folder):
        yield words
