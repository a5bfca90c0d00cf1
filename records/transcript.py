"""What was said and done: usage, steps, replies, rounds and the transcript they make up."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from enum import StrEnum
from typing import Any

LEFT_OUT = "left out"
"""Metadata of a field whose value in a file that leaves it out is not the type's own default."""


class StopReason(StrEnum):
    """Why a conversation ended."""

    FINISHED = "finished"
    MAX_ROUNDS = "max_rounds"
    TIMEOUT = "timeout"
    BUDGET = "budget"
    TARGET_ERROR = "target_error"
    EXAMINER_ERROR = "examiner_error"
    CANCELLED = "cancelled"


class StepKind(StrEnum):
    """What sort of thing a step was."""

    THINK = "think"
    MODEL = "model"
    TOOL = "tool"
    ACTION = "action"
    AGENT = "agent"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, calls and money of one role; add two with `+`."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens that the provider served from its cache; part of `input_tokens`."""
    reasoning_tokens: int = 0
    """Output tokens spent on hidden reasoning; part of `output_tokens`."""
    calls: int = 0
    """Model calls that were answered."""
    retries: int = 0
    """Attempts beyond the first, over all calls."""
    cost: float | None = field(default=None, metadata={LEFT_OUT: 0.0})
    """US dollars; None where it is not known, which is not the same as 0, and makes a sum unknown."""

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

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """In a file a cost that is left out is 0, as it was before the default was None; an unknown one is null."""
        schema = handler(source)
        (cost,) = (part["schema"] for part in schema["schema"]["fields"] if part["name"] == "cost")
        cost["default"] = 0.0
        return schema


NO_USAGE = Usage(cost=0.0)
"""Of who called no model, or said nothing of it."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing the agent did between a message and its reply."""

    id: str
    kind: StepKind = StepKind.TOOL
    parent_id: str | None = None
    agent: str | None = None
    observation: str | None = None
    """What it saw before."""
    thought: str | None = None
    plan: str | None = None
    tool: str | None = None
    tool_input: Any = None
    """Arguments as the source gave them: an object, or text that did not parse."""
    result: str | None = None
    """What came back."""
    error: str | None = None
    images: tuple[str, ...] = ()
    """Paths inside the journal, or as the source named them."""
    model: str | None = None
    usage: Usage = NO_USAGE
    started: float | None = None
    """Seconds since the epoch."""
    seconds: float | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else the source said."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What an adapter may return instead of plain text."""

    text: str
    steps: tuple[Step, ...] = ()
    usage: Usage = NO_USAGE
    images: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """One examiner message and one agent reply. Either side may be missing in a recording."""

    number: int
    """Counts from 1."""
    examiner: str | None = None
    agent: str | None = None
    steps: tuple[Step, ...] = ()
    _: KW_ONLY
    images: tuple[str, ...] = ()
    error: str | None = None
    """Set when the agent failed in this round; `agent` then holds the words that the judge sees instead."""
    usage: Usage = NO_USAGE
    """The agent's own, where it tells."""
    examiner_usage: Usage = NO_USAGE
    started: float | None = None
    """Seconds since the epoch when the message was sent."""
    examiner_seconds: float = 0.0
    """How long the examiner took to find the message."""
    agent_seconds: float = 0.0
    """How long the agent took to reply."""

    @property
    def id(self) -> str:
        """How verdicts refer to this round."""
        return f"r{self.number}"


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole conversation, or what a recording holds of one."""

    rounds: tuple[Round, ...] = ()
    source: str = "viva"
    trace_id: str | None = None
    system: str | None = None
    """The examined side's system text, where the source tells."""
    kick_off: str | None = None
    """The line that opened the conversation on the examiner's side; TaskWeaver's second message."""
    tools: tuple[Mapping[str, Any], ...] = ()
    images: tuple[str, ...] = ()
    """Final screenshots and the like."""
    participants: Mapping[str, str] = field(default_factory=dict)
    """Role (`examiner`, `target`…) to name."""
    stop: StopReason | None = None
    stop_detail: str | None = None
    """In words, for the stop reasons that are faults."""
    notes: tuple[str, ...] = ()
    """What else a reader should know: an agent that could not be closed, a recording that was cut."""
    fault: str | None = None
    """Whose fault the stop was: `target`, `examiner` or `infra`; None where it was nobody's."""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """By role."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else the source said, of the whole or of single messages; its reader says under which keys."""
