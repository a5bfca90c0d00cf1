"""Agents and workflows of LlamaIndex for the tests."""

import os

from llama_index.core.agent.workflow import AgentWorkflow, FunctionAgent
from llama_index.core.workflow import Context, HumanResponseEvent, InputRequiredEvent
from llama_index.llms.openai_like import OpenAILike

WEATHER = {"Paris": "18 degrees", "Rome": "25 degrees"}


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    if city not in WEATHER:
        raise ValueError(f"no such city: {city}")
    return WEATHER[city]


def convert(degrees: int, unit: str) -> str:
    """Convert degrees Celsius into another unit."""
    return f"{degrees * 9 // 5 + 32} {unit}"


def crash() -> str:
    """Crash."""
    raise RuntimeError("the tool crashed")


def model():
    return OpenAILike(
        model="scripted",
        api_base=os.environ["OPENAI_BASE_URL"],
        api_key="none",
        is_chat_model=True,
        is_function_calling_model=True,
        max_retries=0,
        additional_kwargs={"stream_options": {"include_usage": True}},
    )


def made():
    return FunctionAgent(name="weatherman", tools=[get_weather, convert, crash], llm=model(), system_prompt="Be brief.")


shared = made()


async def made_async(config_var, workspace):
    yield made()
    (workspace / "closed").write_text(repr(config_var))


async def delete_file(ctx: Context, name: str) -> str:
    """Delete a file."""
    asks = InputRequiredEvent(prefix=f"Delete {name}?")
    answer = await ctx.wait_for_event(HumanResponseEvent, waiter_event=asks, waiter_id=name)
    return f"{name} is gone" if answer.response == "Yes." else "refused"


asking = FunctionAgent(name="asking", tools=[delete_file], llm=model())
team = AgentWorkflow(
    agents=[
        FunctionAgent(name="planner", description="Plans.", llm=model(), can_handoff_to=["booker"]),
        FunctionAgent(name="booker", description="Books.", llm=model()),
    ],
    root_agent="planner",
)
