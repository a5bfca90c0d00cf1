"""Keeps the state of an agent after each round beside the journal, if its adapter offers it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from viva.adapters.agent_state import offers_state, read_state, save_state
from viva.adapters.inside.states import STATE_LIMIT
from viva.adapters.session import AgentSession
from viva.errors import AgentError, MachineError, SetupError
from viva.journal.kept_files import name_for, read_sound
from viva.journal.reader import StoredRun
from viva.journal.writer import JournalWriter
from viva.records.transcript import Round


class StateKeeper:
    """Saves the state of one agent after each of its replies, until it fails to."""

    def __init__(self, session: AgentSession, journal: JournalWriter, *, wanted: bool) -> None:
        self._session, self._journal = session, journal
        self.goes_on = wanted and offers_state(session.agent)
        """Whether the next state is to be saved."""
        self.notes: tuple[str, ...] = ()
        """Why states are missing, for readers of the conversation."""

    async def with_state(self, round_: Round) -> Round:
        """Save the agent's present state; return the round with its name, or unchanged if there is none.

        Raises:
            JournalError: the journal cannot be written.
        """
        if not self.goes_on or round_.error is not None:
            return round_
        try:
            state = await save_state(self._session)
        except (AgentError, MachineError) as error:
            self.goes_on = False
            self.notes = (f"no state was kept from round {round_.number} on: {error}",)
            return round_
        if state is None:
            self.goes_on = False
            return round_
        name = name_for("texts", state, "json")
        self._journal.keep(name, state)
        return replace(round_, state=name)


def stored_state(stored: StoredRun, round_: Round) -> Any:
    """Return the state that was kept after a round; None if there is none.

    Raises:
        SetupError: it is missing from the journal's folder, or damaged.
    """
    if round_.state is None:
        return None
    content = read_sound(stored.folder, round_.state)
    problem = "is missing, or was changed"
    if content is not None and len(content) <= STATE_LIMIT:
        try:
            return read_state(content)
        except ValueError as error:
            problem = str(error)
    raise SetupError(
        f"the state of round {round_.number} of {stored.id} cannot be loaded: {stored.folder / round_.state} "
        f"{problem}. "
        "To replay the earlier rounds instead: --fork-by replay"
    )
