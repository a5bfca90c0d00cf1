"""An AutoGen agent on any `Model`: it keeps the conversation, has no tools, and does nothing else in a turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from copy import copy

from autogen_agentchat.agents import BaseChatAgent
from autogen_agentchat.base import Response
from autogen_agentchat.messages import BaseChatMessage, TextMessage
from autogen_core import CancellationToken
from autogen_core.models import AssistantMessage, LLMMessage, SystemMessage, UserMessage

from viva.models.autogen.messages import AgentMessages
from viva.models.model import Model
from viva.records.text import as_long_as


class ConversingAgent(BaseChatAgent):
    """An agent that leads a conversation with a model of Viva's.

    It does in a turn what AutoGen's `AssistantAgent` does without tools, memory and streaming. That one passes an
    answer through four generators and makes a message with an id for it, which takes as long as all of Viva's part.
    """

    def __init__(self, name: str, model: Model, system: str) -> None:
        """Args:
        name: The agent's name.
        model: Answers, counts and retries.
        system: The system message.
        """
        super().__init__(name, "Leads a conversation.")
        self._model = model
        self._system = SystemMessage(content=system)
        self._conversation: list[LLMMessage] = []
        """The conversation so far: what was said to it, and its answers."""
        self._unanswered = False
        """Whether there are words of a speaker that were not answered."""

    async def remember(self, words: str, speaker: str, answer: str) -> None:
        """Add an exchange to the conversation without asking the model: words of a speaker, and the agent's answer."""
        self._conversation.append(UserMessage(content=words, source=speaker))
        self._conversation.append(AssistantMessage(content=answer, source=self.name))

    async def say(self, words: str, speaker: str) -> str:
        """Return the agent's answer to words of a speaker.

        Raises:
            ModelError: as `Model.ask`.
            ModelAnswerError: as `Model.ask`.
            SharedSetupError: as `Model.ask`.
            ValueError: the model's answer is not text.
        """
        self._conversation.append(UserMessage(content=words, source=speaker))
        return await self.answer()

    @property
    def next_place(self) -> int:
        """Return the place that the next words will have in the conversation."""
        return len(self._conversation)

    def rewrite(self, place: int, words: str, speaker: str) -> None:
        """Put words of a speaker in the place of earlier ones."""
        self._conversation[place] = UserMessage(content=words, source=speaker)

    def without_answers(self, after: int, words: str) -> ConversingAgent | None:
        """Return a copy of it with words in the place of its own answers after a place, repeated up to the same length;
        None if there are no answers."""
        places = [
            place
            for place, message in enumerate(self._conversation)
            if place > after and isinstance(message, AssistantMessage)
        ]
        other = copy(self)
        other._conversation = list(self._conversation)
        for place in places:
            instead = as_long_as(str(self._conversation[place].content), words)
            other._conversation[place] = AssistantMessage(content=instead, source=self.name)
        return other if places else None

    @property
    def produced_message_types(self) -> Sequence[type[BaseChatMessage]]:
        """Return the kind of its answers."""
        return (TextMessage,)

    async def on_messages(self, messages: Sequence[BaseChatMessage], cancellation_token: CancellationToken) -> Response:
        """Answer messages of AutoGen's, as any of its agents does.

        Raises:
            Exception: as `say`.
        """
        for message in messages:
            self._conversation.append(message.to_model_message())
        answer = await cancellation_token.link_future(asyncio.ensure_future(self.answer()))
        return Response(chat_message=TextMessage(content=answer, source=self.name))

    async def on_reset(self, cancellation_token: CancellationToken) -> None:
        """Forget the conversation."""
        self._conversation.clear()
        self._unanswered = False

    async def answer(self) -> str:
        """Ask the model for an answer to what was said last, and remember it.

        Raises:
            Exception: as `say`.
        """
        # A list of its own: the conversation goes on while somebody may still hold what was asked.
        messages: Sequence[LLMMessage] = [self._system, *self._conversation]
        try:
            completion = await self._model.ask(AgentMessages(_merged(messages) if self._unanswered else messages))
            message = AssistantMessage(content=completion.text, source=self.name)
        except Exception:
            self._unanswered = True
            raise
        self._conversation.append(message)
        return completion.text


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
