"""The rules for an agent's class, its object and its arguments, which are the same in Viva's process and in its own.

It uses only the standard library of Python 3.8 or newer. `adapters/contract_messages.py` has the messages.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import types
from collections.abc import Callable, Collection
from functools import lru_cache
from typing import Any

from . import frameworks
from .made_later import is_made_later, made_later

OFFERED = ("task_description", "app_dir", "config_var", "workspace")
"""The keyword arguments that an adapter can have."""


class Setup(Exception):
    """The user must change something; `facts` say what. They are JSON, so that they can be sent between processes."""

    def __init__(self, **facts: Any) -> None:
        super().__init__()
        self.facts = facts


def factory_of(module: Any, name: str, base: Any) -> Any:
    """Return the module's attribute `name`: a class of agents, or another callable that makes one.

    Raises:
        Setup: `missing` (with the existing classes and functions), `no_class`, `no_method` or `needs`.
    """
    factory = getattr(module, name, None) if name else None
    if factory is None:
        raise Setup(missing=name, classes=_classes(module), functions=_functions(module))
    factory = maker_of(factory)
    if not callable(factory):
        raise Setup(no_class=name, kind=_kind(factory), known=frameworks.KNOWN)
    check_factory(factory, base)
    return factory


def maker_of(factory: Any) -> Any:
    """Return a class of agents for a framework's object, for a plain function that answers a message, and for an
    asynchronous function that makes an agent; anything else is returned unchanged.

    A function that makes an agent has no required parameters but those that Viva offers, and one that answers has
    exactly one other: the message.

    Raises:
        Setup: `needs`.
    """
    if (adapter := frameworks.adapter_of(factory, shared=True)) is not None:
        return adapter
    if isinstance(factory, type) or hasattr(factory, "get_reply_from_agent"):
        return factory
    try:
        parameters = _parameters(factory)
    except (TypeError, ValueError):
        return factory
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    wanted = [item for item in parameters if item.default is item.empty and item.kind not in variable]
    if len(wanted) != 1 or wanted[0].name in OFFERED or wanted[0].kind is inspect.Parameter.KEYWORD_ONLY:
        return made_later(factory) if is_made_later(factory) else factory
    return _answering(factory)


def _answering(function: Callable[..., Any]) -> Any:
    """Return a class of agents without state, whose answer to a message is the function's."""
    if inspect.iscoroutinefunction(function):

        async def method(self: Any, message: str) -> Any:
            return await function(message)
    else:

        def method(self: Any, message: str) -> Any:  # type: ignore[misc]
            return function(message)

    name = getattr(function, "__name__", None) or type(function).__name__
    kept = {key: getattr(function, key, None) for key in ("__doc__", "__module__", "version")}
    return type(name, (), {**kept, "get_reply_from_agent": method})


def check_factory(factory: Any, base: Any) -> None:
    """Check that a class defines the required method; the result of a function is checked when it is called.

    Raises:
        Setup: `no_method`.
    """
    if isinstance(factory, type) and frameworks.wrapper_name(factory) is not None:
        return
    if isinstance(factory, type) or not callable(factory):
        check_agent(factory, base)


def check_agent(agent: Any, base: Any) -> None:
    """Check that an object has the method; that of `base`, the `VirtualUser` of this process, does not count.

    Raises:
        Setup: `no_method`.
    """
    method = getattr(agent, "get_reply_from_agent", None)
    if not callable(method) or getattr(method, "__func__", method) is base.get_reply_from_agent:
        raise Setup(no_method=_kind(agent), known=frameworks.KNOWN)


def version(module: Any, factory: Any) -> str | None:
    """Return the version that the agent declares, if any."""
    found = getattr(factory, "version", None) or getattr(module, "__version__", None)
    return found if isinstance(found, str) else None


def arguments(factory: Any, offered: dict[str, Any], settings: Any = None) -> dict[str, Any]:
    """Return those of the offered arguments that a factory accepts; `workspace` must be an explicit parameter.

    Args:
        factory: The class or function.
        offered: The arguments by name.
        settings: Further arguments by name. Those that are no explicit parameters become keys of `config_var`.

    Raises:
        Setup: `wants`, with `of` and `offered`: the factory requires other arguments; or `unused`, with `of` and
            `takes`: it takes a setting in neither way; or `passed`, with `of`: Viva passes another value by this name.
    """
    try:
        if settings:
            offered = _with_settings(factory, offered, settings)
            named = _names(factory, offered)
        else:
            plain = isinstance(factory, (type, types.FunctionType))
            named = _named(factory, *offered) if plain else _names(factory, offered)
    except (TypeError, ValueError):
        if settings:
            raise Setup(unused=sorted(settings), of=_name(factory), takes=[]) from None
        return {"task_description": offered["task_description"]}
    return {name: value for name, value in offered.items() if name in named}


def accepted(factory: Any) -> tuple[str, ...]:
    """Return the names of the offered arguments that a class or a function accepts.

    Raises:
        Setup: `wants`, as in `arguments`.
        TypeError, ValueError: its parameters are not known.
    """
    named = _named(factory, *OFFERED)
    return tuple(name for name in OFFERED if name in named)


@lru_cache(maxsize=256)
def _named(factory: Any, *offered: str) -> set[str]:
    """Return the same as `_names`, once for each factory: every run asks."""
    return _names(factory, offered)


def _names(factory: Any, offered: Collection[str]) -> set[str]:
    parameters = _parameters(factory)
    named = _explicit(parameters)
    if any(item.kind is item.VAR_KEYWORD for item in parameters):
        named |= set(offered) - {"workspace"}
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    wanted = [item.name for item in parameters if item.default is item.empty and item.kind not in variable]
    unknown = [name for name in wanted if name not in offered or name not in named]
    if unknown:
        raise Setup(wants=unknown, of=_name(factory), offered=list(offered))
    return named


def _explicit(parameters: tuple[inspect.Parameter, ...]) -> set[str]:
    return {item.name for item in parameters if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)}


def _with_settings(factory: Any, offered: dict[str, Any], settings: Any) -> dict[str, Any]:
    """Return the offered arguments with settings: as arguments of their own, or in `config_var`."""
    if getattr(factory, "forwards_settings", False):
        return dict(offered, settings=settings)
    parameters = _parameters(factory)
    named = _explicit(parameters)
    takes_any = any(item.kind is item.VAR_KEYWORD for item in parameters)
    own = {name: value for name, value in settings.items() if name in named and name not in offered}
    rest = {name: value for name, value in settings.items() if name not in own}
    if passed := sorted(named & set(offered) & set(rest)):
        raise Setup(passed=passed, of=_name(factory))
    if rest and (not ("config_var" in named or takes_any) or getattr(factory, "ignores_config_var", False)):
        raise Setup(unused=sorted(rest), of=_name(factory), takes=sorted(named - set(offered)))
    offered = dict(offered, **own)
    if rest:
        offered["config_var"] = dict(offered["config_var"] or {}, **rest)
    return offered


def _name(factory: Any) -> str:
    return str(getattr(factory, "__name__", repr(factory)))


def takes_verbose(method: Callable[..., Any]) -> bool:
    """Return whether `get_reply_from_agent` has a `verbose` parameter, as in TaskWeaver."""
    try:
        return "verbose" in [item.name for item in _parameters(getattr(method, "__func__", method))]
    except (TypeError, ValueError):
        return False


def workspace(agent: Any, ours: Any, tell: Callable[[Any, Any], Any]) -> str | None:
    """Return the agent's own folder, or else Viva's, which `tell` then sets."""
    folder = own_folder(agent)
    if folder is None and ours is not None:
        folder = ours
        offer_folder(agent, ours, tell)
    return None if folder is None else os.fsdecode(folder)


def own_folder(agent: Any) -> Any:
    """Return the folder in which an agent says that it works; None if it names none."""
    folder = getattr(agent, "workspace", None)
    return frameworks.folder_of(agent) if folder is None else folder


def offer_folder(agent: Any, ours: Any, tell: Callable[[Any, Any], Any]) -> None:
    """Have `tell` set Viva's folder as an agent's workspace."""
    with contextlib.suppress(AttributeError):  # an object with fixed attributes cannot use it
        tell(agent, ours)


def _classes(module: Any) -> list[str]:
    """Return the names of the classes of agents in a module, and of objects of a framework."""
    return [
        key
        for key, value in list(vars(module).items())  # a module may import more when it is asked
        if (isinstance(value, type) and hasattr(value, "get_reply_from_agent") and key != "VirtualUser")
        or (not isinstance(value, type) and frameworks.wrapper_name(value) is not None)
    ]


def _functions(module: Any) -> list[str]:
    """Return the names of the public functions that a module defines itself, which may answer or make an agent."""
    name = getattr(module, "__name__", None)
    return [
        key
        for key, value in list(vars(module).items())
        if inspect.isfunction(value) and value.__module__ == name and not key.startswith("_")
    ]


def _kind(agent: Any) -> str:
    return agent.__name__ if isinstance(agent, type) else type(agent).__name__


def _parameters(function: Any) -> tuple[inspect.Parameter, ...]:
    if isinstance(function, (type, types.FunctionType)):
        return _kept_parameters(function)
    return tuple(inspect.signature(function).parameters.values())


@lru_cache(maxsize=256)
def _kept_parameters(function: Any) -> tuple[inspect.Parameter, ...]:
    """Return cached parameters: reading a signature takes as long as two rounds, and every run needs the same two."""
    return tuple(inspect.signature(function).parameters.values())
