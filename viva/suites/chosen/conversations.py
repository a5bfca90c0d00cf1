"""Reads the conversations that a request is about: all of its journals', or those that filters chose."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from viva.exam.stored_runs import RunState, read_run_states
from viva.journal.conversation_lines import ConversationLines, read_conversation_lines
from viva.journal.run_index import index_runs
from viva.journal.writer import Damage
from viva.suites.request import JournalsRequest


def wanted_conversations(request: JournalsRequest, damage: Damage | None = None) -> Iterator[ConversationLines]:
    """Yield the conversations, journal by journal, in the order in which they ended.

    Raises:
        JournalError: a journal cannot be read.
    """
    chosen = None if request.only is None else frozenset(request.only)
    for folder, run in request.journals:
        if chosen is None:
            yield from read_conversation_lines(folder, run, damage)
        elif run is None or run in chosen:
            yield from read_conversation_lines(folder, run, damage, known=index_runs(folder).of(chosen))


def wanted_states(request: JournalsRequest, folder: Path, run: str | None) -> dict[str, RunState]:
    """Return the states of the runs of one of the journals.

    Raises:
        JournalError: the journal, or the run, does not exist.
    """
    states = read_run_states(folder, run)
    if request.only is None:
        return states
    chosen = frozenset(request.only)
    return {name: state for name, state in states.items() if name in chosen}
