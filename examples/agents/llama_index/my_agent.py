"""An agent of LlamaIndex that leaves files in its workspace: a function makes a new one for each exam."""

import os

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike

MODEL = OpenAILike(
    model="gpt-5-mini",
    api_base=os.environ["OPENAI_BASE_URL"],
    api_key=os.environ["OPENAI_API_KEY"],
    is_chat_model=True,
    is_function_calling_model=True,
    additional_kwargs={"stream_options": {"include_usage": True}},  # else it reports no tokens
)


def make_agent(workspace):
    def write_file(name: str, text: str) -> str:
        """Write a text file."""
        (workspace / name).write_text(text)
        return f"{name} is written"

    return FunctionAgent(name="writer", tools=[write_file], llm=MODEL)
