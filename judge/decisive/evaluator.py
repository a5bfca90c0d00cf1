"""The evaluator `decisive_step`: asks a judge which step of a failed run decided it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel, model_validator
from pydantic import Field as Described

from viva.judge.answers import Form, Unusable, with_list
from viva.judge.decisive.accuracy import accuracy_words, newest_accuracy, store_beside
from viva.judge.decisive.acts import NAME_SHOWN, Act, act_turns, acts_of, agents_of
from viva.judge.trajectory.asking import Field, Question, Ruling
from viva.judge.trajectory.model_evaluator import ModelEvaluator, Steps
from viva.judge.trajectory.views import instructions_field, queries_field, stated_field
from viva.judge.turns import TRANSCRIPT_SHOWN, ShownTurns
from viva.records.evaluator import Context
from viva.records.text import one_line
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Label, Verdict

DECISIVE_STEP = "decisive_step"
DECISIVE = "decisive"
"""The label of the step that decided; it has no score."""
SUCCEEDED = "the run succeeded, so no step made it fail"
NO_ACTS = "nothing that the agent did or said was recorded"
_NUMBER = re.compile(r"(?:step )?([1-9][0-9]{0,6})", re.IGNORECASE)


class DecisiveAnswer(BaseModel):
    """An explanation first, then the agent and its step."""

    reason: str = Described(description="Two to four sentences that lead to the step.")
    quotes: list[str] = Described(description="Words copied exactly from the step.")
    mark: str = Described(description="The mark of the question, copied exactly.")
    agent: str = Described(description="The agent whose step it is.")
    step: str = Described(description="The number of the step, or unsure.")

    @model_validator(mode="before")
    @classmethod
    def _as_text(cls, value: Any) -> Any:
        value = with_list(value, "quotes")
        if isinstance(value, dict) and type(value.get("step")) is int:
            value = {**value, "step": str(value["step"])}
        return value


def _is_step(answer: DecisiveAnswer) -> None:
    if answer.step.strip().lower() != Label.UNSURE and _NUMBER.fullmatch(answer.step.strip()) is None:
        raise Unusable(f"`step` is {answer.step[:40]!r}, neither the number of a step nor {Label.UNSURE}")


@dataclass(frozen=True, slots=True)
class ActsQuestion(Question):
    """The question about a run, with its acts."""

    acts: tuple[Act, ...] = ()

    def check(self, labels: Mapping[str, str]) -> None:
        """Check that there is the step that an answer names.

        Raises:
            Unusable: there is not.
        """
        number = _NUMBER.fullmatch(labels["step"].strip().lower())
        if number is not None and int(number[1]) > len(self.acts):
            raise Unusable(f"it names step {number[1]}, but the run has {len(self.acts)}")


class DecisiveStep(ModelEvaluator):
    """Which step decided that the run failed? One verdict about this step, without a score."""

    name: ClassVar[str] = DECISIVE_STEP
    labels: ClassVar[Mapping[str, float]] = {}

    @property
    def prompt(self) -> Path:
        """The file that tells the model what to find."""
        return Path(__file__).parent / "prompts" / f"{self.name}.md"

    @property
    def form(self) -> Form[DecisiveAnswer]:
        """An answer names a step by its number."""
        return Form(DecisiveAnswer, ("step",), agree=_is_step)

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Find the step; the summary says how often this judge was right on labelled runs."""
        insight = await super().evaluate(transcript, context)
        found = next((each for each in insight.verdicts if each.label == DECISIVE), None)
        if found is None:
            return insight
        known = None
        if context.folder is not None:
            known = newest_accuracy(store_beside(context.folder), self._model.name, self.prompts)
        return replace(insight, summary=f"{found.statement}; {accuracy_words(known)}")

    def questions(
        self, transcript: Transcript, path: Steps, context: Context, marker: str
    ) -> Iterator[Question | Verdict]:
        """Yield one question for the whole run, unless it succeeded."""
        acts = acts_of(transcript)
        if transcript.success or not acts:
            yield self.skip(context.subject, SUCCEEDED if acts else NO_ACTS)
            return
        asked = [replace(each, name="Task") for each in queries_field(transcript)]
        if not asked and context.task:
            asked = [stated_field(transcript, "Task", context.task)]
        fields = (
            *asked,
            *instructions_field(transcript),
            Field("Agents", "\n".join(one_line(name, NAME_SHOWN) for name in agents_of(acts))),
            Field("Steps", ShownTurns(act_turns(acts, marker), TRANSCRIPT_SHOWN), acts[0].id),
        )
        yield ActsQuestion(context.subject, fields, sources=_sources(acts), acts=acts)

    def verdicts(self, question: Question, ruling: Ruling) -> Iterator[Verdict]:
        """Yield the verdict about the step, or about the run if no step was found."""
        acts = question.acts if isinstance(question, ActsQuestion) else ()
        label = ruling.labels.get("step", str(Label.ERROR)).strip().lower()
        number = _NUMBER.fullmatch(label)
        by, evaluator = self._model.name, self.name
        if number is None:
            about = replace(question, statement="the step that decided")
            yield replace(ruling, labels={"step": label}).verdict(about, evaluator, "step", {}, by, evaluator)
            return
        found = acts[int(number[1]) - 1]
        about = replace(question, subject=found.id, statement=f"step {found.number} by {one_line(found.agent, 100)}")
        yield replace(ruling, labels={"step": DECISIVE}).verdict(about, evaluator, "step", {}, by, evaluator)


def _sources(acts: Sequence[Act]) -> tuple[tuple[str, str], ...]:
    return tuple((act.id, text) for act in acts for _, text in act.parts if text)
