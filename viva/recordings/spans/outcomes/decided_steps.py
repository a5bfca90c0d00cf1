"""Marks the steps in which an agent decided, and says what became of each: what ran, what came back, what failed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viva.recordings.spans.decisions import SpanDecision
from viva.recordings.spans.model_calls import was_cut
from viva.recordings.spans.outcomes.tool_inputs import as_asked
from viva.recordings.spans.outcomes.tool_run import ToolRun
from viva.recordings.spans.tool_runs import CallOutcome
from viva.records.trajectory import (
    ANSWER,
    CALL_ID,
    CUT,
    IMPLICIT,
    MARK,
    RAN_IN,
    SPAN,
    UNDISPATCHED,
    UNPARSED,
    WRITTEN,
)
from viva.records.transcript import NO_USAGE, Step


def decided(step: Step, decision: SpanDecision, number: int, listed: frozenset[str]) -> Step:
    """Return the step of a span with what was decided in it.

    Args:
        step: The step of the model call, or one beside it.
        decision: One of the decisions of the model call.
        number: Its number among them, from 1.
        listed: The tools that the agent was given; empty if the trace does not say.
    """
    outcome, call = decision.outcome, decision.call
    ran: ToolRun | None = None if outcome is None else outcome.ran
    mark = _mark(decision)
    tool, given = decision.tool, decision.tool_input
    if ran is not None:
        mark[RAN_IN] = ran.span.id
        ran_input = as_asked(ran.arguments, given) if isinstance(ran.arguments, Mapping) else given
        ran_tool = ran.name or tool
        if (ran_tool, ran_input) != (tool, given):
            mark[WRITTEN] = {"tool": tool, "tool_input": given}
            tool, given = ran_tool, ran_input
    undispatched = None if outcome is None else _undispatched(decision, outcome)
    if undispatched is not None:
        mark[UNDISPATCHED] = undispatched
    return replace(
        step,
        thought=decision.thought,
        tool=tool,
        tool_input=given,
        result=None if outcome is None else outcome.result,
        error=step.error if outcome is None else _error(step, decision, outcome, undispatched, listed),
        model=call.model,
        usage=call.usage if number == 1 else NO_USAGE,
        attributes={**step.attributes, MARK: mark},
    )


def _mark(decision: SpanDecision) -> dict[str, Any]:
    mark: dict[str, Any] = {SPAN: decision.call.span.id}
    if decision.answer is not None:
        mark[ANSWER] = decision.answer
    if decision.implicit:
        mark[IMPLICIT] = True
    if decision.call_id is not None:
        mark[CALL_ID] = decision.call_id
    if decision.rest:
        mark["rest"] = decision.rest
    if decision.fault:
        mark["fault"] = decision.fault
    return mark


def _undispatched(decision: SpanDecision, outcome: CallOutcome) -> str | None:
    """Return why no tool was called although the model asked for one; None if one was, or if nobody knows."""
    if outcome.ran is not None or decision.answer is not None:
        return None
    broken = decision.fault is not None if decision.in_words else _is_no_object(decision.tool_input)
    if outcome.complaint is not None:
        return UNPARSED
    if outcome.result is not None:
        return None
    if was_cut(decision.call) and (broken or decision.in_words or decision.tool is not None):
        return CUT
    return UNPARSED if broken else None


def _is_no_object(given: Any) -> bool:
    return isinstance(given, str) and given.lstrip().startswith("{")


def _error(
    step: Step, decision: SpanDecision, outcome: CallOutcome, undispatched: str | None, listed: frozenset[str]
) -> str | None:
    if outcome.ran is not None and outcome.ran.error is not None:
        return outcome.ran.error
    if outcome.complaint is not None:
        return outcome.complaint
    called = undispatched is None and decision.tool is not None
    if step.error is None and called and outcome.ran is None and listed and decision.tool not in listed:
        return f"the agent has no tool called {decision.tool}"
    return step.error
