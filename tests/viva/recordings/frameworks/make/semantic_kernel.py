"""Records Semantic Kernel's agents by the spans that it writes itself (`gen_ai.*`, contents as records of a log)."""

from __future__ import annotations

import asyncio
import os

os.environ["SEMANTICKERNEL_EXPERIMENTAL_GENAI_ENABLE_OTEL_DIAGNOSTICS_SENSITIVE"] = "true"

from openai import AsyncOpenAI
from opentelemetry import trace
from semantic_kernel.agents import ChatCompletionAgent, ChatHistoryAgentThread
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function

from tests.viva.recordings.frameworks.make.script import (
    CONVERSATION,
    FAILING,
    MODEL,
    PARALLEL,
    PLAIN,
    SYSTEM,
    Script,
    convert,
    folder_given,
    get_weather,
    model_server,
)
from tests.viva.recordings.frameworks.make.spans_file import provider, versions

folder = folder_given()
trace.set_tracer_provider(provider(folder))
script = Script(
    "Semantic Kernel",
    versions("semantic-kernel"),
    "its own spans",
    agent="weatherman",
    plugin="World-",
)


class World:
    """What the agent can find out."""

    get_weather = staticmethod(kernel_function(name="get_weather")(get_weather))
    convert = staticmethod(kernel_function(name="convert")(convert))


async def main() -> None:
    """Play all tasks."""
    with model_server(script) as url:
        client = AsyncOpenAI(base_url=url, api_key="none")
        service = OpenAIChatCompletion(ai_model_id=MODEL, async_client=client)
        agent = ChatCompletionAgent(service=service, name="weatherman", instructions=SYSTEM, plugins=[World()])
        for task in (PLAIN, FAILING, PARALLEL):
            await agent.get_response(script.play(task))
        thread = ChatHistoryAgentThread()
        for task in CONVERSATION:
            await agent.get_response(script.play(task), thread=thread)
        for task in (PLAIN, FAILING, PARALLEL):
            async for _ in agent.invoke_stream(script.play(task)):
                pass


asyncio.run(main())
script.write_truth(folder)
