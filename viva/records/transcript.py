"""The data of a conversation: usage, steps, replies, rounds and transcripts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from operator import attrgetter
from typing import Any

from viva.cases.given_turns import GivenTurn
from viva.records.copies import changed
from viva.records.fault import Fault
from viva.records.open_enum import OpenEnum

LEFT_OUT = "left out"
"""Metadata key of a field whose value, if a file leaves it out, differs from the type's own default."""
AGENT = "agent"
"""`Step.recorded_by` of a step that the agent reported itself, or that its program was observed to take."""
ENVIRONMENT = "environment"
"""`Step.recorded_by` of a step that the harness saw itself, such as a call of an MCP server that the case owns."""
ENVIRONMENT_ID = "environment:"
"""How the id of such a step begins; no id of a step that an agent reports begins like this."""
SERVERS = "mcp_servers"
"""Attribute of a transcript: the case's MCP servers, each with the names of its tools. Each call of them is recorded
as an environment step, so a call that is missing there did not take place."""
LIVE = "viva"
"""The source of a conversation that Viva conducted itself; any other source is a recording."""


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
    """The kind of a step."""

    THINK = "think"
    MODEL = "model"
    TOOL = "tool"
    ACTION = "action"
    AGENT = "agent"


IN_PLACE_OF_A_REPLY = "I cannot go on because of an error: "
"""How the agent's turn began in failed rounds of journals up to version 0.1."""
MOST_TOKENS = 10**15
"""Maximum of each count, far above what is possible. Without a bound, one number could exceed what a float can hold."""
MOST_DOLLARS = 1e12
"""Maximum of a cost, for the same reason."""
_COUNTS = (
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "reasoning_tokens",
    "calls",
    "retries",
    "cache_write_tokens",
)
_INT = {int}


_get_counts = attrgetter(*_COUNTS)
_get_all = attrgetter(*_COUNTS, "cost", "reported")


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, calls and money of one role. `+` adds two; `-` returns what a total exceeds an earlier one by."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    """Input tokens that the provider served from its cache; part of `input_tokens`."""
    reasoning_tokens: int = 0
    """Output tokens spent on hidden reasoning; part of `output_tokens`."""
    calls: int = 0
    """Number of model calls that were answered."""
    retries: int = 0
    """Number of attempts beyond the first, over all calls."""
    cost: float | None = field(default=None, metadata={LEFT_OUT: 0.0})
    """US dollars; None if unknown, which is not the same as 0 and makes a sum unknown."""
    _: KW_ONLY
    cache_write_tokens: int = 0
    """Input tokens that the provider wrote to its cache; part of `input_tokens`."""
    reported: bool = True
    """False if some of the tokens were not reported. The counts are then lower bounds, and counts of 0 are unknown."""

    def __eq__(self, other: object) -> bool:
        # A journal's lines leave out what equals its default, which is nearly always the same object.
        if self is other:
            return True
        return _get_all(self) == _get_all(other) if isinstance(other, Usage) else NotImplemented

    def __hash__(self) -> int:
        return hash(_get_all(self))

    def __post_init__(self) -> None:
        """Keep invalid values (not a number, NaN, below 0, or beyond the maximum) out of all sums.

        They would defeat budgets, or end every report that computes with them. An invalid count becomes 0 and makes
        the usage not reported; an invalid cost becomes unknown.
        """
        counts = _get_counts(self)
        # Nearly all are sound, and there are hundreds of thousands of them in a large journal.
        if not _INT.issuperset(map(type, counts)) or min(counts) < 0 or max(counts) > MOST_TOKENS:
            self._bound_counts()
        if self.cost is not None and not (isinstance(self.cost, int | float) and 0 <= self.cost <= MOST_DOLLARS):
            object.__setattr__(self, "cost", None)

    def _bound_counts(self) -> None:
        for name in _COUNTS:
            value = getattr(self, name)
            if type(value) is not int or not 0 <= value <= MOST_TOKENS:
                sound = isinstance(value, int | float) and 0 <= value <= MOST_TOKENS
                object.__setattr__(self, name, int(value) if sound else 0)
                if not sound:
                    object.__setattr__(self, "reported", False)

    def __add__(self, other: Usage) -> Usage:
        # Most sums are of roles that called no model.
        if other is NO_USAGE:
            return self
        if self is NO_USAGE:
            return other
        cost = None if self.cost is None or other.cost is None else min(self.cost + other.cost, MOST_DOLLARS)
        counts: tuple[int, ...] = (
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.calls + other.calls,
            self.retries + other.retries,
            self.cache_write_tokens + other.cache_write_tokens,
        )
        if max(counts) > MOST_TOKENS:
            # A sum of valid counts stops at the maximum instead of becoming invalid.
            counts = tuple(min(count, MOST_TOKENS) for count in counts)
        return _of_sound_counts(counts, cost, reported=self.reported and other.reported)

    def __sub__(self, other: Usage) -> Usage:
        if other is NO_USAGE:
            return self
        cost = None if self.cost is None or other.cost is None else max(0.0, self.cost - other.cost)
        counts = [
            mine - theirs if mine > theirs else 0
            for mine, theirs in zip(_get_counts(self), _get_counts(other), strict=True)
        ]
        return _of_sound_counts(counts, cost, reported=self.reported and other.reported)

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
        """Return the usage of answered model calls; None stands for a count that was not reported.

        The result is `reported` if both input and output tokens were; providers leave out the other counts if they
        are 0.
        """
        return cls(
            input_tokens or 0,
            output_tokens or 0,
            cached_tokens or 0,
            reasoning_tokens or 0,
            calls,
            retries,
            cost,
            cache_write_tokens=cache_write_tokens or 0,
            reported=input_tokens is not None and output_tokens is not None,
        )

    @property
    def tokens(self) -> int:
        """Return the number of input and output tokens."""
        return self.input_tokens + self.output_tokens

    @property
    def known(self) -> bool:
        """Return whether anything was reported; the usage of a role that called no model has nothing to report."""
        return bool(self.calls or self.input_tokens or self.output_tokens or self.cost)

    @property
    def known_tokens(self) -> int | None:
        """Return the number of tokens, a lower bound if not all were `reported`; None if none were."""
        return self.tokens if self.tokens or (self.known and self.reported) else None

    @property
    def known_cost(self) -> float | None:
        """Return the cost; None if nothing was reported, or if the price of a call is unknown."""
        return self.cost if self.known else None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Callable[[Any], Any]) -> Any:
        """Read a cost that a file leaves out as 0, which used to be the default; an unknown cost is null."""
        schema = handler(source)
        (cost,) = (part["schema"] for part in schema["schema"]["fields"] if part["name"] == "cost")
        cost["default"] = 0.0
        return schema


_new, _set = object.__new__, object.__setattr__


def _of_sound_counts(counts: Sequence[int], cost: float | None, *, reported: bool) -> Usage:
    """Return the usage with these counts, which need no check because they were made of checked ones."""
    usage = _new(Usage)
    given, made, cached, hidden, calls, retries, written = counts
    _set(usage, "input_tokens", given)
    _set(usage, "output_tokens", made)
    _set(usage, "cached_tokens", cached)
    _set(usage, "reasoning_tokens", hidden)
    _set(usage, "calls", calls)
    _set(usage, "retries", retries)
    _set(usage, "cost", cost)
    _set(usage, "cache_write_tokens", written)
    _set(usage, "reported", reported)
    return usage


NO_USAGE = Usage(cost=0.0)
"""The usage of a role that called no model, or did not report any calls."""
_NOTHING = _get_all(NO_USAGE)


def adds_nothing(usage: Usage) -> bool:
    """Return whether a usage leaves every sum as it is, like that of a role that called no model."""
    return _get_all(usage) == _NOTHING


UNREPORTED = Usage(reported=False)
"""The usage of a role that apparently called a model, but reported neither tokens nor cost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubAgentShare:
    """The part of a session's counts that belongs to one sub-agent."""

    started: int = 0
    failed: int = 0
    """Its starts that ended in failure."""
    usage: Usage = NO_USAGE
    tool_calls: int = 0
    tool_failures: int = 0
    model_failures: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """Counts of an observed session, as far as its source contains them.

    They are those of the whole session; `subagents` holds the part of each sub-agent.
    """

    usage_by_model: Mapping[str, Usage] = field(default_factory=dict)
    """Model to its usage; `unknown` where the source does not name the model."""
    tool_calls: Mapping[str, int] = field(default_factory=dict)
    """Number of calls by tool, including failed calls."""
    tool_failures: Mapping[str, int] = field(default_factory=dict)
    """Number of failed calls by tool."""
    never_completed: int = 0
    """Number of starts without a completion: something was cut off."""
    never_started: int = 0
    """Number of completions without a start: observation began too late, or an event was lost."""
    aborts: Mapping[str, int] = field(default_factory=dict)
    """Number of aborts by reason."""
    model_failures: Mapping[str, int] = field(default_factory=dict)
    """Number of failed model calls by kind of failure."""
    billing_units: Mapping[str, float] = field(default_factory=dict)
    """Billing units of a provider other than tokens and money (such as premium requests), by name."""
    billing_by_model: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The same, by model and then by name."""
    subagents: Mapping[str, SubAgentShare] = field(default_factory=dict)
    """Name of a sub-agent to its part of the figures above."""
    unknown: Mapping[str, int] = field(default_factory=dict)
    """Number of items in the source that its reader does not know, by item: `event TYPE`, `field TYPE.NAME` or
    `value TYPE.NAME`."""

    @property
    def usage(self) -> Usage:
        """The usage of all models together; `UNREPORTED` if none was reported."""
        parts = list(self.usage_by_model.values())
        return sum(parts[1:], parts[0]) if parts else UNREPORTED

    @property
    def dominant_model(self) -> str | None:
        """The model with the most tokens, input and output together; then the most calls, then the first by name."""
        ranked = sorted(
            self.usage_by_model.items(),
            key=lambda item: (-item[1].tokens, -item[1].calls, item[0]),
        )
        return ranked[0][0] if ranked else None

    @property
    def tool_success_rate(self) -> float | None:
        """Share of the tool calls that completed without failure, in [0, 1]; None if there were no calls."""
        calls = sum(self.tool_calls.values())
        if not calls:
            return None
        return max(0.0, (calls - sum(self.tool_failures.values()) - self.never_completed) / calls)


@dataclass(frozen=True, slots=True)
class Step:
    """One action of the agent between a message and its reply."""

    id: str
    kind: StepKind = StepKind.TOOL
    parent_id: str | None = None
    agent: str | None = None
    observation: str | None = None
    """What the agent saw before."""
    thought: str | None = None
    plan: str | None = None
    tool: str | None = None
    tool_input: Any = None
    """The arguments from the source: an object, or text that could not be parsed."""
    result: str | None = None
    """What the tool returned."""
    error: str | None = None
    images: tuple[str, ...] = ()
    """Paths in the journal, or the names from the source."""
    model: str | None = None
    usage: Usage = NO_USAGE
    started: float | None = None
    """Seconds since the epoch."""
    seconds: float | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """All other data from the source."""
    recorded_by: str = AGENT
    """Who recorded the step: `agent`, or `environment` for what Viva recorded. Whatever an agent returns is reset
    to `agent`, so nobody else can claim it."""

    @property
    def from_environment(self) -> bool:
        """Return whether the harness saw this step itself."""
        return self.recorded_by == ENVIRONMENT


@dataclass(frozen=True, slots=True)
class Reply:
    """The reply of an agent with its steps and usage, which an adapter can return instead of plain text."""

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
    """How the agent failed in this round, in Viva's words; `agent` then holds only what it said itself."""
    usage: Usage = NO_USAGE
    """The agent's own usage, if it reports it."""
    examiner_usage: Usage = NO_USAGE
    started: float | None = None
    """Seconds since the epoch when the message was sent."""
    examiner_seconds: float = 0.0
    """The time that the examiner took for the message."""
    agent_seconds: float = 0.0
    """The time that the agent took for the reply."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Anything else that the source reported about this round."""
    state: str | None = None
    """The file with the agent's state after this round, in the journal's folder; None if the agent offers none."""

    def __post_init__(self) -> None:
        """Drop what older versions wrote in place of a reply: checks must not find Viva's words among the agent's."""
        if self.error is not None and self.agent is not None and self.agent.startswith(IN_PLACE_OF_A_REPLY):
            object.__setattr__(self, "agent", None)

    @property
    def id(self) -> str:
        """Return the id by which verdicts refer to this round."""
        return f"r{self.number}"


@dataclass(frozen=True, slots=True)
class Transcript:
    """A whole conversation, or the part of one that a recording contains."""

    rounds: tuple[Round, ...] = ()
    source: str = LIVE
    """`viva`, or the kind of recording (`chat`…)."""
    trace_id: str | None = None
    system: str | None = None
    """The agent's system text, if the source contains it."""
    kick_off: str | None = None
    """The line that opened the conversation to the examiner, which is TaskWeaver's second message."""
    tools: tuple[Mapping[str, Any], ...] = ()
    images: tuple[str, ...] = ()
    """Final images, such as screenshots."""
    participants: Mapping[str, str] = field(default_factory=dict)
    """Names by role (`examiner`, `target`…)."""
    stop: StopReason | None = None
    stop_detail: str | None = None
    """The cause in words, for stop reasons that are errors."""
    notes: tuple[str, ...] = ()
    """What else a reader should know, for example that an agent could not be closed or a recording was cut."""
    fault: str | None = None
    """The `Fault` that caused the stop: `target`, `examiner` or `infra`; None for a normal end."""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """Usage by role."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """Anything else that the source reported about the session or its messages; its reader defines the keys."""
    printed: Mapping[str, str] = field(default_factory=dict)
    """The end of what the agent printed during the run, by stream: `stdout`, `stderr`. No judge sees it."""
    metrics: Metrics | None = None
    """The metrics of an observed session; None if there are none."""
    success: bool | None = None
    """Whether the source considers the session a success; None if it does not say. Not part of any score."""
    given: tuple[GivenTurn, ...] = ()
    """The turns with which the case had the conversation begin. Nobody said them in this exam."""
    round_count: int | None = None
    """The number of rounds in a journal, where rounds are separate events; None elsewhere."""
    late_steps: tuple[Step, ...] = ()
    """In a journal, what the environment recorded between the last reply and the end of the conversation. These steps
    belong to the last round, whose event was written before; empty elsewhere."""

    def without_rounds(self) -> Transcript:
        """Return the transcript without its rounds but with their number, as a journal holds it."""
        return changed(self, rounds=(), round_count=len(self.rounds))

    def with_rounds(self, rounds: tuple[Round, ...]) -> Transcript:
        """Return the transcript of a journal with its rounds, or some of them, the last one with the late steps."""
        if self.late_steps and rounds and rounds[-1].number == self.round_count:
            rounds = (*rounds[:-1], changed(rounds[-1], steps=(*rounds[-1].steps, *self.late_steps)))
        return changed(self, rounds=rounds, round_count=None, late_steps=())

    def completed(self) -> Transcript:
        """Return the transcript with the late steps in its last round."""
        return self.without_rounds().with_rounds(self.rounds) if self.late_steps else self

    @property
    def failed(self) -> bool:
        """Return whether the agent ended the conversation by a failure: an exception, a time-out, or its budget."""
        # None first: Python takes eight times as long to compare it with a member of an enum, and to look one up.
        if self.fault is not None and self.fault == _TARGET:
            return True
        return self.stop is not None and self.stop in _FAILURES

    @property
    def answered(self) -> bool:
        """Return whether the agent ever said or did anything of its own; an error is not a reply."""
        return any(round_.error is None and (round_.agent is not None or round_.steps) for round_ in self.rounds)

    @property
    def ended(self) -> bool:
        """Return whether the conversation has ended; only a conversation of Viva itself can have been interrupted."""
        return is_ended(self.source, self.stop)


_TARGET, _FAILURES = Fault.TARGET, (StopReason.TARGET_ERROR, StopReason.BUDGET)


def is_ended(source: object, stop: object) -> bool:
    """Return `Transcript.ended` from its two fields, as in a record or in a file (None if left out).

    A recording has always ended. A conversation of Viva has not ended if it has no stop reason or was cancelled.
    """
    return source not in (None, LIVE) or stop not in (None, StopReason.CANCELLED)
