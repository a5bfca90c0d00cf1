"""Records DSPy's ReAct by OpenInference's instrumentation."""

from __future__ import annotations

import json

import dspy
from openinference.instrumentation.dspy import DSPyInstrumentor

from tests.viva.recordings.frameworks.make.script import (
    CONVERSATION,
    FAILING,
    MODEL,
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
DSPyInstrumentor().instrument(tracer_provider=provider(folder))
script = Script("DSPy", versions("dspy"), versions("openinference-instrumentation-dspy"))


def fields(**values: str) -> str:
    """Write the fields of an answer as DSPy's chat adapter has them."""
    return "\n\n".join(f"[[ ## {name} ## ]]\n{value}" for name, value in {**values, "completed": ""}.items())


def in_fields(task: Task) -> Task:
    """Write a task's turns as fields: one call in each, `finish` as the last, and then the answer."""
    turns = []
    for turn in task.turns[:-1]:
        (name, given), *_ = turn.calls
        said = fields(next_thought=turn.words or "Next.", next_tool_name=name, next_tool_args=json.dumps(given))
        turns.append(Turn(said))
    turns.append(Turn(fields(next_thought="I can answer.", next_tool_name="finish", next_tool_args="{}")))
    turns.append(Turn(fields(reasoning="From the tools.", answer=task.turns[-1].words)))
    return Task(task.question, tuple(turns))


with model_server(script) as url:
    dspy.configure(lm=dspy.LM(f"openai/{MODEL}", api_base=url, api_key="none", cache=False))
    for task in (PLAIN, FAILING):
        dspy.ReAct("question -> answer", tools=[get_weather, convert])(
            question=script.play(task, asked=in_fields(task))
        )
    history = dspy.History(messages=[])
    for task in CONVERSATION:
        react = dspy.ReAct("question, history: dspy.History -> answer", tools=[get_weather, convert])
        given = react(question=script.play(task, asked=in_fields(task)), history=history)
        history.messages.append({"question": task.question, "answer": given.answer})
script.write_truth(folder)
