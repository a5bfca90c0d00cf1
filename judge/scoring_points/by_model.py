"""Judges scoring points with a language model: one question for each point, and an answer that is checked."""

from __future__ import annotations

import secrets
from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import StructuredMessage, TextMessage
from autogen_core import CancellationToken
from pydantic import ValidationError

from adapters.calls import describe
from adapters.errors import ModelAnswerError, ModelError, SchemaError, SharedSetupError
from adapters.models.client import Model
from adapters.models.prompts import digest, render
from adapters.models.retry import status_of
from cases import Case, ScoringPoint
from judge.evidence import look_up
from judge.scoring_points.answer import Answer, Unusable, check_consistent, is_copied, parse_answer, squeeze
from judge.view import ShownTranscript, show
from records.text import storable
from records.transcript import Transcript
from records.verdict import Evidence, Fault, Label, Verdict

PROMPTS = Path(__file__).parent / "prompts"
SYSTEM_PROMPT = PROMPTS / "judge.md"
QUESTION_PROMPT = PROMPTS / "scoring_point.md"

ASKS = 3
"""Maximum number of questions for each point: the first, and two more that say what was wrong with the answer."""


def prompt_hashes() -> dict[str, str]:
    """Return the hash of each prompt by name, as runs record it."""
    return {"judge": digest(SYSTEM_PROMPT), "scoring_point": digest(QUESTION_PROMPT)}


class ModelJudge:
    """Asks a model about the scoring points of one run."""

    def __init__(self, model: Model, case: Case, subject: str, transcript: Transcript) -> None:
        self.model = model.for_run()
        self._case = case
        self._subject = subject
        self._transcript = transcript
        self._shown: ShownTranscript = show(transcript)

    async def judge(self, point: ScoringPoint) -> Verdict:
        """Return one verdict; an answer that stays unusable becomes `error`, never an exception and never a hit."""
        try:
            answer, evidence, flags = await self._ask(point)
        except SharedSetupError:
            raise
        except ModelError as error:
            return self._verdict(point, Label.ERROR, f"the judge's model failed: {error}", fault=Fault.INFRA)
        except Unusable as error:
            return self._verdict(
                point, Label.ERROR, f"no usable verdict after {ASKS} questions: {error}", fault=Fault.JUDGE
            )
        except Exception as error:  # a point that cannot be judged must not affect the others
            return self._verdict(point, Label.ERROR, f"the judge broke: {describe(error)}", fault=Fault.JUDGE)
        return self._verdict(point, answer.verdict, storable(answer.reason.strip()), tuple(evidence), flags)

    async def _ask(self, point: ScoringPoint) -> tuple[Answer, list[Evidence], tuple[str, ...]]:
        conversation = _Conversation(self.model, self._shown.text)
        question = render(
            QUESTION_PROMPT,
            task_description=self._case.task_description.strip(),
            transcript=self._shown.text,
            marker=self._shown.marker,
            statement=point.score_point.strip(),
            mark=conversation.mark,
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
            quotes = [(item.round, item.quote) for item in answer.evidence]
            found, lost = look_up(self._transcript, quotes)
            hit = answer.verdict == Label.HIT.value
            supported = not hit or bool(look_up(self._transcript, quotes, by_agent=True)[0])
            if supported and not (hit and lost and ask < ASKS):
                return answer, found, (*flags, "quote-not-found") if lost else flags
            fault = _no_evidence(lost, found)
            if ask == ASKS:
                reason = f"{answer.reason} [The judge answered hit, but {fault}.]"
                unsure = Answer(reason=reason, evidence=[], statement_is="undecided", verdict="unsure", mark="")
                return unsure, [], (*flags, "quote-not-found")
            question = (
                f"You answered hit, but {fault}. Look again and answer in full: quote the agent exactly (its last "
                "words, if the hit rests on something that did not happen), or change the verdict if it rests on words "
                "that nobody said."
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
        score = {"hit": 1.0, "miss": 0.0}.get(label)
        return Verdict(
            self._subject,
            point.id,
            label,
            score,
            reason=reason,
            evidence=evidence,
            by=self.model.name,
            statement=point.score_point,
            weight=point.weight,
            flags=flags,
            fault=fault,
        )


class _Conversation:
    """One judge's conversation about one point, with structured answers if the provider supports them, else JSON."""

    def __init__(self, model: Model, said: str) -> None:
        self._model = model
        self._said = squeeze(said)
        self.mark = secrets.token_hex(4)
        """The marker of the question. It is random, so no verdict that an agent wrote beforehand can contain it."""
        self._agent: AssistantAgent | None = None
        self._structured = model.traits.structured
        self._ignored = False
        self._questions: list[str] = []

    async def ask(self, question: str) -> Answer:
        """Ask one question and return the answer.

        Raises:
            Unusable: the answer does not have the requested form.
            ModelError: the provider failed.
        """
        self._questions.append(question)
        answer = await self._in_form()
        if not secrets.compare_digest(answer.mark.strip().encode(), self.mark.encode()):
            raise Unusable("it does not carry the mark of the question")
        if is_copied(answer.reason, self._said):
            raise Unusable("its reason is copied out of the transcript: give one of your own")
        return answer

    async def _in_form(self) -> Answer:
        """Return the model's answer to the last question, without a schema if the provider refuses one."""
        try:
            answer = await self._once()
        except SchemaError as error:
            # It accepts schemas but does not follow them: from now on it answers in text, which is read more leniently.
            self._ignored = True
            self._go_on_without_schema()
            raise Unusable(str(error)) from error
        except ModelError as error:
            refused = error.__cause__ is not None and status_of(error.__cause__) in (400, 404, 415, 422)
            if not (refused and self._structured):
                raise
            # Either the provider does not support schemas, or it rejects the question: asking for text shows which.
            self._go_on_without_schema()
            try:
                answer = await self._once()
            except Unusable:
                self._model.traits.structured = False
                raise
            self._model.traits.structured = False
        if self._ignored:
            self._model.traits.structured = False
        return answer

    def _go_on_without_schema(self) -> None:
        """Use a new agent, because the memory of the old one holds a question without an answer."""
        self._structured, self._agent = False, None

    async def _once(self) -> Answer:
        question = self._questions[-1]
        if self._agent is None:
            question = "\n\n".join(self._questions)
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
        except SchemaError:
            raise
        except ModelAnswerError as error:
            raise Unusable(str(error)) from error
        except ValidationError as error:
            raise SchemaError("it was empty, or not JSON in the form asked for") from error
        message = response.chat_message
        if isinstance(message, StructuredMessage):
            return Answer.model_validate(message.content.model_dump())
        return parse_answer(str(getattr(message, "content", "")), self._said)


def _no_evidence(lost: list[str], found: list[Evidence]) -> str:
    if found:
        return "the evidence quotes the examiner, and no words of the agent"
    if not lost:
        return "the evidence quotes nothing from the transcript"
    shown = "; ".join(repr(quote[:120]) for quote in lost[:3])
    return f"these words do not stand in the transcript: {shown}"
