"""A team of AutoGen that leaves files in its workspace: a function makes a new one for each exam."""

import os

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.conditions import TextMessageTermination
from autogen_agentchat.teams import RoundRobinGroupChat
from autogen_ext.models.openai import OpenAIChatCompletionClient


def make_team(workspace):
    def write_file(name: str, text: str) -> str:
        """Write a text file."""
        (workspace / name).write_text(text)
        return f"{name} is written"

    model = OpenAIChatCompletionClient(model="gpt-5-mini", base_url=os.environ["OPENAI_BASE_URL"])
    writer = AssistantAgent("writer", model, tools=[write_file], reflect_on_tool_use=True)
    return RoundRobinGroupChat([writer], termination_condition=TextMessageTermination("writer"))
