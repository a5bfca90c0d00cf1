"""Records the tool-calling agent of smolagents by OpenInference's instrumentation."""

from __future__ import annotations

from typing import Any

from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from smolagents import OpenAIModel, ToolCallingAgent

from tests.viva.recordings.frameworks.make.script import (
    CONVERSATION,
    FAILING,
    MODEL,
    PARALLEL,
    PLAIN,
    Script,
    Task,
    Turn,
    folder_given,
    model_server,
)
from tests.viva.recordings.frameworks.make.smolagents_given import convert_degrees, weather
from tests.viva.recordings.frameworks.make.spans_file import provider, versions

folder = folder_given()
SmolagentsInstrumentor().instrument(tracer_provider=provider(folder))
script = Script("smolagents", versions("smolagents"), versions("openinference-instrumentation-smolagents"))


def finishing(task: Task) -> Task:
    """Give the answer with the tool that this framework asks for; the truth does not count it as a step."""
    last = task.turns[-1]
    return Task(task.question, (*task.turns[:-1], Turn("", (("final_answer", {"answer": last.words}),))))


def agent(url: str) -> Any:
    """Make an agent."""
    model = OpenAIModel(MODEL, api_base=url, api_key="none")
    return ToolCallingAgent([weather, convert_degrees], model, max_steps=5, verbosity_level=0)


with model_server(script) as url:
    for task in (PLAIN, FAILING, PARALLEL):
        agent(url).run(script.play(task, asked=finishing(task)))
    talking = agent(url)
    for number, task in enumerate(CONVERSATION):
        talking.run(script.play(task, asked=finishing(task)), reset=number == 0)
script.write_truth(folder)
