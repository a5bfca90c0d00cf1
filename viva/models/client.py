"""The client of a model: it retries calls by one policy, limits, counts and prices them, and checks the answers."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel

from viva.errors import ModelAnswerError, ModelError, PlanError, SchemaError, SetupError
from viva.models.answer import note_unusable, read_answer
from viva.models.in_time import in_time
from viva.models.metered_model import note_spent, spent_on
from viva.models.model import NO_LIMITS, CallLimits, Completion, Model, ModelFeatures, ModelMessage
from viva.models.prices import LISTED, Prices
from viva.models.retry import RetryPolicy, call_seconds, cannot_change, status_of, unusable_answer, with_retries
from viva.records.copies import make_quickly
from viva.records.redact import Keys
from viva.records.transcript import NO_USAGE, Usage
from viva.records.verdict import is_model

if TYPE_CHECKING:
    from viva.models.cache.answers import AnswerCache

MODEL_CALLS = 64
"""Default of the maximum number of concurrent calls to one provider."""
NO_SCHEMA = frozenset({400, 404, 415, 422})
"""The HTTP statuses with which providers reject a schema."""


class Provider(Model, Protocol):
    """A model that makes one attempt for each call; its errors are those of the provider's SDK."""

    async def why_unusable(self) -> str:
        """Return why no question to the model can be answered, in words; empty if there is no reason, or none known."""

    async def close(self) -> None:
        """Close the connections."""


class ModelClient:
    """A model that all runs share, on the connections of one provider. `MeteredModel` counts for each run."""

    def __init__(
        self,
        provider: Provider,
        policy: RetryPolicy | None = None,
        *,
        seconds: float | None = None,
        calls: int = MODEL_CALLS,
        prices: Prices = LISTED,
        hint: str = "",
        identity: str = "",
        cache: AnswerCache | None = None,
    ) -> None:
        """Args:
        provider: Makes one attempt.
        policy: The number of attempts and the waits; None for those of the environment.
        seconds: Maximum time of one attempt, from the request to the last byte; None for that of the environment.
        calls: Maximum number of concurrent calls.
        prices: The prices that the user gave.
        hint: Where the key and the address are set, in words.
        identity: What tells the model from others whose answers are kept; empty for its name.
        cache: Where answers are kept; None if they are not.
        """
        # A verdict by "code" is a check's: the name of a model is never one of those that stand for no model.
        self.name = provider.name if is_model(provider.name) else f"model {provider.name}"
        self.policy = policy or RetryPolicy.from_environment()
        self.prices = prices
        self._provider = provider
        self._seconds = seconds or call_seconds()
        self._slots = asyncio.Semaphore(calls)
        self._hint = hint
        self._identity = identity or provider.name
        self._cache = cache
        self._answered = False
        self._structured = provider.features.structured
        self._ignored = False
        self._reasons = False
        """Whether an answer was cut off while the model reasoned."""
        self._keys = Keys()
        make_quickly(Completion, Usage)

    @property
    def features(self) -> ModelFeatures:
        """Return what the model accepts, as far as that is known by now."""
        features = self._provider.features
        return features if features.structured == self._structured else replace(features, structured=self._structured)

    def cost(self, input_tokens: int, output_tokens: int, cached: int = 0) -> float | None:
        """Return US dollars for so many tokens, `cached` of the input from the provider's cache; None if not known."""
        return self.prices.cost(self._provider.name, input_tokens, output_tokens, cached)

    async def look(self) -> None:
        """Check before the first question that the server is there, accepts the key and has the model.

        What only a question could show is left to the first one.

        Raises:
            SetupError: it is known that no question can be answered.
        """
        if wrong := await self._provider.why_unusable():
            raise SetupError(self._unusable(wrong))

    async def close(self) -> None:
        """Close the connections."""
        await self._provider.close()

    def ask(
        self, messages: Sequence[ModelMessage], schema: type[BaseModel] | None = None, limits: CallLimits = NO_LIMITS
    ) -> Coroutine[Any, Any, Completion]:
        """Return one answer, in text if the provider refuses schemas.

        Raises:
            ModelError: the provider failed after retries, or refused, or did not answer within the limit.
            ModelAnswerError: the answer is not usable; `SchemaError` if it does not match the schema.
            PlanError: the provider has never answered, and refuses the key, the model or the address.
            SharedSetupError: an answer cannot be kept.
        """
        if self._cache is None:
            return self._limited(messages, schema, limits)
        return self._cache.answer(
            self.name, self._identity, messages, schema, limits, lambda: self._limited(messages, schema, limits)
        )

    async def _limited(
        self, messages: Sequence[ModelMessage], schema: type[BaseModel] | None, limits: CallLimits
    ) -> Completion:
        """Ask within the time that is given."""
        call = _Call(self, messages, limits)
        try:
            if limits.seconds is None:
                return await self._in_form(call, schema)
            try:
                async with asyncio.timeout(limits.seconds):
                    return await self._in_form(call, schema)
            except TimeoutError as error:
                raise ModelError(f"the model {self.name} did not answer within {limits.seconds:g} s") from error
        except BaseException as error:
            note_spent(error, call.spent)
            raise

    async def _in_form(self, call: _Call, schema: type[BaseModel] | None) -> Completion:
        """Ask with the schema if the provider accepts schemas, and remember it if not."""
        if schema is None or not self._structured:
            completion = await self._attempted(call, None)
            self._structured = self._structured and not self._ignored
            return completion
        try:
            completion = await self._attempted(call, schema)
        except SchemaError:
            # It accepts schemas but does not follow them; if it then answers without one, it is given none any more.
            self._ignored = True
            raise
        except ModelError as error:
            if error.__cause__ is None or status_of(error.__cause__) not in NO_SCHEMA:
                raise
            # Either the provider does not support schemas, or it rejects the question: asking for text shows which.
            completion = await self._attempted(call, None)
            self._structured = False
        return completion

    async def _attempted(self, call: _Call, schema: type[BaseModel] | None) -> Completion:
        """Ask with retries; return the answer with the usage of the whole call."""
        asked = self._with_room(call, schema) if call.limits.thinking_tokens else self._retried(call, schema)
        try:
            completion = await asked
        except ModelAnswerError:
            self._answered = True
            raise
        except ModelError as error:
            if not self._answered:
                self._check_setup(error, schema=schema is not None)
            raise
        # Removed before it is read, because the model may repeat what it was sent.
        answer = self._keys.hide(completion.text)
        try:
            text, value = read_answer(answer, completion.finish, schema, call.limits.output_tokens)
        except ModelAnswerError as error:
            note_unusable(error, answer)
            raise
        return Completion(text, value, call.spent, completion.finish)

    async def _with_room(self, call: _Call, schema: type[BaseModel] | None) -> Completion:
        """Ask once more if the answer was cut off because its limit had no room for the reasoning."""
        room = call.limits.thinking_tokens if call.limits.output_tokens else 0
        if room and self._reasons:
            call.allow(room)
            room = 0
        completion = await self._retried(call, schema)
        if room and completion.finish == "length" and completion.reasoned:
            self._reasons = True
            call.allow(room)
            completion = await self._retried(call, schema)
        return completion

    def _retried(self, call: _Call, schema: type[BaseModel] | None) -> Coroutine[Any, Any, Completion]:
        """Ask with retries."""
        return with_retries(lambda: self._once(call, schema), self.policy, call.retried)

    async def _once(self, call: _Call, schema: type[BaseModel] | None) -> Completion:
        """Make one attempt, and count what it uses."""
        async with self._slots:
            try:
                asked = self._provider.ask(call.messages, schema, call.limits)
                completion = await in_time(asked, call.limits.attempt_seconds or self._seconds)
            except Exception as error:
                used = spent_on(error)
                if not used.calls and unusable_answer(error) is not None:
                    # The call was answered and will be charged, but the SDK's error does not contain its cost.
                    used = Usage(calls=1, reported=False)
                call.add(self._priced(used))
                raise
        self._answered = True
        call.add(self._priced(completion.usage))
        return completion

    def _priced(self, used: Usage) -> Usage:
        # Every field is named, because `dataclasses.replace` takes three times as long.
        cost: float | None = 0.0
        if used.calls:
            cost = self.cost(used.input_tokens, used.output_tokens, used.cached_tokens) if used.reported else None
        if cost == used.cost:
            return used  # most models of one's own servers have no price
        return Usage(
            used.input_tokens,
            used.output_tokens,
            used.cached_tokens,
            used.reasoning_tokens,
            used.calls,
            used.retries,
            cost,
            cache_write_tokens=used.cache_write_tokens,
            reported=used.reported,
        )

    def _check_setup(self, error: ModelError, *, schema: bool) -> None:
        """Check that a provider that has never answered does not refuse the key, the model or the address.

        Raises:
            PlanError: the provider refuses one of them, or the address cannot be right.
        """
        cause = error.__cause__
        if cause is None or not cannot_change(cause) or (schema and status_of(cause) == 404):
            return  # some providers answer a schema with 404; the caller then tries without one
        raise PlanError(self._unusable(str(error))) from error

    def _unusable(self, why: str) -> str:
        hint = f". {self._hint}" if self._hint else ""
        return f"the model {self.name} cannot be used: {why.rstrip('. ')}{hint}"


class _Call:
    """One call with all its attempts, and what they have used so far."""

    __slots__ = ("limits", "messages", "spent")

    def __init__(self, client: ModelClient, messages: Sequence[ModelMessage], limits: CallLimits) -> None:
        self.messages = messages
        self.limits = limits
        self.spent = NO_USAGE

    def allow(self, further: int) -> None:
        """Raise the maximum number of output tokens for the attempts that follow."""
        most = (self.limits.output_tokens or 0) + further
        self.limits = replace(self.limits, output_tokens=most, thinking_tokens=0)

    def add(self, used: Usage) -> None:
        """Add what an attempt has used."""
        self.spent = used if self.spent is NO_USAGE else self.spent + used

    def retried(self, _: BaseException) -> None:
        """Count a further attempt."""
        self.add(Usage(retries=1, cost=0.0))
