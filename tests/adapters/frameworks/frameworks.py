"""How the tests of frameworks open agents in the environments of real frameworks, and what their steps must say."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

from tests.environments import ROOT, folder_of, interpreter_of
from tests.viva.recordings.frameworks.make.script import INPUT_TOKENS, OUTPUT_TOKENS, TOOLS, Task
from tests.warm.interpreters import warm_interpreters
from viva.adapters import Reply, Step, StepKind
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session

AGENTS = Path(__file__).parent / "agents"
FRAMEWORKS = ("autogen", "langgraph", "llama_index", "openai_agents", "pydantic_ai")


def spec_of(framework: str, name: str) -> str:
    """Return the SPEC of one of the agents, in the environment of its framework."""
    return f"{AGENTS}/with_{framework}.py:{name}@{folder_of(framework)}"


def warm_frameworks() -> contextlib.AbstractContextManager[None]:
    """Fork agents meanwhile from interpreters that have imported their framework."""
    return warm_interpreters({interpreter_of(name): AGENTS / f"with_{name}.py" for name in FRAMEWORKS})


def in_vivas_process(framework: str, name: str, runs: int, folder: Path) -> str:
    """Return what `at_once` prints about an agent in many runs in Viva's own process."""
    (packages,) = folder_of(framework).glob("lib/python3.*/site-packages")
    command = [sys.executable, "-m", "tests.adapters.frameworks.at_once", f"{AGENTS}/with_{framework}.py:{name}"]
    return subprocess.run(
        [*command, str(packages), str(runs), str(folder)], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout


@contextlib.asynccontextmanager
async def opened(framework: str, name: str, workspace: Path, **config: Any) -> AsyncIterator[AgentSession]:
    """Open an agent, and close it."""
    with _same_environment():
        agent = _loaded(spec_of(framework, name))
        session = await open_session(agent.factory, AgentArguments("the task", "the/app", config, workspace), 120)
    try:
        yield session
    finally:
        assert await session.close() is None


@contextlib.contextmanager
def _same_environment() -> Iterator[None]:
    """Have the environment that the tests before had: their agents' processes have imported the framework."""
    with mock.patch.dict(os.environ):
        os.environ.pop("PYTEST_CURRENT_TEST", None)
        yield


def tools_of(reply: Reply) -> list[Step]:
    """Return the steps that are tool calls."""
    return [step for step in reply.steps if step.kind is StepKind.TOOL]


def calls_of(reply: Reply) -> list[Step]:
    """Return the steps that are model calls."""
    return [step for step in reply.steps if step.kind is StepKind.MODEL]


def check_reply(reply: Reply, task: Task) -> None:
    """Check that a reply has the steps, the usage and the answer that the task's model and tools have given."""
    assert reply.text == task.turns[-1].words
    # Calls that the model makes at once may begin in any order.
    asked = sorted((call for turn in task.turns for call in turn.calls), key=str)
    made = sorted(tools_of(reply), key=lambda step: str((step.tool, step.tool_input)))
    assert [(step.tool, step.tool_input) for step in made] == asked
    for step, (name, given) in zip(made, asked, strict=True):
        result, words = _outcome(name, given)
        assert step.result == result
        assert words is None if step.error is None else str(words) in step.error
    assert [step.usage.input_tokens for step in calls_of(reply)] == [INPUT_TOKENS] * len(task.turns)
    assert [step.usage.output_tokens for step in calls_of(reply)] == [OUTPUT_TOKENS] * len(task.turns)
    assert [step.thought for step in calls_of(reply)] == [
        (turn.words or None) if turn.calls else None for turn in task.turns
    ]


@cache
def _loaded(spec: str) -> LoadedAgent:
    """Load an agent once: it takes a process that imports the framework, and so does every run."""
    return load_agent(spec)


def _outcome(name: str, given: dict[str, Any]) -> tuple[str | None, str | None]:
    """Return the result of a tool, or what its error must say."""
    try:
        return TOOLS[name](**given), None
    except KeyError:
        return None, name
    except ValueError as error:
        return None, str(error)
