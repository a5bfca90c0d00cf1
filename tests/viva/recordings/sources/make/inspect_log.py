"""Makes `tests/viva/recordings/sources/recorded/inspect.eval` with inspect-ai and its own mock model.

Run it with a Python that has `inspect-ai`: `python inspect_log.py OUT`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from inspect_ai import Task, eval  # noqa: A004
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatCompletionChoice, ChatMessageAssistant, ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate, system_message, use_tools
from inspect_ai.tool import ToolCall, ToolError, tool


@tool
def get_weather():
    async def execute(city: str) -> str:
        """Look up the weather.

        Args:
            city: The name of the city.
        """
        if city == "Atlantis":
            raise ToolError("no such city")
        return f"25 degrees in {city}"

    return execute


def said(text: str, *calls: tuple[str, str, dict[str, str]]) -> ModelOutput:
    message = ChatMessageAssistant(
        content=text,
        tool_calls=[ToolCall(id=key, function=name, arguments=given) for key, name, given in calls] or None,
    )
    choice = ChatCompletionChoice(message=message, stop_reason="tool_calls" if calls else "stop")
    usage = ModelUsage(input_tokens=100, output_tokens=10, total_tokens=110)
    return ModelOutput(model="mockllm/model", choices=[choice], usage=usage)


OUTPUTS = [
    said("I look it up.", ("call_1", "get_weather", {"city": "Rome"})),
    said("It is 25 degrees in Rome."),
    said("Both at once.", ("call_2", "get_weather", {"city": "Oslo"}), ("call_3", "get_weather", {"city": "Atlantis"})),
    said("Oslo has 25 degrees; Atlantis does not exist."),
]

if __name__ == "__main__":
    task = Task(
        dataset=[
            Sample(id="rome", input="How warm is Rome?", target="25"),
            Sample(id="two", input="How warm are Oslo and Atlantis?", target="30"),
        ],
        solver=[system_message("You are a weatherman."), use_tools(get_weather()), generate()],
        scorer=includes(),
        name="weather",
    )
    with tempfile.TemporaryDirectory() as folder:
        eval(
            task,
            model=get_model("mockllm/model", custom_outputs=OUTPUTS),
            log_dir=folder,
            display="none",
            max_samples=1,
            max_connections=1,
        )
        (log,) = Path(folder).glob("*.eval")
        shutil.copy(log, sys.argv[1])
