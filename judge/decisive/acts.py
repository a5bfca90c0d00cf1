"""What was done and said in a run, step by step, with the name of who did it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from viva.judge.steps import Part, indented, step_text
from viva.judge.trajectory.decisions import StepDecision, decisions
from viva.records.trajectory import answer_of
from viva.records.transcript import Transcript

SOMEBODY = "agent"
"""Who took the steps of a run that names nobody."""
SHOWN = 4_000
"""Maximum number of characters of one text of a step, if there are few steps."""
SHOWN_TOGETHER = 300_000
"""Maximum number of characters of all texts, about."""


@dataclass(frozen=True, slots=True)
class Act:
    """One step of the trajectory, or one reply that no step holds."""

    number: int
    """Counts from 1 over the whole run."""
    id: str
    """The id of the step or of the round."""
    agent: str
    parts: tuple[Part, ...]


def acts_of(transcript: Transcript) -> tuple[Act, ...]:
    """Return the acts of a run in their order."""
    alone = transcript.participants.get("target") or SOMEBODY
    found: list[tuple[str, str, tuple[Part, ...]]] = []
    path = decisions(transcript)
    for round_ in transcript.rounds:
        own = [each for each in path if each.round == round_.number]
        found += [(each.id, each.step.agent or alone, tuple(_parts(each))) for each in own]
        if round_.agent and not any(answer_of(each.step) == round_.agent for each in own):
            found.append((round_.id, alone, (("answer", round_.agent),)))
    return tuple(Act(number, *each) for number, each in enumerate(found, 1))


def agents_of(acts: tuple[Act, ...]) -> tuple[str, ...]:
    """Return the names of those who acted, in order."""
    return tuple(dict.fromkeys(act.agent for act in acts))


def acts_text(acts: tuple[Act, ...], marker: str) -> str:
    """Write acts for a judge; `marker` marks gaps in long texts."""
    longest = max(100, min(SHOWN, SHOWN_TOGETHER // (4 * len(acts) or 1)))
    lines: list[str] = []
    for act in acts:
        lines.append(f"Step {act.number}, by {' '.join(act.agent.split())}")
        lines.append(indented(step_text(act.parts, longest, marker)))
    return "\n".join(lines)


def _parts(each: StepDecision) -> Iterator[Part]:
    if each.thought:
        yield "thought", each.thought
    if each.calls_tool or each.undispatched is not None:
        yield "tool", each.tool
        yield "input", each.input or "(nothing)"
        yield "result", each.result or "(not recorded)"
    elif each.input:
        yield "answer", each.input
    elif not each.thought:
        yield "answer", "(nothing)"
