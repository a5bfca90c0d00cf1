"""Agents and teams of AutoGen for the tests."""

import os

from autogen_agentchat.agents import AssistantAgent, UserProxyAgent
from autogen_agentchat.conditions import HandoffTermination, MaxMessageTermination, TextMentionTermination
from autogen_agentchat.teams import RoundRobinGroupChat, Swarm
from autogen_ext.models.openai import OpenAIChatCompletionClient

WEATHER = {"Paris": "18 degrees", "Rome": "25 degrees"}
INFO = {
    "vision": False,
    "function_calling": True,
    "json_output": False,
    "family": "unknown",
    "structured_output": False,
}


async def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    if city not in WEATHER:
        raise ValueError(f"no such city: {city}")
    return WEATHER[city]


def convert(degrees: int, unit: str) -> str:
    """Convert degrees Celsius into another unit."""
    return f"{degrees * 9 // 5 + 32} {unit}"


def crash() -> str:
    """Crash."""
    raise RuntimeError("the tool crashed")


def model():
    url = os.environ["OPENAI_BASE_URL"]
    return OpenAIChatCompletionClient(model="scripted", base_url=url, api_key="none", model_info=INFO, max_retries=0)


def made():
    return AssistantAgent(
        "weatherman", model(), tools=[get_weather, convert, crash], system_message="Be brief.", max_tool_iterations=5
    )


async def made_async(config_var, workspace):
    yield made()
    (workspace / "closed").write_text(repr(config_var))


def team():
    return RoundRobinGroupChat(
        [AssistantAgent("writer", model()), UserProxyAgent("human")], termination_condition=MaxMessageTermination(4)
    )


def swarm():
    return Swarm(
        [AssistantAgent("planner", model(), handoffs=["user"])],
        termination_condition=HandoffTermination("user") | TextMentionTermination("said"),
    )


shared = team()
alone = made()
