"""Records Google's Agent Development Kit by its own instrumentation: `gen_ai.*`, with messages as it is told to."""

from __future__ import annotations

import asyncio
import os
from typing import Any

os.environ.setdefault("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "SPAN_ONLY")

from opentelemetry import trace

from tests.viva.recordings.frameworks.make.script import folder_given
from tests.viva.recordings.frameworks.make.spans_file import provider, versions

folder = folder_given()
trace.set_tracer_provider(provider(folder))

from google.adk.agents import LlmAgent  # noqa: E402
from google.adk.models.lite_llm import LiteLlm  # noqa: E402
from google.adk.runners import InMemoryRunner  # noqa: E402
from google.genai import types  # noqa: E402

from tests.viva.recordings.frameworks.make.script import (  # noqa: E402
    CONVERSATION,
    FAILING,
    MODEL,
    PARALLEL,
    PLAIN,
    SYSTEM,
    Script,
    Task,
    convert,
    get_weather,
    model_server,
)

script = Script("Google ADK", versions("google-adk"), "its own", agent="weatherman")


async def failed(tool: Any, args: dict[str, Any], tool_context: Any, error: Exception) -> dict[str, Any]:
    """Give the model what went wrong, as the documentation advises."""
    return {"error": str(error)}


def runner(url: str) -> InMemoryRunner:
    """Make an agent with its runner."""
    model = LiteLlm(f"openai/{MODEL}", api_base=url, api_key="none")
    agent = LlmAgent(
        name="weatherman",
        model=model,
        instruction=SYSTEM,
        tools=[get_weather, convert],
        on_tool_error_callback=failed,
    )
    return InMemoryRunner(agent, app_name="recorded")


async def ask(using: InMemoryRunner, session: Any, task: Task) -> None:
    """Ask one question."""
    message = types.Content(role="user", parts=[types.Part(text=script.play(task))])
    async for _ in using.run_async(user_id="somebody", session_id=session.id, new_message=message):
        pass


async def main(url: str) -> None:
    """Ask all questions."""
    for tasks in ((PLAIN,), (FAILING,), (PARALLEL,), CONVERSATION):
        using = runner(url)
        session = await using.session_service.create_session(app_name="recorded", user_id="somebody")
        for task in tasks:
            await ask(using, session, task)


with model_server(script) as url:
    asyncio.run(main(url))
script.write_truth(folder)
