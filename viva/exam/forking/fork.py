"""Continues a stored conversation from one of its rounds with another agent: by state, by history, or by replaying."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from viva.adapters.agent_state import load_conversation, load_state
from viva.adapters.connectors.replay import ReplayAgent
from viva.adapters.session import AgentSession
from viva.cases.given_turns import GivenTurn
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

Means = Literal["state", "conversation", "replay"]
"""How an agent gets to the fork: by a state that its adapter stored, by being given the messages and replies so far as
its history (`load_conversation`), or by being sent the messages again."""
START: Literal["start"] = "start"
"""What stands for them in a record if no round is kept."""
USUAL: tuple[Means, ...] = ("state", "replay")
"""What is tried without a choice of the user's. A history is not among them, because the agent writes no files then."""


@dataclass(frozen=True, slots=True)
class Edits:
    """What a person changed in the stored conversation."""

    reply: str | None = None
    """Replaces the agent's reply in the last round that is kept."""
    message: str | None = None
    """Replaces the examiner's message in the round after it."""


NO_EDITS = Edits()


@dataclass(slots=True)
class Fork:
    """The point from which a conversation is continued. One object serves one attempt at a run."""

    stored: StoredRun
    round: int
    """The last round of the stored conversation that is kept."""
    ways: tuple[Means, ...] = USUAL
    """How the agent may get there: the first that is possible is used."""
    edits: Edits = NO_EDITS
    given: tuple[GivenTurn, ...] = ()
    """The conversation with which the case begins."""
    used: Means | Literal["start"] | None = None
    """How it got there."""
    differ: int | None = None
    """How many replies of replayed rounds differ from the stored ones; None if no round was replayed."""
    first_differing: int | None = None
    """The first of these rounds."""

    @property
    def before(self) -> tuple[Round, ...]:
        """Return the rounds before the fork."""
        kept = self.stored.transcript.rounds[: self.round]
        if self.edits.reply is None:
            return kept
        # The steps and the state are those of the reply that it replaces.
        edited = Round(self.round, kept[-1].examiner, self.edits.reply)
        return (*kept[:-1], edited)

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
        if self.first_differing is not None:
            found["first_differing"] = str(self.first_differing)
        edited = [name for name in ("reply", "message") if getattr(self.edits, name) is not None]
        if edited:
            found["edited"] = " and ".join(edited)
        return found

    async def begin(
        self,
        examiner: Examiner,
        session: AgentSession,
        journal: JournalWriter,
        keep: Callable[[Round], Awaitable[None]],
        give: Callable[[], Awaitable[None]],
    ) -> tuple[Examiner, tuple[Round, ...]]:
        """Bring the agent to the fork; return the examiner that continues, and the rounds that are not repeated.

        Args:
            examiner: Continues the conversation.
            session: The session with the new agent.
            journal: The new journal.
            keep: Stores a round there.
            give: Gives the agent the conversation with which the case begins.

        Raises:
            SetupError: the state cannot be read, or the examiner cannot continue this conversation.
            SharedSetupError: the agent cannot get there in the way that is wanted.
            AgentError: the agent failed to load the state or the history.
        """
        going_on = ContinuingExaminer(examiner, self.before, self.edits.message)
        if not self.round:
            await give()
            self.used = START
            return going_on, ()
        for way in self.ways:
            if await self._reached(way, session):
                self.used = way
                break
        else:
            raise SharedSetupError(self._why_not())
        if self.used != "replay":
            try:
                await going_on.recall_all()
            except ExaminerError as error:
                raise SetupError(f"{self.stored.id} cannot be continued: {error}.") from error
            for round_ in self.before:
                _copy_files(round_, self.stored, journal)
                await keep(round_)
            return going_on, self.before
        await give()
        return going_on, ()

    def look(self) -> None:
        """Check that the state can be read, if it may be used.

        Raises:
            SetupError: it is missing or damaged.
        """
        if "state" in self.ways and self.round:
            stored_state(self.stored, self.before[-1])

    async def _reached(self, way: Means, session: AgentSession) -> bool:
        """Bring the agent to the fork in one of the ways; return False if that is not possible."""
        if way == "replay":
            return True
        if way == "state":
            state: Any = stored_state(self.stored, self.before[-1])
            return state is not None and await load_state(session, state)
        # An agent that repeats stored replies takes any history, and would begin with its first reply.
        if isinstance(session.agent, ReplayAgent):
            return False
        return await load_conversation(session, (*self.given, *_turns(self.before)))

    def _why_not(self) -> str:
        if self.edits.reply is not None:
            return (
                f"the agent cannot be given the edited reply of round {self.round}: its adapter has no method "
                "load_conversation(messages), or it refuses. See viva docs agents/fork."
            )
        if self.ways == ("conversation",):
            return "the agent takes no history (load_conversation). Choose another --fork-by."
        has = stored_state(self.stored, self.before[-1]) is not None
        who = "the agent offers no load_state" if has else "the journal holds no state"
        return f"{who} for round {self.round} of {self.stored.id}. Leave out --fork-by state."

    def told(self, transcript: Transcript) -> Transcript:
        """Return the transcript with a note that says what was forked, how, and what was not restored."""
        if self.used == START:
            words = f"held again from the start, with the questions of {self.stored.id}"
            return changed(transcript, notes=(*transcript.notes, words))
        words = f"forked from {self.stored.id} after round {self.round}, "
        if self.edits.reply is not None:
            words += "whose reply a person edited, "
        if self.edits.message is not None:
            words += f"with an edited message in round {self.round + 1}, "
        if self.used == "replay":
            pairs = zip(self.before, transcript.rounds, strict=False)
            differ = [new.number for old, new in pairs if old.agent != new.agent]
            self.differ, self.first_differing = len(differ), differ[0] if differ else None
            held = min(self.round, len(transcript.rounds))
            words += f"replayed {held} of {counted(self.round, 'earlier round')};  "
            words += f"{counted(len(differ), 'reply', 'replies')} differed from the stored ones"
            words += f" (first in round {differ[0]})" if differ else ""
        elif self.used == "state":
            words += "by the agent's state; its earlier files are restored only if its state includes them"
        elif self.used == "conversation":
            words += "by giving the agent the messages and replies so far; neither its steps nor its files are restored"
        else:
            words += "which the agent did not reach"
        return changed(transcript, notes=(*transcript.notes, words))


def fork_at(stored: StoredRun, round_: int, ways: tuple[Means, ...] = (), edits: Edits = NO_EDITS) -> Fork:
    """Return the fork of a stored run after a round.

    Args:
        stored: The run.
        round_: The last round that is kept; 0 for none.
        ways: How the agent may get there; empty for the usual ways.
        edits: What a person changed.

    Raises:
        SetupError: the run has no such round, or nothing that can be continued.
    """
    rounds = stored.transcript.rounds
    if not 0 <= round_ <= len(rounds):
        raise SetupError(f"{stored.id} has {counted(len(rounds), 'round')}; --fork-at {round_} is beyond its end.")
    for number, each in enumerate(rounds[:round_], 1):
        if each.number != number:
            raise SetupError(f"round {number} of {stored.id} is missing, so it cannot be forked after round {round_}.")
        if number == round_ and edits.reply is not None and each.examiner is not None:
            continue
        if each.examiner is None or each.agent is None or each.error is not None:
            raise SetupError(
                f"round {number} of {stored.id} has no reply, so it cannot be forked after round {round_}."
            )
    if edits.reply is not None:
        if ways and ways != ("conversation",):
            raise SetupError("an edited reply can only be given with --fork-by conversation.")
        ways = ("conversation",)
    return Fork(stored, round_, ways or USUAL, edits)


def _turns(rounds: tuple[Round, ...]) -> list[GivenTurn]:
    """Return the messages and replies of rounds as turns."""
    sides = ((each, role) for each in rounds for role in ("user", "agent"))
    return [GivenTurn(role, (each.examiner if role == "user" else each.agent) or "") for each, role in sides]


def _copy_files(round_: Round, stored: StoredRun, journal: JournalWriter) -> None:
    """Copy the images and the state that a round names from the stored run's journal."""
    for name in names_in(encode_data(round_, journal.keep)):
        if not journal.holds(name) and (content := read_sound(stored.folder, name)) is not None:
            journal.keep(name, content)
