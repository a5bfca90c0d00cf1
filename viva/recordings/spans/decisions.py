"""Reads what an agent decided in one model call: thoughts, tool calls, answer, in words or as native calls alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from viva.recordings.react import IMPLICIT_THOUGHT, PartLabel, ReactText, read_react, segments
from viva.recordings.spans.messages import RequestedCall
from viva.recordings.spans.model_calls import ModelCall
from viva.recordings.spans.outcomes.answers import (
    CODE_FAILED,
    Parsed,
    answer_text,
    is_code,
    is_output_tool,
    output_call,
)
from viva.recordings.spans.outcomes.tool_run import ToolRun
from viva.recordings.spans.tool_runs import CallOutcome, ToolRuns


@dataclass(frozen=True, slots=True)
class SpanDecision:
    """One thing that an agent decided."""

    call: ModelCall
    thought: str | None = None
    implicit: bool = False
    """Whether the thought is the framework's."""
    tool: str | None = None
    tool_input: Any = None
    """The input as the model wrote it."""
    call_id: str | None = None
    answer: str | None = None
    """The model's words, if it ended its turn with words."""
    outcome: CallOutcome | None = None
    in_words: bool = False
    """Whether the agent acts in words (ReAct)."""
    rest: str = ""
    fault: str | None = None


def decide(
    call: ModelCall,
    place: int,
    tools: ToolRuns,
    *,
    in_words: bool,
    parsed: Parsed | None = None,
    final: bool = False,
    stated: str | None = None,
) -> list[SpanDecision]:
    """Read what was decided in one model call.

    Args:
        call: A call of the agent run.
        place: Its place among the run's calls.
        tools: The tools that ran in the run. Each is taken once: go through the calls in order.
        in_words: What `acts_in_words` says of the run.
        parsed: What the framework's own parser read in the words, where it recorded that: it outranks their looks.
        final: Whether this is the last model call of the run.
        stated: What the framework says that the run gave.

    Returns:
        One decision for each tool call, or one without a tool.
    """
    output = call.output
    if is_code(output.calls):
        return _in_code(call, place, tools, final=final)
    if output.calls:
        outcomes = tools.outcomes(place, output.calls, None)
        thought = _thought(output.text, output.reasoning)
        giving = output_call(output.calls, stated) if final else None
        return [
            SpanDecision(call, thought, call_id=asked.id, answer=answer_text(asked.arguments))
            if asked is giving
            else SpanDecision(
                call, thought, False, asked.name, asked.arguments, asked.id, outcome=_refused(asked, outcome)
            )
            for asked, outcome in zip(output.calls, outcomes, strict=True)
        ]
    if not in_words or not (output.text or "").strip():
        return [SpanDecision(call, output.reasoning, answer=output.text or "")]
    return [_in_words(call, place, tools, parsed, stated)]


def _refused(asked: RequestedCall, outcome: CallOutcome) -> CallOutcome:
    """Return what came of a call; an output tool that ends no run was an answer that the framework refused."""
    if asked.name is None or not is_output_tool(asked.name) or outcome.ran is not None or outcome.result is None:
        return outcome
    return replace(outcome, complaint=outcome.complaint or outcome.result)


def _in_code(call: ModelCall, place: int, tools: ToolRuns, *, final: bool) -> list[SpanDecision]:
    """Read an action that is code: the tools that it ran are the steps.

    The code itself is a step if it ran no tool, or if it failed although all tools that it ran succeeded.
    """
    thought = _thought(call.output.text, call.output.reasoning)
    ran = tools.within_code(place)
    made = [
        SpanDecision(call, thought, answer=run.result or "")
        if final and run.name is not None and is_output_tool(run.name)
        else SpanDecision(call, thought, tool=run.name, tool_input=run.arguments, outcome=CallOutcome(run, run.result))
        for run in ran
    ]
    (asked,) = call.output.calls
    result = tools.outcomes(place, [asked], None)[0].result
    failed = result is not None and result.startswith(CODE_FAILED)
    if not ran or (failed and all(run.error is None for run in ran)):
        error = result.removeprefix(CODE_FAILED).strip() if result is not None and failed else None
        itself = ToolRun(call.span, asked.name, asked.arguments, result, error, None)
        outcome = CallOutcome(itself, result)
        made.append(SpanDecision(call, thought, tool=asked.name, tool_input=asked.arguments, outcome=outcome))
    return made


def acts_in_words(calls: Sequence[ModelCall], stated: str | None) -> bool:
    """Return whether the agent of a run acts in words: it was instructed to, or does so, and makes no native call.

    Args:
        calls: Of the run.
        stated: What the framework says that the run gave: where that is the whole of the last words, they are an
            answer, whatever they look like.
    """
    if any(call.output.calls for call in calls):
        return False
    if calls and any("Action Input:" in (message.text or "") for message in calls[0].inputs[:4]):
        return True
    if calls and stated and stated.strip() == (calls[-1].output.text or "").strip():
        return False
    return any(
        part.label in (PartLabel.ACTION, PartLabel.THOUGHT)
        for call in calls
        for part in segments(call.output.text or "")
    )


def _in_words(call: ModelCall, place: int, tools: ToolRuns, parsed: Parsed | None, stated: str | None) -> SpanDecision:
    text = call.output.text or ""
    read = _as_parsed(read_react(text), parsed)
    implicit = not read.labelled
    thought = IMPLICIT_THOUGHT if implicit else _joined(call.output.reasoning, read.thought)
    outcome = None
    if read.tool is not None or read.answer is None:
        asked = [RequestedCall(read.tool, read.tool_input)] if read.tool is not None else []
        outcome = tools.outcomes(place, asked or [RequestedCall(None, None)], text)[0]
        if outcome.ran is None and stated and stated.strip() == text.strip():
            return SpanDecision(call, call.output.reasoning, answer=text, in_words=True)
    return SpanDecision(
        call, thought, implicit, read.tool, read.tool_input, None, read.answer, outcome, True, read.rest, read.fault
    )


def _as_parsed(read: ReactText, parsed: Parsed | None) -> ReactText:
    """Return what the framework's parser read; the input stays as the agent wrote it if both read the same tool."""
    if parsed is None or (parsed.tool is not None and parsed.tool == read.tool):
        return read
    given = None if parsed.tool is None else parsed.tool_input
    return replace(read, tool=parsed.tool, tool_input=given, answer=parsed.answer, fault=None)


def _thought(text: str | None, reasoning: str | None) -> str | None:
    """Join a model's reasoning and its words beside a native call, which some models label."""
    words = text.strip() if text else None
    if words and segments(words)[0].label is PartLabel.THOUGHT:
        read = read_react(words)
        words = words if read.tool or read.rest or read.answer else read.thought
    return _joined(reasoning, words)


def _joined(*texts: str | None) -> str | None:
    parts = [text for text in texts if text and text.strip()]
    return "\n".join(parts) if parts else None
