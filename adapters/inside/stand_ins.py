"""Provides `from viva import VirtualUser` (and the same from `adapters`) to an agent in its own process.

The names and fields are the same as Viva's own, whether or not Viva is installed there.
"""

from __future__ import annotations

import enum
import os
import sys
import types
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any


class VirtualUser:
    """See docs/write-an-adapter.md."""

    workspace: Any = None

    def __init__(self, task_description: str, app_dir: str | None = None, config_var: Any = None) -> None:
        self.task_description = task_description
        self.app_dir = app_dir
        self.config_var = config_var

    def get_reply_from_agent(self, message: str) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not override get_reply_from_agent")

    def close(self) -> Any:
        return None


class StepKind(str, enum.Enum):  # noqa: UP042 (StrEnum came with 3.11)
    THINK = "think"
    MODEL = "model"
    TOOL = "tool"
    ACTION = "action"
    AGENT = "agent"

    __str__ = str.__str__


@dataclass(frozen=True)
class Usage:
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    calls: int = 0
    retries: int = 0
    cost: float | None = None
    cache_write_tokens: int = 0
    reported: bool = True

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.calls + other.calls,
            self.retries + other.retries,
            cost,
            self.cache_write_tokens + other.cache_write_tokens,
            self.reported and other.reported,
        )


_NO_USAGE = Usage(cost=0.0)


@dataclass(frozen=True)
class Step:
    id: str
    kind: StepKind = StepKind.TOOL
    parent_id: str | None = None
    agent: str | None = None
    observation: str | None = None
    thought: str | None = None
    plan: str | None = None
    tool: str | None = None
    tool_input: Any = None
    result: str | None = None
    error: str | None = None
    images: tuple[str, ...] = ()
    model: str | None = None
    usage: Usage = _NO_USAGE
    started: float | None = None
    seconds: float | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    text: str
    steps: tuple[Step, ...] = ()
    usage: Usage = _NO_USAGE
    images: tuple[str, ...] = ()


_RECORDS = {"Reply": Reply, "Step": Step, "StepKind": StepKind, "Usage": Usage}
_FACE = {**_RECORDS, "VirtualUser": VirtualUser}
# `viva` and `adapters` always have these names, even if the user has such modules; `records` is too common a name.
_FIRST: dict[str, dict[str, Any]] = {
    "viva": _FACE,
    "adapters": _FACE,
    "adapters.virtual_user": {"VirtualUser": VirtualUser},
}
_LAST: dict[str, dict[str, Any]] = {"records": {}, "records.transcript": _RECORDS}


def is_vivas(file: str) -> bool:
    """Return whether a module's file, or a folder without `__init__.py`, is part of an installation of Viva."""
    path = os.path.realpath(file)
    folder = path if os.path.isdir(path) else os.path.dirname(path)
    if folder != path and not os.path.basename(path).startswith("__init__."):
        return os.path.isfile(os.path.join(folder, "inside", "stand_ins.py"))  # `adapters/virtual_user.py`
    return os.path.isfile(os.path.join(os.path.dirname(folder), "adapters", "inside", "stand_ins.py"))


class _First:
    """An importer (PEP 451) that comes before all others.

    If the user has a module of such a name, it is imported, and the names of Viva that it does not define are added.
    Otherwise there are only Viva's names; modules below are found in all folders of that name.
    """

    def __init__(self, agent: str) -> None:
        self.agent = os.path.realpath(agent)
        """The agent's own file, which must not be imported twice if it has the name of one of Viva's packages."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in _FIRST:
            return None
        for entry in sys.path if path is None else path:
            spec = PathFinder.find_spec(name, [entry])
            if spec is None or spec.loader is None or not spec.has_location or spec.origin is None:
                continue
            if os.path.realpath(spec.origin) != self.agent and not is_vivas(spec.origin):
                spec.loader = _Around(spec.loader, _FIRST[name])  # type: ignore[assignment]
                return spec
        return ModuleSpec(name, self, is_package="." not in name)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module).update(_FIRST[module.__name__])
        if hasattr(module, "__path__"):
            folders = [os.path.join(entry, module.__name__) for entry in sys.path]
            module.__path__ = [folder for folder in folders if os.path.isdir(folder)]


class _Around:
    """The loader of a user's module, in which Viva's names are already defined and can be replaced."""

    def __init__(self, inner: Any, names: dict[str, Any]) -> None:
        self.inner = inner
        self.names = names

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        made: types.ModuleType | None = self.inner.create_module(spec)
        return made

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module).update(self.names)
        self.inner.exec_module(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class _Last:
    """An importer for modules that no other importer finds."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in _LAST or path:  # `path`: below a package that is not ours
            return None
        return ModuleSpec(name, self, is_package=name == "records")  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module).update(_LAST[module.__name__])


def install(agent: str) -> None:
    """Make the stand-ins importable for an agent: the path of its file, or a module's name."""
    sys.meta_path.insert(0, _First(agent))
    sys.meta_path.append(_Last())
