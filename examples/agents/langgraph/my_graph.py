"""An agent of LangGraph that leaves files in its workspace: a function makes a new one for each exam."""

from langchain.agents import create_agent
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI


def make_graph(workspace):
    @tool
    def write_file(name: str, text: str) -> str:
        """Write a text file."""
        (workspace / name).write_text(text)
        return f"{name} is written"

    return create_agent(ChatOpenAI(model="gpt-5-mini"), [write_file], name="writer")
