"""An agent of Pydantic AI that leaves files in its workspace: its dependencies are made of what Viva offers."""

from dataclasses import dataclass
from pathlib import Path

from pydantic_ai import Agent, RunContext


@dataclass
class Files:
    workspace: Path


agent = Agent("openai-chat:gpt-5-mini", name="writer", deps_type=Files, defer_model_check=True)


@agent.tool
def write_file(context: RunContext[Files], name: str, text: str) -> str:
    """Write a text file."""
    (context.deps.workspace / name).write_text(text)
    return f"{name} is written"
