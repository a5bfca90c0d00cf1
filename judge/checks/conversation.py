"""A conversation as checks see it: the replies, the calls of tools and the other steps of each round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from viva.journal.kept_files import read_sound
from viva.judge.checks.looked_at import WrittenText
from viva.judge.trajectory.decisions import StepDecision, calls, decisions
from viva.records.trajectory import UNREAD, trajectory_steps
from viva.records.transcript import LIVE, SERVERS, Round, Step, Transcript

MOST_STEPS = 1_000
"""Maximum number of steps of a conversation that checks inspect."""

MOST_OF_ALL = 1_000_000
"""Characters of all replies together; no check inspects half as many."""


class CheckedConversation:
    """One conversation, prepared once for all checks of a case."""

    def __init__(self, transcript: Transcript, workspace: Path | None = None, folder: Path | None = None) -> None:
        """Args:
        transcript: The conversation.
        workspace: The agent's files; None if they are not known.
        folder: The journal's folder, with the agent's states; None if there is none.
        """
        self.transcript = transcript
        self.workspace = workspace
        self._folder = folder
        self.is_live = transcript.source == LIVE
        self.unread = str(transcript.attributes.get(UNREAD) or "")
        """Why the steps could not be read; empty if they could."""

    @cached_property
    def rounds(self) -> Sequence[Round]:
        """The rounds in which the agent took part; the last message of a recording may have no reply."""
        return [each for each in self.transcript.rounds if _takes_part(each)]

    def reply(self, place: int) -> WrittenText | None:
        """Return the reply of the round at a place in `rounds`; None if it was not recorded.

        The reply of a round in which the agent failed is what it said itself, which may be nothing.
        """
        found = self.rounds[place]
        if found.agent is None and found.error is None:
            return None
        return WrittenText(found.agent or "")

    def state(self, place: int) -> WrittenText | None:
        """Return the agent's state after the round at a place as JSON; None if none was kept, or it was changed."""
        name = self.rounds[place].state
        content = None if name is None or self._folder is None else read_sound(self._folder, name)
        return None if content is None else WrittenText(content.decode(errors="replace"))

    @cached_property
    def replies(self) -> WrittenText:
        """All that the agent said, as far as any check inspects it."""
        said: list[str] = []
        left = MOST_OF_ALL
        for each in self.rounds:
            if each.agent:
                if len(each.agent) > left:
                    return WrittenText("\n".join([*said, each.agent[:left]]), whole=False)
                said.append(each.agent)
                left -= len(each.agent) + 1
        return WrittenText("\n".join(said))

    @cached_property
    def _places(self) -> Mapping[int, int]:
        found: dict[int, int] = {}
        for place, each in enumerate(self.rounds):
            found.setdefault(each.number, place)
        return found

    def place_of(self, number: int) -> int | None:
        """Return the place of a round by its number; None if it did not take place."""
        return self._places.get(number)

    @cached_property
    def last(self) -> int | None:
        """The place of the last reply; None if there is none."""
        places = range(len(self.rounds) - 1, -1, -1)
        return next((place for place in places if self.reply(place) is not None), None)

    @cached_property
    def _first_steps(self) -> Transcript:
        left, rounds = MOST_STEPS, []
        for each in self.transcript.rounds:
            rounds.append(each)
            left -= len(each.steps)
            if left < 0:
                break
        return Transcript(rounds=tuple(rounds), attributes=self.transcript.attributes)

    @cached_property
    def steps_cut(self) -> bool:
        """Whether there are more steps than checks inspect."""
        return sum(len(each.steps) for each in self.transcript.rounds) > MOST_STEPS

    @cached_property
    def _calls(self) -> Mapping[int, Sequence[StepDecision]]:
        found: dict[int, list[StepDecision]] = {}
        for each in calls(decisions(self._first_steps)[:MOST_STEPS]):
            found.setdefault(each.round, []).append(each)
        return found

    def calls_in(self, place: int | None) -> Sequence[StepDecision]:
        """Return the calls of tools in the round at a place, or in all rounds."""
        if place is None:
            return [call for found in self._calls.values() for call in found]
        return self._calls.get(self.rounds[place].number, ())

    def steps_in(self, place: int | None) -> Sequence[Step]:
        """Return the steps in the round at a place, or in all rounds."""
        if place is None:
            steps = [step for each in self._first_steps.rounds for step in each.steps]
        else:
            steps = list(self.rounds[place].steps)
        return trajectory_steps(steps[:MOST_STEPS])

    @cached_property
    def _servers(self) -> Mapping[str, Sequence[str]]:
        given = self.transcript.attributes.get(SERVERS)
        # What a recording says about servers of a case is only what its source says.
        return given if self.is_live and isinstance(given, Mapping) else {}

    @cached_property
    def has_steps(self) -> bool:
        """Whether any step was recorded: an agent that reports none may still take some."""
        return any(each.steps for each in self.transcript.rounds)

    @cached_property
    def is_recorded_by_environment(self) -> bool:
        """Whether the environment recorded calls, so that one that is missing did not take place."""
        return bool(self._servers) or any(
            step.from_environment for each in self.transcript.rounds for step in each.steps
        )

    def is_of_environment(self, tool: str) -> bool:
        """Return whether the environment records every call of a tool."""
        return any(isinstance(names, Sequence) and tool in names for names in self._servers.values())


def _takes_part(each: Round) -> bool:
    return each.agent is not None or each.error is not None or bool(each.steps)
