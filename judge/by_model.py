"""Judges scoring points with a language model: one question per point, an answer that must stand up to checking."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Literal

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import StructuredMessage, TextMessage
from autogen_core import CancellationToken
from pydantic import BaseModel, Field, ValidationError

from adapters.errors import ModelAnswerError, ModelError
from adapters.models import Model
from adapters.prompts import render
from adapters.retry import status_of
from cases import Case, ScoringPoint
from judge.evidence import look_up
from judge.view import ShownTranscript, show
from records.text import storable
from records.transcript import Transcript
from records.verdict import Evidence, Label, Verdict

PROMPTS = Path(__file__).parent / "prompts"
SYSTEM_PROMPT = PROMPTS / "judge.md"
QUESTION_PROMPT = PROMPTS / "scoring_point.md"

ASKS = 3
"""Questions per scoring point at most: the first, and two more that name what was wrong with the answer."""


class Quote(BaseModel):
    """Words from the transcript."""

    round: int = Field(description="Number of the round the words stand in.")
    quote: str = Field(description="The words exactly as they stand there, as few as are needed.")


class Answer(BaseModel):
    """What the judge answers. Its reasoning comes first, so that the verdict can follow from it."""

    reason: str = Field(description="Two or three sentences that lead to the verdict.")
    evidence: list[Quote] = Field(description="The words in the transcript on which the verdict rests.")
    verdict: Literal["hit", "miss", "unsure"]


class Unusable(Exception):
    """An answer that does not count; the message tells the judge why."""


class ModelJudge:
    """Asks a model about the scoring points of one run."""

    def __init__(self, model: Model, case: Case, subject: str, transcript: Transcript) -> None:
        self.model = model.for_run()
        self._case = case
        self._subject = subject
        self._transcript = transcript
        self._shown: ShownTranscript = show(transcript)

    async def judge(self, point: ScoringPoint) -> Verdict:
        """One verdict; an answer that stays unusable becomes `error`, never an exception and never a hit."""
        try:
            answer, evidence, flags = await self._ask(point)
        except ModelError as error:
            return self._verdict(point, Label.ERROR, f"the judge's model failed: {error}", fault="infra")
        except Unusable as error:
            return self._verdict(point, Label.ERROR, f"no usable verdict after {ASKS} asks: {error}", fault="judge")
        return self._verdict(point, answer.verdict, storable(answer.reason.strip()), tuple(evidence), flags)

    async def _ask(self, point: ScoringPoint) -> tuple[Answer, list[Evidence], tuple[str, ...]]:
        conversation = _Conversation(self.model)
        question = render(
            QUESTION_PROMPT,
            task_description=self._case.task_description.strip(),
            transcript=self._shown.text,
            marker=self._shown.marker,
            statement=point.score_point.strip(),
        )
        flags = ("transcript-cut",) if self._shown.cut else ()
        fault = ""
        for ask in range(1, ASKS + 1):
            try:
                answer = await conversation.ask(question)
                check_consistent(answer)
            except Unusable as error:
                fault = str(error)
                question = f"Your answer cannot be used: {fault}. Answer again, in full, in the form asked for."
                continue
            found, lost = look_up(self._transcript, [(item.round, item.quote) for item in answer.evidence])
            if answer.verdict != Label.HIT or found:
                return answer, found, (*flags, "quote-not-found") if lost else flags
            fault = _no_evidence(lost)
            if ask == ASKS:
                unsure = Answer(verdict="unsure", evidence=[], reason=f"{answer.reason} [Held as a hit, but {fault}.]")
                return unsure, [], (*flags, "quote-not-found")
            question = (
                f"You answered hit, but {fault}. Look again and answer in full: quote the agent exactly, or change the "
                "verdict if the words are not there."
            )
        raise Unusable(fault)

    def _verdict(
        self,
        point: ScoringPoint,
        label: str,
        reason: str,
        evidence: tuple[Evidence, ...] = (),
        flags: tuple[str, ...] = (),
        fault: str | None = None,
    ) -> Verdict:
        score = {Label.HIT: 1.0, Label.MISS: 0.0}.get(label)
        return Verdict(
            self._subject,
            point.id,
            label,
            score,
            reason,
            evidence,
            self.model.name,
            point.score_point,
            point.weight,
            flags=flags,
            fault=fault,
        )


class _Conversation:
    """One judge talking about one scoring point: structured answers where the provider takes a schema, else JSON."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self._agent: AssistantAgent | None = None
        self._structured: bool | None = None

    async def ask(self, question: str) -> Answer:
        """Put one question.

        Raises:
            Unusable: the answer is not in the form asked for.
            ModelError: the provider failed.
        """
        try:
            return await self._once(question)
        except ModelError as error:
            refused = error.__cause__ is not None and status_of(error.__cause__) in (400, 404, 415, 422)
            if not (refused and self._structured):
                raise
            # The provider does not know schemas: from now on, for all runs, it is asked in words alone.
            self._model.traits.structured = False
            return await self._once(question)

    async def _once(self, question: str) -> Answer:
        if self._agent is None or self._structured != self._model.traits.structured:
            self._structured = self._model.traits.structured
            self._agent = AssistantAgent(
                "judge",
                self._model,
                system_message=render(SYSTEM_PROMPT),
                output_content_type=Answer if self._structured else None,
            )
        try:
            response = await self._agent.on_messages(
                [TextMessage(content=question, source="user")], CancellationToken()
            )
        except ModelAnswerError as error:
            raise Unusable(str(error)) from error
        except ValidationError as error:
            raise Unusable("it was empty, or not JSON in the form asked for") from error
        message = response.chat_message
        if isinstance(message, StructuredMessage):
            return Answer.model_validate(message.content.model_dump())
        return parse_answer(str(getattr(message, "content", "")))


def parse_answer(text: str) -> Answer:
    """Find the answer in what a model wrote: JSON alone, in a code fence, or with words around it.

    Raises:
        Unusable: there is none, or more than one and they differ.
    """
    answers: list[Answer] = []
    fault = "it holds no JSON object"
    decoder, position = json.JSONDecoder(), 0
    while (start := text.find("{", position)) >= 0:
        try:
            value, position = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            position = start + 1
            continue
        try:
            answers.append(_answer(value))
        except ValidationError as error:
            first = error.errors()[0]
            fault = f"it does not fit the form: {first['msg']} at {'.'.join(map(str, first['loc']))}"
    if not answers:
        raise Unusable(fault)
    if len({answer.verdict for answer in answers}) > 1:
        raise Unusable("it holds several verdicts that differ")
    return answers[-1]


def _answer(value: Any) -> Answer:
    if isinstance(value, dict) and isinstance(value.get("verdict"), str):
        value = {**value, "verdict": value["verdict"].strip().lower()}
    if isinstance(value, dict) and value.get("evidence") is None:
        value = {**value, "evidence": []}
    return Answer.model_validate(value)


# What a reason says when it draws a conclusion of its own; only plain statements of a result, not any negation.
_NAMED = re.compile(
    r"\b(?:verdict|conclusion|label)\b\W{0,4}(?:is|should be|must be)?\W{0,4}\b(hit|miss|unsure)\b", re.I
)
_TRUE = re.compile(
    r"\bstatement (?:is|holds|was)\s*(?:therefore |thus |clearly )?(?:true|satisfied|met|fulfilled)\b", re.I
)
_FALSE = re.compile(
    r"\bstatement (?:is|does|was)\s*(?:therefore |thus |clearly )?"
    r"(?:false|not (?:true|satisfied|met|fulfilled|hold)|untrue|unsatisfied)\b",
    re.I,
)


def check_consistent(answer: Answer) -> None:
    """See that an answer gives a reason, and that the reason does not say the opposite of the verdict.

    Raises:
        Unusable: it does not, or it does.
    """
    reason = answer.reason.strip()
    if not reason:
        raise Unusable("it gives no reason")
    named = {match.lower() for match in _NAMED.findall(reason)}
    if named and answer.verdict not in named:
        raise Unusable(f"its reason concludes {' and '.join(sorted(named))}, its verdict is {answer.verdict}")
    if answer.verdict == Label.HIT and _FALSE.search(reason) and not _TRUE.search(reason):
        raise Unusable("its reason calls the statement false, its verdict is hit")
    if answer.verdict == Label.MISS and _TRUE.search(reason) and not _FALSE.search(reason):
        raise Unusable("its reason calls the statement true, its verdict is miss")


def _no_evidence(lost: list[str]) -> str:
    if not lost:
        return "it quotes nothing from the transcript"
    shown = "; ".join(repr(quote[:120]) for quote in lost[:3])
    return f"these words do not stand in the transcript: {shown}"
