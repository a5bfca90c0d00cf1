"""What an agent gets for `from adapters import VirtualUser` where Viva is not installed: same names, same fields."""

from __future__ import annotations

import enum
import os
import sys
import types
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
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
# `adapters` is always ours, so that a folder of that name beside the agent does not hide it; its other modules, and
# Viva's where it is installed, are found below it. `records` is a common name: ours only where there is no other.
_FIRST = {"adapters": {**_RECORDS, "VirtualUser": VirtualUser}, "adapters.virtual_user": {"VirtualUser": VirtualUser}}
_LAST: dict[str, dict[str, Any]] = {"records": {}, "records.transcript": dict(_RECORDS)}


class _Finder:
    """An importer of ready-made modules (PEP 451)."""

    def __init__(self, modules: dict[str, dict[str, Any]]) -> None:
        self.modules = modules

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in self.modules or (self.modules is _LAST and path):  # `path`: below a package that is not ours
            return None
        package = any(other.startswith(name + ".") for other in self.modules)
        return ModuleSpec(name, self, is_package=package)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module).update(self.modules[module.__name__])
        if module.__name__ == "adapters":
            folders = [os.path.join(entry, "adapters") for entry in sys.path]
            module.__path__ = [folder for folder in folders if os.path.isdir(folder)]


def install() -> None:
    """Make the stand-ins importable."""
    sys.meta_path.insert(0, _Finder(_FIRST))  # type: ignore[arg-type]
    sys.meta_path.append(_Finder(_LAST))
