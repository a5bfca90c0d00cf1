"""The table of connectors, and `load_agent`, which selects the connector of an agent SPEC."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from viva.adapters.connectors.idle_options import idle_options
from viva.adapters.connectors.loaded_agent import Connector, LoadedAgent
from viva.adapters.connectors.settings import read_settings, with_settings
from viva.adapters.connectors.spec import CHILD, OWN_CONNECTOR, is_agent_file
from viva.adapters.connectors.varied_spec import split_settings
from viva.adapters.part_errors import describe_part
from viva.errors import SetupError
from viva.plugins.import_strings import PluginError, import_string, is_path
from viva.plugins.kinds import BUILT_IN, FoundPart, Kind, is_announced, load, names

if TYPE_CHECKING:
    from viva.adapters.connectors.agent_file import UncheckedFile

CONNECTORS = Kind(
    "connector",
    "viva.connectors",
    {
        "http": "viva.adapters.connectors.http.connector:HttpConnector",
        "https": "viva.adapters.connectors.http.connector:HttpConnector",
        "a2a": "viva.adapters.connectors.a2a.connector:A2aConnector",
        "acp": "viva.adapters.connectors.acp.connector:AcpConnector",
        "cmd": "viva.adapters.connectors.command.connector:CommandConnector",
        "cmd+plain": "viva.adapters.connectors.command.connector:CommandConnector",
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


def load_agent(
    spec: str, *, isolate: bool = False, memory_mb: int | None = None, permissions: str | None = None
) -> LoadedAgent:
    """Load the agent that `spec` names.

    Args:
        spec: See `FORMS`; or `NAME:REST` for the connector `NAME` of an installed distribution, or
            `path/to/file.py:Connector:REST` for one by import string; or `path/to/file.yaml`, an agent file that names
            its connector. Settings can follow in brackets: `file.py:Class[temperature=0.7]`.
        isolate: Whether a class that would run in Viva's process runs in its own process, with Viva's interpreter.
        memory_mb: Maximum address space of each process of an agent that runs in its own process, in MiB.
        permissions: What an agent is answered that asks for permissions, instead of what its file says.

    Raises:
        SetupError: there is no such module, file, class, connector or interpreter, or it has no
            `get_reply_from_agent`.
    """
    varied = split_settings(spec)
    values = read_settings(varied)
    agent = _load(varied.base, values, isolate=isolate, memory_mb=memory_mb)
    if varied.settings:
        agent = with_settings(agent, spec, varied, values)
    notices = tuple(idle_options(agent, isolate=isolate, memory_mb=memory_mb, permissions=permissions))
    agent = replace(agent, notices=(*agent.notices, *notices)) if notices else agent
    return agent if permissions is None or agent.permit is None else agent.permit(agent, permissions)


def _load(spec: str, settings: dict[str, Any], *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
    """Load an agent, and take from `settings` those that are keys of its agent file."""
    name = _named_connector(spec)
    if name is None and is_agent_file(spec):
        return _load_file(spec, settings, isolate=isolate, memory_mb=memory_mb)
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
    part = _plugin(name)
    if not callable(getattr(part, "load", None)):
        raise SetupError(f"{name} is not a connector: it has no load(spec, isolate, memory_mb) method.")
    agent = _loaded(name, spec, part, lambda made: made.load(spec, isolate=isolate, memory_mb=memory_mb))
    # Records identify the run by the SPEC that the user gave.
    return replace(agent, spec=spec, kind=name)


def _load_file(spec: str, settings: dict[str, Any], *, isolate: bool, memory_mb: int | None) -> LoadedAgent:
    from viva.adapters.connectors.agent_file import read_agent_file  # loads pydantic, which takes 0.1 seconds

    found = read_agent_file(spec)
    name, part = file_connector(found)
    file = found.with_keys(part.keys, settings).checked(part.keys)
    agent = _loaded(name, spec, part, lambda made: made.load_file(file, isolate=isolate, memory_mb=memory_mb))
    version = file.keys.version or agent.version
    return replace(agent, spec=spec, kind=name, name=file.label, version=version, digest=found.digest)


def file_connector(found: UncheckedFile) -> tuple[str, Any]:
    """Return the name and the part of the connector that an agent file names, which takes keys."""
    name = found.connector
    taken = []
    for each, target in CONNECTORS.builtin.items():
        part = import_string(target)
        if hasattr(part, "keys"):
            taken.append(each)
            if each == name:
                return name, part
    if name in CONNECTORS.builtin or name in BY_FORM:
        raise found.mistake(
            f"the connector {name} takes no agent file; write its SPEC to --agent. Those that take one are "
            f"{', '.join(taken)}.",
            "connector",
        )
    # A connector's own file is named from the agent file, whatever the current folder is.
    own = os.path.join(found.folder, name) if ".py:" in name else name
    try:
        part = _plugin(own)
    except SetupError as error:
        raise found.mistake(str(error), "connector") from error
    if not (hasattr(part, "keys") and callable(getattr(part, "load_file", None))):
        raise found.mistake(f"the connector {name} takes no agent file: it has no keys and load_file.", "connector")
    return name, part


def _plugin(name: str) -> Any:
    try:
        return load(CONNECTORS, name)
    except PluginError as error:
        raise SetupError(str(error)) from error


def _loaded(name: str, spec: str, part: Any, load: Callable[[Any], object]) -> LoadedAgent:
    """Return the agent that a connector loads, and blame the connector for whatever else it does."""
    try:
        agent = load(part() if isinstance(part, type) else part)
    except SetupError:
        raise
    except Exception as error:
        raise SetupError(f"the connector {name} failed to load {spec!r}: {describe_part(error, part)}.") from error
    if not isinstance(agent, LoadedAgent):
        raise SetupError(f"the connector {name} returned {type(agent).__name__}, not a LoadedAgent.")
    return agent
