"""The runs that an analyst reads: their ids, their statistics, and a sample with conversations."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from viva.analysis.digest import NamedRuns, Sampled, choose
from viva.exam.run_history import RunHistory
from viva.journal.conversation_lines import read_conversation_lines
from viva.journal.reader import decode_run
from viva.records.eval_run_record import EvalRunRecord
from viva.records.history import EvalHistorySource
from viva.records.run_record import RunRecord
from viva.records.transcript import Transcript
from viva.statistics.over_time.trend import Trends
from viva.statistics.over_time.trends import find_trends
from viva.statistics.summary import Figures, summarize

Runs = RunHistory | EvalHistorySource | Sequence[EvalRunRecord] | str | os.PathLike[str]
"""A string or path is a reference, as `viva analyze` takes it."""


@dataclass(frozen=True, slots=True)
class Material:
    """The material of a digest."""

    figures: Figures
    trends: Trends
    places: dict[str, str]
    """Maps the id to cite of each run to its place."""
    flawless: frozenset[str]
    """Ids of the runs that show no fault, which support no weakness."""
    sample: list[Sampled]
    """Runs that may be shown, in this order."""


async def gather(runs: Runs, most: int) -> Material:
    """Read the runs; of journals in several passes, so that no more than the sample is held at once.

    Args:
        runs: Where they are.
        most: Runs in the sample.

    Raises:
        SetupError: a history cannot be read.
        JournalError: a journal cannot be read.
    """
    history = RunHistory((os.fspath(runs),)) if isinstance(runs, str | os.PathLike) else runs
    # On a thread: reading takes a while, and a history of a user's own is read on an event loop of its own.
    if isinstance(history, RunHistory):
        return await asyncio.to_thread(_gather, history.entries, most, history)
    given = history if isinstance(history, Sequence) else await history.runs()
    return await asyncio.to_thread(_gather, lambda: ((run.record.id, run.record) for run in given), most, given)


def _gather(
    entries: Callable[[], Iterable[tuple[str, RunRecord]]], most: int, runs: RunHistory | Sequence[EvalRunRecord]
) -> Material:
    named = NamedRuns()
    figures = summarize(_watched(entries(), named))
    trends = find_trends(record for _, record in entries())
    chosen = choose(named.known.values())[:most]
    places = {name: run.place for name, run in named.known.items()}
    if isinstance(runs, RunHistory):
        found = _from_journals(runs, frozenset(chosen))
    else:
        again = NamedRuns()
        found = {again.next_name(run.record): (run.record, run.transcript) for run in runs}
    flawless = frozenset(name for name, run in named.known.items() if run.flawless)
    return Material(
        figures, trends, places, flawless, [Sampled(name, *found[name]) for name in chosen if name in found]
    )


def _watched(entries: Iterable[tuple[str, RunRecord]], named: NamedRuns) -> Iterator[RunRecord]:
    for place, record in entries:
        named.add(place, record)
        yield record


def _from_journals(history: RunHistory, chosen: frozenset[str]) -> dict[str, tuple[RunRecord, Transcript | None]]:
    """Read the chosen records, and their conversations; others are skipped without decoding them."""
    again = NamedRuns()
    records: dict[str, tuple[str, RunRecord]] = {}
    for place, record in history.entries():
        if (name := again.next_name(record)) in chosen:
            records[name] = place, record
    places = {place for place, _ in records.values()}
    said: dict[str, Transcript] = {}
    for folder, only in history.folders():
        for lines in read_conversation_lines(folder, only):
            if (place := f"{folder}#{lines.run}") in places:
                said[place] = decode_run(lines).transcript
    return {name: (record, said.get(place)) for name, (place, record) in records.items()}
