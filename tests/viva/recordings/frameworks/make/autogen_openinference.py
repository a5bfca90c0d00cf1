"""Records AutoGen's agents by OpenInference's instrumentation, beside its own spans."""

from __future__ import annotations

import asyncio

from openinference.instrumentation.autogen_agentchat import AutogenAgentChatInstrumentor
from opentelemetry import trace

from tests.viva.recordings.frameworks.make.autogen_agents import play_all
from tests.viva.recordings.frameworks.make.script import Script, folder_given
from tests.viva.recordings.frameworks.make.spans_file import provider, versions

folder = folder_given()
made = provider(folder)
trace.set_tracer_provider(made)
AutogenAgentChatInstrumentor().instrument(tracer_provider=made)
script = Script(
    "AutoGen",
    versions("autogen-agentchat", "autogen-core"),
    f"its own spans, {versions('openinference-instrumentation-autogen-agentchat')}",
    agent="weatherman",
)
asyncio.run(play_all(script, made))
script.write_truth(folder)
