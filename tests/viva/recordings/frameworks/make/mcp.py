"""Records an agent of OpenAI's SDK whose tools are on an MCP server: spans of the SDK, of MCP's client and server."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from agents import Agent, OpenAIChatCompletionsModel, Runner, SQLiteSession, set_trace_processors
from agents.mcp import MCPServerStdio
from openai import AsyncOpenAI
from openinference.instrumentation.mcp import MCPInstrumentor
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor
from opentelemetry import trace

from tests.viva.recordings.frameworks.make.script import (
    CONVERSATION,
    FAILING,
    MODEL,
    PARALLEL,
    PLAIN,
    SYSTEM,
    Script,
    folder_given,
    model_server,
)
from tests.viva.recordings.frameworks.make.spans_file import NAME, provider, versions

folder = folder_given()
beside = folder / "server"
beside.mkdir()
made = provider(folder)
trace.set_tracer_provider(made)
set_trace_processors([])
OpenAIAgentsInstrumentor().instrument(tracer_provider=made)
MCPInstrumentor().instrument(tracer_provider=made)
script = Script(
    "MCP",
    versions("mcp", "openai-agents"),
    f"its own spans, {versions('openinference-instrumentation-mcp', 'openinference-instrumentation-openai-agents')}",
    agent="weatherman",
)


async def main() -> None:
    """Play all tasks."""
    served = Path(__file__).with_name("mcp_server.py")
    command = {"command": sys.executable, "args": ["-P", str(served), str(beside)]}
    command["env"] = {"PYTHONPATH": str(Path(__file__).resolve().parents[5])}
    with model_server(script) as url:
        async with MCPServerStdio(command, client_session_timeout_seconds=60) as server:
            script.nothing()  # client and server greet each other
            model = OpenAIChatCompletionsModel(MODEL, AsyncOpenAI(base_url=url, api_key="none"))
            agent = Agent(name="weatherman", instructions=SYSTEM, model=model, mcp_servers=[server])
            for task in (PLAIN, FAILING, PARALLEL):
                await Runner.run(agent, script.play(task))
            session = SQLiteSession("weather")
            for task in CONVERSATION:
                await Runner.run(agent, script.play(task), session=session)


asyncio.run(main())
with (folder / NAME).open("a") as out:
    out.write((beside / NAME).read_text())
(beside / NAME).unlink()
beside.rmdir()
script.write_truth(folder)
