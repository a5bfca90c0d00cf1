"""Counts what happens in one task, in plain numbers that are cheap to add to, and makes `Metrics` of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from viva.records.text import storable
from viva.records.transcript import MOST_TOKENS, NO_USAGE, Metrics, SubAgentShare, Usage

UNKNOWN = "unknown"
"""The name of a model, tool or kind that the source does not name."""
OTHERS = "(others)"
"""Stands for all names beyond `MOST_NAMES`."""
MOST_NAMES = 500
"""Names of one kind that are kept: a stream may be untrusted."""
LONGEST_NAME = 200

K = TypeVar("K")
V = TypeVar("V")


class FrozenDict(dict[K, V]):
    """A dict that refuses to be changed; it is written and compared like any other."""

    __slots__ = ()

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        raise TypeError("a snapshot cannot be changed")

    __setitem__ = __delitem__ = _refuse
    __ior__ = _refuse
    clear = pop = popitem = setdefault = update = _refuse

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self),)


def name_of(value: object) -> str:
    """Return the name under which something is counted: of limited length, and `unknown` if there is none."""
    if type(value) is str and 0 < len(value) <= LONGEST_NAME:
        return value
    return str(value)[:LONGEST_NAME] if value not in (None, "") else UNKNOWN


def is_count(value: object) -> bool:
    """Return whether a value is a valid count of tokens."""
    return (type(value) is int or isinstance(value, float)) and 0 <= value < MOST_TOKENS


def count_of(value: object) -> int | None:
    """Return a count of tokens; None if it was not reported, or is not valid."""
    return int(value) if is_count(value) else None  # type: ignore[call-overload]


def add(counts: dict[str, int], name: str, number: int = 1) -> None:
    """Add to the count of a name; beyond `MOST_NAMES` to that of all others."""
    if name in counts:
        counts[name] += number
    elif len(counts) < MOST_NAMES:
        counts[name] = number
    else:
        counts[OTHERS] = counts.get(OTHERS, 0) + number


class UsageTally:
    """Sums up the model calls of one model, or of one sub-agent."""

    __slots__ = ("billing", "usage")

    def __init__(self) -> None:
        self.usage = NO_USAGE
        self.billing: dict[str, float] = {}

    def add(self, usage: Usage, billing: Mapping[str, float]) -> None:
        """Add the usage of model calls, and the provider's units for them."""
        self.usage += usage
        for name, amount in billing.items():
            self.billing[name] = self.billing.get(name, 0.0) + amount


class _AgentTally:
    __slots__ = ("calls", "failed", "model_failures", "started", "tool_calls", "tool_failures")

    def __init__(self) -> None:
        self.started = self.failed = self.tool_calls = self.tool_failures = self.model_failures = 0
        self.calls = UsageTally()


class Tally:
    """Counts of one task."""

    __slots__ = (
        "aborts",
        "agents",
        "failures",
        "model_failures",
        "models",
        "never_started",
        "open",
        "tools",
        "unknown",
    )

    def __init__(self) -> None:
        self.models: dict[str, UsageTally] = {}
        self.tools: dict[str, int] = {}
        self.failures: dict[str, int] = {}
        self.aborts: dict[str, int] = {}
        self.model_failures: dict[str, int] = {}
        self.unknown: dict[str, int] = {}
        self.agents: dict[str, _AgentTally] = {}
        self.never_started = 0
        self.open = 0
        """Tool calls that have started and not completed."""

    def model(self, name: str) -> UsageTally:
        """Return the sums of a model."""
        found = self.models.get(name)
        if found is None:
            name = name if len(self.models) < MOST_NAMES else OTHERS
            found = self.models.setdefault(name, UsageTally())
        return found

    def agent(self, name: str) -> _AgentTally:
        """Return the sums of a sub-agent."""
        found = self.agents.get(name)
        if found is None:
            name = name if len(self.agents) < MOST_NAMES else OTHERS
            found = self.agents.setdefault(name, _AgentTally())
        return found

    def metrics(self) -> Metrics:
        """Return what was counted so far; nothing that is counted later changes it."""
        billing: dict[str, float] = {}
        for tally in self.models.values():
            for name, amount in tally.billing.items():
                billing[name] = billing.get(name, 0.0) + amount
        return Metrics(
            usage_by_model=_frozen({name: tally.usage for name, tally in self.models.items()}),
            tool_calls=_frozen(self.tools),
            tool_failures=_frozen(self.failures),
            never_completed=self.open,
            never_started=self.never_started,
            aborts=_frozen(self.aborts),
            model_failures=_frozen(self.model_failures),
            billing_units=_frozen(billing),
            billing_by_model=_frozen(
                {name: _frozen(tally.billing) for name, tally in self.models.items() if tally.billing}
            ),
            subagents=_frozen({name: _share(tally) for name, tally in self.agents.items()}),
            unknown=_frozen(self.unknown),
        )


def _share(tally: _AgentTally) -> SubAgentShare:
    return SubAgentShare(
        started=tally.started,
        failed=tally.failed,
        usage=tally.calls.usage,
        tool_calls=tally.tool_calls,
        tool_failures=tally.tool_failures,
        model_failures=tally.model_failures,
    )


def _frozen(counts: Mapping[str, V]) -> Mapping[str, V]:
    return FrozenDict({storable(name): value for name, value in counts.items()})
