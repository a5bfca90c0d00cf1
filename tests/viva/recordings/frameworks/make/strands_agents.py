"""Records Strands Agents by its own instrumentation, in both forms: an event for each message, and one for all of them.

The form is chosen by the name of this file's caller: `strands_latest.py` sets the opt-in before it runs this one.
"""

from __future__ import annotations

from typing import Any

from opentelemetry import trace
from strands import Agent, tool
from strands.models.openai import OpenAIModel

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
script = Script("Strands Agents", versions("strands-agents"), "its own", agent="weatherman", failure="{message}")


def agent(url: str) -> Any:
    """Make an agent."""
    model = OpenAIModel(client_args={"base_url": url, "api_key": "none"}, model_id=MODEL)
    tools = [tool(get_weather), tool(convert)]
    return Agent(model=model, tools=tools, system_prompt=SYSTEM, name="weatherman", callback_handler=None)


with model_server(script) as url:
    for task in (PLAIN, FAILING, PARALLEL):
        agent(url)(script.play(task))
    talking = agent(url)
    for task in CONVERSATION:
        talking(script.play(task))
script.write_truth(folder)
