"""The items of a labelled set as files hold them: checked, and unfolded into transcripts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationInfo,
    model_validator,
)

from viva.cases import ScoringPoint
from viva.cases.text import describe, point_ids
from viva.judge.calibration.set_limits import MOST_CHARACTERS, MOST_REPEATS, MOST_TURNS, Extent, TextBudget
from viva.records.transcript import Round, Step, StepKind, Transcript

COUNTER = "{n}"
LABELS = ("hit", "miss", "unsure")

Words = Annotated[str, StringConstraints(strict=True, strip_whitespace=False, min_length=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Counted(_Strict):
    """A part that may stand for many: it is repeated for each number, and `{n}` in its texts becomes the number."""

    first: int | None = None
    last: int | None = None

    @model_validator(mode="after")
    def _is_counted(self) -> _Counted:
        if (self.first is None) != (self.last is None):
            raise ValueError("'first' and 'last' belong together")
        if self.first is not None and self.last is not None and not 0 <= self.last - self.first < MOST_REPEATS:
            raise ValueError(f"from 'first' to 'last' there must be 1 to {MOST_REPEATS:,} numbers")
        return self

    def numbers(self) -> Iterator[int | None]:
        """Yield the numbers for which the part is repeated; a single None for a part that is not."""
        if self.first is None or self.last is None:
            yield None
        else:
            yield from range(self.first, self.last + 1)

    @property
    def times(self) -> int:
        """Return how often the part is repeated."""
        return 1 if self.first is None or self.last is None else self.last - self.first + 1

    def length(self, *texts: object) -> int:
        """Return the maximum number of characters of texts once numbers are in the place of `{n}`."""
        digits = 0 if self.first is None else max(len(str(self.first)), len(str(self.last)))
        return sum(len(text) + text.count(COUNTER) * digits for text in map(_as_text, texts))


class RepeatedText(_Counted):
    """A piece of a text that is repeated for a counter."""

    say: Words
    first: int
    last: int

    def text(self) -> str:
        """Return all repetitions, one after the other."""
        return "".join(_with(self.say, number) for number in self.numbers())


def _whole(value: Any, info: ValidationInfo) -> Any:
    """Return the text of a turn: text as it is, or the pieces of a list together."""
    if value is None:
        return value
    budget = info.context if isinstance(info.context, TextBudget) else TextBudget("")
    if isinstance(value, str):
        budget.take(len(value))
        return value
    if not isinstance(value, list):
        raise ValueError(
            f"must be text, or a list of texts and repeated texts, not {describe(value)}; put it in quotes"
        )
    pieces = [each if isinstance(each, str) else RepeatedText.model_validate(each) for each in value]
    for each in pieces:
        budget.take(len(each) if isinstance(each, str) else each.times * each.length(each.say))
    return "".join(each if isinstance(each, str) else each.text() for each in pieces)


def _as_text(value: object) -> str:
    """Return a text, or the text of data."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, default=str)


Said = Annotated[str | None, BeforeValidator(_whole)]


class LabelledStep(_Counted):
    """A step of the agent."""

    agent: Said = None
    observation: Said = None
    thought: Said = None
    plan: Said = None
    tool: Said = None
    input: Any = None
    error: Said = None
    result: Said = None

    @property
    def extent(self) -> Extent:
        """Return how much the step stands for."""
        said = (self.agent, self.observation, self.thought, self.plan, self.tool, self.input, self.error, self.result)
        return Extent(self.length(*said), 1).times(self.times)

    def steps(self) -> Iterator[Step]:
        """Yield the steps that this one stands for, without ids."""
        kind = StepKind.TOOL if self.tool is not None else StepKind.THINK
        for n in self.numbers():
            yield Step(
                id="",
                kind=kind,
                agent=_with(self.agent, n),
                observation=_with(self.observation, n),
                thought=_with(self.thought, n),
                plan=_with(self.plan, n),
                tool=_with(self.tool, n),
                tool_input=_with(self.input, n) if isinstance(self.input, str) else self.input,
                error=_with(self.error, n),
                result=_with(self.result, n),
            )


class LabelledRound(_Counted):
    """A message of the examiner and the agent's reply, with its steps."""

    examiner: Said = None
    agent: Said = None
    error: Said = None
    steps: list[LabelledStep] = []

    @property
    def extent(self) -> Extent:
        """Return how much the round stands for, with its steps."""
        own = Extent(self.length(self.examiner, self.agent, self.error), 1)
        return sum((step.extent for step in self.steps), own).times(self.times)


def _is_label(value: Any) -> Any:
    if not isinstance(value, str) or value not in LABELS:
        quotes = "; in YAML, yes and true are truth values" if isinstance(value, bool) else ""
        raise ValueError(f"{describe(value)} is not a label; write hit, miss or unsure{quotes}")
    return value


class PointOfItem(_Strict):
    """A statement about the transcript with its right label."""

    statement: Words
    label: Annotated[Literal["hit", "miss", "unsure"], BeforeValidator(_is_label)]
    why: str = ""
    weight: float = Field(default=1.0, gt=0, allow_inf_nan=False)


class ItemOfSet(_Strict):
    """One transcript, and the statements about it."""

    id: Words
    kind: Words
    hostile: bool = False
    task: Words
    background: Words | None = None
    source: Literal["viva", "recorded"] = "viva"
    rounds: list[LabelledRound] = Field(min_length=1)
    points: list[PointOfItem] = Field(min_length=1)

    @property
    def extent(self) -> Extent:
        """Return how much the item stands for."""
        said = Extent(len(self.task) + len(self.background or ""))
        return sum((each.extent for each in self.rounds), said)

    @model_validator(mode="after")
    def _is_not_absurd(self) -> ItemOfSet:
        if over := self.extent.fault(MOST_CHARACTERS, MOST_TURNS):
            raise ValueError(f"item {self.id[:100]!r} has {over}; repeat its rounds, steps or texts less often")
        return self

    def scoring_points(self) -> tuple[ScoringPoint, ...]:
        """Return the statements as scoring points, with the ids that they would have in a case file."""
        ids = point_ids([each.statement for each in self.points])
        return tuple(
            ScoringPoint(name, each.statement, each.weight) for name, each in zip(ids, self.points, strict=True)
        )

    def transcript(self) -> Transcript:
        """Return the conversation; rounds and steps are numbered as Viva numbers them."""
        rounds: list[Round] = []
        for each in self.rounds:
            for n in each.numbers():
                number = len(rounds) + 1
                steps = [step for part in each.steps for step in part.steps()]
                rounds.append(
                    Round(
                        number,
                        _with(each.examiner, n),
                        _with(each.agent, n),
                        tuple(replace(step, id=f"r{number}s{index}") for index, step in enumerate(steps, 1)),
                        error=_with(each.error, n),
                    )
                )
        return Transcript(tuple(rounds), source=self.source)


def _with(text: Any, number: int | None) -> Any:
    return text if text is None or number is None else text.replace(COUNTER, str(number))
