"""Applies the rules of `adapters/inside/rules.py` in Viva's process: the arguments and the replies of adapters."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

from viva.adapters import contract_messages as mistakes
from viva.adapters.environment import EnvironmentLog
from viva.adapters.inside import frameworks, rules
from viva.adapters.inside.observed import ObservedReply
from viva.adapters.observed import completed
from viva.adapters.shared_descriptors import is_foreign
from viva.adapters.tasks import is_coroutine_function
from viva.adapters.virtual_user import VirtualUser, offer_workspace
from viva.adapters.workspace import make_folder
from viva.errors import AgentError, SetupError
from viva.records.codec import decode, to_plain
from viva.records.copies import changed
from viva.records.redact import Keys
from viva.records.text import storable
from viva.records.transcript import AGENT, ENVIRONMENT_ID, NO_USAGE, Reply, Step, Usage

T = TypeVar("T")

AgentFactory = Callable[..., Any]
"""The result of loading a SPEC: a VirtualUser class, or a callable that returns an object with its methods."""


@dataclass(frozen=True, slots=True)
class AgentArguments:
    """The arguments with which an adapter is constructed."""

    task_description: str
    app_dir: str | None = None
    config_var: Mapping[str, Any] | None = None
    workspace: Path | None = None
    verbose: bool = False
    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the constructor, or keys of `config_var`, from the agent's SPEC."""


@dataclass(frozen=True, slots=True)
class AgentClass:
    """What is the same for all agents of one class. It is found out once, because every run needs it."""

    kind: type
    accepted: tuple[str, ...]
    """The arguments that its constructor takes, of those that Viva offers."""
    is_async: bool
    """Whether `get_reply_from_agent` is a coroutine function."""
    takes_verbose: bool
    """Whether `get_reply_from_agent` has a parameter `verbose`."""
    is_foreign: bool
    """Whether it is not one of Viva's connectors."""

    def keywords(self, arguments: AgentArguments) -> dict[str, Any]:
        """Return the arguments for the constructor, by keyword; those of the agent's SPEC are not among them.

        Raises:
            SetupError: the workspace that it accepts cannot be made.
        """
        given = {name: getattr(arguments, name) for name in self.accepted}
        if given.get("workspace") is not None:
            make_folder(given["workspace"])
        return given

    def describes(self, agent: object) -> bool:
        """Return whether an object is one of the class, with the method that the class defines."""
        return type(agent) is self.kind and "get_reply_from_agent" not in getattr(agent, "__dict__", ())


def class_of(factory: object) -> AgentClass | None:
    """Return what is known of a factory that is a class of agents; None if each agent has to be looked at.

    Raises:
        SetupError: the class lacks a method.
    """
    return _looked_at(factory) if isinstance(factory, type) else None


@lru_cache(maxsize=256)
def _looked_at(kind: Any) -> AgentClass | None:
    check_factory(kind)
    method = getattr(kind, "get_reply_from_agent", None)
    if method is None or frameworks.wrapper_name(kind) is not None:
        return None
    try:
        accepted = rules.accepted(kind)
    except (TypeError, ValueError, rules.Setup):
        return None
    return AgentClass(kind, accepted, is_coroutine_function(method), rules.takes_verbose(method), is_foreign(kind))


class ConnectedAgent:
    """An agent in another process, which must be opened before it can receive messages."""

    printed: Mapping[str, str] = MappingProxyType({})
    """The end of what its process printed, by stream (`stdout`, `stderr`); known when it is closed."""
    notes: Sequence[str] = ()
    """What a reader of the conversation should know that is in no reply; known when it is closed."""
    environment: EnvironmentLog
    """Takes the steps that the connector saw itself, such as reads of files that it served to the agent. The session
    sets it before `open` for Viva's own connectors; those of plugins have a log that nobody reads."""

    async def open(self, seconds: float) -> None:
        """Construct the agent in its process within `seconds`. Nothing is left behind if this raises an exception.

        Raises:
            SetupError: the user must change something.
            AgentTimeout: the time is up.
            AgentError: the construction failed.
        """
        raise NotImplementedError

    def facts(self) -> Mapping[str, str]:
        """Return what its connector has found out about the agent since it was opened, by name, for `viva doctor`."""
        return {}

    def so_far(self) -> str:
        """Return what is known of a reply that is not complete, in words that continue a sentence; empty if nothing."""
        return ""


def maker_of(factory: Any) -> Any:
    """Return what makes the agents for a class, a function or a framework's object; see `rules.maker_of`.

    Raises:
        SetupError: the framework's object cannot be examined as it is.
    """
    return _keep(rules.maker_of, factory)


def check_factory(factory: Any) -> None:
    """Check that a class has the methods of an agent; the result of a function is checked when it is called.

    Raises:
        SetupError: the class lacks a method.
    """
    _keep(rules.check_factory, factory, VirtualUser)


def check_agent(agent: Any) -> None:
    """Check that an object has the methods of an agent.

    Raises:
        SetupError: the object lacks a method.
    """
    _keep(rules.check_agent, agent, VirtualUser)


def arguments_for(factory: AgentFactory, arguments: AgentArguments) -> dict[str, Any]:
    """Return the arguments for a factory: those of the adapter's arguments that it accepts, by keyword.

    Raises:
        SetupError: the factory requires other arguments, or the workspace that it accepts cannot be made.
    """
    offered = {name: getattr(arguments, name) for name in rules.OFFERED}
    given = _keep(rules.arguments, factory, offered, arguments.settings)
    if given.get("workspace") is not None:
        make_folder(given["workspace"])
    return given


def adopted(made: Any, arguments: AgentArguments) -> Any:
    """Return the agent for what a factory made: the wrapper of a framework's object, or the object itself.

    Raises:
        SetupError: the framework's object cannot be examined as it is.
    """
    if frameworks.wrapper_name(made) is None:
        return made
    return _keep(frameworks.adopted, made, {name: getattr(arguments, name) for name in rules.OFFERED})


def is_built_in(agent: ConnectedAgent) -> bool:
    """Return whether an agent's class is one of Viva's own connectors, and no subclass of one."""
    kind = type(agent)
    module = sys.modules.get(kind.__module__) if not is_foreign(kind) else None
    return getattr(module, kind.__name__, None) is kind


def workspace_of(agent: Any, ours: Path | None) -> Path | None:
    """Return the adapter's own folder, or else set Viva's. The folder may not exist yet.

    Raises:
        SetupError: Viva's folder cannot be made.
    """
    folder = rules.own_folder(agent)
    if folder is None:
        if ours is not None:
            rules.offer_folder(agent, ours, _tell)
        return ours
    own = os.fsdecode(folder)
    return ours if ours is not None and own == os.fspath(ours) else Path(own)


def _tell(agent: Any, workspace: Path) -> None:
    if not offer_workspace(agent, workspace):
        agent.workspace = make_folder(workspace)


def _keep(rule: Callable[..., T], *arguments: Any) -> T:
    try:
        return rule(*arguments)
    except rules.Setup as wrong:
        raise SetupError(mistakes.in_words(wrong.facts)) from None


def as_reply(answer: object, keys: Keys) -> Reply:
    """Convert what an adapter returned to a Reply whose fields have their types, as if it was read from a journal.

    `keys` are removed from its texts, because an endpoint may echo what it is sent, and replies are stored.

    A live run is therefore judged by the same text as a stored one, and no unexpected value breaks its readers. All
    steps become the agent's own, whatever they say: those of the environment are in the run's `EnvironmentLog`.

    Raises:
        AgentError: the value is neither text nor a Reply.
    """
    if isinstance(answer, str):
        return Reply(keys.hide(_text(answer)))
    if isinstance(answer, ObservedReply):
        answer = completed(answer)
    if not isinstance(answer, Reply):
        raise AgentError(f"get_reply_from_agent returned {type(answer).__name__}, not text or a Reply")
    if not isinstance(answer.text, str):
        raise AgentError(f"get_reply_from_agent returned a Reply whose text is {type(answer.text).__name__}, not text")
    if not isinstance(answer.usage, Usage):
        raise AgentError(f"get_reply_from_agent returned a Reply whose usage is {type(answer.usage).__name__}")
    reply = Reply(
        keys.hide(_text(answer.text)),
        _all(Step, answer.steps, "steps"),
        answer.usage,
        _all(str, answer.images, "images"),
    )
    if not reply.steps and not reply.images and reply.usage is NO_USAGE:
        return reply
    try:
        kept = decode(Reply, keys.hide(to_plain(reply)))
    except ValueError as error:
        raise AgentError(f"get_reply_from_agent returned a Reply that cannot be stored: {error}") from error
    return changed(kept, steps=tuple(map(_as_its_own, kept.steps)))


def _as_its_own(step: Step) -> Step:
    """Return a step as one that the agent reports, under an id that no environment step has."""
    if step.recorded_by == AGENT and not step.id.startswith(ENVIRONMENT_ID):
        return step
    return changed(step, recorded_by=AGENT, id=f"agent:{step.id}" if step.id.startswith(ENVIRONMENT_ID) else step.id)


def _text(text: str) -> str:
    # A subclass of str may override methods with ones that fail.
    return storable(str.__str__(text))


def _all(kind: type[T], items: Any, what: str) -> tuple[T, ...]:
    if not isinstance(items, list | tuple) or not all(isinstance(item, kind) for item in items):
        raise AgentError(f"get_reply_from_agent returned a Reply whose {what} are not a list of {kind.__name__}")
    return items if isinstance(items, tuple) else tuple(items)
