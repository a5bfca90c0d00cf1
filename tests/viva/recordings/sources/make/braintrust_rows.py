"""Makes `tests/viva/recordings/sources/recorded/braintrust.jsonl`: the rows that Braintrust's package logs.

Run it with a Python that has `braintrust`, `openai` and `pytest`: `python braintrust_rows.py OUT`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import braintrust
import openai
from braintrust import logger
from braintrust.test_helpers import init_test_logger
from scripted_model import QUESTIONS, serve

ADDRESS, _ = serve()
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS: list[Any] = [{"type": "function", "function": {"name": "get_weather", "parameters": PARAMETERS}}]


@braintrust.traced(type="tool")
def get_weather(city: str) -> str:
    """The tool."""
    if city == "Atlantis":
        raise ValueError("no such city")
    return f"25 degrees in {city}"


def run(client: Any, question: str) -> str:
    """The agent: it does what the model asks for, until that answers."""
    messages: list[Any] = [{"role": "user", "content": question}]
    while True:
        answer = client.chat.completions.create(model="gpt-4o", messages=messages, tools=TOOLS).choices[0].message
        if not answer.tool_calls:
            return str(answer.content)
        messages.append(answer.model_dump(exclude_none=True))
        for call in answer.tool_calls:
            try:
                result = get_weather(**json.loads(call.function.arguments))
            except ValueError as error:
                result = str(error)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


if __name__ == "__main__":
    with logger._internal_with_memory_background_logger() as kept:
        init_test_logger("weather")
        client = braintrust.wrap_openai(openai.OpenAI(base_url=f"{ADDRESS}/v1", api_key="none"))
        for question in QUESTIONS:
            with braintrust.start_span(name="weatherman", type="task", input={"question": question}) as span:
                span.log(output=run(client, question))
        rows = kept.pop()
    for row in rows:
        row.pop("context", None)  # what it says of this machine
        if row.get("error"):
            row["error"] = str(row["error"]).strip().splitlines()[-1]
    Path(sys.argv[1]).write_text("".join(json.dumps(row, default=str) + "\n" for row in rows))
