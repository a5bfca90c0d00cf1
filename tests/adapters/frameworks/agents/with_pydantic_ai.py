"""Agents of Pydantic AI for the tests."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel
from pydantic_ai import Agent, DeferredToolRequests, ModelRetry, RunContext
from pydantic_ai.models.openai import OpenAIChatModel

WEATHER = {"Paris": "18 degrees", "Rome": "25 degrees"}


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    if city not in WEATHER:
        raise ModelRetry(f"no such city: {city}")
    return WEATHER[city]


def convert(degrees: int, unit: str) -> str:
    """Convert degrees Celsius into another unit."""
    return f"{degrees * 9 // 5 + 32} {unit}"


def crash() -> str:
    """Crash."""
    raise RuntimeError("the tool crashed")


def made():
    model = OpenAIChatModel("scripted")
    return Agent(model, name="weatherman", system_prompt="Be brief.", retries=3, tools=[get_weather, convert, crash])


shared = made()


async def made_async(config_var, workspace):
    yield made()
    (workspace / "closed").write_text(repr(config_var))


asking = Agent(OpenAIChatModel("scripted"), name="asking", output_type=[str, DeferredToolRequests])


@asking.tool_plain(requires_approval=True)
def delete_file(name: str) -> str:
    """Delete a file."""
    return f"{name} is gone"


@dataclass
class Own:
    workspace: Path
    config_var: dict


reading = Agent(OpenAIChatModel("scripted"), name="reading", deps_type=Own)


@reading.tool
def look(context: RunContext[Own]) -> str:
    """Look around."""
    return f"{context.deps.workspace} {context.deps.config_var}"


@dataclass
class Foreign:
    database: object


impossible = Agent(OpenAIChatModel("scripted"), deps_type=Foreign)


class City(BaseModel):
    name: str
    degrees: int


structured = Agent(OpenAIChatModel("scripted"), output_type=City)
