"""Records AutoGen's agents as its documentation shows: its own spans, and OpenLLMetry's of the OpenAI client."""

from __future__ import annotations

import asyncio

from opentelemetry import trace
from opentelemetry.instrumentation.openai import OpenAIInstrumentor

from tests.viva.recordings.frameworks.make.autogen_agents import play_all
from tests.viva.recordings.frameworks.make.script import Script, folder_given
from tests.viva.recordings.frameworks.make.spans_file import provider, versions

folder = folder_given()
made = provider(folder)
trace.set_tracer_provider(made)
OpenAIInstrumentor().instrument(tracer_provider=made)
script = Script(
    "AutoGen",
    versions("autogen-agentchat", "autogen-core"),
    f"its own spans, {versions('opentelemetry-instrumentation-openai')}",
    agent="weatherman",
)
asyncio.run(play_all(script, made))
script.write_truth(folder)
