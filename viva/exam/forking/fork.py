"""Continues a stored conversation from one of its rounds with another agent: by the agent's state, or by replaying."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from viva.adapters.agent_state import load_state
from viva.adapters.session import AgentSession
from viva.errors import SetupError, SharedSetupError
from viva.exam.forking.states import stored_state
from viva.examiner import Examiner
from viva.examiner.continuing import ContinuingExaminer
from viva.examiner.examiner import ExaminerError
from viva.journal.kept_files import names_in, read_sound
from viva.journal.reader import StoredRun
from viva.journal.writer import JournalWriter, encode_data
from viva.records.copies import changed
from viva.records.transcript import Round, Transcript
from viva.records.wording import counted

Means = Literal["state", "replay"]


@dataclass(slots=True)
class Fork:
    """The point from which a conversation is continued. One object serves one attempt at a run."""

    stored: StoredRun
    round: int
    """The last round of the stored conversation that is kept."""
    wanted: Means | None = None
    """How the agent must get there; None: by its state if there is one, otherwise by replaying."""
    used: Means | None = None
    """How it got there."""
    differ: int | None = None
    """How many replies of replayed rounds differ from the stored ones; None if no round was replayed."""

    @property
    def before(self) -> tuple[Round, ...]:
        """Return the rounds before the fork."""
        return self.stored.transcript.rounds[: self.round]

    @property
    def origin(self) -> Mapping[str, str]:
        """Return where the conversation was forked from, for the run's setting."""
        stored = self.stored
        found = {"journal": str(stored.folder), "run": stored.id, "round": str(self.round)}
        found["agent"] = stored.setting.agent
        if self.used is not None:
            found["by"] = self.used
        if self.differ is not None:
            found["differ"] = str(self.differ)
        return found

    async def begin(
        self,
        examiner: Examiner,
        session: AgentSession,
        journal: JournalWriter,
        keep: Callable[[Round], Awaitable[None]],
    ) -> tuple[Examiner, tuple[Round, ...]]:
        """Bring the agent to the fork; return the examiner that continues, and the rounds that are not repeated.

        Args:
            examiner: Continues the conversation.
            session: The session with the new agent.
            journal: The new journal.
            keep: Stores a round there.

        Raises:
            SetupError: the state cannot be read, or the examiner cannot continue this conversation.
            SharedSetupError: there is no state, or the agent cannot load one, although it is wanted.
            AgentError: the agent failed to load the state.
        """
        going_on = ContinuingExaminer(examiner, self.before)
        if await self._by_state(session):
            self.used = "state"
            try:
                await going_on.recall_all()
            except ExaminerError as error:
                raise SetupError(f"{self.stored.id} cannot be continued: {error}.") from error
            for round_ in self.before:
                _copy_files(round_, self.stored, journal)
                await keep(round_)
            return going_on, self.before
        self.used = "replay"
        return going_on, ()

    def look(self) -> None:
        """Check that the state can be read, if it may be used.

        Raises:
            SetupError: it is missing or damaged.
        """
        if self.wanted != "replay":
            stored_state(self.stored, self.before[-1])

    async def _by_state(self, session: AgentSession) -> bool:
        if self.wanted == "replay":
            return False
        state: Any = stored_state(self.stored, self.before[-1])
        if state is not None and await load_state(session, state):
            return True
        if self.wanted == "state":
            who = "the journal holds no state" if state is None else "the agent offers no load_state"
            raise SharedSetupError(f"{who} for round {self.round} of {self.stored.id}. Leave out --fork-by state.")
        return False

    def told(self, transcript: Transcript) -> Transcript:
        """Return the transcript with a note that says what was forked, how, and what was not restored."""
        words = f"forked from {self.stored.id} after round {self.round}, "
        if self.used == "replay":
            pairs = zip(self.before, transcript.rounds, strict=False)
            differ = [new.number for old, new in pairs if old.agent != new.agent]
            self.differ = len(differ)
            held = min(self.round, len(transcript.rounds))
            words += f"replayed {held} of {counted(self.round, 'earlier round')};  "
            words += f"{counted(len(differ), 'reply', 'replies')} differed from the stored ones"
            words += f" (first in round {differ[0]})" if differ else ""
        elif self.used == "state":
            words += "by the agent's state; its earlier files are restored only if its state includes them"
        else:
            words += "which the agent did not reach"
        return changed(transcript, notes=(*transcript.notes, words))


def fork_at(stored: StoredRun, round_: int, by: Means | None) -> Fork:
    """Return the fork of a stored run after a round.

    Raises:
        SetupError: the run has no such round, or nothing that can be continued.
    """
    rounds = stored.transcript.rounds
    if not 1 <= round_ <= len(rounds):
        raise SetupError(f"{stored.id} has {counted(len(rounds), 'round')}; --fork-at {round_} is beyond its end.")
    for number, each in enumerate(rounds[:round_], 1):
        if each.number != number:
            raise SetupError(f"round {number} of {stored.id} is missing, so it cannot be forked after round {round_}.")
        if each.examiner is None or each.agent is None or each.error is not None:
            raise SetupError(
                f"round {number} of {stored.id} has no reply, so it cannot be forked after round {round_}."
            )
    return Fork(stored, round_, by)


def _copy_files(round_: Round, stored: StoredRun, journal: JournalWriter) -> None:
    """Copy the images and the state that a round names from the stored run's journal."""
    for name in names_in(encode_data(round_, journal.keep)):
        if not journal.holds(name) and (content := read_sound(stored.folder, name)) is not None:
            journal.keep(name, content)
