"""Records the traces of real agents with scripted models, as their own instrumentation writes them, in OTLP's JSON.

    python record.py FAMILY FILE

It runs in an environment of its own (`requirements.txt` beside it); the recordings under `recorded/` were made with it.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from script import (
    COMPLETION_TOKENS,
    DELEGATED,
    HANDOFF,
    MODEL,
    PROMPT_TOKENS,
    REACT,
    TASKS,
    Turn,
    convert,
    get_weather,
    react_text,
)

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "0"
os.environ.setdefault("OPENAI_API_KEY", "none")
USAGE = {
    "prompt_tokens": PROMPT_TOKENS,
    "completion_tokens": COMPLETION_TOKENS,
    "total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS,
}


def provider(file: Path) -> Any:
    """Make a tracer provider that appends each batch of spans to a file, as a collector's file exporter does."""
    from google.protobuf.json_format import MessageToDict
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExporter, SpanExportResult

    class Exporter(SpanExporter):
        def export(self, spans: Any) -> Any:
            document = MessageToDict(encode_spans(spans))
            for resource in document["resourceSpans"]:
                for scope in resource["scopeSpans"]:
                    for span in scope["spans"]:
                        for key in ("traceId", "spanId", "parentSpanId"):
                            if key in span:
                                span[key] = base64.b64decode(span[key]).hex()
            with file.open("a") as out:
                # Stack traces name this machine's folders.
                text = json.dumps(document)
                for folder in (sys.prefix, sys.base_prefix, str(Path(__file__).parent)):
                    text = text.replace(folder, "/app")
                out.write(text + "\n")
            return SpanExportResult.SUCCESS

    made = TracerProvider(resource=Resource({"service.name": "recorded", "service.version": "1.2"}))
    made.add_span_processor(SimpleSpanProcessor(Exporter()))
    return made


def llama_index_model(turns: Iterator[Turn], react: bool) -> Any:
    from llama_index.core.base.llms.types import ChatMessage, ChatResponse, LLMMetadata
    from llama_index.core.llms.callbacks import llm_chat_callback, llm_completion_callback
    from llama_index.core.llms.function_calling import FunctionCallingLLM
    from llama_index.core.llms.llm import ToolSelection

    class Scripted(FunctionCallingLLM):
        @property
        def metadata(self) -> Any:
            return LLMMetadata(model_name=MODEL, is_chat_model=True, is_function_calling_model=not react)

        def answer(self) -> Any:
            turn = next(turns)
            if react:
                return ChatResponse(
                    message=ChatMessage(role="assistant", content=react_text(turn)), raw={"usage": USAGE}
                )
            calls = [
                {"id": f"call_{place}", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
                for place, (name, given) in enumerate(turn.calls)
            ]
            extra = {"tool_calls": calls} if calls else {}
            message = ChatMessage(role="assistant", content=turn.words, additional_kwargs=extra)
            return ChatResponse(message=message, raw={"usage": USAGE})

        @llm_chat_callback()
        def chat(self, messages: Any, **kwargs: Any) -> Any:
            return self.answer()

        @llm_chat_callback()
        async def achat(self, messages: Any, **kwargs: Any) -> Any:
            return self.answer()

        @llm_chat_callback()
        def stream_chat(self, messages: Any, **kwargs: Any) -> Any:
            raise NotImplementedError

        @llm_chat_callback()
        async def astream_chat(self, messages: Any, **kwargs: Any) -> Any:
            whole = self.answer()

            async def pieces() -> Any:
                text = whole.message.content or ""
                for end in range(0, len(text), 9):
                    part = ChatMessage(role="assistant", content=text[:end])
                    yield ChatResponse(message=part, delta=text[max(0, end - 9) : end])
                yield ChatResponse(message=whole.message, delta="", raw=whole.raw)

            return pieces()

        @llm_completion_callback()
        def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise NotImplementedError

        @llm_completion_callback()
        async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise NotImplementedError

        @llm_completion_callback()
        def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise NotImplementedError

        @llm_completion_callback()
        async def astream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
            raise NotImplementedError

        def _prepare_chat_with_tools(
            self, tools: Any, user_msg: Any = None, chat_history: Any = None, **kw: Any
        ) -> Any:
            messages = list(chat_history or [])
            if user_msg is not None:
                messages.append(ChatMessage(role="user", content=user_msg) if isinstance(user_msg, str) else user_msg)
            return {"messages": messages, "tools": [tool.metadata.to_openai_tool() for tool in tools]}

        def get_tool_calls_from_response(self, response: Any, error_on_no_tool_call: bool = True, **kw: Any) -> Any:
            calls = response.message.additional_kwargs.get("tool_calls", [])
            return [
                ToolSelection(
                    tool_id=call["id"],
                    tool_name=call["function"]["name"],
                    tool_kwargs=json.loads(call["function"]["arguments"]),
                )
                for call in calls
            ]

    return Scripted()


async def llama_index(file: Path, react: bool, streaming: bool) -> None:
    from llama_index.core.agent.workflow import FunctionAgent, ReActAgent
    from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

    LlamaIndexInstrumentor().instrument(tracer_provider=provider(file))
    tasks = REACT if react else TASKS
    for task in tasks[:2] if streaming else tasks:
        kind = ReActAgent if react else FunctionAgent
        model = llama_index_model(iter(task.turns), react)
        agent = kind(tools=[get_weather, convert], llm=model, streaming=streaming, system_prompt="Be brief.")
        await agent.run(user_msg=task.question)


async def pydantic_ai(file: Path) -> None:
    from pydantic_ai import ModelRetry

    made = provider(file)

    def weather(city: str) -> str:
        """Tell the weather of a city."""
        try:
            return get_weather(city)
        except ValueError as error:
            raise ModelRetry(str(error)) from error

    for task in TASKS:
        agent = pydantic_ai_agent(task.turns, made, "weatherman")
        agent.tool_plain(name="get_weather")(weather)
        agent.tool_plain(convert)
        await agent.run(task.question)
    outer = pydantic_ai_agent(DELEGATED[0].turns, made, "asker")
    inner = pydantic_ai_agent(DELEGATED[1].turns, made, "expert")
    inner.tool_plain(name="get_weather")(weather)

    @outer.tool_plain
    async def ask_expert(question: str) -> str:
        """Ask an expert."""
        return str((await inner.run(question)).output)

    await outer.run(DELEGATED[0].question)


def pydantic_ai_agent(script: tuple[Turn, ...], made: Any, name: str) -> Any:
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.models.instrumented import InstrumentationSettings
    from pydantic_ai.usage import RequestUsage

    turns = iter(script)

    def say(messages: Any, info: Any) -> Any:
        turn = next(turns)
        parts: list[Any] = [TextPart(turn.words)] if turn.words else []
        parts += [ToolCallPart(tool, given, f"call_{place}") for place, (tool, given) in enumerate(turn.calls)]
        usage = RequestUsage(input_tokens=PROMPT_TOKENS, output_tokens=COMPLETION_TOKENS)
        return ModelResponse(parts=parts, usage=usage, model_name=MODEL)

    model = FunctionModel(say, model_name=MODEL)
    settings = InstrumentationSettings(tracer_provider=made)
    try:
        from pydantic_ai.capabilities import Instrumentation

        return Agent(model, name=name, system_prompt="Be brief.", capabilities=[Instrumentation(settings)])
    except (ImportError, TypeError):
        return Agent(model, name=name, system_prompt="Be brief.", instrument=settings)


async def openai_agents(file: Path) -> None:
    from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_trace_processors, trace
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    set_trace_processors([])
    OpenAIAgentsInstrumentor().instrument(tracer_provider=provider(file))
    counter = iter(range(10_000))

    class Scripted(Model):
        def __init__(self, turns: Iterator[Turn]) -> None:
            self.turns = turns

        async def get_response(self, system_instructions: Any, input: Any, *rest: Any, **more: Any) -> Any:  # noqa: A002
            from agents import generation_span

            turn = next(self.turns)
            output: list[Any] = []
            ids = [f"call_{next(counter)}" for _ in turn.calls]  # the SDK refuses one that was used before
            if turn.words:
                text = ResponseOutputText(annotations=[], text=turn.words, type="output_text")
                output.append(
                    ResponseOutputMessage(
                        id=f"msg_{next(counter)}", content=[text], role="assistant", status="completed", type="message"
                    )
                )
            output += [
                ResponseFunctionToolCall(
                    arguments=json.dumps(arguments), call_id=identity, name=name, type="function_call"
                )
                for identity, (name, arguments) in zip(ids, turn.calls, strict=True)
            ]
            # The SDK's own chat model opens this span; a model of one's own has to.
            system = [{"role": "system", "content": system_instructions}] if system_instructions else []
            messages = system + chat_messages(input)
            with generation_span(input=messages, model=MODEL) as span:
                calls = [
                    {"id": identity, "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
                    for identity, (name, args) in zip(ids, turn.calls, strict=True)
                ]
                answer: dict[str, Any] = {"role": "assistant", "content": turn.words}
                span.span_data.output = [{**answer, "tool_calls": calls} if calls else answer]
                span.span_data.usage = {"input_tokens": PROMPT_TOKENS, "output_tokens": COMPLETION_TOKENS}
            usage = Usage(
                requests=1,
                input_tokens=PROMPT_TOKENS,
                output_tokens=COMPLETION_TOKENS,
                total_tokens=PROMPT_TOKENS + COMPLETION_TOKENS,
            )
            return ModelResponse(output=output, usage=usage, response_id=None)

        async def stream_response(self, *given: Any, **more: Any) -> Any:
            raise NotImplementedError
            yield

    tools = [function_tool(get_weather), function_tool(convert)]
    for task in TASKS:
        agent = Agent("weatherman", instructions="Be brief.", tools=tools, model=Scripted(iter(task.turns)))
        await Runner.run(agent, task.question)
    model = Scripted(iter(HANDOFF.turns))
    specialist = Agent("weather agent", instructions="You know the weather.", tools=tools, model=model)
    triage = Agent("triage", instructions="Hand over.", handoffs=[specialist], model=model)
    await Runner.run(triage, HANDOFF.question)
    with trace("two questions"):
        for task in TASKS[2:]:
            agent = Agent("weatherman", instructions="Be brief.", tools=tools, model=Scripted(iter(task.turns)))
            await Runner.run(agent, task.question)


def chat_messages(given: Any) -> list[dict[str, Any]]:
    """Turn the items of a run into chat messages, as the SDK's chat model does."""
    from agents.models.chatcmpl_converter import Converter

    return [dict(message) for message in Converter.items_to_messages(given)]


async def langgraph(file: Path) -> None:
    from langchain.agents import create_agent
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.outputs import ChatGeneration, ChatResult
    from langchain_core.tools import tool
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=provider(file))

    class Scripted(BaseChatModel):
        turns: Any
        model_name: str = MODEL

        @property
        def _llm_type(self) -> str:
            return "scripted"

        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            from langchain_core.utils.function_calling import convert_to_openai_tool

            return self.bind(tools=[convert_to_openai_tool(each) for each in tools])

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
            turn = next(self.turns)
            calls = [
                {"name": name, "args": given, "id": f"call_{place}", "type": "tool_call"}
                for place, (name, given) in enumerate(turn.calls)
            ]
            usage = {
                "input_tokens": PROMPT_TOKENS,
                "output_tokens": COMPLETION_TOKENS,
                "total_tokens": PROMPT_TOKENS + COMPLETION_TOKENS,
            }
            message = AIMessage(
                turn.words, tool_calls=calls, usage_metadata=usage, response_metadata={"model_name": MODEL}
            )
            return ChatResult(generations=[ChatGeneration(message=message)])

    @tool("get_weather")
    def weather(city: str) -> str:
        """Tell the weather of a city."""
        try:
            return get_weather(city)
        except ValueError as error:
            return f"Error: {error}"

    for task in TASKS:
        model = Scripted(turns=iter(task.turns))
        agent = create_agent(model, [weather, tool(convert)], system_prompt="Be brief.")
        await agent.ainvoke({"messages": [{"role": "user", "content": task.question}]})


FAMILIES = {
    "llama_index_react": lambda file: llama_index(file, True, False),
    "llama_index_react_streamed": lambda file: llama_index(file, True, True),
    "llama_index_function": lambda file: llama_index(file, False, False),
    "llama_index_function_streamed": lambda file: llama_index(file, False, True),
    "pydantic_ai": pydantic_ai,
    "openai_agents": openai_agents,
    "langgraph": langgraph,
}

if __name__ == "__main__":
    target = Path(sys.argv[2])
    target.unlink(missing_ok=True)
    asyncio.run(FAMILIES[sys.argv[1]](target))
