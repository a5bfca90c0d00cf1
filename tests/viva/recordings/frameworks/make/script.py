"""What the scripted model says to the frameworks, and what their tools give back: the truth of the recordings."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.model_server import Answer, ModelServer, Request, ToolCall

MODEL = "scripted"
INPUT_TOKENS, OUTPUT_TOKENS = 100, 7
SYSTEM = "Be brief."
MOST_BYTES = 60_000
"""Of a recording; a larger one is packed."""
WEATHER = {"Paris": "18 degrees", "Rome": "25 degrees"}


def get_weather(city: str) -> str:
    """Tell the weather of a city."""
    if city not in WEATHER:
        raise ValueError(f"no such city: {city}")
    return WEATHER[city]


def convert(degrees: int, unit: str) -> str:
    """Convert degrees Celsius into another unit."""
    return f"{degrees * 9 // 5 + 32} {unit}"


def ask_the_moon(city: str) -> str:
    """Fail: no framework is given this tool."""
    raise ValueError("ask_the_moon")


TOOLS: dict[str, Callable[..., str]] = {
    "get_weather": get_weather,
    "convert": convert,
    "ask_the_moon": ask_the_moon,
}
Calls = tuple[tuple[str, dict[str, Any]], ...]


@dataclass(frozen=True)
class Turn:
    """One answer of the model: words, and the tools that it calls or none."""

    words: str
    calls: Calls = ()


@dataclass(frozen=True)
class Task:
    """A question, and how the model goes about it."""

    question: str
    turns: tuple[Turn, ...]


PLAIN = Task(
    "How warm is it in Rome?",
    (Turn("I look it up.", (("get_weather", {"city": "Rome"}),)), Turn("It has 25 degrees in Rome.")),
)
FAILING = Task(
    "How warm is it in Atlantis, and what are 25 degrees in Fahrenheit?",
    (
        Turn("", (("get_weather", {"city": "Atlantis"}),)),
        Turn("", (("convert", {"degrees": 25, "unit": "fahrenheit"}),)),
        Turn("There is no such city. 25 degrees are 77 fahrenheit."),
    ),
)
UNKNOWN = Task(
    "How warm is it in Oslo?",
    (Turn("", (("get_wether", {"city": "Oslo"}),)), Turn("I have no such tool.")),
)
PARALLEL = Task(
    "How warm is it in Paris and Rome?",
    (
        Turn("I ask for both.", (("get_weather", {"city": "Paris"}), ("get_weather", {"city": "Rome"}))),
        Turn("Paris has 18 degrees, Rome has 25."),
    ),
)
CONVERSATION = (
    Task("Is it warm in Paris?", (Turn("", (("get_weather", {"city": "Paris"}),)), Turn("It has 18 degrees."))),
    Task(
        "And in Fahrenheit?",
        (Turn("", (("convert", {"degrees": 18, "unit": "fahrenheit"}),)), Turn("64 fahrenheit.")),
    ),
)
"""Two turns of one conversation: the second is asked with the first as history."""


@dataclass(frozen=True)
class Nested:
    """A task whose first tool call starts another agent, which has a task of its own in the same trace."""

    outer: Task
    inner: Task
    agents: tuple[str, str]


UNKNOWN_TOOL = Task(
    "How warm is it on the moon?",
    (Turn("", (("ask_the_moon", {"city": "Tycho"}),)), Turn("Nobody can tell.")),
)
"""The model asks for a tool that there is not."""


@dataclass
class Script:
    """Plays the model for one framework, and writes down what it asked for."""

    framework: str
    version: str
    instrumentation: str
    agent: str | None = None
    failure: str = "{message}"
    """What the framework makes of the message of a tool that failed."""
    plugin: str = ""
    """What the framework puts before the names of tools."""
    _turns: Iterator[Turn] = field(default_factory=lambda: iter(()))
    _ids: Iterator[int] = field(default_factory=lambda: iter(range(1, 10_000)))
    _traces: list[dict[str, Any]] = field(default_factory=list)

    def play(self, task: Task, *, same_trace: bool = False, asked: Task | None = None) -> str:
        """Make the model take up a task, and return its question. Call it before the framework is asked.

        Args:
            task: What is asked next.
            same_trace: Whether the run lies in the trace of the run before it.
            asked: The task as the model plays it, where the framework has a form of its own for calls or answers.
        """
        self._turns = iter((asked or task).turns)
        self._note(task, same_trace=same_trace, played=len((asked or task).turns))
        return task.question

    def play_nested(self, nested: Nested) -> str:
        """Make the model take up a task whose first tool call starts another agent with a task of its own."""
        first, *rest = nested.outer.turns
        self._turns = iter((first, *nested.inner.turns, *rest))
        self.agent = nested.agents[0]
        self._note(nested.outer)
        self.agent = nested.agents[1]
        self._note(nested.inner, same_trace=True)
        self.agent = None
        return nested.outer.question

    def say(self, turns: Iterable[Turn]) -> None:
        """Make the model give some answers next, whoever asks."""
        self._turns = iter(turns)

    @property
    def traces(self) -> list[dict[str, Any]]:
        """The truth so far, to add to."""
        return self._traces

    def play_all(self, tasks: Iterable[Task | Nested]) -> list[str]:
        """Make the model take up some tasks, one after the other, for a framework in a process of its own."""
        turns: list[Turn] = []
        questions = []
        for task in tasks:
            questions.append(self.play_nested(task) if isinstance(task, Nested) else self.play(task))
            turns += self._turns
        self._turns = iter(turns)
        return questions

    def _note(self, task: Task, *, same_trace: bool = False, played: int | None = None) -> None:
        calls = len(task.turns) if played is None else played
        run: dict[str, Any] = {
            "agent": self.agent,
            "question": task.question,
            "steps": [],
            "answer": task.turns[-1].words,
        }
        run["input_tokens"] = INPUT_TOKENS * calls
        run["output_tokens"] = OUTPUT_TOKENS * calls
        run["steps"] = [self._step(*call) for turn in task.turns for call in turn.calls]
        if same_trace:
            self._traces[-1]["runs"].append(run)
        else:
            self._traces.append({"trace": len(self._traces), "runs": [run]})

    def nothing(self) -> None:
        """Note a trace in which no agent ran."""
        self._traces.append({"trace": len(self._traces), "runs": []})

    def play_in_turn(self, tasks: Sequence[Task], agents: Sequence[str]) -> None:
        """Make the model take up tasks one after another, each asked of another agent, in one trace."""
        turns = [turn for task in tasks for turn in task.turns]
        own = self.agent
        for number, (task, agent) in enumerate(zip(tasks, agents, strict=True)):
            self.agent = agent
            self.play(task, same_trace=number > 0)
        self.agent, self._turns = own, iter(turns)

    def _step(self, name: str, given: dict[str, Any]) -> dict[str, Any]:
        step: dict[str, Any] = {"tool": self.plugin + name, "input": given}
        if name not in TOOLS:
            return {**step, "result": name, "success": False}  # the framework says that there is no such tool
        try:
            return {**step, "result": TOOLS[name](**given), "success": True}
        except ValueError as error:
            return {**step, "result": self.failure.format(message=error), "success": False}

    def answer(self, request: Request) -> Answer:
        """Answer one request of the framework."""
        turn = next(self._turns)
        calls = tuple(
            ToolCall(self.plugin + name, json.dumps(given), f"call_{next(self._ids)}") for name, given in turn.calls
        )
        return Answer(turn.words or None, calls, usage=(INPUT_TOKENS, OUTPUT_TOKENS))

    def write_truth(self, folder: Path, reader: str = "otlp") -> None:
        """Write `truth.json`, and pack large recordings. Call it at the end.

        Args:
            folder: That of the recording.
            reader: Viva's reader for the recording.
        """
        truth = {
            "framework": self.framework,
            "version": self.version,
            "instrumentation": self.instrumentation,
            **({"reader": reader} if reader != "otlp" else {}),
            "traces": self._traces,
        }
        (folder / "truth.json").write_text(json.dumps(truth, indent=1) + "\n")
        for file in folder.glob("*.jsonl"):
            if file.stat().st_size > MOST_BYTES:
                file.with_name(f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
                file.unlink()


@contextmanager
def model_server(script: Script) -> Iterator[str]:
    """Serve a script's model by OpenAI's protocol; yields the address for `base_url`."""
    with ModelServer({MODEL: script.answer}) as server:
        yield server.url


def folder_given() -> Path:
    """Return the folder that the command line names."""
    folder = Path(sys.argv[1]).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    return folder
