"""Records CrewAI by OpenInference's instrumentations of CrewAI and of OpenAI's client."""

from __future__ import annotations

import os
from typing import Any

os.environ.update(CREWAI_DISABLE_TELEMETRY="true", CREWAI_TRACING_ENABLED="false", CREWAI_TESTING="true")

from crewai import LLM, Agent, Crew, Task
from crewai.tools import tool
from openinference.instrumentation.crewai import CrewAIInstrumentor
from openinference.instrumentation.openai import OpenAIInstrumentor

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
spans = provider(folder)
CrewAIInstrumentor().instrument(skip_dep_check=True, tracer_provider=spans)
OpenAIInstrumentor().instrument(tracer_provider=spans)
instrumentations = versions("openinference-instrumentation-crewai", "openinference-instrumentation-openai")
script = Script("CrewAI", versions("crewai"), instrumentations, agent="weatherman")


def agent(url: str, role: str) -> Any:
    """Make an agent."""
    model = LLM(f"openai/{MODEL}", base_url=url, api_key="none")
    tools = [tool("get_weather")(get_weather), tool("convert")(convert)]
    return Agent(role=role, goal="Answer.", backstory=SYSTEM, tools=tools, llm=model, max_iter=6)


def task_of(question: str, doer: Any) -> Any:
    """Make a task."""
    return Task(description=question, expected_output="A sentence.", agent=doer)


with model_server(script) as url:
    doer = agent(url, "weatherman")
    crew = Crew(agents=[doer], tasks=[task_of("{question}", doer)], verbose=False)
    crew.kickoff(inputs={"question": script.play(PLAIN)})
    for task in (FAILING, PARALLEL):
        doer = agent(url, "weatherman")
        Crew(agents=[doer], tasks=[task_of(script.play(task), doer)], verbose=False).kickoff()
    first, second = agent(url, "weatherman"), agent(url, "converter")
    tasks = [task_of(task.question, doer) for task, doer in zip(CONVERSATION, (first, second), strict=True)]
    script.play_in_turn(CONVERSATION, ("weatherman", "converter"))
    Crew(agents=[first, second], tasks=tasks, verbose=False).kickoff()
script.write_truth(folder)
