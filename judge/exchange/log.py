"""Notes the exchanges of the run that is being judged, wherever in its evaluators a model is asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from pydantic import BaseModel

from viva.adapters.calls import describe
from viva.judge.exchange.pictures import name_of_picture
from viva.models.answer import answer_of
from viva.models.model import NO_LIMITS, CallLimits, Completion, ModelMessage
from viva.models.wrapped import WrappedModel
from viva.records.exchange.exchanges import Exchange, RequestMessage

MOST_NOTED = 8 * 1024 * 1024
"""Maximum number of characters of the requests of one run, without those that it repeats."""


@dataclass(frozen=True, slots=True)
class Topic:
    """What a question is about."""

    subject: str = ""
    """The id of a run, a round or a step."""
    criterion: str = ""
    """A scoring point's id; empty for the evaluator's name."""
    vote: int = 1
    """The number of the vote, if the same is asked several times."""


@dataclass(slots=True)
class ExchangeLog:
    """The exchanges of one run."""

    exchanges: list[Exchange] = field(default_factory=list)
    left_out: int = 0
    """Number of exchanges that were not noted, because there were too many."""
    _seen: set[str] = field(default_factory=set)
    _size: int = 0

    def add(self, exchange: Exchange) -> None:
        """Note an exchange."""
        new = {text for text in exchange.texts() if text not in self._seen}
        size = self._size + sum(map(len, new)) + len(exchange.answer)
        if size > MOST_NOTED:
            self.left_out += 1
            return
        self._size = size
        self._seen |= new
        self.exchanges.append(exchange)


_log: ContextVar[ExchangeLog | None] = ContextVar("exchange_log", default=None)
_evaluator: ContextVar[str] = ContextVar("asking_evaluator", default="")
NO_TOPIC = Topic()


@contextmanager
def noting_exchanges() -> Iterator[ExchangeLog]:
    """Note what models are asked in this task, and in those that it starts."""
    log, before = ExchangeLog(), _log.get()
    # Set back, not reset by a token: an observed session may end this in another context than it began it in.
    _log.set(log)
    try:
        yield log
    finally:
        _log.set(before)


class asking:  # noqa: N801  # a context manager, used like `noting_exchanges`; a generator takes three times as long
    """Note all questions of this task as those of an evaluator, by its name in reports."""

    __slots__ = ("_before", "_name")

    def __init__(self, evaluator: str) -> None:
        self._name = evaluator

    def __enter__(self) -> None:
        self._before = _evaluator.get()
        _evaluator.set(self._name)

    def __exit__(self, *_: object) -> None:
        _evaluator.set(self._before)


def note_exchange(topic: Topic, judge: str, messages: Sequence[ModelMessage], outcome: Completion | Exception) -> None:
    """Note a request and its answer, or why there is none, if exchanges are noted.

    Args:
        topic: What the question is about.
        judge: The model's name.
        messages: The whole request.
        outcome: The answer, or the error.
    """
    log = _log.get()
    if log is None:
        return
    evaluator = _evaluator.get()
    log.add(
        Exchange(
            evaluator,
            topic.subject,
            topic.criterion or evaluator,
            judge,
            tuple(_message(each) for each in messages),
            answer=outcome.text if isinstance(outcome, Completion) else answer_of(outcome),
            error="" if isinstance(outcome, Completion) else describe(outcome),
            vote=topic.vote,
        )
    )


def _message(message: ModelMessage) -> RequestMessage:
    parts = (message.content,) if isinstance(message.content, str) else message.content
    named = tuple(part if isinstance(part, str) else name_of_picture(part) for part in parts)
    return RequestMessage(message.role, named)


class NotedModel(WrappedModel):
    """A model whose requests and answers are noted, for evaluators of the user's."""

    async def ask(
        self, messages: Sequence[ModelMessage], schema: type[BaseModel] | None = None, limits: CallLimits = NO_LIMITS
    ) -> Completion:
        """Ask the model, and note the exchange.

        Raises:
            ModelError: as `Model.ask`.
            ModelAnswerError: as `Model.ask`.
            SharedSetupError: as `Model.ask`.
        """
        try:
            completion = await self._model.ask(messages, schema, limits)
        except Exception as error:
            note_exchange(NO_TOPIC, self.name, messages, error)
            raise
        note_exchange(NO_TOPIC, self.name, messages, completion)
        return completion
