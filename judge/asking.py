"""Asks a judge's model a question, and asks again, naming the fault, until the answer is usable."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import MultiModalMessage, StructuredMessage, TextMessage
from autogen_core import CancellationToken, Image
from pydantic import ValidationError

from viva.adapters.calls import describe
from viva.errors import ModelAnswerError, ModelError, SchemaError, SharedSetupError
from viva.judge.answers import COPIED, PLANTED_REASON, A, Copied, Form, Said, Unusable, parse_answer
from viva.models.client import Model
from viva.models.retry import status_of
from viva.records.fault import Fault

ASKS = 3
"""Maximum number of questions: the first, and two more that say what was wrong with the answer."""
T = TypeVar("T")
Shown = Image | str
"""What goes with a question, in order: pictures, and words between them."""


class AskAgain(Exception):
    """The answer has the right form, but the judge must be asked again; holds the fault, and the next question."""

    def __init__(self, fault: str, question: str) -> None:
        super().__init__(fault)
        self.question = question


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """Why a question has no usable answer: the reason and the fault of an `error` verdict."""

    reason: str
    fault: Fault
    error: BaseException | None = None
    """What was raised last, with its cause; says whether another way of asking could help."""
    planted: bool = False
    """Whether each answer repeated a verdict that stands in the transcript, so that the agent caused the failure."""


class Conversation(Generic[A]):
    """A conversation with a judge about one question, with structured answers if the provider supports them."""

    def __init__(self, model: Model, form: Form[A], system: str, said: str) -> None:
        """Args:
        model: The model, with a counter of its own (`Model.for_run`).
        form: The form of each answer.
        system: The rendered system prompt.
        said: The text of the judged conversation that the model is shown; an answer that is found in it is a copy.
        """
        self._model = model
        self._form = form
        self._system = system
        self._said = Said(said)
        self.mark = secrets.token_hex(4)
        """The mark at the end of the question. It is random, so no verdict written beforehand can contain it."""
        self._agent: AssistantAgent | None = None
        self._structured = model.traits.structured
        self._ignored = False
        self._questions: list[str] = []
        self._images: list[Shown] = []

    async def ask(self, question: str, images: Sequence[Shown] = ()) -> A:
        """Ask one question with its images, and return the answer.

        Raises:
            Unusable: the answer does not have the requested form, or contradicts itself.
            ModelError: the provider failed.
        """
        self._questions.append(question)
        self._images.extend(images)
        answer = await self._in_form(list(images))
        if self._said.holds_reason(answer.reason):
            raise Copied(COPIED)
        if not secrets.compare_digest(answer.mark.strip().encode(), self.mark.encode()):
            raise Unusable("it does not carry the mark of the question")
        self._form.check_consistent(answer)
        return answer

    async def ask_until_usable(
        self, question: str, accept: Callable[[A, bool], T], images: Sequence[Shown] = ()
    ) -> T | NoAnswer:
        """Ask up to `ASKS` times; a failure of the model or the provider becomes `NoAnswer`, not an exception.

        Args:
            question: The first question.
            accept: Returns the result for an answer; its second argument says whether the answer is the last one. It
                raises `AskAgain` or `Unusable` to ask again.
            images: The images of the question, with words between them; they follow it.

        Raises:
            SharedSetupError: the model cannot be used at all.
        """
        fault = ""
        last: Exception | None = None
        planted = True
        shown = tuple(images)
        try:
            for ask in range(1, ASKS + 1):
                try:
                    return accept(await self.ask(question, shown), ask == ASKS)
                except Unusable as error:
                    fault, last = str(error), error
                    planted = planted and isinstance(error, Copied)
                    question = f"Your answer cannot be used: {fault}. Answer again, in full, in the form asked for."
                except AskAgain as again:
                    fault, question, last = str(again), again.question, again
                    planted = False
                shown = ()
        except SharedSetupError:
            raise
        except ModelError as error:
            return NoAnswer(f"the judge's model failed: {error}", Fault.INFRA, error)
        except Exception as error:  # a question that cannot be answered must not affect the others
            return NoAnswer(f"the judge failed: {describe(error)}", Fault.JUDGE, error)
        if planted:
            return NoAnswer(f"{PLANTED_REASON} in each of {ASKS} answers", Fault.TARGET, last, planted=True)
        return NoAnswer(f"no usable verdict after {ASKS} questions: {fault}", Fault.JUDGE, last)

    async def _in_form(self, images: list[Shown]) -> A:
        """Return the model's answer to the last question, without a schema if the provider refuses one."""
        try:
            answer = await self._once(images)
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
                answer = await self._once(images)
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

    async def _once(self, images: list[Shown]) -> A:
        question = self._questions[-1]
        if self._agent is None:
            question, images = "\n\n".join(self._questions), self._images
            self._agent = AssistantAgent(
                "judge",
                self._model,
                system_message=self._system,
                output_content_type=self._form.model if self._structured else None,
            )
        try:
            response = await self._agent.on_messages([_message(question, images)], CancellationToken())
        except SchemaError:
            raise
        except ModelAnswerError as error:
            raise Unusable(str(error)) from error
        except ValidationError as error:
            raise SchemaError("it was empty, or not JSON in the form asked for") from error
        message = response.chat_message
        if isinstance(message, StructuredMessage):
            return cast("A", self._form.model.model_validate(message.content.model_dump()))
        return parse_answer(self._form, str(getattr(message, "content", "")), self._said)


def _message(question: str, images: Sequence[Shown]) -> TextMessage | MultiModalMessage:
    if not images:
        return TextMessage(content=question, source="user")
    return MultiModalMessage(content=[question, *images], source="user")
