"""Selects the steps of a transcript that are its trajectory: the agent's decisions, one each, with their results.

A recording made of spans has a step for every span, and marks the few in which the agent decided. Other sources have
no more steps than decisions, and mark none.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from viva.records.transcript import Step, StepKind, Transcript

MARK = "trajectory"
"""The attribute of a marked step: a mapping with the keys below, each only where it applies."""
SPAN = "span_id"
"""Id of the span of the model call in which the step was decided. It is the step's own id unless one call decided
several steps: the first has the id of the span, the others `SPAN-ID#2`, `SPAN-ID#3`…"""
ANSWER = "answer"
"""The agent's words to the user, where the step ends the run instead of calling a tool."""
IMPLICIT = "implicit"
"""True where `thought` is the framework's text, used because the agent answered without a thought."""
WRITTEN = "written"
"""What the agent wrote (`tool`, `tool_input`) where the framework ran something else; the step has what was run."""
RAN_IN = "ran_in"
"""Id of the step (span) of the tool that ran."""
CALL_ID = "call_id"
"""The id by which the source pairs call and result."""
UNDISPATCHED = "undispatched"
"""Why no tool was called although the model asked for one: `UNPARSED` or `CUT`. The step is no call of a tool."""
UNPARSED = "unparsed"
"""The framework could not read what the model wrote."""
CUT = "cut"
"""The model's output ended before it was complete."""
SURROUNDINGS = (CWD, VARIABLES, VARIABLES_CUT) = ("cwd", "env", "env_cut")
"""The attributes of a command that an environment step recorded: its folder, its variables, and what they lack."""
UNREAD = "unread"
"""The attribute of a transcript in whose source no decision of an agent was recognised: why, in words."""


def marked(step: Step) -> Mapping[str, Any] | None:
    """Return what a reader said about a step of the trajectory; None for a step that is not marked."""
    said = step.attributes.get(MARK)
    # The type first, because steps are asked many times, and an abstract class answers slowly.
    return said if type(said) is dict or isinstance(said, Mapping) else None


def undispatched(step: Step) -> str | None:
    """Return why a step that names a tool called none; None for a step that called it, or names none."""
    if not step.attributes:
        return None
    said = marked(step)
    why = None if said is None else said.get(UNDISPATCHED)
    return why if isinstance(why, str) else None


def trajectory_steps(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the marked steps in their order, or all steps if none is marked.

    Environment steps always belong to it: an agent that marks its own steps does not hide what it called.
    """
    if not any(marked(step) is not None for step in steps):
        return tuple(steps)
    return tuple(step for step in steps if step.from_environment or marked(step) is not None)


def is_further_output(step: Step) -> bool:
    """Return whether a step tells no more than what came of an earlier call, which is its parent.

    Such an environment step is no call and no decision: a command that runs for three turns is one call.
    """
    return step.from_environment and step.tool is None and step.parent_id is not None


def surroundings(step: Step) -> Iterator[tuple[str, Any]]:
    """Yield name and value of what decided how a command was run, besides its words: its folder and its variables.

    They are no arguments: a check of the arguments is about the command alone. Only environment steps have them.
    """
    if step.from_environment:
        yield from ((name, step.attributes[name]) for name in SURROUNDINGS if step.attributes.get(name) is not None)


ENDED_WELL = "with exit code 0"
"""How a recorded command ended that says of itself that it succeeded."""


def how_ended(step: Step) -> str | None:
    """Return how a command that an environment step recorded had ended by then; None for other steps."""
    if not step.from_environment:
        return None
    code, signal = step.attributes.get("exitCode"), step.attributes.get("signal")
    if type(code) is int:
        return f"with exit code {code}"
    if isinstance(signal, str):
        return f"by signal {signal}"
    return "not yet" if step.attributes.get("running") is True else None


def tool_calls(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps that call a tool, each call once.

    Where steps are marked, those of them that name a tool: the spans of the tools describe the same calls again. What
    the framework could not dispatch is no call, nor is further output of an earlier one. A call that both the agent
    reported and the environment recorded counts as recorded.
    """
    if any(marked(step) is not None for step in steps):
        chosen = [step for step in trajectory_steps(steps) if step.tool is not None and undispatched(step) is None]
    else:
        acts = (StepKind.TOOL, StepKind.ACTION)
        chosen = [step for step in steps if step.kind in acts and not is_further_output(step)]
    return without_doubles(chosen)


def without_doubles(steps: Sequence[Step]) -> tuple[Step, ...]:
    """Return the steps without those of the agent that tell of a call which the environment recorded, too.

    Two steps tell of one call if they have the same arguments, and the agent's name for the tool ends with its name at
    the server: frameworks put the server's name before it (`mcp__desk__book`). One recorded call has one double.
    """
    seen = [step for step in steps if step.from_environment and step.tool is not None]
    if not seen or len(seen) == len(steps):
        return tuple(steps)
    doubles: set[int] = set()
    told = [step for step in steps if not step.from_environment and step.tool is not None]
    for each in seen:
        double = next((step for step in told if id(step) not in doubles and _is_same_call(step, each)), None)
        if double is not None:
            doubles.add(id(double))
    return tuple(step for step in steps if id(step) not in doubles)


def _is_same_call(told: Step, seen: Step) -> bool:
    name = (seen.tool or "").casefold()
    if not (told.tool or "").casefold().endswith(name):
        return False
    return bool(_arguments(told.tool_input) == _arguments(seen.tool_input))


def _arguments(given: Any) -> Any:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return given
    return given or {}


def trajectory(transcript: Transcript) -> tuple[Step, ...]:
    """Return the trajectory of a whole transcript.

    Whether steps are marked is decided once for all rounds: a round of a recording made of spans in which the agent
    decided nothing contributes no step.
    """
    every = [step for round_ in transcript.rounds for step in round_.steps]
    return trajectory_steps(every)


def stated_thought(step: Step) -> str | None:
    """Return the thought as the agent stated it; None if there is none, or where the framework supplied it."""
    said = marked(step)
    return None if said is not None and said.get(IMPLICIT) else step.thought or None


def answer_of(step: Step) -> str | None:
    """Return the words with which a marked step answered the user; None for a step that did not."""
    said = marked(step)
    answer = None if said is None else said.get(ANSWER)
    return answer if isinstance(answer, str) else None


def span_of(step: Step) -> str:
    """Return the id of the span in which a step was decided; the step's own id where it is not marked."""
    said = marked(step)
    span = None if said is None else said.get(SPAN)
    return span if isinstance(span, str) else step.id


def written_of(step: Step) -> str | None:
    """Return the call as the agent wrote it, where the framework ran another tool or input; None elsewhere."""
    said = marked(step)
    written = None if said is None else said.get(WRITTEN)
    return f"{written.get('tool')}({written.get('tool_input')})" if isinstance(written, Mapping) else None


def unmarked_count(steps: Iterable[Step]) -> int:
    """Return the number of steps that are not part of the trajectory; 0 if no step is marked."""
    every = tuple(steps)
    return len(every) - len(trajectory_steps(every))
