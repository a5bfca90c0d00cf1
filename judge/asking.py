"""Asks a judge's model a question, and asks again, naming the fault, until the answer is usable."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from viva.adapters.calls import describe
from viva.errors import CutOffError, ModelAnswerError, ModelError, SchemaError, SharedSetupError
from viva.judge.answers import A, Copied, Form, Unusable, parse_answer
from viva.judge.copies import COPIED, PLANTED_REASON, Said
from viva.judge.exchange.log import Topic, note_exchange
from viva.models.cache.scope import noted_answers
from viva.models.marks import new_mark
from viva.models.model import Completion, Model, ModelMessage, PictureFile
from viva.records.fault import Fault

ASKS = 3
"""Maximum number of questions: the first, and two more that say what was wrong with the answer."""
T = TypeVar("T")
Shown = PictureFile | str
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
    """Whether all answers, or all but one, repeated a verdict or a mark from the transcript, which the agent caused."""
    unusable: bool = False
    """Whether the model answered each question, and no answer could be used."""
    flag: str = ""
    """The flag of a verdict that is open, and counts, because what the agent said or did keeps the judge from one."""


class Conversation(Generic[A]):
    """A conversation with a judge about one question, with structured answers if the provider supports them."""

    def __init__(self, model: Model, form: Form[A], system: str, said: str, topic: Topic) -> None:
        """Args:
        model: The model; the caller counts what it uses.
        form: The form of each answer.
        system: The rendered system prompt.
        said: The text of the judged conversation that the model is shown; an answer that is found in it is a copy.
        topic: What the question is about.
        """
        self._model = model
        self._topic = topic
        self._form = form
        self._system = system
        self._said = Said(said)
        self.mark = new_mark(4)
        """The mark at the end of the question. It is random, so no verdict written beforehand can contain it."""
        self._messages: list[ModelMessage] = []
        """The questions that were answered, and their answers."""
        self._unanswered: list[Shown] = []
        """What was asked since the last answer."""
        self._structured = True

    async def ask(self, question: str, images: Sequence[Shown] = ()) -> A:
        """Ask one question with its images, and return the answer.

        Raises:
            Unusable: the answer does not have the requested form, or contradicts itself.
            ModelError: the provider failed.
        """
        self._unanswered = [*self._unanswered, question, *images]
        answer = await self._answer()
        if self._said.holds_reason(answer.reason):
            raise Copied(COPIED)
        if answer.mark.strip() != self.mark:
            if self._said.plants_mark(answer.mark, beside=self._own_words()):
                raise Copied(f"it carries a mark from the transcript: the mark of the question is {self.mark}")
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
        with noted_answers() as forget:
            found = await self._until_usable(question, accept, images)
        if isinstance(found, NoAnswer):
            forget()
        return found

    async def _until_usable(
        self, question: str, accept: Callable[[A, bool], T], images: Sequence[Shown]
    ) -> T | NoAnswer:
        fault = ""
        last: Exception | None = None
        copied = 0
        shown = tuple(images)
        try:
            for ask in range(1, ASKS + 1):
                try:
                    return accept(await self.ask(question, shown), ask == ASKS)
                except Unusable as error:
                    fault, last = str(error), error
                    copied += isinstance(error, Copied)
                    how = "briefly" if isinstance(error.__cause__, CutOffError) else "in full"
                    question = f"Your answer cannot be used: {fault}. Answer again, {how}, in the form asked for."
                except AskAgain as again:
                    fault, question, last = str(again), again.question, again
                shown = ()
        except SharedSetupError:
            raise
        except ModelError as error:
            return NoAnswer(f"the judge's model failed: {error}", Fault.INFRA, error)
        except Exception as error:  # a question that cannot be answered must not affect the others
            return NoAnswer(f"the judge failed: {describe(error)}", Fault.JUDGE, error)
        # One answer with another fault does not show that the agent's verdict had no part in it.
        if copied >= ASKS - 1:
            return NoAnswer(f"{PLANTED_REASON} in {copied} of {ASKS} answers", Fault.TARGET, last, planted=True)
        hint = f" ({CutOffError.hint})" if last is not None and isinstance(last.__cause__, CutOffError) else ""
        reason = f"no usable verdict after {ASKS} questions: {fault}{hint}"
        return NoAnswer(reason, Fault.JUDGE, last, unusable=True)

    def _own_words(self) -> str:
        """Return what was asked, without what was shown: that is indented, so nobody in it can write such a line.

        Heads of steps and captions of images remain, in which there are ids that the agent may have chosen.
        """
        asked = (message.content for message in self._messages if message.role == "user")
        texts = [self._system]
        for content in asked:
            texts += [content] if isinstance(content, str) else [part for part in content if isinstance(part, str)]
        lines = (line for text in texts for line in text.split("\n"))
        return "\n".join(line for line in lines if not line[:1].isspace())

    async def _answer(self) -> A:
        """Return the model's answer to what was asked since its last one."""
        question = ModelMessage("user", _content(self._unanswered))
        asked = [ModelMessage("system", self._system), *self._messages, question]
        try:
            completion = await self._asked(asked)
        except SchemaError as error:
            # It accepts schemas but does not follow them: from now on it answers in text, which is read more leniently.
            self._structured = False
            raise Unusable(str(error)) from error
        except ModelAnswerError as error:
            raise Unusable(str(error)) from error
        self._messages += [question, ModelMessage("assistant", completion.text)]
        self._unanswered = []
        if completion.value is not None:
            return cast("A", completion.value)
        return parse_answer(self._form, completion.text, self._said)

    async def _asked(self, asked: Sequence[ModelMessage]) -> Completion:
        """Ask the model, and note the exchange."""
        try:
            completion = await self._model.ask(asked, self._form.model if self._structured else None)
        except Exception as error:
            note_exchange(self._topic, self._model.name, asked, error)
            raise
        note_exchange(self._topic, self._model.name, asked, completion)
        return completion


def _content(parts: Sequence[Shown]) -> str | tuple[Shown, ...]:
    """Return texts in one piece, and texts with pictures in order."""
    texts = [part for part in parts if isinstance(part, str)]
    return "\n\n".join(texts) if len(texts) == len(parts) else tuple(parts)
