"""The agent's class and its object, as the worker uses them; the rules are those of `adapters/fit.py`."""

from __future__ import annotations

import base64
import contextlib
import importlib
import importlib.util
import inspect
import os
import sys
import types
from typing import Any

from .stand_ins import VirtualUser

OFFERED = ("task_description", "app_dir", "config_var", "workspace")


class Setup(Exception):
    """The user must change something; `facts` say what, and Viva puts it into words."""

    def __init__(self, **facts: Any) -> None:
        super().__init__()
        self.facts = facts


def load(place: str, name: str) -> Any:
    """The module at `place`: a path that ends in .py, or a module's name. And the factory it holds as `name`.

    Raises:
        Setup: `missing` (with the classes that are there), `broken` (with what importing raised) or `no_method`.
    """
    try:
        module = _from_file(place) if place.endswith(".py") else _from_module(place)
    except BaseException as error:
        if isinstance(error, Setup):
            raise
        raise Setup(broken=_type(error), text=text(error), line=_line(error, place)) from error
    factory = getattr(module, name, None) if name else None
    if factory is None:
        raise Setup(missing=name, classes=_classes(module))
    if not callable(factory):
        raise Setup(no_class=name)
    if isinstance(factory, type):
        check(factory)
    return module, factory


def check(agent: Any) -> None:
    method = getattr(agent, "get_reply_from_agent", None)
    if not callable(method) or getattr(method, "__func__", method) is VirtualUser.get_reply_from_agent:
        raise Setup(no_method=agent.__name__ if isinstance(agent, type) else type(agent).__name__)


def version(module: Any, factory: Any) -> str | None:
    found = getattr(factory, "version", None) or getattr(module, "__version__", None)
    return found if isinstance(found, str) else None


def arguments(factory: Any, request: dict[str, Any]) -> dict[str, Any]:
    """What the factory is constructed with: what it names, of what there is."""
    import pathlib

    offered = {name: request.get(name) for name in OFFERED}
    if request.get("config_var") is not None:
        import pickle

        # From Viva, whom this process trusts; JSON would turn YAML's dates into text.
        offered["config_var"] = pickle.loads(base64.b64decode(request["config_var"]))  # noqa: S301
    if offered["workspace"] is not None:
        offered["workspace"] = pathlib.Path(offered["workspace"])
    try:
        parameters = list(inspect.signature(factory).parameters.values())
    except (TypeError, ValueError):
        return {"task_description": offered["task_description"]}
    named = {item.name for item in parameters if item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)}
    if any(item.kind is item.VAR_KEYWORD for item in parameters):
        named |= set(OFFERED) - {"workspace"}
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    wanted = [item.name for item in parameters if item.default is item.empty and item.kind not in variable]
    unknown = [name for name in wanted if name not in offered or name not in named]
    if unknown:
        raise Setup(wants=unknown, of=getattr(factory, "__name__", repr(factory)), offered=OFFERED)
    return {name: value for name, value in offered.items() if name in named}


def workspace(agent: Any, ours: Any) -> str | None:
    """The agent's own folder, or else ours, which it is then told."""
    folder = getattr(agent, "workspace", None)
    if folder is not None:
        return str(os.fspath(folder))
    if ours is not None:
        with contextlib.suppress(AttributeError):  # an object with fixed attributes has no use for it
            agent.workspace = ours
    return None if ours is None else str(ours)


def takes_verbose(method: Any) -> bool:
    try:
        return "verbose" in inspect.signature(method).parameters
    except (TypeError, ValueError):
        return False


def text(error: BaseException) -> str | None:
    """An exception's text; None when its own __str__ fails."""
    try:
        return str(error)[:100000]
    except Exception:
        return None


def _from_file(place: str) -> Any:
    folder, stem = os.path.dirname(place), os.path.basename(place)[:-3]
    if folder in sys.path:
        sys.path.remove(folder)
    sys.path.insert(0, folder)  # as `python file.py` does
    # A package made of the folder, so that `from .neighbour import …` works; its __init__.py is not run.
    package = types.ModuleType("viva_agent")
    package.__path__ = [folder]
    sys.modules["viva_agent"] = package
    spec = importlib.util.spec_from_file_location("viva_agent." + stem, place)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _from_module(name: str) -> Any:
    sys.path.insert(0, os.getcwd())  # as `python -m name` does
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise Setup(no_module=name, prefix=sys.prefix) from error
        raise


def _classes(module: Any) -> list[str]:
    return [
        key
        for key, value in vars(module).items()
        if isinstance(value, type) and hasattr(value, "get_reply_from_agent") and key != "VirtualUser"
    ]


def _type(error: BaseException) -> str:
    return type(error).__name__


def _line(error: BaseException, place: str) -> int | None:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == place:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
