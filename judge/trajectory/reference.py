"""Reference trajectories: the calls that an agent was meant to make, and when a call is the same as one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from viva.adapters.part_errors import describe_part
from viva.judge.trajectory.decisions import as_arguments, canonical

NAMES = ("tool", "name", "tool_name", "action")
ARGUMENTS = ("arguments", "args", "kwargs", "tool_input", "input", "action_input", "parameters")


class NoReference(ValueError):
    """A reference trajectory is invalid; the message says which element and why."""


@dataclass(frozen=True, slots=True)
class TrajectoryCall:
    """A tool and its arguments."""

    tool: str
    arguments: Any


Likeness = Callable[[TrajectoryCall, TrajectoryCall], float]
"""Takes a call of the reference and one of the agent, both of one tool; says how alike they are, from 0 to 1 (same)."""


def read_reference(given: Any) -> tuple[TrajectoryCall, ...]:
    """Read a reference trajectory.

    Args:
        given: A list of calls, or an object that has one as `calls`, `actions`, `tool_calls`, `steps` or `trajectory`.
            Each call names its tool as `tool`, `name`, `tool_name` or `action`, and has its arguments as `arguments`,
            `args`, `kwargs`, `tool_input`, `input`, `action_input` or `parameters`; or it is a name alone, or has the
            shape of OpenAI's `tool_calls`.

    Raises:
        NoReference: it has another form.
    """
    if isinstance(given, Mapping):
        given = next(
            (given[key] for key in ("calls", "actions", "tool_calls", "steps", "trajectory") if key in given), None
        )
    if not isinstance(given, list | tuple):
        raise NoReference("a reference trajectory must be a list of calls")
    return tuple(_call(number, each) for number, each in enumerate(given, 1))


def _call(number: int, given: Any) -> TrajectoryCall:
    if isinstance(given, TrajectoryCall):
        return given
    if isinstance(given, str):
        return TrajectoryCall(given, {})
    inner = given.get("function") if isinstance(given, Mapping) else None
    body = inner if isinstance(inner, Mapping) else given
    name = (
        next((body[key] for key in NAMES if isinstance(body.get(key), str)), None)
        if isinstance(body, Mapping)
        else None
    )
    if name is None:
        raise NoReference(f"call {number} of the reference names no tool: it needs {', '.join(NAMES[:2])}…")
    return TrajectoryCall(name, as_arguments(next((body[key] for key in ARGUMENTS if key in body), None)))


def exact(reference: TrajectoryCall, call: TrajectoryCall) -> float:
    """Compare all arguments; the order of keys does not matter."""
    return float(canonical(reference.arguments) == canonical(call.arguments))


def partial(reference: TrajectoryCall, call: TrajectoryCall) -> float:
    """Return the share of the reference's arguments that the call has, with the same values; others do not matter."""
    wanted, given = reference.arguments, call.arguments
    if not isinstance(wanted, Mapping) or not isinstance(given, Mapping):
        return exact(reference, call)
    if not wanted:
        return 1.0
    return sum(key in given and canonical(value) == canonical(given[key]) for key, value in wanted.items()) / len(
        wanted
    )


def ignored(reference: TrajectoryCall, call: TrajectoryCall) -> float:
    """Compare no arguments."""
    return 1.0


BUILT_IN: dict[str, Likeness] = {"exact": exact, "partial": partial, "ignored": ignored}
TRANSITIVE = frozenset({exact, ignored})
"""Under these, calls that are like the same call are like each other, so that any pairing of them is the best."""


class ComparisonFailed(ValueError):
    """A user's function cannot compare two calls; the message says why, with file and line if the function raised."""


def by_function(given: Any) -> Likeness:
    """Make a likeness of a user's function, or of a mapping of tools to functions or to the names in `BUILT_IN`.

    The function takes the reference's arguments and the call's, and returns a bool or a number from 0 to 1. Tools that
    a mapping does not name are compared exactly; a key `*` stands for them.
    """
    if isinstance(given, Mapping):
        by_tool = {tool: BUILT_IN[each] if isinstance(each, str) else by_function(each) for tool, each in given.items()}
        others = by_tool.get("*", exact)
        return lambda reference, call: by_tool.get(call.tool, others)(reference, call)

    def likeness(reference: TrajectoryCall, call: TrajectoryCall) -> float:
        try:
            value = float(given(reference.arguments, call.arguments))
        except Exception as error:
            raise ComparisonFailed(describe_part(error, given)) from error
        if not 0 <= value <= 1:
            raise ComparisonFailed(f"it returned {value:g}, and must return a bool or a number from 0 to 1")
        return value

    return likeness


def in_listing_order(calls: Iterable[TrajectoryCall]) -> list[TrajectoryCall]:
    """Sort calls so that the order in which they were listed does not show."""
    return sorted(calls, key=lambda call: (call.tool, canonical(call.arguments)))
