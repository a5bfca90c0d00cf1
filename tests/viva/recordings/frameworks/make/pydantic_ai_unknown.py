"""Records Pydantic AI's agents by its own instrumentation: a tool that does not exist, and one that fails."""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent, ModelRetry
from pydantic_ai.models.instrumented import InstrumentationSettings
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from tests.viva.recordings.frameworks.make.script import (
    FAILING,
    MODEL,
    PARALLEL,
    SYSTEM,
    UNKNOWN,
    Script,
    convert,
    folder_given,
    get_weather,
    model_server,
)
from tests.viva.recordings.frameworks.make.spans_file import provider, versions

folder = folder_given()
script = Script("Pydantic AI", versions("pydantic-ai-slim"), "its own", agent="weatherman")
settings = InstrumentationSettings(tracer_provider=provider(folder))


def weather(city: str) -> str:
    """Tell the weather of a city."""
    try:
        return get_weather(city)
    except ValueError as error:
        raise ModelRetry(str(error)) from error


async def main(url: str) -> None:
    """Ask each task."""
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=url, api_key="none"))
    Agent.instrument_all(settings)
    for task in (UNKNOWN, FAILING, PARALLEL):
        agent = Agent(model, name="weatherman", system_prompt=SYSTEM, retries=3)
        agent.tool_plain(name="get_weather")(weather)
        agent.tool_plain(convert)
        await agent.run(script.play(task))


with model_server(script) as url:
    asyncio.run(main(url))
script.write_truth(folder)
