"""What an adapter must look like, and what it is given: one method to speak to it, and arguments by name."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from adapters.errors import AgentError, SetupError
from adapters.virtual_user import VirtualUser, offer_workspace
from adapters.workspace import make_folder
from records.codec import decode, to_plain
from records.text import storable
from records.transcript import NO_USAGE, Reply, Step, Usage

T = TypeVar("T")

NO_METHOD = "{} has no get_reply_from_agent(message) method, so it cannot be examined. See docs/write-an-adapter.md."
WANTS = "{} wants {} when it is constructed; an adapter is given {}, by name. See docs/write-an-adapter.md."

AgentFactory = Callable[..., Any]
"""What a SPEC loads to: a VirtualUser class, or anything that makes an object with its methods."""


@dataclass(frozen=True, slots=True)
class AgentArguments:
    """What an adapter is constructed with."""

    task_description: str
    app_dir: str | None = None
    config_var: Mapping[str, Any] | None = None
    workspace: Path | None = None
    verbose: bool = False


class DoorAgent:
    """An agent elsewhere, whose door has to be opened before it can be spoken to. What a SPEC loads to may be one."""

    async def open(self, seconds: float) -> None:
        """Construct the agent behind the door, within `seconds`; leaves nothing behind when it raises.

        Raises:
            SetupError: the user must change something.
            AgentTimeout: the time was up.
            AgentError: the construction failed.
        """
        raise NotImplementedError


def check_factory(factory: Any) -> None:
    """See that a class has the one method that it needs, of its own. What a function makes is seen once it is made.

    Raises:
        SetupError: it has not.
    """
    if isinstance(factory, type) or not callable(factory):
        check_agent(factory)


def check_agent(agent: Any) -> None:
    """The same for an object.

    Raises:
        SetupError: it cannot be spoken to.
    """
    method = getattr(agent, "get_reply_from_agent", None)
    if not callable(method) or getattr(method, "__func__", method) is VirtualUser.get_reply_from_agent:
        name = agent.__name__ if isinstance(agent, type) else type(agent).__name__
        raise SetupError(NO_METHOD.format(name))


def arguments_for(factory: AgentFactory, arguments: AgentArguments) -> dict[str, Any]:
    """What a factory is called with: of all that an adapter may have, what it names.

    Raises:
        SetupError: it wants something else as well, or the workspace that it wants cannot be made.
    """
    offered: dict[str, Any] = {
        "task_description": arguments.task_description,
        "app_dir": arguments.app_dir,
        "config_var": arguments.config_var,
        "workspace": arguments.workspace,
    }
    try:
        parameters = _parameters(factory)
    except (TypeError, ValueError):
        return {"task_description": arguments.task_description}
    named = {item.name for item in parameters if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)}
    if any(item.kind is item.VAR_KEYWORD for item in parameters):
        named |= offered.keys() - {"workspace"}
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    wanted = [item.name for item in parameters if item.default is item.empty and item.kind not in variable]
    if unknown := [name for name in wanted if name not in offered or name not in named]:
        name = getattr(factory, "__name__", factory)
        raise SetupError(WANTS.format(name, ", ".join(unknown), ", ".join(offered)))
    if "workspace" in named and arguments.workspace is not None:
        make_folder(arguments.workspace)
    return {name: value for name, value in offered.items() if name in named}


def workspace_of(agent: Any, ours: Path | None) -> Path | None:
    """The adapter's own folder, or else ours, which it is then told; it may not have been made yet.

    Raises:
        SetupError: ours cannot be made.
    """
    folder = getattr(agent, "workspace", None)
    if folder is not None:
        return Path(folder)
    if ours is not None:
        with contextlib.suppress(AttributeError):  # an object with fixed attributes has no use for it
            if not offer_workspace(agent, ours):
                agent.workspace = make_folder(ours)
    return ours


def takes_verbose(method: Callable[..., Any]) -> bool:
    try:
        function = getattr(method, "__func__", method)
        return any(parameter.name == "verbose" for parameter in _parameters(function))
    except (TypeError, ValueError):
        return False


@lru_cache(maxsize=256)
def _parameters(function: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """Kept, because looking at a signature takes as long as two rounds and every run asks for the same two."""
    return tuple(inspect.signature(function).parameters.values())


def as_reply(answer: object) -> Reply:
    """What an adapter returned, as a Reply whose fields are what their types say: as a journal would give it back.

    So a live run is judged on the same words as a stored one, and no odd value breaks who reads it.

    Raises:
        AgentError: it is neither text nor a Reply.
    """
    if isinstance(answer, str):
        return Reply(_text(answer))
    if not isinstance(answer, Reply):
        raise AgentError(f"get_reply_from_agent returned {type(answer).__name__}, not text or a Reply")
    if not isinstance(answer.text, str):
        raise AgentError(f"get_reply_from_agent returned a Reply whose text is {type(answer.text).__name__}, not text")
    if not isinstance(answer.usage, Usage):
        raise AgentError(f"get_reply_from_agent returned a Reply whose usage is {type(answer.usage).__name__}")
    reply = Reply(
        _text(answer.text), _all(Step, answer.steps, "steps"), answer.usage, _all(str, answer.images, "images")
    )
    if not reply.steps and not reply.images and reply.usage is NO_USAGE:
        return reply
    try:
        return decode(Reply, to_plain(reply))
    except ValueError as error:
        raise AgentError(f"get_reply_from_agent returned a Reply that cannot be stored: {error}") from error


def _text(text: str) -> str:
    # A subclass of str may have methods of its own that fail.
    return storable(str.__str__(text))


def _all(kind: type[T], items: Any, what: str) -> tuple[T, ...]:
    if not isinstance(items, list | tuple) or not all(isinstance(item, kind) for item in items):
        raise AgentError(f"get_reply_from_agent returned a Reply whose {what} are not a list of {kind.__name__}")
    return items if isinstance(items, tuple) else tuple(items)
