"""An agent of LlamaIndex that plays the part: `pytest --viva-conformance with_llama_index.py:made@VENV`."""

from agent import Model
from llama_index.core import Settings
from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM

Settings.tokenizer = str.split  # LlamaIndex's own one takes seconds for each million characters in its memory


def made(workspace):
    model = Model("", workspace=workspace)

    def answer(messages, **_):
        return ChatMessage(role="assistant", content=model.answer([m.content for m in messages if m.role == "user"]))

    return FunctionAgent(
        name="player", tools=[], llm=MockFunctionCallingLLM(response_generator=answer), streaming=False
    )
