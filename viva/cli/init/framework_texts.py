"""The first agent of each framework that `viva init adapter` writes. A function plays its model until there is one."""

from __future__ import annotations

LANGGRAPH = '''"""An agent of LangGraph. `viva docs langgraph` has everything else."""

from langchain_core.messages import AIMessage
from langgraph.graph import START, MessagesState, StateGraph


def answer(state):
    """Answer the last message."""
    said = state["messages"][-1].content
    return {{"messages": [AIMessage(f"You said: {{said}}")]}}  # yours: your model, and its tools


graph = StateGraph(MessagesState)
graph.add_node("answer", answer)
graph.add_edge(START, "answer")
agent = graph.compile(name="{name}")
'''
PYDANTIC_AI = '''"""An agent of Pydantic AI. `viva docs pydantic-ai` has everything else."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel


def answer(messages, info):
    """Answer the last message."""
    return ModelResponse(parts=[TextPart(f"You said: {{messages[-1].parts[-1].content}}")])


agent = Agent(FunctionModel(answer), name="{name}")  # yours: your model, and its tools
'''
AGENTS_SDK = '''"""An agent of the OpenAI Agents SDK. `viva docs openai-agents` has everything else."""

from agents import Agent, Model, ModelResponse, Usage, set_tracing_disabled
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)  # else the SDK sends a trace of each run to OpenAI


class Played(Model):
    """Answers the last message."""

    async def get_response(self, system_instructions, input, *_, **__):  # noqa: A002 (the name in the SDK)
        said = input if isinstance(input, str) else input[-1]["content"]
        text = ResponseOutputText(text=f"You said: {{said}}", type="output_text", annotations=[])
        message = ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *_, **__):
        raise NotImplementedError


agent = Agent("{name}", model=Played())  # yours: your model, and its tools
'''
LLAMA_INDEX = '''"""An agent of LlamaIndex. `viva docs llamaindex` has everything else."""

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.core.llms import ChatMessage
from llama_index.core.llms.mock import MockFunctionCallingLLM


def answer(messages, **_):
    """Answer the last message."""
    return ChatMessage(role="assistant", content=f"You said: {{messages[-1].content}}")


model = MockFunctionCallingLLM(response_generator=answer)  # yours: your model
agent = FunctionAgent(name="{name}", tools=[], llm=model, streaming=False)
'''
AUTOGEN = '''"""An agent of AutoGen: a function makes one for each exam. `viva docs autogen` has everything else."""

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import CreateResult, RequestUsage
from autogen_ext.models.replay import ReplayChatCompletionClient


class Played(ReplayChatCompletionClient):
    """Answers the last message."""

    async def create(self, messages, **_):
        text = f"You said: {{messages[-1].content}}"
        return CreateResult(finish_reason="stop", content=text, usage=RequestUsage(0, 0), cached=False)


def agent():
    """Return a new agent."""
    return AssistantAgent("{name}", Played([]))  # yours: your model, and its tools
'''
