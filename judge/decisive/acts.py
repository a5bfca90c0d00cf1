"""What was done and said in a run, step by step, with the name of who did it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from viva.judge.steps import Part, visible, without_result
from viva.judge.trajectory.decisions import NOTHING, StepDecision, call_parts, decisions
from viva.judge.turns import ShownTurn, steps_as_turns
from viva.records.text import one_line
from viva.records.trajectory import answer_of
from viva.records.transcript import Step, Transcript

SOMEBODY = "agent"
"""Who took the steps of a run that names nobody."""
SHOWN = 4_000
"""Maximum number of characters of one text of a step, if there is room for it."""
NAME_SHOWN = 200
"""Maximum number of characters of an agent's name, which stands in the head of its steps."""


@dataclass(frozen=True, slots=True)
class Act:
    """One step of the trajectory, or one reply that no step holds."""

    number: int
    """Counts from 1 over the whole run."""
    id: str
    """The id of the step or of the round."""
    agent: str
    parts: tuple[Part, ...]
    step: Step | None = field(default=None, compare=False)
    """The step; None for a reply."""


def acts_of(transcript: Transcript) -> tuple[Act, ...]:
    """Return the acts of a run in their order."""
    alone = transcript.participants.get("target") or SOMEBODY
    found: list[tuple[str, str, tuple[Part, ...], Step | None]] = []
    path, no_result = decisions(transcript), without_result(transcript)
    for round_ in transcript.rounds:
        own = [each for each in path if each.round == round_.number]
        found += [(each.id, each.step.agent or alone, tuple(_parts(each, no_result)), each.step) for each in own]
        if round_.agent and not any(answer_of(each.step) == round_.agent for each in own):
            found.append((round_.id, alone, (("answer", round_.agent),), None))
    return tuple(Act(number, *each) for number, each in enumerate(found, 1))


def agents_of(acts: tuple[Act, ...]) -> tuple[str, ...]:
    """Return the names of those who acted, in order."""
    return tuple(dict.fromkeys(act.agent for act in acts))


def act_turns(acts: tuple[Act, ...], marker: str) -> tuple[ShownTurn, ...]:
    """Return acts as turns for a judge; `marker` marks gaps in long texts."""
    heads = (f"Step {act.number}, by {visible(one_line(act.agent, NAME_SHOWN))}" for act in acts)
    steps = ((head, act.step, act.parts) for head, act in zip(heads, acts, strict=True))
    return steps_as_turns(steps, SHOWN, marker)


def _parts(each: StepDecision, no_result: str) -> Iterator[Part]:
    if each.thought:
        yield "thought", each.thought
    if each.asks_for_tool:
        yield "tool", each.tool
        yield from call_parts(each, no_result)
    elif each.input:
        yield "answer", each.input
    elif not each.thought:
        yield "answer", NOTHING
