"""The turns of a static conversation: what the user says, and what the agent is expected to answer and to do."""

from __future__ import annotations

from typing import Any

from viva.interchange.adk.criteria import Criteria, rubric_point
from viva.interchange.adk.fields import parts, spoken
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.expected import AGREES
from viva.interchange.drafts.points import check_point, expected_call, is_checkable, tool_called
from viva.interchange.drafts.spelling import at, entries, field, text_of
from viva.interchange.ledger import Gap
from viva.interchange.source import Source


def read_turn(draft: CaseDraft, turn: Source, number: int, criteria: Criteria) -> list[dict[str, Any]]:
    """Add one invocation to a case.

    Args:
        draft: The case.
        turn: The invocation, in the present or in the older form.
        number: The number of its round, from 1.
        criteria: What counts.

    Returns:
        The expected tool calls, for the reference trajectory.
    """
    said = text_of(field(turn, "query"), "a message of the script") or spoken(field(turn, "user_content"))
    if not said.strip():
        said = "(a message without text)"
        draft.mark(f"Message {number} of the source has no text: write what the user says.")
    draft.script.append(said)
    reply = text_of(field(turn, "reference"), "a scoring point") or spoken(field(turn, "final_response"))
    about: dict[str, Any] = {}
    if reply.strip() and criteria.responses:
        draft.points.append({"score_point": AGREES + reply, "round": number})
    elif reply.strip():
        about["reference"] = reply
    calls = _calls(turn)
    if criteria.tools:
        draft.points += tool_points(calls, number, criteria)
    for rubric in entries(field(turn, "rubrics")):
        draft.points.append(rubric_point(rubric, number))
    about |= _kept(turn)
    if about:
        draft.metadata.setdefault("turns", {})[str(number)] = about
    return calls


def tool_points(calls: list[dict[str, Any]], number: int, criteria: Criteria) -> list[dict[str, Any]]:
    """Return a point for each expected call of a round, equal ones as one."""
    found: list[dict[str, Any]] = []
    wanted = [(call["tool"], call["arguments"] if criteria.arguments else {}) for call in calls if is_checkable(call)]
    for each in wanted:
        # An exact match compares all arguments; ADK's reference has all of them.
        check = tool_called(*each, times=wanted.count(each), exact=criteria.arguments and bool(each[1]))
        point = check_point(check, number)
        if point not in found:
            found.append(point)
    return found


def _calls(turn: Source) -> list[dict[str, Any]]:
    steps = field(turn, "intermediate_data")
    found = [_call(each, "name", "args") for each in entries(field(steps, "tool_uses"))]
    found += [_call(each, "tool_name", "tool_input") for each in entries(field(turn, "expected_tool_use"))]
    for event in entries(field(steps, "invocation_events")):
        found += [
            _call(call, "name", "args")
            for part in parts(field(event, "content"))
            if (call := field(part, "function_call"))
        ]
    return found


def _call(call: Source, name: str, arguments: str) -> dict[str, Any]:
    for other in ("id", "mock_tool_output"):
        value = field(call, other)
        if value is not None:
            value.report(Gap.NO_HOME, "what a tool returned is not part of an expected call")
    return expected_call(field(call, name), field(call, arguments))


def _kept(turn: Source) -> dict[str, Any]:
    """Return what is kept as metadata, and report what no case can express."""
    about = {name: value.take() for name in ("invocation_id", "creation_timestamp") if (value := field(turn, name))}
    for name in ("duration", "model_duration", "tool_duration", "app_details"):
        value = field(turn, name)
        if value is not None:
            value.report(Gap.NO_HOME, "is a fact about the recorded run, not about the case")
    why = "what happened on the way to the recorded answer is not part of a case"
    steps = field(turn, "intermediate_data")
    for value in (
        at(steps, "tool_responses"),
        at(steps, "intermediate_responses"),
        field(turn, "expected_intermediate_agent_responses"),
    ):
        if value is not None:
            value.report(Gap.NO_HOME, why)
    for event in entries(field(steps, "invocation_events")):
        for leaf in event.leaves():
            if not {"function_call", "functionCall"} & set(leaf.path):
                leaf.report(Gap.NO_HOME, why)
    return about
