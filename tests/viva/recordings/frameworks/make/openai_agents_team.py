"""Records a team of the OpenAI Agents SDK: a sub-agent as a tool, a handoff after it, and the user's own judge."""

from __future__ import annotations

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_trace_processors
from openai import AsyncOpenAI
from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

from tests.viva.recordings.frameworks.make.script import (
    INPUT_TOKENS,
    MODEL,
    OUTPUT_TOKENS,
    PLAIN,
    SYSTEM,
    Script,
    Task,
    Turn,
    folder_given,
    get_weather,
    model_server,
)
from tests.viva.recordings.frameworks.make.spans_file import provider, versions

folder = folder_given()
set_trace_processors([])
made = provider(folder)
OpenAIAgentsInstrumentor().instrument(tracer_provider=made)
script = Script(
    "OpenAI Agents SDK", versions("openai-agents"), versions("openinference-instrumentation-openai-agents"), "planner"
)

ASK, TRANSFER, ANSWER = "ask_expert", "transfer_to_booker", "All is booked."
TRIP = "Plan a trip to Rome: ask the expert for the weather, then hand over to the booker."
EXPERT = Task("How warm is it in Rome?", PLAIN.turns)
TURNS = (
    Turn("", ((ASK, {"input": EXPERT.question}),)),
    *EXPERT.turns,
    Turn("", ((TRANSFER, {}),)),
    Turn(ANSWER),
)


def play() -> str:
    """Make the model play the whole team, and note what each run of it holds."""
    script.play(Task(TRIP, (Turn(ANSWER),) * 3))
    run = script.traces[-1]["runs"][0]
    run["steps"] = [
        {"tool": ASK, "input": {"input": EXPERT.question}, "result": EXPERT.turns[-1].words, "success": True},
        {"tool": TRANSFER, "input": {}, "result": '{"assistant": "booker"}', "success": True},
    ]
    script.agent = "expert"
    script.play(EXPERT, same_trace=True)
    script.agent = "planner"
    script.say(TURNS)
    return TRIP


async def main(url: str) -> None:
    """Ask the team twice, the second time in the user's own span with a judge."""
    model = OpenAIChatCompletionsModel(MODEL, AsyncOpenAI(base_url=url, api_key="none"))
    expert = Agent("expert", instructions=SYSTEM, tools=[function_tool(get_weather)], model=model)
    booker = Agent("booker", instructions=SYSTEM, model=model)
    tools = [expert.as_tool(ASK, "Ask the expert.")]
    planner = Agent("planner", instructions="Plan trips.", tools=tools, handoffs=[booker], model=model)
    await Runner.run(planner, play())
    tracer = made.get_tracer("my.program")
    with tracer.start_as_current_span("my request", attributes={"openinference.span.kind": "CHAIN"}):
        await Runner.run(planner, play())
        judged = {
            "openinference.span.kind": "LLM",
            "llm.input_messages.0.message.role": "system",
            "llm.input_messages.0.message.content": "You grade answers.",
            "llm.input_messages.1.message.role": "user",
            "llm.input_messages.1.message.content": f"Grade this answer: {ANSWER}",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "Grade: A",
            "llm.token_count.prompt": INPUT_TOKENS,
            "llm.token_count.completion": OUTPUT_TOKENS,
        }
        with tracer.start_as_current_span("judge", attributes=judged):
            pass


with model_server(script) as url:
    asyncio.run(main(url))
script.write_truth(folder)
