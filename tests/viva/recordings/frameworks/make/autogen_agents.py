"""What both recordings of AutoGen play: one agent with tools, and a conversation with it."""

from __future__ import annotations

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient
from opentelemetry.sdk.trace import TracerProvider

from tests.viva.recordings.frameworks.make.script import (
    CONVERSATION,
    FAILING,
    MODEL,
    PARALLEL,
    PLAIN,
    SYSTEM,
    Script,
    convert,
    get_weather,
    model_server,
)


async def play_all(script: Script, made: TracerProvider) -> None:
    """Play all tasks."""
    with model_server(script) as url:
        info = {"vision": False, "function_calling": True, "json_output": False, "family": "unknown"}
        info |= {"structured_output": False}
        model = OpenAIChatCompletionClient(model=MODEL, base_url=url, api_key="none", model_info=info)

        def agent() -> AssistantAgent:
            return AssistantAgent(
                "weatherman",
                model,
                tools=[get_weather, convert],
                system_message=SYSTEM,
                max_tool_iterations=5,
                reflect_on_tool_use=False,
            )

        tracer = made.get_tracer("app")
        for task in (PLAIN, FAILING, PARALLEL):
            with tracer.start_as_current_span("ask"):
                await agent().run(task=script.play(task))
        talking = agent()
        script.nothing()  # the span `create_agent` is a trace of its own
        for task in CONVERSATION:
            with tracer.start_as_current_span("ask"):
                await talking.run(task=script.play(task))
