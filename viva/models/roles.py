"""The limits of a model's answers by role, in tokens and time: the defaults, and those that the user gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, get_args

from pydantic import BaseModel

from viva.errors import SetupError
from viva.models.model import NO_LIMITS, CallLimits, Completion, Model, ModelFeatures, ModelMessage
from viva.models.wrapped import WrappedModel

Role = Literal["examiner", "judge", "trajectory", "session", "exam", "analyst"]
"""Who asks a model: the examiner, the evaluators of scoring points and the user's own (`judge`), the other evaluators
of Viva's own that ask one, and the analyst."""
ROLES: tuple[Role, ...] = get_args(Role)

# The largest answers that the prompts allow, at 4 bytes for a token: 700 tokens of a judge with eight quotes, or of a
# trajectory with ten; 3,900 of a session with twenty sub-goals, or of an analysis with ten weaknesses and as many
# improvements. Scripts other than Latin take up to twice as many. An examiner's message may pass on a text of the task.
OUTPUT_TOKENS: Mapping[Role, int] = MappingProxyType(
    {"examiner": 2_048, "judge": 4_096, "trajectory": 4_096, "session": 8_192, "exam": 4_096, "analyst": 8_192}
)
THINKING_TOKENS = 24_576
"""Further tokens for models that reason before they answer. OpenAI recommends at least 25,000 for reasoning and answer:
https://platform.openai.com/docs/guides/reasoning."""


@dataclass(frozen=True, slots=True)
class RoleLimits:
    """The limits that the user gave, by role."""

    output_tokens: Mapping[str, int] = field(default_factory=dict)
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Maximum time of one attempt."""

    def of(self, role: Role, features: ModelFeatures) -> CallLimits:
        """Return the limits of a role's calls to a model with these features.

        A given limit takes precedence over that of the model's own configuration, and this over the default.
        """
        given, seconds = self.output_tokens.get(role), self.seconds.get(role)
        if given is not None:
            return CallLimits(given, attempt_seconds=seconds)
        if features.output_tokens is not None:
            # Said with each call, because AutoGen's configuration drops `max_completion_tokens`.
            return CallLimits(features.output_tokens, attempt_seconds=seconds)
        return CallLimits(OUTPUT_TOKENS[role], attempt_seconds=seconds, thinking_tokens=THINKING_TOKENS)

    def limited(self, model: Model, role: Role) -> LimitedModel:
        """Return the model with the limits of a role."""
        return LimitedModel(model, self.of(role, model.features))


NO_ROLE_LIMITS = RoleLimits()


class LimitedModel(WrappedModel):
    """A model whose calls have limits; those that a call brings itself take precedence."""

    def __init__(self, model: Model, limits: CallLimits) -> None:
        super().__init__(model)
        self._limits = limits

    async def ask(
        self, messages: Sequence[ModelMessage], schema: type[BaseModel] | None = None, limits: CallLimits = NO_LIMITS
    ) -> Completion:
        """Ask the model.

        Raises:
            ModelError: as `Model.ask`.
            ModelAnswerError: as `Model.ask`.
            SharedSetupError: as `Model.ask`.
        """
        return await self._model.ask(messages, schema, self._limits if limits is NO_LIMITS else self._with(limits))

    def _with(self, limits: CallLimits) -> CallLimits:
        own = self._limits
        if limits.output_tokens is not None:
            own = replace(own, output_tokens=limits.output_tokens, thinking_tokens=limits.thinking_tokens)
        return replace(own, seconds=limits.seconds, attempt_seconds=limits.attempt_seconds or own.attempt_seconds)


def parse_role_limits(output_tokens: Iterable[str] = (), seconds: Iterable[str] = ()) -> RoleLimits:
    """Read limits as a command line has them.

    Args:
        output_tokens: `4096` for all roles, or `judge=4096` for one.
        seconds: The same in seconds.

    Raises:
        SetupError: a limit is not a number above 0, a role is unknown, or a limit is given twice.
    """
    tokens = _by_role(output_tokens, "--max-output-tokens", "a whole number of tokens above 0")
    for given in tokens.values():
        if given != int(given):
            raise SetupError(f"--max-output-tokens takes a whole number of tokens above 0, not {given:g}.")
    whole = {role: int(given) for role, given in tokens.items()}
    return RoleLimits(whole, _by_role(seconds, "--model-seconds", "a number of seconds above 0"))


def _by_role(texts: Iterable[str], flag: str, what: str) -> dict[str, float]:
    all_roles: float | None = None
    by_role: dict[str, float] = {}
    for text in texts:
        name, equals, amount = text.rpartition("=")
        role = name.strip()
        if equals and role not in ROLES:
            raise SetupError(f"{flag} has no role {role!r}; the roles are {', '.join(ROLES)}.")
        number = _positive(amount)
        if number is None:
            raise SetupError(f"{flag} takes {what}, for all roles or as ROLE=N, not {text!r}.")
        if (all_roles is not None) if not role else (role in by_role):
            raise SetupError(f"{flag} is given twice for {role or 'all roles'}.")
        if role:
            by_role[role] = number
        else:
            all_roles = number
    rest = {} if all_roles is None else dict.fromkeys(map(str, ROLES), all_roles)
    return {**rest, **by_role}


def _positive(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 < number < math.inf else None
