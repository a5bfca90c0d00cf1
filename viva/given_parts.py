"""Agents, evaluators, sinks and subscribers as a Python program gives them: by name, or as objects."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from adapters.calls import describe
from adapters.connectors.loaded_agent import LoadedAgent
from adapters.connectors.python import loaded_from, spec_of
from adapters.errors import SetupError
from harness.exam.subscribers import Subscriber
from harness.sinks import make_sink, sink_name
from records.evaluator import Evaluator
from records.sink import Sink

AgentLike = str | Callable[..., Any]
"""A SPEC, or a VirtualUser class, or anything else that makes an object with its methods."""
EvaluatorLike = str | Evaluator | Callable[..., Any]
"""A name or import string, or an evaluator, or its class, or a function that makes one."""
EVENTS = ("on_start", "on_round", "on_end", "on_closed")
"""What a subscriber may have."""


def find_agents(
    agents: AgentLike | Iterable[AgentLike] | Mapping[str, AgentLike], *, isolate: bool
) -> tuple[tuple[str, ...], dict[str, LoadedAgent]]:
    """The SPECs of agents, and those that are at hand by their SPEC.

    Args:
        agents: One or several, or several by the names that records have for them.
        isolate: The user wants agents in processes of their own.

    Raises:
        SetupError: one makes no agent, has another's name, or cannot be isolated.
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
            raise SetupError(f"isolate takes an agent by its SPEC (file.py:Class), not as an object like {name!r}.")
        given[name] = loaded_from(agent, name)
    if not specs:
        raise SetupError("there is no agent to examine: name one, such as 'example:careful'.")
    return tuple(specs), given


def _named_agents(agents: AgentLike | Iterable[AgentLike] | Mapping[str, AgentLike]) -> list[tuple[str, AgentLike]]:
    if isinstance(agents, Mapping):
        return list(agents.items())
    several: Iterable[AgentLike]
    # What is iterable may be a class, too: an Enum, for one.
    several = [agents] if isinstance(agents, str) or callable(agents) or not isinstance(agents, Iterable) else agents
    return [(agent if isinstance(agent, str) else spec_of(agent), agent) for agent in several]


def find_evaluators(
    evaluators: EvaluatorLike | Iterable[EvaluatorLike],
) -> tuple[tuple[str, ...], dict[str, object]]:
    """The names of evaluators, the primary first, and those that are at hand by their name.

    Raises:
        SetupError: one has another's name.
    """
    one = isinstance(evaluators, str) or callable(evaluators) or not isinstance(evaluators, Iterable)
    several: Iterable[Any] = [evaluators] if one else evaluators  # type: ignore[assignment]
    names: list[str] = []
    given: dict[str, object] = {}
    for each in several:
        # An object was made here, so no import string leads to it.
        importable = inspect.isclass(each) or inspect.isroutine(each)
        own = getattr(each, "name", None)
        name = each if isinstance(each, str) else own if isinstance(own, str) and not importable else spec_of(each)
        if name in names:
            raise SetupError(f"two evaluators are called {name!r}.")
        names.append(name)
        if not isinstance(each, str):
            given[name] = each
    return tuple(names), given


def find_sinks(sinks: str | Sink | Iterable[str | Sink]) -> list[tuple[str, Sink]]:
    """Sinks, and what messages call them.

    Raises:
        SetupError: one is not there, cannot be made, or cannot write.
    """
    several = [sinks] if isinstance(sinks, str) or not isinstance(sinks, Iterable) else sinks
    found: list[tuple[str, Sink]] = []
    for sink in several:
        name = sink_name(sink) if isinstance(sink, str) else type(sink).__name__
        if not isinstance(sink, str) and (isinstance(sink, type) or not callable(getattr(sink, "write", None))):
            raise SetupError(f"{sink!r:.80} is no sink: a sink is an object with write(record, transcript).")
        found.append((name, make_sink(sink) if isinstance(sink, str) else sink))
    return found


def find_subscribers(subscribers: object, note: Callable[[str], None]) -> list[object]:
    """Subscribers that stop nothing: what one raises is noted, once.

    Args:
        subscribers: One or several. A method may be plain, and any but one may be missing.
        note: Tells the user.

    Raises:
        SetupError: one has no method that is called.
    """
    several: Sequence[object] = (
        list(subscribers) if isinstance(subscribers, Iterable) and not _is_subscriber(subscribers) else [subscribers]
    )
    for each in several:
        if isinstance(each, type) or not _is_subscriber(each):
            raise SetupError(f"{each!r:.80} is no subscriber: a subscriber is an object with {', '.join(EVENTS)}.")
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
                # Its own sys.exit() stops nothing, nor does a cancellation that nobody asked of this task.
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and (task is None or task.cancelling()):
                    raise
                if isinstance(error, GeneratorExit):  # the loop has ended
                    raise
                if not noted:
                    note(f"the subscriber {type(subscriber).__name__} failed: {describe(error)}. The runs go on.")
                noted = True

        return call

    return SimpleNamespace(
        **{event: guarded(getattr(subscriber, event)) for event in EVENTS if hasattr(subscriber, event)}
    )


SubscriberLike = Subscriber | object
"""An object with some of a Subscriber's methods."""
