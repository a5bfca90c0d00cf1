"""Agents of the OpenAI Agents SDK for the tests."""

from agents import Agent, RunContextWrapper, function_tool, set_default_openai_api, set_tracing_disabled
from pydantic import BaseModel

set_default_openai_api("chat_completions")
set_tracing_disabled(True)
WEATHER = {"Paris": "18 degrees", "Rome": "25 degrees"}


def say(context, error):
    return f"An error occurred while running the tool: {error}"


@function_tool(failure_error_function=say)
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    if city not in WEATHER:
        raise ValueError(f"no such city: {city}")
    return WEATHER[city]


@function_tool
def convert(degrees: int, unit: str) -> str:
    """Convert degrees Celsius into another unit."""
    return f"{degrees * 9 // 5 + 32} {unit}"


@function_tool(failure_error_function=None)
def crash() -> str:
    """Crash."""
    raise RuntimeError("the tool crashed")


def made():
    return Agent("weatherman", instructions="Be brief.", tools=[get_weather, convert, crash], model="scripted")


shared = made()


async def made_async(config_var, workspace):
    yield made()
    (workspace / "closed").write_text(repr(config_var))


@function_tool(needs_approval=True)
def delete_file(name: str) -> str:
    """Delete a file."""
    return f"{name} is gone"


asking = Agent("asking", tools=[delete_file], model="scripted")


@function_tool
def look(context: RunContextWrapper) -> str:
    """Look around."""
    return f"{context.context['workspace']} {context.context['config_var']}"


reading = Agent("reading", tools=[look], model="scripted")
expert = made()
boss = Agent("boss", tools=[expert.as_tool("ask_expert", "Ask the expert.")], model="scripted")
booker = Agent("booker", instructions="Book.", model="scripted")
planner = Agent("planner", handoffs=[booker], model="scripted")


class City(BaseModel):
    name: str
    degrees: int


structured = Agent("structured", output_type=City, model="scripted")
