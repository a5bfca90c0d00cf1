"""Records LlamaIndex's agents with streamed answers of a model of OpenAI's protocol, by OpenInference."""

from __future__ import annotations

import asyncio

from llama_index.core.agent.workflow import FunctionAgent
from llama_index.llms.openai_like import OpenAILike
from openinference.instrumentation.llama_index import LlamaIndexInstrumentor

from tests.viva.recordings.frameworks.make.script import (
    MODEL,
    PARALLEL,
    PLAIN,
    SYSTEM,
    UNKNOWN,
    Script,
    convert,
    folder_given,
    get_weather,
    model_server,
)
from tests.viva.recordings.frameworks.make.spans_file import provider, versions

folder = folder_given()
LlamaIndexInstrumentor().instrument(tracer_provider=provider(folder))
script = Script("LlamaIndex", versions("llama-index-core"), versions("openinference-instrumentation-llama-index"))


async def main(url: str) -> None:
    """Ask each task."""
    model = OpenAILike(
        model=MODEL,
        api_base=url,
        api_key="none",
        is_chat_model=True,
        is_function_calling_model=True,
        additional_kwargs={"stream_options": {"include_usage": True}},
    )
    for task in (PLAIN, PARALLEL, UNKNOWN):
        agent = FunctionAgent(tools=[get_weather, convert], llm=model, streaming=True, system_prompt=SYSTEM)
        await agent.run(user_msg=script.play(task))


with model_server(script) as url:
    asyncio.run(main(url))
script.write_truth(folder)
