"""The model examiner: an AutoGen agent that is given the task and leads the conversation itself."""

from __future__ import annotations

from pathlib import Path

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.messages import TextMessage
from autogen_core import CancellationToken

from adapters.calls import describe
from adapters.errors import ModelAnswerError, ModelError
from adapters.models.client import Model
from adapters.models.prompts import render
from examiner.conversation import KICK_OFF, ExaminerError
from examiner.stop import STOP_KEYWORD, read_message
from records.transcript import Usage

PROMPT = Path(__file__).parent / "prompts" / "examiner.md"

REPLY_SHOWN = 20_000
"""Characters of one reply that the examiner reads; an agent that floods must not fill the examiner's context."""

EITHER_OR = (
    "(From those who hold this exam, not from the agent: your last message was not sent, because it holds other words "
    f"beside {STOP_KEYWORD}. Write one of the two alone: the message to the agent, if something is left to ask, or "
    f"{STOP_KEYWORD}, if the exam is over.)"
)


class ModelExaminer:
    """Leads the conversation with a language model. Knows the task description and nothing else of the case."""

    may_repeat = False

    def __init__(self, model: Model, task_description: str) -> None:
        self._model = model.for_run()
        self.name = model.name
        self._agent = AssistantAgent("examiner", self._model, system_message=render_prompt(task_description))

    @property
    def usage(self) -> Usage:
        """Of this conversation."""
        return self._model.usage

    async def next_message(self, reply: str | None) -> str | None:
        """The model's next message, or None once it says the stop keyword.

        Raises:
            ExaminerError: the message is not usable.
            ModelError: the provider failed after retries.
        """
        message = read_message(await self._say(KICK_OFF if reply is None else _shown(reply)))
        if message.misplaced or (message.stop and message.text):
            # "Add 50, please. EXAM_FINISHED" may be the last question or a farewell: only the model knows.
            message = read_message(await self._say(EITHER_OR))
        if message.misplaced:
            words = message.text[:200]
            raise ExaminerError(f"the examiner used its stop keyword in the middle of a sentence: {words!r}")
        return None if message.stop else message.text

    async def _say(self, heard: str) -> str:
        """What the model says to `heard`."""
        try:
            response = await self._agent.on_messages([TextMessage(content=heard, source="agent")], CancellationToken())
        except ModelAnswerError as error:
            raise ExaminerError(f"the examiner's model gave nothing to say: {error}") from error
        except ModelError:
            raise
        except Exception as error:  # AutoGen's own, for an answer it did not expect
            raise ExaminerError(f"the examiner's model gave nothing usable: {describe(error)}") from error
        content = getattr(response.chat_message, "content", None)
        if not isinstance(content, str):
            raise ExaminerError("the examiner's model answered with something that is not text")
        return content


def render_prompt(task_description: str) -> str:
    """The examiner's system prompt for one task."""
    return render(PROMPT, task_description=task_description.strip(), stop_keyword=STOP_KEYWORD)


def _shown(reply: str) -> str:
    if not reply.strip():
        return "(The agent replied with an empty message.)"
    if len(reply) <= REPLY_SHOWN:
        return reply
    return f"{reply[:REPLY_SHOWN]}\n(… {len(reply) - REPLY_SHOWN:,} more characters are not shown.)"
