"""The trajectory of a transcript as evaluators see it: what the agent decided, for which query, and what came back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viva.judge.steps import ENDED, Part, origin, surrounding_parts, to_text, without_result
from viva.judge.trajectory import CUT_OFF, NO_TOOL, NOT_PARSED
from viva.judge.turns import ShownTurn, steps_as_turns
from viva.records.text import storable
from viva.records.trajectory import (
    CUT,
    ENDED_WELL,
    UNREAD,
    WRITTEN,
    answer_of,
    how_ended,
    is_further_output,
    marked,
    span_of,
    stated_thought,
    undispatched,
    without_doubles,
)
from viva.records.transcript import LIVE, Step, StepKind, Transcript

NOTHING, EMPTY = "(nothing)", "(empty)"
"""Stand for a text that was recorded and is empty; of a result, "nothing" could mean that nothing was done."""
FAILED_BEGINS = ("error", "traceback (most recent call last)", "exception:")
"""How the result of a call that failed begins where its source has no field for errors; in lower case."""


@dataclass(frozen=True, slots=True)
class FurtherOutput:
    """What an earlier call wrote later, which the environment recorded."""

    round: int
    after: int
    """The number of steps of the trajectory before it."""
    text: str
    ended: str | None
    """How the command had ended by then; None if that was not recorded."""


@dataclass(frozen=True, slots=True)
class StepDecision:
    """One step of a trajectory: a tool called or an answer given, with the thought before it."""

    number: int
    """Counts from 1 over the whole trajectory."""
    step: Step
    round: int
    query: str
    """The newest message to the agent; empty if none was recorded."""
    further: tuple[FurtherOutput, ...] = ()
    """What came of it later, in its order."""

    def before(self, number: int) -> StepDecision:
        """Return it with what had come of it before the step with this number."""
        return replace(self, further=tuple(each for each in self.further if each.after < number))

    @property
    def id(self) -> str:
        """The step's id: the subject of verdicts about it."""
        return self.step.id

    @property
    def span(self) -> str:
        """The id of the span in which it was decided."""
        return span_of(self.step)

    @property
    def calls_tool(self) -> bool:
        """Return whether a tool was called; what the framework could not dispatch is no call."""
        return self.step.tool is not None and self.undispatched is None

    @property
    def asks_for_tool(self) -> bool:
        """Return whether the agent asked for a tool, also if none was called."""
        return self.calls_tool or self.undispatched is not None

    @property
    def undispatched(self) -> str | None:
        """Why no tool was called although the agent asked for one; None elsewhere."""
        return undispatched(self.step)

    @property
    def tool(self) -> str:
        """The tool; `NO_TOOL`, `NOT_PARSED` or `CUT_OFF` if none was called."""
        if (why := self.undispatched) is not None:
            return CUT_OFF if why == CUT else NOT_PARSED
        return NO_TOOL if self.step.tool is None else self.step.tool

    @property
    def thought(self) -> str:
        """What the agent thought in its own words; empty if it stated nothing."""
        return (stated_thought(self.step) or "").strip()

    @property
    def input(self) -> str:
        """The arguments as text; of a step that calls no tool, the agent's answer."""
        if self.step.tool is None:
            return answer_of(self.step) or ""
        given = self.step.tool_input
        return "" if given is None else given if isinstance(given, str) else to_text(given)

    @property
    def arguments(self) -> Any:
        """The arguments as an object; as they were given where they are none. No arguments are an empty object."""
        return as_arguments(self.step.tool_input)

    @property
    def first_result(self) -> str | None:
        """What came back at first, an error included; None if nothing was recorded."""
        parts = [f"error: {self.step.error}"] if self.step.error is not None else []
        parts += [self.step.result] if self.step.result is not None else []
        return "\n".join(parts) if parts else None

    @property
    def result(self) -> str:
        """What came back, an error and further output included; empty if nothing did."""
        return "\n".join(filter(None, (self.first_result, *(each.text for each in self.further))))

    @property
    def ended(self) -> str | None:
        """How a recorded command had ended at last."""
        return self.further[-1].ended if self.further else how_ended(self.step)

    @property
    def known(self) -> bool:
        """Return whether both its input and what came back were recorded."""
        return self.first_result is not None and self.step.tool_input is not None

    @property
    def written(self) -> str:
        """What the agent wrote where the framework ran something else; empty if both are the same."""
        said = (marked(self.step) or {}).get(WRITTEN)
        if self.undispatched is not None and self.step.tool is not None:
            said = {"tool": self.step.tool, "tool_input": self.step.tool_input}
        return to_text(said) if said else ""

    @property
    def succeeded(self) -> bool | None:
        """Return whether the tool did what it was called for; None if its result was not recorded."""
        if self.step.error is not None:
            return False
        if self.step.result is None:
            return None
        # What a command wrote later is new output, whenever the turn ended that it began in.
        later = () if self.ended == ENDED_WELL else (each.text for each in self.further)
        return not any(map(failed_in_words, (self.first_result or "", *later)))


def failed_in_words(result: str) -> bool:
    """Return whether a result reads like that of a call that failed."""
    return result[:200].lstrip(" \t\r\n\"'[{(<").casefold().startswith(FAILED_BEGINS)


def as_arguments(given: Any) -> Any:
    """A call's arguments as an object; as they were given where they are none."""
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        try:
            parsed = json.loads(given)
        except (ValueError, RecursionError):
            return given
        return parsed if isinstance(parsed, dict) else given
    return given


def decisions(transcript: Transcript) -> tuple[StepDecision, ...]:
    """Return the trajectory of a transcript.

    Where a reader marked steps, they are those; otherwise every step with a tool or a thought, except results that
    belong to no call, and words of others than the agent. Further output of an earlier call is a part of its step. A
    call that the environment recorded, too, is judged as it was recorded.
    """
    every = [
        (round_, step)
        for round_ in transcript.rounds
        for step in without_doubles(round_.steps)
        if not is_further_output(step)
    ]
    chosen = [(round_, step) for round_, step in every if step.from_environment or marked(step) is not None]
    if all(step.from_environment for _, step in chosen):
        chosen = [(round_, step) for round_, step in every if _decides(step)]
    queries: dict[int, str] = {}
    query = ""
    for each in transcript.rounds:
        query = each.examiner if each.examiner is not None else query
        queries[each.number] = query
    further = _further_outputs(transcript, {id(step): number for number, (_, step) in enumerate(chosen, 1)})
    return tuple(
        StepDecision(number, step, round_.number, queries[round_.number], tuple(further.get(step.id, ())))
        for number, (round_, step) in enumerate(chosen, 1)
    )


def _further_outputs(transcript: Transcript, numbers: Mapping[int, int]) -> Mapping[str, Sequence[FurtherOutput]]:
    """Return the further output of each call by the id of its step; `numbers` are those of the chosen steps."""
    found: dict[str, list[FurtherOutput]] = {}
    number = 0
    for round_ in transcript.rounds:
        for step in round_.steps:
            number = numbers.get(id(step), number)
            if step.parent_id is not None and is_further_output(step):
                text = step.result if step.error is None else f"error: {step.error}"
                found.setdefault(step.parent_id, []).append(
                    FurtherOutput(round_.number, number, text or "", how_ended(step))
                )
    return found


NOTHING_READ = "nothing that the agent did or said was recorded"


def why_empty(transcript: Transcript, path: Sequence[StepDecision]) -> str | None:
    """Return why a trajectory has nothing to judge; None if it has.

    A conversation of words alone has no steps, and is not empty: the agent called no tool.
    """
    if path:
        return None
    if isinstance(unread := transcript.attributes.get(UNREAD), str) and unread:
        return unread
    return None if any(round_.agent for round_ in transcript.rounds) else NOTHING_READ


def _decides(step: Step) -> bool:
    if step.kind is StepKind.AGENT or "without_call" in step.attributes:
        return False
    return step.tool is not None or bool(step.thought)


def calls(path: Iterable[StepDecision]) -> tuple[StepDecision, ...]:
    """Return the decisions in which a tool was called."""
    return tuple(each for each in path if each.calls_tool)


def canonical(value: Any) -> str:
    """A text that two values share if they are the same JSON: order of keys does not matter, 1 and 1.0 are the same."""
    try:
        return json.dumps(_plain(value), sort_keys=True, ensure_ascii=False, default=repr)
    except (ValueError, TypeError, RecursionError):
        return storable(repr(value))


def _plain(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value


def step_turns(path: Sequence[StepDecision], most: int, marker: str, transcript: Transcript) -> tuple[ShownTurn, ...]:
    """Return steps in their order, for a judge: thought, tool, input and result of each, none longer than `most`.

    In an exam, the head of each says who recorded it.

    Args:
        path: The steps.
        most: Maximum number of characters of one text, if there is room for it.
        marker: The marker of gaps.
        transcript: The transcript that they are in.
    """
    several, no_result = len({each.round for each in path}) > 1, without_result(transcript)
    steps: list[tuple[str, Step, Sequence[Part]]] = []
    for each in path:
        where = f"round {each.round}" if several else ""
        by = origin(transcript, each.step) if transcript.source == LIVE or each.step.from_environment else ""
        told = ", ".join(filter(None, (where, by)))
        head = f"Step {each.number} ({told})" if told else f"Step {each.number}"
        steps.append((head, each.step, tuple(_parts(each, no_result))))
    return steps_as_turns(steps, most, marker)


def _parts(each: StepDecision, no_result: str) -> Iterator[Part]:
    yield "thought", each.thought or "(none stated)"
    yield "tool", each.tool
    if each.asks_for_tool:
        yield from call_parts(each, no_result)
    else:
        yield "answer", each.input or NOTHING


def call_parts(each: StepDecision, no_result: str) -> Iterator[Part]:
    """Yield what a tool was given and what came back; `no_result` stands for what nobody recorded."""
    yield "input", each.input or NOTHING
    yield from surrounding_parts(each.step)
    yield "result", no_result if each.first_result is None else each.first_result or EMPTY
    yield from later_parts(each)


def later_parts(each: StepDecision) -> Iterator[Part]:
    """Yield what a recorded command wrote after its first result, and how it ended."""
    where = ""
    for output in each.further:
        where = f", in round {output.round}" if output.round != each.round else ""
        yield f"further output{where}", output.text or EMPTY
    if each.ended is not None:
        yield f"{ENDED}{where}", each.ended
