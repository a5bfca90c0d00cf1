"""What was said and done: usage, steps, replies, rounds and the transcript they make up."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any

from records.open_enum import OpenEnum

LEFT_OUT = "left out"
"""Metadata of a field whose value in a file that leaves it out is not the type's own default."""
LIVE = "viva"
"""The source of a conversation that Viva held itself; any other is a recording."""


class StopReason(OpenEnum):
    """Why a conversation ended."""

    FINISHED = "finished"
    MAX_ROUNDS = "max_rounds"
    TIMEOUT = "timeout"
    BUDGET = "budget"
    TARGET_ERROR = "target_error"
    EXAMINER_ERROR = "examiner_error"
    CANCELLED = "cancelled"


class StepKind(OpenEnum):
    """What sort of thing a step was."""

    THINK = "think"
    MODEL = "model"
    TOOL = "tool"
    ACTION = "action"
    AGENT = "agent"


MOST_TOKENS = 10**15
"""From here on a count that is no whole number is nobody's count."""
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "calls",
    "retries",
    "cache_write_tokens",
)


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
    _: KW_ONLY
    cache_write_tokens: int = 0
    """Input tokens that the provider wrote to its cache; part of `input_tokens`."""
    reported: bool = True
    """False where some of the tokens were not reported by anybody: the counts are then the least that was used, and
    say nothing where they are 0."""

    def __post_init__(self) -> None:
        """Keep what no budget can be held against out of every sum: what is no number, NaN, or below 0.

        Such a count is 0 and the whole is not reported; such a cost is unknown.
        """
        for name in _COUNTS:
            value = getattr(self, name)
            if type(value) is not int or value < 0:
                sound = isinstance(value, int | float) and 0 <= value < MOST_TOKENS
                object.__setattr__(self, name, int(value) if sound else 0)
                if not sound:
                    object.__setattr__(self, "reported", False)
        if self.cost is not None and not (isinstance(self.cost, int | float) and 0 <= self.cost < math.inf):
            object.__setattr__(self, "cost", None)

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
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reported=self.reported and other.reported,
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
UNREPORTED = Usage(reported=False)
"""Of who called a model, as far as one can tell, where neither tokens nor cost were reported."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentShare:
    """What one sub-agent had of a session's figures."""

    started: int = 0
    failed: int = 0
    """Its starts that ended in failure."""
    usage: Usage = NO_USAGE
    tool_calls: int = 0
    tool_failures: int = 0
    model_failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """What was counted while a session was observed, where its source tells.

    The whole session's figures; `subagents` says which part of them the sub-agents had.
    """

    usage_by_model: Mapping[str, Usage] = field(default_factory=dict)
    """Model to its usage; `unknown` where the source does not name the model."""
    tool_calls: Mapping[str, int] = field(default_factory=dict)
    """Tool to its calls, the failed ones included."""
    tool_failures: Mapping[str, int] = field(default_factory=dict)
    """Tool to its calls that failed."""
    never_completed: int = 0
    """Starts without a completion: something was cut off."""
    never_started: int = 0
    """Completions without a start: observing began too late, or something was lost."""
    aborts: Mapping[str, int] = field(default_factory=dict)
    """Reason to how often something was stopped for it."""
    model_failures: Mapping[str, int] = field(default_factory=dict)
    """Kind of failure to the model calls that failed so."""
    billing_units: Mapping[str, float] = field(default_factory=dict)
    """What a provider bills by that is neither tokens nor money (premium requests…), by name."""
    billing_by_model: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The same by model, then by name."""
    subagents: Mapping[str, SubAgentShare] = field(default_factory=dict)
    """Name of a sub-agent to its part of the figures above."""
    unknown: Mapping[str, int] = field(default_factory=dict)
    """What the source said that its reader does not know, and how often: `event TYPE`, `field TYPE.NAME`, `value
    TYPE.NAME`."""

    @property
    def usage(self) -> Usage:
        """Usage of all models together; `UNREPORTED` where none was told."""
        parts = list(self.usage_by_model.values())
        return sum(parts[1:], parts[0]) if parts else UNREPORTED

    @property
    def dominant_model(self) -> str | None:
        """The model with the most tokens, input and output together; then the most calls, then the first by name."""
        ranked = sorted(
            self.usage_by_model.items(),
            key=lambda item: (-(item[1].input_tokens + item[1].output_tokens), -item[1].calls, item[0]),
        )
        return ranked[0][0] if ranked else None

    @property
    def tool_success_rate(self) -> float | None:
        """Share of the tool calls that completed without failure, in [0, 1]; None where there were no calls."""
        calls = sum(self.tool_calls.values())
        if not calls:
            return None
        return max(0.0, (calls - sum(self.tool_failures.values()) - self.never_completed) / calls)


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
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else the source said of this round."""

    @property
    def id(self) -> str:
        """How verdicts refer to this round."""
        return f"r{self.number}"


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole conversation, or what a recording holds of one."""

    rounds: tuple[Round, ...] = ()
    source: str = LIVE
    """`viva`, or what it was recorded from (`chat`…)."""
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
    """Whose fault the stop was, a `Fault`: `target`, `examiner` or `infra`; None where it was nobody's."""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """By role."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Whatever else the source said, of the whole or of single messages; its reader says under which keys."""
    metrics: Metrics | None = None
    """What was counted while the session was observed; None where nothing was."""
    success: bool | None = None
    """Whether the source calls the session a success; None where it does not say. Not part of any score."""
    round_count: int | None = None
    """In a journal, where the rounds are events of their own: how many there are. None elsewhere."""

    def without_rounds(self) -> Transcript:
        """Leave out the rounds and note their number, as a journal holds it."""
        return replace(self, rounds=(), round_count=len(self.rounds))

    @property
    def failed(self) -> bool:
        """Whether the examined side broke the conversation off: it raised, took too long, or spent too much."""
        return self.fault == "target" or self.stop in (StopReason.TARGET_ERROR, StopReason.BUDGET)

    @property
    def answered(self) -> bool:
        """Whether the examined side ever said or did anything of its own; an error is nobody's reply."""
        return any(round_.error is None and (round_.agent is not None or round_.steps) for round_ in self.rounds)

    @property
    def ended(self) -> bool:
        """Whether there is no more to come: only a conversation that Viva held can have been interrupted."""
        return is_ended(self.source, self.stop)


def is_ended(source: object, stop: object) -> bool:
    """`Transcript.ended` by its two fields alone, as they stand in a record or in a file (None where left out).

    A recording has ended whatever its stop reason; a conversation that Viva held has not where it has no stop reason
    or was cancelled.
    """
    return source not in (None, LIVE) or stop not in (None, StopReason.CANCELLED)
