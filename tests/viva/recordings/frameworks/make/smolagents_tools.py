"""Records the tool-calling agent of smolagents by OpenInference's instrumentation."""

from __future__ import annotations

from typing import Any

from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from smolagents import OpenAIModel, ToolCallingAgent, tool

from tests.viva.recordings.frameworks.make.script import (
    CONVERSATION,
    FAILING,
    MODEL,
    PARALLEL,
    PLAIN,
    Script,
    Task,
    Turn,
    convert,
    folder_given,
    get_weather,
    model_server,
)
from tests.viva.recordings.frameworks.make.spans_file import provider, versions

folder = folder_given()
SmolagentsInstrumentor().instrument(tracer_provider=provider(folder))
script = Script("smolagents", versions("smolagents"), versions("openinference-instrumentation-smolagents"))


@tool
def weather(city: str) -> str:
    """Tell the weather of a city.

    Args:
        city: Its name.
    """
    return get_weather(city)


@tool
def convert_degrees(degrees: int, unit: str) -> str:
    """Convert degrees Celsius into another unit.

    Args:
        degrees: How many.
        unit: The other unit.
    """
    return convert(degrees, unit)


weather.name, convert_degrees.name = "get_weather", "convert"


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
