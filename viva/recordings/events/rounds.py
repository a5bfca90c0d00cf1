"""Builds the rounds and steps of one task as events come in; without captured content only names, ids and times."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.records.text import counted, storable
from viva.records.transcript import NO_USAGE, Round, Step, StepKind

MOST_STEPS = 10_000
"""Steps of one task that are kept; further ones are only counted."""
MOST_TEXT = 100_000
"""Characters of one captured text."""
FAILED = "failed"
"""The error of a tool call whose message was not captured."""


class OpenStep:
    """One step while it is going on."""

    # fmt: off
    __slots__ = (
        "agent", "attributes", "call", "ended", "error", "kind", "model", "number", "parent", "result", "started",
        "thought", "tool", "tool_input", "usage",
    )
    # fmt: on

    def __init__(self, kind: StepKind, number: int, started: float | None, agent: str | None) -> None:
        self.kind, self.number, self.started, self.agent = kind, number, started, agent
        self.call: str | None = None
        """The source's id of the tool call."""
        self.parent: OpenStep | None = None
        self.tool: str | None = None
        self.model: str | None = None
        self.thought: str | None = None
        self.tool_input: Any = None
        self.result: str | None = None
        self.error: str | None = None
        self.ended: float | None = None
        self.usage = NO_USAGE
        self.attributes: Mapping[str, Any] | None = None

    def step(self) -> Step:
        """Make the step."""
        known = self.started is not None and self.ended is not None
        return Step(
            f"s{self.number}",
            self.kind,
            parent_id=None if self.parent is None else f"s{self.parent.number}",
            agent=_text(self.agent),
            thought=_text(self.thought),
            tool=_text(self.tool),
            tool_input=self.tool_input,
            result=_text(self.result),
            error=_text(self.error),
            model=_text(self.model),
            usage=self.usage,
            started=self.started,
            seconds=max(0.0, self.ended - self.started) if known else None,  # type: ignore[operator]
            attributes={**({} if self.call is None else {"call_id": storable(self.call)}), **(self.attributes or {})},
        )


class RoundDraft:
    """One round while it is going on."""

    __slots__ = ("agent", "ended", "error", "examiner", "started", "steps")

    def __init__(self, examiner: str | None, started: float | None) -> None:
        self.examiner, self.started = examiner, started
        self.agent: list[str] = []
        self.error: str | None = None
        self.ended: float | None = None
        self.steps: list[OpenStep] = []


class RoundsDraft:
    """The rounds of one task."""

    __slots__ = ("_dropped", "_message", "_rounds", "_steps", "reasoning", "thought")

    def __init__(self) -> None:
        self._rounds: list[RoundDraft] = []
        self._steps = self._dropped = 0
        self._message: str | None = None
        """The message of which parts are coming in."""
        self.thought: str | None = None
        """Words that the agent said beside the calls that come next."""
        self.reasoning: str | None = None
        """What the agent thought before the next call or reply; no part of what it said."""

    def open(self, at: float | None = None) -> RoundDraft:
        """Return the round that events now belong to."""
        if not self._rounds:
            self._rounds.append(RoundDraft(None, at))
        return self._rounds[-1]

    def begin(self, examiner: str | None, at: float | None) -> None:
        """Begin a round with a message to the agent."""
        if len(self._rounds) < MOST_STEPS:
            if self.thought and self._rounds:
                self._rounds[-1].agent.append(self.thought)  # the calls that it announced never came
            self._rounds.append(RoundDraft(examiner, at))
            self.thought = self.reasoning = None

    def said(self, text: str, at: float | None, part_of: str | None = None) -> None:
        """Record the agent's words; parts of one message are joined as they are."""
        round_ = self.open(at)
        round_.ended = at
        self.reasoning = None
        if part_of is not None and part_of == self._message and round_.agent:
            if len(round_.agent[-1]) < MOST_TEXT:
                round_.agent[-1] += text
        elif text and len(round_.agent) < MOST_STEPS:
            round_.agent.append(text)
        self._message = part_of

    def step(self, kind: StepKind, at: float | None, agent: str | None) -> OpenStep | None:
        """Begin a step; None beyond `MOST_STEPS`."""
        if self._steps < MOST_STEPS:
            self._steps += 1
            draft = OpenStep(kind, self._steps, at, agent)
            if kind is StepKind.TOOL:
                draft.thought = self.thought or self.reasoning
                self.thought = self.reasoning = None
            round_ = self.open(at)
            round_.steps.append(draft)
            if at is not None:
                round_.ended = at
            return draft
        self._dropped += 1
        return None

    def rounds(self) -> tuple[Round, ...]:
        """Make the rounds, numbered from 1."""
        made = []
        for place, draft in enumerate(self._rounds, 1):
            steps = tuple(step.step() for step in draft.steps)
            known = draft.started is not None and draft.ended is not None
            words = [*draft.agent, self.thought] if self.thought and place == len(self._rounds) else draft.agent
            made.append(
                Round(
                    place,
                    _text(draft.examiner),
                    storable("\n\n".join(words)) if words else None,
                    steps,
                    error=_text(draft.error),
                    started=draft.started,
                    agent_seconds=max(0.0, draft.ended - draft.started) if known else 0.0,  # type: ignore[operator]
                )
            )
        return tuple(made)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return notes about what was left out."""
        return (f"{counted(self._dropped, 'further step')} counted, but not kept",) if self._dropped else ()


def _text(value: str | None) -> str | None:
    return None if value is None else storable(value)
