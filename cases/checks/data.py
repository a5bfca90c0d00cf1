"""Checks as plain data: one frozen class for each kind, and the classes that combine them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Where = Literal["last", "any_round", "all", "conversation", "round"]
Needs = Literal["all", "any", "none"]
Edge = Literal["start", "end"]
Figure = Literal["rounds", "seconds", "cost"]


@dataclass(frozen=True, slots=True)
class CheckScope:
    """Over what a check is made."""

    where: Where
    """`last`: the last reply; `any_round`: a round in which it holds; `all`: every round; `conversation`: all of it."""
    round: int | None = None
    """The number of the round, where it is a certain one."""


@dataclass(frozen=True, slots=True)
class CheckRange:
    """The numbers that are allowed, both ends included; None where there is no end."""

    least: float | None = None
    most: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ContainsCheck:
    """The reply contains all, any or none of some texts."""

    texts: tuple[str, ...]
    needs: Needs = "all"
    ignore_case: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EqualsCheck:
    """The reply is one of some texts."""

    texts: tuple[str, ...]
    ignore_case: bool = False
    trim: bool = True
    """Whether white space at both ends is left out of the comparison."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeCheck:
    """The reply begins, or ends, with one of some texts."""

    edge: Edge
    texts: tuple[str, ...]
    ignore_case: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PatternCheck:
    """A regular expression matches somewhere in the reply, or the whole of it."""

    pattern: str
    """As the author wrote it."""
    ignore_case: bool = False
    whole: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberCheck:
    """One of the numbers in the reply is in a range."""

    allowed: CheckRange
    equals: float | None = None
    """The number in the middle of the range, where the author gave one."""
    only: bool = False
    """Whether every number in the reply must be in the range."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonCheck:
    """The reply is JSON, or contains some: of a schema, or with a value at a path."""

    path: tuple[str | int, ...] = ()
    has_value: bool = False
    """Whether the value must equal `value`, which may be null."""
    value: Any = None
    schema: Any = None
    """A JSON Schema: a mapping, true or false; None if there is none."""
    inside: bool = False
    """Whether there may be words around the JSON."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WordsCheck:
    """The reply has a number of words."""

    allowed: CheckRange


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarCheck:
    """The reply differs little from a text, by its edit distance (insertions, deletions and replacements)."""

    to: str
    at_least: float | None = None
    """The least similarity: 1 minus the distance by the length of the longer text."""
    distance_at_most: int | None = None
    ignore_case: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCheck:
    """A tool was called a number of times, with certain arguments."""

    name: str
    """A name, or a pattern in which `*` stands for any characters; empty for every tool."""
    arguments: Any = None
    """The arguments that a call must have; None if any will do."""
    exact: bool = False
    """Whether a call must have no other arguments."""
    times: CheckRange = field(default=CheckRange(1))
    environment: bool = False
    """Whether only calls count that the environment recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOrderCheck:
    """Tools were called in an order; others may lie between them unless it is `exact`."""

    tools: tuple[str, ...]
    exact: bool = False
    environment: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolShareCheck:
    """The set of the tools that were called agrees with another set: the F1 score of both is high enough."""

    tools: tuple[str, ...]
    at_least: float = 1.0
    environment: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsCheck:
    """The agent took a number of steps."""

    allowed: CheckRange
    kind: str = ""
    """`tool`, `model`, `think`, `action` or `agent`; empty for all."""
    environment: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitCheck:
    """A figure of the conversation is not above a limit."""

    figure: Figure
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FileCheck:
    """A file of the workspace is there, or is not, or its text fulfils checks."""

    path: str
    exists: bool = True
    checks: tuple[TextCheck, ...] = ()
    """All of them must be fulfilled by what the file holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCheck:
    """The state that the agent's `save_state` returns after a round has a value at a path, or fits a schema."""

    content: JsonCheck


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinedCheck:
    """All, or any, of some checks."""

    needs: Literal["all", "any"]
    checks: tuple[CheckNode, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NegatedCheck:
    """The opposite of a check."""

    check: CheckNode


TextCheck = ContainsCheck | EqualsCheck | EdgeCheck | PatternCheck | NumberCheck | JsonCheck | WordsCheck | SimilarCheck
ActionCheck = ToolCheck | ToolOrderCheck | ToolShareCheck | StepsCheck | LimitCheck
AnyCheck = TextCheck | ActionCheck | FileCheck | StateCheck | CombinedCheck | NegatedCheck


@dataclass(frozen=True, slots=True)
class CheckNode:
    """A check with the scope that its author gave it."""

    check: AnyCheck
    over: CheckScope | None = None
    """None for the scope of the check around it, or else for what is usual for its kind."""
