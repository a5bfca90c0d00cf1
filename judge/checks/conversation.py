"""A conversation as checks see it: the replies, the calls of tools and the other steps of each round."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path

from viva.adapters.environment import MOST_STEPS as MOST_RECORDED
from viva.journal.kept_files import read_sound
from viva.judge.checks.looked_at import WrittenText
from viva.judge.trajectory.decisions import StepDecision, calls, decisions
from viva.records.copies import changed
from viva.records.trajectory import MARK, UNREAD, is_further_output, trajectory_steps
from viva.records.transcript import ENVIRONMENT, LIVE, SERVERS, Round, Step, Transcript

MOST_STEPS = 1_000
"""Maximum number of steps of a conversation that checks inspect, apart from those that the environment recorded."""

MOST_OF_ALL = 1_000_000
"""Characters of all replies together; no check inspects half as many."""


class InspectedSteps:
    """The first steps of a conversation, as many as checks inspect."""

    def __init__(self, rounds: Sequence[Round], most: int) -> None:
        """Args:
        rounds: The rounds in which the agent took part, with the steps in question.
        most: Maximum number of steps that are inspected.
        """
        self._every = rounds
        self._rounds: list[Round] = []
        """Those that are inspected; the last one may be cut."""
        self._cut_at: int | None = None
        """The place of the first round of which not all steps are inspected."""
        left = most
        for place, each in enumerate(rounds):
            if len(each.steps) > left:
                self._cut_at = place
                self._rounds.append(changed(each, steps=each.steps[:left]))
                break
            left -= len(each.steps)
            self._rounds.append(each)

    def is_cut(self, place: int | None) -> bool:
        """Return whether steps are left out in the round at a place, or before it; anywhere if it is None."""
        return self._cut_at is not None and (place is None or place >= self._cut_at)

    @cached_property
    def rest_only_adds(self) -> bool:
        """Whether no step that is left out can change which of those that are inspected count."""
        if self._cut_at is None:
            return True
        inspected = len(self._rounds[-1].steps)
        for each in self._every[self._cut_at :]:
            for step in each.steps[inspected:]:
                if step.recorded_by == ENVIRONMENT or MARK in step.attributes:
                    return False
            inspected = 0
        return True

    @cached_property
    def _calls(self) -> Mapping[int, Sequence[StepDecision]]:
        found: dict[int, list[StepDecision]] = {}
        for each in calls(decisions(Transcript(rounds=tuple(self._rounds)))):
            found.setdefault(each.round, []).append(each)
        return found

    def calls_in(self, place: int | None) -> Sequence[StepDecision]:
        """Return the calls of tools in the round at a place, or in all rounds."""
        if place is None:
            return [call for found in self._calls.values() for call in found]
        return [call for each in self._rounds[place : place + 1] for call in self._calls.get(each.number, ())]

    def steps_in(self, place: int | None) -> Sequence[Step]:
        """Return the steps in the round at a place, or in all rounds; further output of a call is none of its own."""
        rounds = self._rounds if place is None else self._rounds[place : place + 1]
        return trajectory_steps([step for each in rounds for step in each.steps if not is_further_output(step)])


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

    def inspected(self, *, environment: bool) -> InspectedSteps:
        """Return the steps that checks inspect: all, or apart from the others those that the environment recorded."""
        return self._of_environment if environment else self._of_all

    @cached_property
    def _of_all(self) -> InspectedSteps:
        return InspectedSteps(self.rounds, MOST_STEPS)

    @cached_property
    def _of_environment(self) -> InspectedSteps:
        # However many steps an agent reports, they hide none that the environment recorded.
        recorded = (tuple(step for step in each.steps if step.from_environment) for each in self.rounds)
        seen = [changed(each, steps=steps) for each, steps in zip(self.rounds, recorded, strict=True)]
        return InspectedSteps(seen, MOST_RECORDED)

    @property
    def steps_cut(self) -> bool:
        """Whether there are more steps than checks inspect."""
        return self._of_all.is_cut(None)

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
