"""Records Agno's agents by OpenInference's instrumentation."""

from __future__ import annotations

from agno.agent import Agent
from agno.db.in_memory import InMemoryDb
from agno.models.openai.like import OpenAILike
from openinference.instrumentation.agno import AgnoInstrumentor

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
AgnoInstrumentor().instrument(tracer_provider=provider(folder))
script = Script("Agno", versions("agno"), versions("openinference-instrumentation-agno"), agent="weatherman")

with model_server(script) as url:
    model = OpenAILike(id=MODEL, base_url=url, api_key="none")
    tools = [get_weather, convert]
    for task in (PLAIN, FAILING, PARALLEL):
        Agent(name="weatherman", model=model, tools=tools, instructions=SYSTEM).run(script.play(task))
    talking = Agent(
        name="weatherman",
        model=model,
        tools=tools,
        instructions=SYSTEM,
        db=InMemoryDb(),
        add_history_to_context=True,
        session_id="weather",
    )
    for task in CONVERSATION:
        talking.run(script.play(task))
script.write_truth(folder)
