"""Reads agents, evaluators, sinks and subscribers that a Python program passes by name or as objects."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.python import loaded_from, spec_of
from viva.adapters.part_errors import describe_part
from viva.errors import SetupError
from viva.exam.subscribers import Subscriber
from viva.records.evaluator import Evaluator
from viva.records.sink import Sink
from viva.sinks import make_sink, sink_name

AgentLike = str | Callable[..., Any]
"""A SPEC, a VirtualUser class, or any other callable that returns an object with its methods."""
EvaluatorLike = str | Evaluator | Callable[..., Any]
"""A name or import string, an evaluator, its class, a function that judges, or one that returns an evaluator."""
EVENTS = ("on_start", "on_round", "on_end", "on_closed")
"""The methods that a subscriber can have."""


def find_agents(
    agents: AgentLike | Iterable[AgentLike] | Mapping[str, AgentLike], *, isolate: bool
) -> tuple[tuple[str, ...], dict[str, LoadedAgent]]:
    """Return the SPECs of agents, and the agents that were passed as objects by their SPEC.

    Args:
        agents: One or several agents, or a mapping with their names in records.
        isolate: Whether agents must run in processes of their own.

    Raises:
        SetupError: an object cannot make an agent, two agents have the same name, or an agent cannot be isolated.
    """
    specs: list[str] = []
    given: dict[str, LoadedAgent] = {}
    for name, agent in _named_agents(agents):
        if isinstance(agent, str) and name != agent:
            raise SetupError(f"{agent!r} is a SPEC, which is its own name in records: give {name!r} a class.")
        if name in specs:
            raise SetupError(
                f"two agents are called {name!r}: use trials to examine one several times, or name each: "
                "agents={'first': …, 'second': …}."
            )
        specs.append(name)
        if isinstance(agent, str):
            continue
        if isolate:
            raise SetupError(f"isolate requires the SPEC of an agent (file.py:Class), not an object like {name!r}.")
        given[name] = loaded_from(agent, name)
    if not specs:
        raise SetupError("there is no agent to examine: name one, such as 'example:careful'.")
    return tuple(specs), given


def _named_agents(agents: AgentLike | Iterable[AgentLike] | Mapping[str, AgentLike]) -> list[tuple[str, AgentLike]]:
    if isinstance(agents, Mapping):
        return list(agents.items())
    several: Iterable[AgentLike]
    # A class can be iterable too, for example an Enum.
    several = [agents] if isinstance(agents, str) or callable(agents) or not isinstance(agents, Iterable) else agents
    return [(agent if isinstance(agent, str) else spec_of(agent), agent) for agent in several]


def find_sinks(sinks: str | Sink | Iterable[str | Sink]) -> list[tuple[str, Sink]]:
    """Return sinks with their names in messages.

    Raises:
        SetupError: a sink does not exist, cannot be created, or has no `write` method.
    """
    several = [sinks] if isinstance(sinks, str) or not isinstance(sinks, Iterable) else sinks
    found: list[tuple[str, Sink]] = []
    for sink in several:
        name = sink_name(sink) if isinstance(sink, str) else type(sink).__name__
        if not isinstance(sink, str) and (isinstance(sink, type) or not callable(getattr(sink, "write", None))):
            raise SetupError(f"{sink!r:.80} is not a sink: a sink is an object with write(record, transcript).")
        found.append((name, make_sink(sink) if isinstance(sink, str) else sink))
    return found


def find_subscribers(subscribers: object, note: Callable[[str], None]) -> list[object]:
    """Return subscribers whose exceptions stop nothing: the first exception of each is reported.

    Args:
        subscribers: One or several. The methods can be plain or async, and all but one can be missing.
        note: Shows a message to the user.

    Raises:
        SetupError: an object has none of the methods of a subscriber.
    """
    several: Sequence[object] = (
        list(subscribers) if isinstance(subscribers, Iterable) and not _is_subscriber(subscribers) else [subscribers]
    )
    for each in several:
        if isinstance(each, type) or not _is_subscriber(each):
            raise SetupError(f"{each!r:.80} is not a subscriber: a subscriber is an object with {', '.join(EVENTS)}.")
    return [_guarded(each, note) for each in several]


def _is_subscriber(thing: object) -> bool:
    return any(callable(getattr(thing, event, None)) for event in EVENTS)


def _guarded(subscriber: object, note: Callable[[str], None]) -> object:
    noted = False

    def guarded(method: Callable[..., object]) -> Callable[..., Awaitable[None]]:
        async def call(*arguments: object) -> None:
            nonlocal noted
            try:
                called = method(*arguments)
                if inspect.isawaitable(called):
                    await called
            except BaseException as error:
                # Its own sys.exit() stops nothing, and neither does a cancellation that this task did not receive.
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
                    raise
                if isinstance(error, GeneratorExit):  # the loop has ended
                    raise
                if not noted:
                    words = describe_part(error, subscriber)
                    note(f"the subscriber {type(subscriber).__name__} failed: {words}. The runs continue.")
                noted = True

        return call

    return SimpleNamespace(
        **{event: guarded(getattr(subscriber, event)) for event in EVENTS if hasattr(subscriber, event)}
    )


SubscriberLike = Subscriber | object
"""An object with some of a Subscriber's methods."""
