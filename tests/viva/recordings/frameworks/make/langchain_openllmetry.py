"""Records LangChain's agent by OpenLLMetry's instrumentation (`traceloop.*`)."""

from __future__ import annotations

from langchain.agents import create_agent
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI
from opentelemetry.instrumentation.langchain import LangchainInstrumentor

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
LangchainInstrumentor().instrument(tracer_provider=provider(folder))
script = Script(
    "LangChain", versions("langchain", "langchain-core"), versions("opentelemetry-instrumentation-langchain")
)


@tool("get_weather")
def weather(city: str) -> str:
    """Tell the weather of a city."""
    try:
        return get_weather(city)
    except ValueError as error:
        raise ToolException(str(error)) from error


with model_server(script) as url:
    model = ChatOpenAI(model=MODEL, base_url=url, api_key="none")
    weather.handle_tool_error = True
    agent = create_agent(model, [weather, tool(convert)], system_prompt=SYSTEM)
    history: list = []
    for task in (PLAIN, FAILING, PARALLEL):
        agent.invoke({"messages": [{"role": "user", "content": script.play(task)}]})
    for task in CONVERSATION:
        history.append({"role": "user", "content": script.play(task)})
        history = list(agent.invoke({"messages": history})["messages"])
script.write_truth(folder)
