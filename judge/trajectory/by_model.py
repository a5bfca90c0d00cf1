"""The evaluators of trajectories that ask a model, each with the prompt file of its name.

A step that an evaluator cannot judge, because it has no thought or calls no tool, gets the label `skipped`. Of a run
with very many steps, not all are asked about, and the others stay open.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, model_validator
from pydantic import Field as Described

from viva.judge.answers import Form, Unusable, with_list
from viva.judge.steps import step_text, surrounding_parts
from viva.judge.trajectory import (
    ALIGNMENT,
    PARAMETER_QUALITY,
    PLAN_AND_RECOVERY,
    QUERY_TO_THOUGHT,
    SEQUENCE,
    THOUGHT_TO_TOOL,
)
from viva.judge.trajectory.asking import Field, Question, Ruling
from viva.judge.trajectory.decisions import EMPTY, StepDecision, later_parts, why_empty
from viva.judge.trajectory.model_evaluator import ModelEvaluator, Steps, asked_about
from viva.judge.trajectory.views import (
    answer_field,
    conversation_field,
    earlier_steps,
    instructions_field,
    queries_field,
    query_field,
    reduced,
    said_before,
    shown_field,
    sources,
    steps_field,
    tools_field,
)
from viva.records.evaluator import Context
from viva.records.transcript import Transcript
from viva.records.verdict import Verdict

NO_THOUGHT = "the step has no thought"
NO_TOOL_CALLED = "the step calls no tool"
NO_STEPS = "the trajectory has no steps"


CORRECT = {"correct": 1.0, "incorrect": 0.0}


class ThoughtToTool(ModelEvaluator):
    """Does the tool that was called match the thought before it?"""

    name = THOUGHT_TO_TOOL
    labels = CORRECT

    def questions(
        self, transcript: Transcript, path: Steps, context: Context, marker: str
    ) -> Iterator[Question | Verdict]:
        """Yield one question for each step with a thought."""
        tools = (*tools_field(transcript), *instructions_field(transcript))
        last = {each.number + 1: each.before(each.number + 1).result for each in path}
        asked = asked_about(each for each in path if each.thought)
        for each in path:
            if not each.thought:
                yield self.skip(each.id, NO_THOUGHT, each.tool)
                continue
            if each.number not in asked:
                yield self.not_asked(each.id, each.tool)
                continue
            fields = [query_field(transcript, each, "Original Question")] if each.query else []
            if before := last.get(each.number):
                fields.append(Field("Last Result", before, path[each.number - 2].id))
            fields += _own(each)
            if each.written:
                fields.append(Field("As Written", each.written, each.id))
            yield Question(each.id, (*tools, *fields), each.tool)


class QueryToThought(ModelEvaluator):
    """Does the thought show an understanding of the query?"""

    name = QUERY_TO_THOUGHT
    labels = CORRECT

    def questions(
        self, transcript: Transcript, path: Steps, context: Context, marker: str
    ) -> Iterator[Question | Verdict]:
        """Yield one question for each step with a thought that answers a query."""
        instructions = tuple(instructions_field(transcript))
        asked = asked_about(each for each in path if each.thought and each.query)
        for each in path:
            if not each.thought or not each.query:
                yield self.skip(each.id, NO_THOUGHT if each.query else "no query was recorded before it", each.tool)
                continue
            if each.number not in asked:
                yield self.not_asked(each.id, each.tool)
                continue
            fields = [
                *instructions,
                *said_before(transcript, each, "Earlier Conversation"),
                query_field(transcript, each, "User Query"),
                *earlier_steps(transcript, path, each, "Steps So Far", marker, same_round=True),
                Field("Agent's Current Thought", each.thought, each.id),
            ]
            yield Question(each.id, tuple(fields), each.tool)


class SequenceOptimality(ModelEvaluator):
    """Was the path the most efficient one?"""

    name = SEQUENCE
    labels: ClassVar[Mapping[str, float]] = {"optimal": 1.0, "suboptimal": 0.0}

    def questions(
        self, transcript: Transcript, path: Steps, context: Context, marker: str
    ) -> Iterator[Question | Verdict]:
        """Yield one question for the whole trajectory."""
        yield _whole(transcript, path, context, marker) if path else self.skip(context.subject, _no_steps(transcript))


class ParameterQuality(ModelEvaluator):
    """Are the arguments of each call complete and sound?"""

    name = PARAMETER_QUALITY
    labels: ClassVar[Mapping[str, float]] = {
        "good": 1.0,
        "missing": 0.0,
        "invalid": 0.0,
        "invented": 0.0,
        "invalid_combination": 0.0,
    }

    def questions(
        self, transcript: Transcript, path: Steps, context: Context, marker: str
    ) -> Iterator[Question | Verdict]:
        """Yield one question for each tool call."""
        tools, instructions = tuple(tools_field(transcript)), tuple(instructions_field(transcript))
        asked = asked_about(each for each in path if each.calls_tool)
        for each in path:
            if not each.calls_tool:
                yield self.skip(each.id, NO_TOOL_CALLED, each.tool)
                continue
            if each.number not in asked:
                yield self.not_asked(each.id, each.tool)
                continue
            fields = [
                *tools,
                *instructions,
                *said_before(transcript, each, "Conversation"),
                *([query_field(transcript, each, "User Query")] if each.query else []),
                *earlier_steps(transcript, path, each, "Earlier Steps", marker, same_round=False),
                *_own(each),
            ]
            if each.first_result is not None:
                fields.append(Field("Result", each.first_result or EMPTY, each.id))
            if afterwards := step_text(later_parts(each)):
                fields.append(Field("Afterwards", afterwards, each.id))
            yield Question(each.id, tuple(fields), each.tool)


YesNo = Literal["yes", "no", "not_applicable", "unsure"]


class PlanAnswer(BaseModel):
    """An explanation first, and three labels last."""

    reason: str = Described(description="Two to four sentences that lead to the answers.")
    quotes: list[str] = Described(description="Words copied exactly from the data.")
    mark: str = Described(description="The mark of the question, copied exactly.")
    planned: YesNo = Described(description="Whether the agent stated a plan.")
    followed: YesNo = Described(description="Whether it carried its plan out.")
    recovered: YesNo = Described(description="Whether it found another way after each failed call.")

    @model_validator(mode="before")
    @classmethod
    def _without_quotes(cls, value: Any) -> Any:
        return with_list(value, "quotes")


def _agree(answer: PlanAnswer) -> None:
    if answer.planned in ("no", "not_applicable") and answer.followed != "not_applicable":
        raise Unusable(f"`planned` is {answer.planned}, and `followed` is {answer.followed}, not not_applicable")


class PlanAndRecovery(ModelEvaluator):
    """Did the agent plan, follow its plan, and recover from failed tools? Three verdicts, one for each."""

    name = PLAN_AND_RECOVERY
    labels: ClassVar[Mapping[str, float]] = {"yes": 1.0, "no": 0.0}
    decisions: ClassVar[tuple[str, ...]] = ("planned", "followed", "recovered")

    @property
    def form(self) -> Form[PlanAnswer]:
        """An answer has three decisions; `not_applicable` has no score and opens no bounds."""
        return Form(PlanAnswer, self.decisions, agree=_agree)

    def questions(
        self, transcript: Transcript, path: Steps, context: Context, marker: str
    ) -> Iterator[Question | Verdict]:
        """Yield one question for the whole trajectory."""
        yield _whole(transcript, path, context, marker) if path else self.skip(context.subject, _no_steps(transcript))

    def verdicts(self, question: Question, ruling: Ruling) -> Iterator[Verdict]:
        """Yield one verdict for each decision."""
        for decision in self.decisions:
            yield ruling.verdict(question, decision, decision, self.labels, self._model.name, self.name)

    def scores(self, verdicts: Sequence[Verdict]) -> Mapping[str, float]:
        """Return the score of each decision that applies."""
        return {verdict.criterion: verdict.score for verdict in verdicts if verdict.score is not None}


class Alignment(ModelEvaluator):
    """Do the actions align with the user's intent and stated preferences?"""

    name = ALIGNMENT
    labels: ClassVar[Mapping[str, float]] = {"aligned": 1.0, "misaligned": 0.0}

    def questions(
        self, transcript: Transcript, path: Steps, context: Context, marker: str
    ) -> Iterator[Question | Verdict]:
        """Yield one question for the whole conversation."""
        if (empty := why_empty(transcript, path)) is not None:
            yield self.skip(context.subject, empty)
            return
        if not any(round_.examiner for round_ in transcript.rounds):
            yield self.skip(context.subject, "no message of the user was recorded")
            return
        fields = list(instructions_field(transcript))
        fields.append(shown_field("Conversation", reduced(transcript, path), transcript.rounds[0].id))
        yield Question(context.subject, tuple(fields), sources=sources(transcript, path))


def _no_steps(transcript: Transcript) -> str:
    return why_empty(transcript, ()) or NO_STEPS


def _own(each: StepDecision) -> list[Field]:
    fields = [Field("Agent's Thought", each.thought, each.id)] if each.thought else []
    fields += [Field("Tool Called", each.tool, each.id), Field("Tool Action Input", each.input, each.id)]
    if around := step_text(surrounding_parts(each.step)):
        fields.append(Field("Folder and Variables", around, each.id))
    return fields


def _whole(transcript: Transcript, path: Steps, context: Context, marker: str) -> Question:
    fields = (
        *tools_field(transcript),
        *instructions_field(transcript),
        *queries_field(transcript),
        *conversation_field(transcript),
        steps_field(transcript, path, marker),
        *answer_field(transcript),
    )
    return Question(context.subject, fields, sources=sources(transcript, path))
