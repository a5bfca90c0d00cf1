"""The table of connectors, and `load_agent`, which selects the connector of an agent SPEC."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from viva.adapters.connectors.loaded_agent import Connector, LoadedAgent
from viva.adapters.connectors.spec import CHILD, FORMS, OWN_CONNECTOR
from viva.adapters.part_errors import describe_part
from viva.errors import SetupError
from viva.plugins.import_strings import PluginError, import_string, is_path
from viva.plugins.kinds import BUILT_IN, FoundPart, Kind, is_announced, load, names

CONNECTORS = Kind(
    "connector",
    "viva.connectors",
    {
        "http": "viva.adapters.connectors.http:HttpConnector",
        "https": "viva.adapters.connectors.http:HttpConnector",
        "replay": "viva.adapters.connectors.replay:ReplayConnector",
        "example": "viva.adapters.connectors.example:ExampleConnector",
        "taskweaver": "viva.adapters.connectors.taskweaver:TaskWeaverConnector",
    },
)
"""The connectors that the text before the first colon of a SPEC selects."""
BY_FORM = {
    "python": "viva.adapters.connectors.python:PythonConnector",
    "child": "viva.adapters.connectors.child.connector:ChildConnector",
}
"""The connectors for SPECs that name a class. No name before a colon selects them, as it could be a module's name."""
RESERVED = {"cmd": "a command"}
"""Names of planned connectors; they do not refer to modules, although Python has one called `cmd`."""


def load_agent(spec: str, *, isolate: bool = False, memory_mb: int | None = None) -> LoadedAgent:
    """Load the agent that `spec` names.

    Args:
        spec: See `FORMS`; or `NAME:REST` for the connector `NAME` of an installed distribution, or
            `path/to/file.py:Connector:REST` for one by import string.
        isolate: Whether a class that would run in Viva's process runs in its own process, with Viva's interpreter.
        memory_mb: Maximum address space of each process of an agent that runs in its own process, in MiB.

    Raises:
        SetupError: there is no such module, file, class, connector or interpreter, or it has no
            `get_reply_from_agent`.
    """
    name = _named_connector(spec)
    if name is None:
        return _load_class(spec, isolate=isolate, memory_mb=memory_mb)
    if name in CONNECTORS.builtin:
        connector: Connector = import_string(CONNECTORS.builtin[name])()
        return connector.load(spec, isolate=isolate, memory_mb=memory_mb)
    return _load_with_plugin(name, spec, isolate=isolate, memory_mb=memory_mb)


def connectors() -> list[FoundPart]:
    """Return all connectors, without importing them."""
    return [*(FoundPart(name, BUILT_IN, target) for name, target in BY_FORM.items()), *names(CONNECTORS)]


def _named_connector(spec: str) -> str | None:
    """Return the connector that a SPEC names, for `plugins.load`; None if the SPEC names a class."""
    name, colon, _ = spec.partition(":")
    if name in CONNECTORS.builtin and colon:
        return name
    if name in RESERVED and colon:
        raise SetupError(
            f"{spec!r}: agents behind {RESERVED[name]} are not supported yet. Use {FORMS}. "
            f"To use your own module called {name}, name its file: {name}.py:Class."
        )
    if not colon:
        return None
    if name and not is_path(name) and is_announced(CONNECTORS, name):
        return name
    own = OWN_CONNECTOR.fullmatch(spec)
    return None if own is None else own["part"]


def _load_class(spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
    form = "child" if isolate or CHILD.fullmatch(spec) else "python"
    connector: Connector = import_string(BY_FORM[form])()
    return connector.load(spec, isolate=isolate, memory_mb=memory_mb)


def _load_with_plugin(name: str, spec: str, *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
    try:
        part: Any = load(CONNECTORS, name)
    except PluginError as error:
        raise SetupError(str(error)) from error
    if not callable(getattr(part, "load", None)):
        raise SetupError(f"{name} is not a connector: it has no load(spec, isolate, memory_mb) method.")
    try:
        connector = part() if isinstance(part, type) else part
        agent = connector.load(spec, isolate=isolate, memory_mb=memory_mb)
    except SetupError:
        raise
    except Exception as error:
        raise SetupError(f"the connector {name} failed to load {spec!r}: {describe_part(error, part)}.") from error
    if not isinstance(agent, LoadedAgent):
        raise SetupError(f"the connector {name} returned {type(agent).__name__}, not a LoadedAgent.")
    # Records identify the run by the SPEC that the user gave.
    return replace(agent, spec=spec, kind=name)
