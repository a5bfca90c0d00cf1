"""Traces that frameworks' own instrumentation wrote of scripted models: what was put in comes out.

`families/record.py` made the recordings; `make soak` records them anew.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from viva.recordings.recording import Recording
from viva.recordings.table import read_recordings
from viva.records.trajectory import WRITTEN, answer_of, marked, trajectory

HERE = Path(__file__).parent.parent / "families"
RECORDED = HERE / "recorded"
FAILURES = {
    "openai_agents": "An error occurred while running the tool. Please try again.",
    "langgraph": "Error: no such city: Atlantis",
}


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("family_script", HERE / "script.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["family_script"] = module
    spec.loader.exec_module(module)
    return module


SCRIPT = _script()
FAMILIES = {
    "llama_index_react": SCRIPT.REACT,
    "llama_index_react_streamed": SCRIPT.REACT[:2],
    "llama_index_function": SCRIPT.TASKS,
    "llama_index_function_streamed": SCRIPT.TASKS[:2],
    "pydantic_ai": (*SCRIPT.TASKS, *SCRIPT.DELEGATED),
    "openai_agents": (*SCRIPT.TASKS, SCRIPT.HANDOFF, *SCRIPT.TASKS[2:]),
    "langgraph": SCRIPT.TASKS,
}


def check(family: str, recordings: list[Recording]) -> None:
    """Compare what was read with what the script put in."""
    tasks = FAMILIES[family]
    assert [recording.subject for recording in recordings] == [task.question for task in tasks]
    for recording, task in zip(recordings, tasks, strict=True):
        _check_run(family, recording, task)


def _check_run(family: str, recording: Recording, task: Any) -> None:
    react = "react" in family
    expected = [(call, turn) for turn in task.turns for call in turn.calls or (None,)]
    steps = trajectory(recording.transcript)
    assert len(steps) == len(expected)
    for step, (call, turn) in zip(steps, expected, strict=True):
        assert step.model == SCRIPT.MODEL
        if call is None:
            assert (step.tool, answer_of(step)) == (None, turn.words)
            continue
        assert (step.tool, step.tool_input) == call
        first = call is turn.calls[0]
        assert step.thought == (turn.words or None), "a thought before parallel calls belongs to each of them"
        assert step.result == _result(family, *call)
        assert bool(step.error) == (call[1].get("city") == "Atlantis" and family != "langgraph")
        assert (marked(step) or {}).get(WRITTEN) == (
            {"tool": call[0], "tool_input": turn.written} if turn.written else None
        )
        counted = step.usage.input_tokens, step.usage.output_tokens
        assert counted == ((SCRIPT.PROMPT_TOKENS, SCRIPT.COMPLETION_TOKENS) if first else (0, 0))
    usage = recording.transcript.usage["target"]
    turns = len(task.turns)
    assert (usage.calls, usage.input_tokens, usage.output_tokens) == (
        turns,
        turns * SCRIPT.PROMPT_TOKENS,
        turns * SCRIPT.COMPLETION_TOKENS,
    )
    assert usage.reported
    assert recording.transcript.rounds[0].agent == task.turns[-1].words
    assert recording.transcript.attributes["technique"] == ("react" if react else "tool calls")
    assert recording.transcript.attributes["framework"] == family.removesuffix("_streamed").removesuffix(
        "_react"
    ).removesuffix("_function")
    assert recording.agent_version == "1.2"


def _result(family: str, name: str, given: dict[str, Any]) -> str:
    if name == "get_weather":
        known: dict[str, str] = SCRIPT.WEATHER
        return known.get(given["city"]) or FAILURES.get(family, "no such city: Atlantis")
    if name == "convert":
        return str(SCRIPT.convert(**given))
    return {"ask_expert": "25 degrees.", "transfer_to_weather_agent": '{"assistant": "weather agent"}'}[name]


@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_script_put_in_comes_out(family: str) -> None:
    check(family, list(read_recordings(f"otlp:{RECORDED / family}.jsonl")))


def test_a_handoff_is_one_run_whose_steps_name_their_agents() -> None:
    recording = list(read_recordings(f"otlp:{RECORDED}/openai_agents.jsonl"))[4]
    assert [step.agent for step in trajectory(recording.transcript)] == ["triage", "weather agent", "weather agent"]


def test_several_runs_in_one_trace_are_several_trajectories() -> None:
    recordings = list(read_recordings(f"otlp:{RECORDED}/openai_agents.jsonl"))
    assert recordings[-1].transcript.trace_id == recordings[-2].transcript.trace_id
    assert len({recording.run_key for recording in recordings}) == len(recordings)
    ids = [step.id for each in recordings[-2:] for step in each.transcript.rounds[0].steps]
    assert len(ids) == len(set(ids)), "each span is in one trajectory"


def test_an_agent_that_a_tool_starts_has_a_run_of_its_own() -> None:
    outer, inner = list(read_recordings(f"otlp:{RECORDED}/pydantic_ai.jsonl"))[-2:]
    assert (outer.agent, inner.agent) == ("asker", "expert")
    assert outer.transcript.trace_id == inner.transcript.trace_id


@pytest.mark.soak
@pytest.mark.parametrize("family", FAMILIES)
def test_recordings_that_are_made_now_say_the_same(family: str, tmp_path: Path) -> None:
    python = os.environ.get("VIVA_FAMILIES")
    if not python:
        pytest.skip("VIVA_FAMILIES names no Python with families/requirements.txt installed")
    file = tmp_path / f"{family}.jsonl"
    subprocess.run([python, HERE / "record.py", family, file], check=True, cwd=HERE, timeout=120)
    check(family, list(read_recordings(f"otlp:{file}")))
