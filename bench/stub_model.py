"""A model that answers at once. It is apart from the other stubs because AutoGen's client takes 25 MB to import, which
Viva does only where a model examines or judges.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from autogen_core import CancellationToken
from autogen_core.models import ChatCompletionClient, CreateResult, ModelInfo, RequestUsage

from bench.stubs import TEXT

LETTERS = str.maketrans("0123456789", "abcdefghij")


class InstantModel(ChatCompletionClient):
    """A model client that answers at once, and never twice the same."""

    component_type = "model"

    def __init__(self) -> None:
        self.calls = 0

    async def create(
        self,
        messages: Sequence[Any],
        *,
        tools: Sequence[Any] = [],
        tool_choice: Any = "auto",
        json_output: Any = None,
        extra_create_args: Mapping[str, Any] = {},
        cancellation_token: CancellationToken | None = None,
    ) -> CreateResult:
        self.calls += 1
        return CreateResult(
            finish_reason="stop",
            # In letters, because a number that nobody gave is a fault of an examiner.
            content=f"{f'{self.calls:08d}'.translate(LETTERS)} {TEXT[:111]}",
            usage=RequestUsage(prompt_tokens=300, completion_tokens=30),
            cached=False,
        )

    def create_stream(self, messages: Sequence[Any], **_: Any) -> AsyncGenerator[str | CreateResult, None]:
        raise NotImplementedError

    async def close(self) -> None:
        pass

    def actual_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    def total_usage(self) -> RequestUsage:
        return RequestUsage(0, 0)

    def count_tokens(self, messages: Sequence[Any], *, tools: Sequence[Any] = []) -> int:
        return 0

    def remaining_tokens(self, messages: Sequence[Any], *, tools: Sequence[Any] = []) -> int:
        return 0

    @property
    def capabilities(self) -> Any:
        return self.model_info

    @property
    def model_info(self) -> ModelInfo:
        return ModelInfo(
            vision=False, function_calling=True, json_output=True, family="unknown", structured_output=True
        )
