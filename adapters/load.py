"""Turns an agent SPEC into what makes agents: a class from a module or a file, or the door to a chat endpoint."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

from adapters.calls import describe
from adapters.errors import SetupError
from adapters.fit import AgentFactory, check_factory

FORMS = "package.module:Class, path/to/file.py:Class, or http(s)://host/v1#model"


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent that can be examined."""

    spec: str
    """As the user gave it."""
    name: str
    """Short, for reports."""
    factory: AgentFactory
    version: str | None = None


def load_agent(spec: str) -> Agent:
    """Load the agent that `spec` names.

    Raises:
        SetupError: there is no such module, file or class, or it has no `get_reply_from_agent`.
    """
    if spec.startswith(("http://", "https://")):
        return _chat_agent(spec)
    place, colon, name = spec.rpartition(":")
    if not colon and spec.endswith(".py"):
        place, name = spec, ""
    if not place:
        raise SetupError(f"{spec!r} is not an agent SPEC; it takes {FORMS}.")
    module = _from_file(Path(place)) if place.endswith(".py") else _from_module(place)
    factory = getattr(module, name, None) if name else None
    if factory is None:
        raise SetupError(_missing(spec, place, name, module))
    if not callable(factory):
        raise SetupError(f"{name} in {place} is not a class, so it cannot make an agent.")
    check_factory(factory)
    version = getattr(factory, "version", None) or getattr(module, "__version__", None)
    return Agent(spec, name, factory, str(version) if isinstance(version, str) else None)


def _from_file(path: Path) -> ModuleType:
    if not path.is_file():
        near = _nearest_file(path)
        raise SetupError(f"there is no agent file {path}." + (f" Did you mean {near}?" if near else ""))
    # Appended, never put in front: a user's folder named `records` must not replace one of Viva's.
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)
    name = f"viva_agent_{abs(hash(str(path.resolve())))}"
    if name in sys.modules:
        return sys.modules[name]
    description = importlib.util.spec_from_file_location(name, path)
    if description is None or description.loader is None:
        raise SetupError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(description)
    sys.modules[name] = module
    try:
        description.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[name]
        raise _broken(path, error) from error
    return module


def _from_module(name: str) -> ModuleType:
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.append(here)
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(f"{error.name}.")):
            raise SetupError(
                f"there is no module {name!r} here or in Viva's environment ({sys.prefix}). "
                f"Agents that live elsewhere are reached by file (path/to/file.py:Class) or over HTTP."
            ) from error
        raise _broken(name, error) from error
    except BaseException as error:
        raise _broken(name, error) from error


def _broken(place: object, error: BaseException) -> SetupError:
    if isinstance(error, KeyboardInterrupt):
        raise error
    hint = " Install it into Viva's environment." if isinstance(error, ModuleNotFoundError) else ""
    line = ""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(place):
            line = f":{trace.tb_lineno}"
        trace = trace.tb_next
    return SetupError(f"{place}{line} cannot be imported: {describe(error)}.{hint}")


def _missing(spec: str, place: str, name: str, module: ModuleType) -> str:
    classes = [
        key
        for key, value in vars(module).items()
        if isinstance(value, type) and hasattr(value, "get_reply_from_agent") and key != "VirtualUser"
    ]
    if not name:
        first = classes[0] if classes else "Class"
        return f"{spec!r} does not say which class; write {place}:{first}."
    near = difflib.get_close_matches(name, classes, 1, 0.4) or classes[:1]
    hint = f" Did you mean {place}:{near[0]}?" if near else " It has no class with get_reply_from_agent."
    return f"{place} has no {name!r}.{hint}"


def _nearest_file(path: Path) -> Path | None:
    if not path.parent.is_dir():
        return None
    near = difflib.get_close_matches(path.name, [file.name for file in path.parent.glob("*.py")], 1, 0.5)
    return path.parent / near[0] if near else None


def _chat_agent(spec: str) -> Agent:
    url, _, model = spec.partition("#")
    if not model:
        raise SetupError(f"{spec!r} does not name a model; write {url}#MODEL.")
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise SetupError(f"{spec!r} is not an address: {error}.") from error
    if not host:
        raise SetupError(f"{spec!r} names no host; write http://HOST/v1#MODEL.")
    if "@" in parts.netloc:
        # The SPEC is printed and recorded.
        raise SetupError("an agent's address must not hold a password or key; set VIVA_AGENT_API_KEY instead.")
    from adapters.chat import ChatAgent

    return Agent(spec, model, type("ChatAgent", (ChatAgent,), {"url": url, "model": model}))
