"""Agents and graphs of LangGraph and LangChain for the tests."""

from typing import TypedDict

from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import ToolException, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.types import interrupt

WEATHER = {"Paris": "18 degrees", "Rome": "25 degrees"}


@tool
def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    if city not in WEATHER:
        raise ToolException(f"no such city: {city}")
    return WEATHER[city]


get_weather.handle_tool_error = True


@tool
def convert(degrees: int, unit: str) -> str:
    """Convert degrees Celsius into another unit."""
    return f"{degrees * 9 // 5 + 32} {unit}"


@tool
def crash() -> str:
    """Crash."""
    raise RuntimeError("the tool crashed")


def model():
    return ChatOpenAI(model="scripted", max_retries=0)


TOOLS = [get_weather, convert, crash]
shared = create_agent(model(), TOOLS, system_prompt="Be brief.", name="weatherman")
remembering = create_agent(model(), TOOLS, name="weatherman", checkpointer=InMemorySaver())


def made():
    return create_agent(model(), TOOLS, system_prompt="Be brief.", name="weatherman")


async def made_async(config_var, workspace):
    found = create_agent(model(), TOOLS, name="weatherman")
    yield found
    (workspace / "closed").write_text(repr(config_var))


@tool
def ask_expert(input: str) -> str:  # noqa: A002 (as the OpenAI Agents SDK calls it)
    """Ask the expert."""
    return shared.invoke({"messages": [{"role": "user", "content": input}]})["messages"][-1].content


boss = create_agent(model(), [ask_expert], name="boss")


def ask_colour(state):
    colour = interrupt({"question": "Which colour?"})
    return {"messages": [{"role": "assistant", "content": f"You like {colour}."}]}


asking = StateGraph(MessagesState).add_node(ask_colour).add_edge(START, "ask_colour").add_edge("ask_colour", END)


class Notes(TypedDict):
    question: str
    answer: str
    depth: int


def think(state):
    return {"answer": state["question"].upper(), "depth": 1}


notes = StateGraph(Notes).add_node(think).add_edge(START, "think").add_edge("think", END).compile()
adapted = RunnableLambda(lambda text: {"question": text, "depth": 2}) | notes | (lambda state: state["answer"])
chat = model()


def again(state):
    return {"messages": [HumanMessage("again")]}


endless = StateGraph(MessagesState).add_node(again).add_edge(START, "again").add_edge("again", "again").compile()
endless = endless.with_config(recursion_limit=20)


def configured(state, config):
    given = config["configurable"]
    return {"messages": [{"role": "assistant", "content": f"{given['workspace']} {given['config_var']}"}]}


reading = StateGraph(MessagesState).add_node(configured).add_edge(START, "configured").add_edge("configured", END)


def ask_one(state):
    return {"messages": [{"role": "assistant", "content": f"{interrupt('Which colour?')}"}]}


def ask_other(state):
    return {"messages": [{"role": "assistant", "content": f"{interrupt('Which number?')}"}]}


def join(state):
    return {"messages": [{"role": "assistant", "content": ", ".join(said.content for said in state["messages"][1:])}]}


asking_twice = StateGraph(MessagesState)
for node in (ask_one, ask_other):
    asking_twice.add_node(node).add_edge(START, node.__name__)
asking_twice.add_node(join).add_edge(["ask_one", "ask_other"], "join").add_edge("join", END)


@tool
def delete_file(name: str) -> str:
    """Delete a file."""
    return f"{interrupt(f'Delete {name}?')} {name} is gone"


careful = create_agent(model(), [delete_file], name="careful")
