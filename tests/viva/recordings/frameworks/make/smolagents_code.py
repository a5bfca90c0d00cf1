"""Records the code agent of smolagents by OpenInference's instrumentation: its actions are Python that calls tools."""

from __future__ import annotations

from typing import Any

from openinference.instrumentation.smolagents import SmolagentsInstrumentor
from smolagents import CodeAgent, OpenAIModel

from tests.viva.recordings.frameworks.make.script import (
    CONVERSATION,
    FAILING,
    MODEL,
    PARALLEL,
    PLAIN,
    TOOLS,
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


def python_interpreter(code: str) -> str:
    """Tell what came of code that calls no tool."""
    if code == "print(nobody)":
        raise ValueError("The variable `nobody` is not defined.")
    return "391"


TOOLS["python_interpreter"] = python_interpreter
IN_CODE_ALONE = Task(
    "What is 17 times 23?",
    (
        Turn("", (("python_interpreter", {"code": "print(nobody)"}),)),
        Turn("I multiply.", (("python_interpreter", {"code": "print(17 * 23)"}),)),
        Turn("It is 391."),
    ),
)


def in_code(task: Task) -> Task:
    """Write the calls of each turn, and the answer, as code; every second call gives its arguments by position."""
    turns = []
    for number, turn in enumerate(task.turns):
        calls = [_line(name, given, place % 2 == 1) for place, (name, given) in enumerate(turn.calls)]
        code = "\n".join(calls) if calls else f"final_answer({turn.words!r})"
        thought = turn.words if calls and turn.words else f"Step {number}."
        turns.append(Turn(f"Thought: {thought}\n<code>\n{code}\n</code>"))
    return Task(task.question, tuple(turns))


def _line(name: str, given: dict[str, Any], by_position: bool) -> str:
    if name == "python_interpreter":
        return str(given["code"])
    arguments = ", ".join(repr(value) if by_position else f"{name}={value!r}" for name, value in given.items())
    return f"print({name}({arguments}))"


def agent(url: str) -> Any:
    """Make an agent."""
    model = OpenAIModel(MODEL, api_base=url, api_key="none")
    return CodeAgent([weather, convert_degrees], model, max_steps=5, verbosity_level=0)


with model_server(script) as url:
    for task in (PLAIN, FAILING, PARALLEL, IN_CODE_ALONE):
        agent(url).run(script.play(task, asked=in_code(task)))
    talking = agent(url)
    for number, task in enumerate(CONVERSATION):
        talking.run(script.play(task, asked=in_code(task)), reset=number == 0)
script.write_truth(folder)
