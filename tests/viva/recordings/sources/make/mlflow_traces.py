"""Makes `tests/viva/recordings/sources/recorded/mlflow.jsonl` with MLflow, whose spans a scripted agent opens.

Run it with a Python that has `mlflow-skinny`, `sqlalchemy`, `alembic` and `pandas`: `python mlflow_traces.py OUT`.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import mlflow
from mlflow.entities import SpanType

USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


@mlflow.trace(span_type=SpanType.TOOL)
def get_weather(city: str) -> str:
    """The tool."""
    if city == "Atlantis":
        raise ValueError("no such city")
    return f"25 degrees in {city}"


def chat(messages: list[dict[str, Any]], said: str, cities: tuple[str, ...] = ()) -> dict[str, Any]:
    """A call of the scripted model."""
    message: dict[str, Any] = {"role": "assistant", "content": said}
    if cities:
        message["tool_calls"] = [
            {
                "id": city,
                "type": "function",
                "function": {"name": "get_weather", "arguments": json.dumps({"city": city})},
            }
            for city in cities
        ]
    with mlflow.start_span("chat", span_type=SpanType.CHAT_MODEL) as span:
        span.set_inputs({"model": "gpt-4o", "messages": messages})
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if cities else "stop"}
        span.set_outputs({"object": "chat.completion", "model": "gpt-4o", "choices": [choice], "usage": USAGE})
        span.set_attribute("mlflow.chat.tokenUsage", {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110})
    return message


@mlflow.trace(span_type=SpanType.AGENT)
def agent(question: str, cities: tuple[str, ...], answer: str) -> str:
    """The agent: it looks the cities up, and answers."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": question}]
    messages.append(chat(messages, "I look it up.", cities))
    for city in cities:
        try:
            result = get_weather(city)
        except ValueError as error:
            result = f"Error: {error}"
        messages.append({"role": "tool", "tool_call_id": city, "content": result})
    return str(chat(messages, answer)["content"])


if __name__ == "__main__":
    out = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        mlflow.set_tracking_uri(f"sqlite:///{folder}/traces.db")
        mlflow.set_experiment("weather")
        agent("How warm is Rome?", ("Rome",), "It is 25 degrees in Rome.")
        agent("How warm are Oslo and Atlantis?", ("Oslo", "Atlantis"), "Oslo has 25 degrees; Atlantis does not exist.")
        mlflow.flush_trace_async_logging()
        found = [json.loads(trace.to_json()) for trace in mlflow.search_traces(return_type="list")]
        for trace in found:  # what they say of this machine
            trace["info"]["tags"] = {}
            trace["info"]["trace_metadata"] = {"mlflow.trace_schema.version": "3"}
        out.write_text("".join(json.dumps(trace) + "\n" for trace in reversed(found)))
        os.chdir("/")
