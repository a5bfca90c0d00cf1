"""The items of a labelled set as files hold them: checked, and unfolded into transcripts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, model_validator

from viva.cases import ScoringPoint
from viva.cases.text import describe, point_ids
from viva.records.transcript import Round, Step, StepKind, Transcript

MOST_REPEATS = 10_000
"""Maximum number of times that a part is repeated: a mistyped number must not fill the memory."""
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


class RepeatedText(_Counted):
    """A piece of a text that is repeated for a counter."""

    say: Words
    first: int
    last: int

    def text(self) -> str:
        """Return all repetitions, one after the other."""
        return "".join(_with(self.say, number) for number in self.numbers())


def _whole(value: Any) -> Any:
    """Return the text of a turn: text as it is, or the pieces of a list together."""
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, list):
        raise ValueError(
            f"must be text, or a list of texts and repeated texts, not {describe(value)}; put it in quotes"
        )
    return "".join(each if isinstance(each, str) else RepeatedText.model_validate(each).text() for each in value)


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
