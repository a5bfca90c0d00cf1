"""Turns one line of a session's log into a step, and several actions in one line into steps below it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from viva.recordings.desktop.lines import LineFields, text_of
from viva.recordings.desktop.names import Names
from viva.recordings.desktop.screenshots import Shots
from viva.recordings.numbers import amount
from viva.records.transcript import NO_USAGE, Step, StepKind, Usage

FAILED = ("fail", "error")
"""The beginnings of the status of an action that failed."""


def steps_of(identity: str, line: LineFields, shots: Shots, names: Names) -> list[Step]:
    """Return the step of a line. If the line has several actions, each becomes a step below it.

    Args:
        identity: The step's id. The steps below it have the ids `identity.1`, `identity.2` and so on.
        line: The line. Values without a field of their own are kept in the attribute `log`.
        shots: The step's pictures.
        names: The names of the fields of an action.
    """
    plan, action = line.take("plan"), line.take("action")
    step = Step(
        identity,
        StepKind.ACTION if text_of(action) or text_of(line.take("function")) else StepKind.THINK,
        agent=line.text("agent_name"),
        observation=line.text("observation"),
        thought=line.text("thought"),
        # That nothing is left to do is a plan too.
        plan="[]" if plan == [] else text_of(plan),
        images=shots.names,
        usage=usage_of(line),
        seconds=amount(line.take("seconds")),
    )
    attributes = _attributes(line, plan) | shots.attributes
    actions = [each for each in action if each] if isinstance(action, list) else []
    if len(actions) > 1 or (len(actions) == 1 and not isinstance(actions[0], Mapping)):
        below = [_acted(Step(f"{identity}.{n}", parent_id=identity), each, names) for n, each in enumerate(actions, 1)]
        for name in ("function", "arguments"):
            line.take(name)
        results, errors = line.take("result"), line.take("error")
        each_has = [isinstance(values, list) and len(values) == len(actions) > 1 for values in (results, errors)]
        below = [
            _with_results(made, results[n] if each_has[0] else None, errors[n] if each_has[1] else None)
            for n, made in enumerate(below)
        ]
        step = replace(
            step,
            result=None if each_has[0] else text_of(results),
            error=None if each_has[1] else text_of(errors),
        )
    else:
        below = []
        step = _with_line(_acted(step, actions[0] if actions else action, names), line)
    attributes |= step.attributes
    attributes["log"] = line.rest
    return [replace(step, attributes=_told(attributes)), *below]


def _attributes(line: LineFields, plan: Any) -> dict[str, Any]:
    told: dict[str, Any] = {name: line.text(name) for name in ("subtask", "comment", "application", "status")}
    return told | {"step": line.number("step"), "plan": plan if isinstance(plan, list) else None}


def usage_of(line: LineFields) -> Usage:
    """Return the cost in a line. UFO's logs do not contain tokens."""
    cost = amount(line.take("cost"))
    return NO_USAGE if cost is None else Usage(calls=1, cost=cost, reported=False)


def _with_results(step: Step, result: Any, error: Any) -> Step:
    """Return the step of one action of several with its own result and error, from the lists of all."""
    found, failed = _result(result)
    return replace(
        step,
        result=step.result if step.result is not None else found,
        error=step.error or text_of(error) or failed,
    )


def _acted(step: Step, action: Any, names: Names) -> Step:
    """Return a step with an action, which is an object with function and arguments, or text."""
    if not isinstance(action, Mapping):
        words = text_of(action)
        if words is None:
            return step
        function = words.split("(", 1)[0].strip() if "(" in words else None
        return replace(step, kind=StepKind.ACTION, tool=function, tool_input=words)
    if names.mapped and (named := _named(action)) is not None:
        return replace(step, kind=StepKind.ACTION, tool=named[0], tool_input=named[1])
    fields = LineFields(action, names)
    result, error = _result(fields.take("result"))
    own = fields.text("error")
    arguments = fields.take("arguments")
    step = replace(
        step,
        kind=StepKind.ACTION,
        tool=fields.text("function"),
        tool_input=arguments if arguments is not None else {},
        result=result,
        error=own or error,
    )
    rest = {key: value for key, value in fields.rest.items() if value not in (None, "", [], {})}
    return replace(step, attributes={"action": rest}) if rest else step


def _named(action: Mapping[str, Any]) -> tuple[str, Any] | None:
    """Return name and arguments of an action that is written as `{name: arguments}`; None for any other."""
    given = {key: value for key, value in action.items() if value is not None}
    if len(given) != 1:
        return None
    ((name, arguments),) = given.items()
    return (str(name), arguments) if isinstance(arguments, Mapping) else None


def _with_line(step: Step, line: LineFields) -> Step:
    """Complete a step with the fields that the older dialects have beside the action."""
    function, arguments = line.text("function"), line.take("arguments")
    result, error = _result(line.take("result"))
    own = line.text("error")
    if function is not None and (step.tool is None or isinstance(step.tool_input, str)):
        words = step.tool_input if isinstance(step.tool_input, str) else None
        given = arguments if arguments is not None else words if words is not None else {}
        step = replace(step, kind=StepKind.ACTION, tool=function, tool_input=given)
        if words is not None and arguments is not None:
            step = replace(step, attributes={**step.attributes, "action": {"action_string": words}})
    if step.result is not None and result not in (None, step.result):
        step = replace(step, attributes={**step.attributes, "line_result": result})
    return replace(step, result=step.result if step.result is not None else result, error=step.error or own or error)


def _result(value: Any) -> tuple[str | None, str | None]:
    """Return result and error. The value is an object with status, error and result, or the result alone."""
    if not isinstance(value, Mapping) or not ({"status", "error", "result", "results"} & {str(key) for key in value}):
        return text_of(value), None
    error = text_of(value.get("error"))
    status = str(value.get("status") or "")
    if error is None and status.lower().startswith(FAILED):
        error = status
    inner = value.get("result", value.get("results", value.get("return_value")))
    return text_of(inner), error


def _told(attributes: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in attributes.items() if value not in (None, "", [], {})}
    return kept | ({"plan": []} if attributes.get("plan") == [] else {})
