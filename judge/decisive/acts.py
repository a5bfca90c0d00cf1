"""What was done and said in a run, step by step, with the name of who did it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from viva.judge.steps import Part, step_text, visible, without_result
from viva.judge.trajectory.decisions import StepDecision, decisions
from viva.judge.turns import ShownTurn, step_turn
from viva.records.text import one_line
from viva.records.trajectory import answer_of
from viva.records.transcript import Step, Transcript

SOMEBODY = "agent"
"""Who took the steps of a run that names nobody."""
SHOWN = 4_000
"""Maximum number of characters of one text of a step, if there are few steps."""
SHOWN_TOGETHER = 300_000
"""Maximum number of characters of all texts, about."""
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
    longest = max(100, min(SHOWN, SHOWN_TOGETHER // (4 * len(acts) or 1)))
    turns: list[ShownTurn] = []
    for act in acts:
        head = f"Step {act.number}, by {visible(one_line(act.agent, NAME_SHOWN))}"
        words = visible(step_text(act.parts, longest, marker))
        if act.step is None:
            turns.append(ShownTurn(head, words, "said", colon=""))
        else:
            turns.append(step_turn(act.step, head, words, colon=""))
    return tuple(turns)


def _parts(each: StepDecision, no_result: str) -> Iterator[Part]:
    if each.thought:
        yield "thought", each.thought
    if each.calls_tool or each.undispatched is not None:
        yield "tool", each.tool
        yield "input", each.input or "(nothing)"
        yield "result", each.result or no_result
    elif each.input:
        yield "answer", each.input
    elif not each.thought:
        yield "answer", "(nothing)"
