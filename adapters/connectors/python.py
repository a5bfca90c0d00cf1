"""Turns an agent SPEC into what makes agents: a class from a module or a file, or the door to a chat endpoint."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType
from urllib.parse import urlsplit

from adapters import contract_messages as mistakes
from adapters.calls import describe
from adapters.contract import AgentFactory
from adapters.errors import SetupError
from adapters.inside import rules
from adapters.inside.raised import Home, home_of
from adapters.virtual_user import VirtualUser

FORMS = (
    "package.module:Class, path/to/file.py:Class, either with @/path/to/venv behind it, http(s)://host/v1#model, "
    "or example:NAME"
)
"""What an agent SPEC may be; agents called `example:` come with Viva (`harness/exam/resources.py`)."""
RESERVED = {"cmd": "a command", "replay": "a journal"}
"""Doors that the design names and that are not there yet; not modules, although Python has one called `cmd`."""
_IN_CHILD = re.compile(r":[^\W\d]\w*@.")


@dataclass(frozen=True, slots=True)
class LoadedAgent:
    """An agent that can be examined."""

    spec: str
    """As the user gave it."""
    name: str
    """Short, for reports."""
    factory: AgentFactory
    version: str | None = None
    search_path: tuple[str, ...] | None = None
    """Where its own environment has its packages; None for an agent in Viva's environment, or behind an address."""
    home: Home | None = None
    """Where the code lies of an agent in Viva's own process."""


def load_agent(spec: str, *, isolate: bool = False, memory_mb: int | None = None) -> LoadedAgent:
    """Load the agent that `spec` names.

    Args:
        spec: See `FORMS`.
        isolate: A class that would run in Viva's own process runs in a process of its own, with Viva's interpreter.
        memory_mb: Address space of each of the agent's processes at most, in MiB; only for one in its own process.

    Raises:
        SetupError: there is no such module, file, class or interpreter, or it has no `get_reply_from_agent`.
    """
    if spec.startswith(("http://", "https://")):
        return _chat_agent(spec)
    door = spec.partition(":")[0]
    if door in RESERVED:
        raise SetupError(
            f"{spec!r}: agents behind {RESERVED[door]} are not there yet; it takes {FORMS}. "
            f"A module of your own called {door} is reached by file: {door}.py:Class."
        )
    if isolate or _IN_CHILD.search(spec):
        return _child_agent(spec, memory_mb)
    place, name = _parts(spec)
    module = _from_file(Path(place)) if place.endswith(".py") else _from_module(place)
    try:
        factory = rules.factory_of(module, name, VirtualUser)
    except rules.Setup as wrong:
        raise SetupError(mistakes.in_words(wrong.facts, place, name)) from None
    return LoadedAgent(spec, name, factory, rules.version(module, factory), home=home_of(place, module))


def _child_agent(spec: str, memory_mb: int | None) -> LoadedAgent:
    if sys.platform == "win32":
        raise SetupError("an agent in a process of its own needs Linux or macOS.")
    from adapters.connectors.child.agent import child_class, look
    from adapters.connectors.child.location import Place, split

    where = split(spec)
    if where is None:
        place, name = _parts(spec)
        where = Place(place, name, sys.executable)
    where = replace(where, memory_mb=memory_mb)
    if where.place.endswith(".py"):
        _see_file(Path(where.place))
    found = look(where)
    return LoadedAgent(spec, where.name, child_class(where), found.get("version"), tuple(found.get("path", ())))


def _parts(spec: str) -> tuple[str, str]:
    place, colon, name = spec.rpartition(":")
    if not colon and spec.endswith(".py"):
        place, name = spec, ""
    if not place:
        raise SetupError(f"{spec!r} is not an agent SPEC; it takes {FORMS}.")
    return place, name


def _see_file(path: Path) -> None:
    if not path.is_file():
        near = _nearest_file(path)
        raise SetupError(f"there is no agent file {path}." + (f" Did you mean {near}?" if near else ""))


def _from_file(path: Path) -> ModuleType:
    _see_file(path)
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
    where = str(place)
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if file not in (__file__, importlib.__file__) and not file.startswith("<frozen"):
            where = f"{place}:{trace.tb_lineno}" if isinstance(place, Path) else f"{place} ({file}:{trace.tb_lineno})"
            break
        trace = trace.tb_next
    return SetupError(f"{where} cannot be imported: {describe(error)}.{hint}")


def _nearest_file(path: Path) -> Path | None:
    if not path.parent.is_dir():
        return None
    near = difflib.get_close_matches(path.name, [file.name for file in path.parent.glob("*.py")], 1, 0.5)
    return path.parent / near[0] if near else None


def _chat_agent(spec: str) -> LoadedAgent:
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
    from adapters.connectors.http import ChatAgent

    return LoadedAgent(spec, model, type("ChatAgent", (ChatAgent,), {"url": url, "model": model}))
