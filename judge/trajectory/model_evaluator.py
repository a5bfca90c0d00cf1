"""What the evaluators of trajectories that ask a model have in common: questions asked, answers made verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from viva.errors import SetupError
from viva.judge.answers import Form, label_form
from viva.judge.steps import new_marker
from viva.judge.trajectory import SKIPPED
from viva.judge.trajectory.asking import PROMPTS, Question, Ruling, ask_all, prompt_hashes, stopwatch
from viva.judge.trajectory.decisions import StepDecision, decisions
from viva.judge.trajectory.insights import summarize
from viva.models.metered_model import MeteredModel
from viva.records.evaluator import Context
from viva.records.text import counted
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Label, Verdict

if TYPE_CHECKING:
    from viva.models.model import Model

Steps = Sequence[StepDecision]
MOST_KEPT = 20
"""Runs whose usable answers are kept after a judging that left errors."""
MOST_ASKED = 500
"""Maximum number of steps of a run about which an evaluator asks: an agent must not set what its judging costs."""
NOT_ASKED = "not-asked"
"""The flag of the verdict on a step about which no judge was asked, because there are too many."""
TOO_MANY = f"no judge was asked: the run has more than {MOST_ASKED} such steps"


class ModelEvaluator:
    """Asks a model questions about a trajectory, and turns each answer into verdicts."""

    name: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ("model", "text")
    labels: ClassVar[Mapping[str, float]] = {}
    """Label to score, in the order in which the prompt has them; `unsure` and `error` are always there."""

    def __init__(self, model: Model | None) -> None:
        """Args:
            model: Judges; shared by all runs.

        Raises:
            SetupError: there is none.
        """
        if model is None:
            raise SetupError(f"the evaluator {self.name!r} requires a model: add --model openai:NAME.")
        self._model = model
        self._usable: dict[str, tuple[str, dict[Question, Ruling]]] = {}
        """Marker and answers of runs whose judging left errors: when judged again, only the others are asked."""

    @property
    def prompts(self) -> Mapping[str, str]:
        """Hashes of the prompts."""
        return prompt_hashes(self.name, self.prompt)

    @property
    def prompt(self) -> Path:
        """The file that tells the model what to judge."""
        return PROMPTS / f"{self.name}.md"

    @property
    def form(self) -> Form[Any]:
        """What an answer must look like."""
        return label_form((*self.labels, Label.UNSURE.value))

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Judge every step, or the whole; what cannot be judged is skipped and counted."""
        seconds = stopwatch()
        # One marker for all questions: they begin with the same bytes, which a provider's cache can serve.
        marker, known = self._usable.pop(context.subject, (new_marker(), {}))
        asked = list(self.questions(transcript, decisions(transcript), context, marker))
        questions = [each for each in asked if isinstance(each, Question)]
        model = MeteredModel(self._model)
        left = [each for each in questions if each not in known]
        found = {**known, **dict(zip(left, await self._ask(model, left, marker), strict=True))}
        self._keep(context.subject, marker, found)
        verdicts: list[Verdict] = []
        for each in asked:
            if isinstance(each, Verdict):
                verdicts.append(each)
            else:
                verdicts += self.verdicts(each, found[each])
        insight = summarize(
            self.name,
            context.subject,
            verdicts,
            scores=self.scores(verdicts),
            usage=model.usage,
            seconds=seconds(),
        )
        left_out = sum(NOT_ASKED in each.flags for each in verdicts)
        if not left_out:
            return insight
        note = f"no judge was asked about {counted(left_out, 'step')}, which count as open: there are too many"
        return replace(insight, notes=(*insight.notes, note))

    async def _ask(self, model: Model, questions: Sequence[Question], marker: str) -> list[Ruling]:
        worst = min(self.labels, key=lambda label: self.labels[label], default=Label.ERROR.value)
        return await ask_all(model, self.form, self.prompt, questions, marker=marker, worst=worst)

    def _keep(self, run: str, marker: str, found: Mapping[Question, Ruling]) -> None:
        usable = {question: ruling for question, ruling in found.items() if ruling.fault is None}
        if len(usable) < len(found):
            while len(self._usable) >= MOST_KEPT:
                self._usable.pop(next(iter(self._usable)))
            self._usable[run] = (marker, usable)

    def questions(
        self, transcript: Transcript, path: Steps, context: Context, marker: str
    ) -> Iterator[Question | Verdict]:
        """Yield what is asked, and a verdict for everything that is skipped."""
        raise NotImplementedError

    def verdicts(self, question: Question, ruling: Ruling) -> Iterator[Verdict]:
        """Yield the verdicts of one answer."""
        yield ruling.verdict(question, self.name, "label", self.labels, self._model.name, self.name)

    def scores(self, verdicts: Sequence[Verdict]) -> Mapping[str, float]:
        """Return the named scores of the insight."""
        return {}

    def skip(self, subject: str, why: str, statement: str = "") -> Verdict:
        """Make the verdict on something that is not judged."""
        return Verdict(subject, self.name, SKIPPED, None, reason=why, statement=statement)

    def not_asked(self, subject: str, statement: str = "") -> Verdict:
        """Make the verdict on a step of too many: it is open, which a gate counts as wrong."""
        flags = (NOT_ASKED,)
        return Verdict(subject, self.name, Label.UNSURE, None, reason=TOO_MANY, statement=statement, flags=flags)


def asked_about(path: Iterable[StepDecision]) -> frozenset[int]:
    """Return the numbers of the steps about which a judge is asked: all, or as many as allowed.

    Steps that the environment recorded come first, because an agent may report any number of others. If there are still
    too many, they are spread evenly.
    """
    steps = list(path)
    seen = [each.number for each in steps if each.step.from_environment]
    told = [each.number for each in steps if not each.step.from_environment]
    asked = _spread(seen, MOST_ASKED)
    return frozenset([*asked, *_spread(told, MOST_ASKED - len(asked))])


def _spread(numbers: Sequence[int], most: int) -> Sequence[int]:
    """Return so many numbers, from the first to the last one."""
    if len(numbers) <= most:
        return numbers
    last = len(numbers) - 1
    return [numbers[round(place * last / max(1, most - 1))] for place in range(most)]
