"""Provides `from viva import VirtualUser` to an agent in its own process.

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
    """See `viva docs write-an-adapter`."""

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


MOST_TOKENS = 10**15
MOST_DOLLARS = 1e12
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "calls",
    "retries",
    "cache_write_tokens",
)


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

    def __post_init__(self) -> None:
        for name in _COUNTS:
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= MOST_TOKENS:
                sound = isinstance(value, (int, float)) and 0 <= value <= MOST_TOKENS
                object.__setattr__(self, name, int(value) if sound else 0)
                if not sound:
                    object.__setattr__(self, "reported", False)
        cost = self.cost
        if cost is not None and not (isinstance(cost, (int, float)) and 0 <= cost <= MOST_DOLLARS):
            object.__setattr__(self, "cost", None)

    def __add__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else min(self.cost + other.cost, MOST_DOLLARS)
        counts = {name: min(getattr(self, name) + getattr(other, name), MOST_TOKENS) for name in _COUNTS}
        return Usage(**counts, cost=cost, reported=self.reported and other.reported)

    def __sub__(self, other: Usage) -> Usage:
        cost = None if self.cost is None or other.cost is None else max(0.0, self.cost - other.cost)
        counts = {name: max(0, getattr(self, name) - getattr(other, name)) for name in _COUNTS}
        return Usage(**counts, cost=cost, reported=self.reported and other.reported)

    @classmethod
    def answered(
        cls,
        input_tokens: int | None,
        output_tokens: int | None,
        cached_tokens: int | None = None,
        reasoning_tokens: int | None = None,
        *,
        cache_write_tokens: int | None = None,
        calls: int = 1,
        retries: int = 0,
        cost: float | None = None,
    ) -> Usage:
        return cls(
            input_tokens or 0,
            output_tokens or 0,
            cached_tokens or 0,
            reasoning_tokens or 0,
            calls,
            retries,
            cost,
            cache_write_tokens or 0,
            input_tokens is not None and output_tokens is not None,
        )

    @property
    def tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def known(self) -> bool:
        return bool(self.calls or self.tokens or self.cost)

    @property
    def known_tokens(self) -> int | None:
        return self.tokens if self.tokens or (self.known and self.reported) else None

    @property
    def known_cost(self) -> float | None:
        return self.cost if self.known else None


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
    recorded_by: str = "agent"


@dataclass(frozen=True)
class Reply:
    text: str
    steps: tuple[Step, ...] = ()
    usage: Usage = _NO_USAGE
    images: tuple[str, ...] = ()


_FACE = {"Reply": Reply, "Step": Step, "StepKind": StepKind, "Usage": Usage, "VirtualUser": VirtualUser}
_NAMES: dict[str, dict[str, Any]] = {
    "viva": _FACE,
    "viva.adapters": _FACE,
    "viva.adapters.virtual_user": {"VirtualUser": VirtualUser},
    "viva.records": _FACE,
    "viva.records.transcript": _FACE,
    # The name under which adapters imported the same things before Viva was one package.
    "adapters": _FACE,
    "adapters.virtual_user": {"VirtualUser": VirtualUser},
}

_PACKAGES = ("viva", "viva.adapters", "viva.records", "adapters")


def is_vivas(file: str) -> bool:
    """Return whether the file of a package, or of a module in it, is part of an installation or checkout of Viva."""
    folder = os.path.dirname(os.path.realpath(file))
    return any(os.path.isfile(os.path.join(folder, inner, "stand_ins.py")) for inner in ("adapters/inside", "inside"))


class _Importer:
    """An importer (PEP 451) that comes before all others.

    If the user has a package `viva`, it is imported, and the names of Viva that it does not define are added; a package
    `adapters` of the user's is imported as it is. Otherwise there are only Viva's names; modules below are found in all
    folders of that name.
    """

    def __init__(self, agent: str) -> None:
        self.agent = os.path.realpath(agent)
        """The agent's own file, which must not be imported twice if it is called `viva.py`."""
        self.old_import: str | None = None
        """`file:line` of the first import of Viva's names from `adapters`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name not in _NAMES:
            return None
        for entry in sys.path if path is None else path:
            spec = PathFinder.find_spec(name, [entry])
            if spec is None or spec.loader is None or not spec.has_location or spec.origin is None:
                continue
            if os.path.realpath(spec.origin) != self.agent and not is_vivas(spec.origin):
                if name == "viva":
                    spec.loader = _Around(spec.loader, _NAMES[name])  # type: ignore[assignment]
                return spec
        if name == "adapters" and self.old_import is None:
            self.old_import = importing_line()
        return ModuleSpec(name, self, is_package=name in _PACKAGES)  # type: ignore[arg-type]

    def create_module(self, spec: ModuleSpec) -> types.ModuleType | None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module).update(_NAMES[module.__name__])
        if hasattr(module, "__path__"):
            folders = [os.path.join(entry, *module.__name__.split(".")) for entry in sys.path]
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


def importing_line() -> str:
    """Return `file:line` of the import statement that is being executed, seen from an importer."""
    frame: Any = sys._getframe(2)
    while frame is not None and "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return "" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def install(agent: str) -> _Importer:
    """Make the stand-ins importable for an agent: the path of its file, or a module's name."""
    importer = _Importer(agent)
    sys.meta_path.insert(0, importer)
    return importer
