"""The rules for an agent's class and its object, and what both are given: the same in Viva's process and in its own.

Pure standard library, Python 3.8 or newer. Viva's side puts what is wrong into words (`adapters/contract_messages.py`).
"""

from __future__ import annotations

import contextlib
import inspect
import os
import types
from collections.abc import Callable
from functools import lru_cache
from typing import Any

OFFERED = ("task_description", "app_dir", "config_var", "workspace")
"""What an adapter may have when it is constructed, by name."""


class Setup(Exception):
    """The user must change something; `facts` say what: JSON, so that they travel between processes."""

    def __init__(self, **facts: Any) -> None:
        super().__init__()
        self.facts = facts


def factory_of(module: Any, name: str, base: Any) -> Any:
    """Find what the module holds as `name`: a class of agents, or anything else that makes one.

    Raises:
        Setup: `missing` (with the classes that are there), `no_class` or `no_method`.
    """
    factory = getattr(module, name, None) if name else None
    if factory is None:
        raise Setup(missing=name, classes=_classes(module))
    if not callable(factory):
        raise Setup(no_class=name)
    check_factory(factory, base)
    return factory


def check_factory(factory: Any, base: Any) -> None:
    """See that a class has the one method that it needs, of its own. What a function makes is seen once it is made.

    Raises:
        Setup: `no_method`.
    """
    if isinstance(factory, type) or not callable(factory):
        check_agent(factory, base)


def check_agent(agent: Any, base: Any) -> None:
    """See that an object has the method; that of `base`, the `VirtualUser` of this process, does not count.

    Raises:
        Setup: `no_method`.
    """
    method = getattr(agent, "get_reply_from_agent", None)
    if not callable(method) or getattr(method, "__func__", method) is base.get_reply_from_agent:
        raise Setup(no_method=agent.__name__ if isinstance(agent, type) else type(agent).__name__)


def version(module: Any, factory: Any) -> str | None:
    """Find the agent's own word for its version."""
    found = getattr(factory, "version", None) or getattr(module, "__version__", None)
    return found if isinstance(found, str) else None


def arguments(factory: Any, offered: dict[str, Any]) -> dict[str, Any]:
    """Choose what a factory is called with: of all that is offered, what it names. `workspace` it has to name itself.

    Raises:
        Setup: `wants`, with `of` and `offered`: it wants something else as well.
    """
    try:
        parameters = _parameters(factory)
    except (TypeError, ValueError):
        return {"task_description": offered["task_description"]}
    named = {item.name for item in parameters if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)}
    if any(item.kind is item.VAR_KEYWORD for item in parameters):
        named |= offered.keys() - {"workspace"}
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    wanted = [item.name for item in parameters if item.default is item.empty and item.kind not in variable]
    unknown = [name for name in wanted if name not in offered or name not in named]
    if unknown:
        raise Setup(wants=unknown, of=str(getattr(factory, "__name__", repr(factory))), offered=list(offered))
    return {name: value for name, value in offered.items() if name in named}


def takes_verbose(method: Callable[..., Any]) -> bool:
    """Tell whether `get_reply_from_agent` has a `verbose` parameter, as TaskWeaver's has."""
    try:
        return any(item.name == "verbose" for item in _parameters(getattr(method, "__func__", method)))
    except (TypeError, ValueError):
        return False


def workspace(agent: Any, ours: Any, tell: Callable[[Any, Any], Any]) -> str | None:
    """The agent's own folder, or else ours, which `tell` then tells it."""
    folder = getattr(agent, "workspace", None)
    if folder is None and ours is not None:
        folder = ours
        with contextlib.suppress(AttributeError):  # an object with fixed attributes has no use for it
            tell(agent, ours)
    return None if folder is None else os.fsdecode(folder)


def _classes(module: Any) -> list[str]:
    return [
        key
        for key, value in vars(module).items()
        if isinstance(value, type) and hasattr(value, "get_reply_from_agent") and key != "VirtualUser"
    ]


def _parameters(function: Any) -> tuple[inspect.Parameter, ...]:
    if isinstance(function, (type, types.FunctionType)):
        return _kept_parameters(function)
    return tuple(inspect.signature(function).parameters.values())


@lru_cache(maxsize=256)
def _kept_parameters(function: Any) -> tuple[inspect.Parameter, ...]:
    """Cache them: looking at a signature takes as long as two rounds, and every run asks for the same two."""
    return tuple(inspect.signature(function).parameters.values())
