"""Records LangChain 0.3's agent executor by an earlier release of OpenLLMetry's instrumentation (`traceloop.*`)."""

from __future__ import annotations

from langchain.agents import AgentExecutor, create_tool_calling_agent
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI
from opentelemetry.instrumentation.langchain import LangchainInstrumentor

from tests.viva.recordings.frameworks.make.script import (
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


weather.handle_tool_error = True
with model_server(script) as url:
    model = ChatOpenAI(model=MODEL, base_url=url, api_key="none")
    tools = [weather, tool(convert)]
    prompt = ChatPromptTemplate.from_messages(
        [
            ("system", SYSTEM),
            ("human", "{input}"),
            MessagesPlaceholder("agent_scratchpad"),
        ]
    )
    agent = AgentExecutor(agent=create_tool_calling_agent(model, tools, prompt), tools=tools, stream_runnable=False)
    for task in (PLAIN, FAILING, PARALLEL):
        agent.invoke({"input": script.play(task)})
script.write_truth(folder)
