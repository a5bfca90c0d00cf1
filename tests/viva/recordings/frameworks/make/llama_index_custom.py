"""Records LlamaIndex's ReAct agents with models whose stream begins in one method and is read in another."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from typing import Any

from llama_index.core.agent.workflow import ReActAgent
from llama_index.core.llms import ChatMessage, ChatResponse, CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

from tests.viva.recordings.frameworks.make.script import (
    INPUT_TOKENS,
    MODEL,
    OUTPUT_TOKENS,
    PLAIN,
    SYSTEM,
    Script,
    Task,
    Turn,
    convert,
    folder_given,
    get_weather,
)
from tests.viva.recordings.frameworks.make.spans_file import provider, versions

USAGE = {"usage": {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS}}
PIECE = 20

folder = folder_given()
LlamaIndexInstrumentor().instrument(tracer_provider=provider(folder))
script = Script("LlamaIndex", versions("llama-index-core"), versions("openinference-instrumentation-llama-index"))
turns: Iterator[Turn] = iter(())


def words_of(turn: Turn) -> str:
    """Return what a model writes that acts in words."""
    if not turn.calls:
        return f"Thought: I can answer.\nAnswer: {turn.words}"
    ((tool, given),) = turn.calls
    return f"Thought: {turn.words or 'I go on.'}\nAction: {tool}\nAction Input: {json.dumps(given)}"


class Completing(CustomLLM):
    """A model that only completes text; LlamaIndex makes a chat of it."""

    @property
    def metadata(self) -> LLMMetadata:
        """Return what the model can do."""
        return LLMMetadata(model_name=MODEL, is_chat_model=True)

    @llm_completion_callback()
    def complete(self, prompt: str, formatted: bool = False, **more: Any) -> CompletionResponse:
        """Give the next answer."""
        return CompletionResponse(text=words_of(next(turns)), raw=USAGE)

    @llm_completion_callback()
    def stream_complete(self, prompt: str, formatted: bool = False, **more: Any) -> Any:
        """Give the next answer in pieces."""
        text = words_of(next(turns))

        def pieces() -> Iterator[CompletionResponse]:
            for end in range(PIECE, len(text), PIECE):
                yield CompletionResponse(text=text[:end], delta=text[end - PIECE : end])
            yield CompletionResponse(text=text, delta="", raw=USAGE)

        return pieces()


class Chatting(Completing):
    """A model that streams a chat."""

    @llm_chat_callback()
    def stream_chat(self, messages: Any, **more: Any) -> Any:
        """Give the next answer in pieces."""
        text = words_of(next(turns))

        def pieces() -> Iterator[ChatResponse]:
            for end in range(PIECE, len(text), PIECE):
                said = ChatMessage(role="assistant", content=text[:end])
                yield ChatResponse(message=said, delta=text[end - PIECE : end])
            yield ChatResponse(message=ChatMessage(role="assistant", content=text), delta="", raw=USAGE)

        return pieces()


async def ask(model: CustomLLM, task: Task) -> None:
    """Ask one question."""
    global turns
    turns = iter(task.turns)
    agent = ReActAgent(tools=[get_weather, convert], llm=model, streaming=True, system_prompt=SYSTEM)
    await agent.run(user_msg=script.play(task))


for model in (Completing(), Chatting()):
    asyncio.run(ask(model, PLAIN))
script.write_truth(folder)
