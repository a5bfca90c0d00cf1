"""Counts what the calls of one run use, of those that failed too."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel

from viva.models.model import NO_LIMITS, CallLimits, Completion, Model, ModelMessage
from viva.models.wrapped import WrappedModel
from viva.records.transcript import NO_USAGE, Usage

_KEY = "viva_usage"


def note_spent(error: BaseException, usage: Usage) -> None:
    """Note in an exception what the call that failed with it has used. It may be anyone's, also a cancellation."""
    vars(error)[_KEY] = usage


def spent_on(error: BaseException) -> Usage:
    """Return what a failed call has used; nothing if the exception does not say."""
    usage = vars(error).get(_KEY)
    return usage if isinstance(usage, Usage) else NO_USAGE


class MeteredModel(WrappedModel):
    """A model with a counter of its own, on the connections of another."""

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.usage = NO_USAGE
        """What all calls so far have used."""

    async def ask(
        self, messages: Sequence[ModelMessage], schema: type[BaseModel] | None = None, limits: CallLimits = NO_LIMITS
    ) -> Completion:
        """Ask the model, and count the usage.

        Raises:
            ModelError: as `Model.ask`.
            ModelAnswerError: as `Model.ask`.
            SharedSetupError: as `Model.ask`.
        """
        try:
            completion = await self._model.ask(messages, schema, limits)
        except BaseException as error:
            self.usage += spent_on(error)
            raise
        self.usage += completion.usage
        return completion
