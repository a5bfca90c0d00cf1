"""AutoGen's `AssistantAgent` on any `Model`: it keeps the conversation, and has no tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import Response
from autogen_core import CancellationToken
from autogen_core.models import (
    AssistantMessage,
    ChatCompletionClient,
    CreateResult,
    LLMMessage,
    ModelInfo,
    RequestUsage,
    UserMessage,
)

from viva.models.autogen.messages import AgentMessages
from viva.models.model import Model


class ConversingAgent:
    """An agent that leads a conversation with a model of Viva's."""

    def __init__(self, name: str, model: Model, system: str) -> None:
        """Args:
        name: The agent's name.
        model: Answers, counts and retries.
        system: The system message.
        """
        # An agent without tools uses these two members of a client, and no others.
        self._client = _Client(model)
        client = cast("ChatCompletionClient", self._client)
        # Without a workbench, it does not look for tools at each call.
        self._agent = AssistantAgent(name, client, system_message=system, workbench=[])
        self._context = self._agent.model_context
        self._never_cancelled = CancellationToken()

    async def remember(self, words: str, speaker: str, answer: str) -> None:
        """Add an exchange to the conversation without asking the model: words of a speaker, and the agent's answer."""
        await self._context.add_message(UserMessage(content=words, source=speaker))
        await self._context.add_message(AssistantMessage(content=answer, source=self._agent.name))

    async def say(self, words: str, speaker: str) -> str | None:
        """Return the agent's answer to words of a speaker; None if it is not text.

        Raises:
            ModelError: as `Model.ask`.
            ModelAnswerError: as `Model.ask`.
            SharedSetupError: as `Model.ask`.
        """
        content = None
        # What an agent is sent has an id and a time, and becomes this message, which is all that it keeps.
        await self._context.add_message(UserMessage(content=words, source=speaker))
        # `on_messages` leaves this generator before its end, and has the event loop close it through a pipe.
        try:
            async for event in self._agent.on_messages_stream([], self._never_cancelled):
                if isinstance(event, Response):
                    content = getattr(event.chat_message, "content", None)
        except Exception:
            self._client.unanswered = True
            raise
        return content if isinstance(content, str) else None


class _Client:
    """What AutoGen's agent asks instead of a client."""

    def __init__(self, model: Model) -> None:
        features = model.features
        self._model = model
        self.unanswered = False
        """Whether there are words of a speaker that were not answered."""
        self.model_info = ModelInfo(
            vision=True,  # the conversation has no pictures, for which all of it would be searched at each call
            function_calling=False,
            json_output=features.structured,
            family="unknown",
            structured_output=features.structured,
        )

    async def create(self, messages: Sequence[LLMMessage], **_: Any) -> CreateResult:
        """Return one answer."""
        completion = await self._model.ask(AgentMessages(_merged(messages) if self.unanswered else messages))
        usage = RequestUsage(completion.usage.input_tokens, completion.usage.output_tokens)
        return CreateResult(finish_reason="stop", content=completion.text, usage=usage, cached=False)


def _merged(messages: Sequence[LLMMessage]) -> Sequence[LLMMessage]:
    """Return the messages with consecutive ones of one speaker joined into one.

    A question that got no usable answer is followed by another one, and the chat templates of many models refuse two
    messages of a user in a row.
    """
    merged: list[LLMMessage] = []
    for message in messages:
        last = merged[-1] if merged else None
        if isinstance(message, UserMessage) and isinstance(last, UserMessage) and last.source == message.source:
            merged[-1] = UserMessage(content=f"{last.content}\n\n{message.content}", source=message.source)
        else:
            merged.append(message)
    return merged
