"""What the scripted models of `record.py` say: the truth that the recordings beside it are compared with."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

MODEL = "scripted-1"
PROMPT_TOKENS, COMPLETION_TOKENS = 100, 7


@dataclass(frozen=True)
class Turn:
    """One answer of a model: words, and the tools that it calls or none."""

    words: str
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    written: str | None = None
    """Of a ReAct agent: its action's input as it writes it, where that is no JSON. The framework repairs it."""


@dataclass(frozen=True)
class Task:
    """A question and how the model goes about it."""

    question: str
    turns: tuple[Turn, ...]


WEATHER = {"Paris": "18 degrees", "Rome": "25 degrees"}


def get_weather(city: str) -> str:
    """Tell the weather of a city.

    Args:
        city: Name of the city.
    """
    if city not in WEATHER:
        raise ValueError(f"no such city: {city}")
    return WEATHER[city]


def convert(degrees: int, unit: str = "fahrenheit") -> str:
    """Convert degrees Celsius."""
    return f"{degrees * 9 // 5 + 32} {unit}"


TASKS = (
    Task(
        "How warm is it in Paris and Rome?",
        (
            Turn("I ask for both.", (("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"}))),
            Turn("Paris has 18 degrees, Rome has 25."),
        ),
    ),
    Task(
        "How warm is it in Atlantis?",
        (
            Turn("I look it up.", (("get_weather", {"city": "Atlantis"}),)),
            Turn("There is no such city."),
        ),
    ),
    Task("Hello!", (Turn("Hello, how can I help?"),)),
    Task(
        "How warm is Rome in Fahrenheit?",
        (
            Turn("First the weather.", (("get_weather", {"city": "Rome"}),)),
            Turn("", (("convert", {"degrees": 25, "unit": "fahrenheit"}),)),
            Turn("77 fahrenheit."),
        ),
    ),
)


REACT = (
    Task(
        "How warm is Rome in Fahrenheit?",
        (
            Turn("I need the weather.\nOf Rome.", (("get_weather", {"city": "Rome"}),)),
            Turn(
                "Now I convert it.",
                (("convert", {"degrees": 25, "unit": "fahrenheit"}),),
                written="{'degrees': 25, 'unit': 'fahrenheit',}",
            ),
            Turn("It is 77 fahrenheit."),
        ),
    ),
    TASKS[1],
    TASKS[2],
)


def react_text(turn: Turn) -> str:
    """Say a turn as a ReAct agent does: words are the thought of a call; without one, they are the answer."""
    if turn.calls:
        name, arguments = turn.calls[0]
        return f"Thought: {turn.words}\nAction: {name}\nAction Input: {turn.written or json.dumps(arguments)}"
    return turn.words if turn.words.startswith("Hello") else f"Thought: I can answer.\nAnswer: {turn.words}"


HANDOFF = Task(
    "What is the weather in Rome? A specialist should answer.",
    (
        Turn("", (("transfer_to_weather_agent", {}),)),
        Turn("", (("get_weather", {"city": "Rome"}),)),
        Turn("Rome has 25 degrees."),
    ),
)


DELEGATED = (
    Task(
        "Ask the expert for the weather in Rome.",
        (
            Turn("The expert knows.", (("ask_expert", {"question": "Weather in Rome?"}),)),
            Turn("25 degrees, says the expert."),
        ),
    ),
    Task(
        "Weather in Rome?",
        (Turn("", (("get_weather", {"city": "Rome"}),)), Turn("25 degrees.")),
    ),
)
"""An agent that asks another one through a tool: two runs in one trace."""
