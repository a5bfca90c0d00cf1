"""Compares what Viva reads in a recording with the truth of the script that drove the framework."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Any

from viva.recordings.recording import Recording
from viva.recordings.table import read_recordings
from viva.records.trajectory import tool_calls, trajectory
from viva.records.transcript import Step

FRAMEWORKS = Path(__file__).parent
NAMES = tuple(sorted(truth.parent.name for truth in FRAMEWORKS.glob("*/truth.json")))
"""The folders with a recording."""


@dataclass
class Comparison:
    """How much of a recording was read right. An answer counts as a step."""

    steps: int = 0
    right: int = 0
    wrong: list[str] = field(default_factory=list)
    """Where what was read differs, and how."""

    def step(self, place: str, differences: list[str]) -> None:
        """Count one step."""
        self.steps += 1
        self.right += not differences
        self.wrong += [f"{place}: {difference}" for difference in differences]

    def expect(self, place: str, read: object, true: object) -> None:
        """Note something that is not a step."""
        if read != true:
            self.wrong.append(f"{place}: {read!r} instead of {true!r}")


def known_gaps(folder: Path) -> list[str]:
    """Return what is known to be read wrong in a recording; `docs/recordings.md` says why."""
    file = folder / "gaps.json"
    return [str(gap) for gap in json.loads(file.read_text())] if file.exists() else []


def compare(spans: Path, truth: Path) -> Comparison:
    """Read a recording, and compare it with its truth."""
    said = json.loads(truth.read_text())
    compared = Comparison()
    traces: dict[str, list[Recording]] = {}
    for recording in read_recordings(f"{said.get('reader', 'otlp')}:{spans}"):
        traces.setdefault(recording.transcript.trace_id or recording.run_key, []).append(recording)
    for place, (read, true) in enumerate(zip_longest(traces.values(), said["traces"])):
        if true is None:
            compared.wrong.append(f"trace {place}: there is none in truth")
            continue
        for number, (recording, run) in enumerate(zip_longest(read or (), true["runs"])):
            where = f"trace {place}, run {number}"
            if run is None:
                if tool_calls(trajectory(recording.transcript)):
                    compared.wrong.append(f"{where}: there is none in truth")
            else:
                _compare_run(where, recording, run, compared)
    return compared


def _compare_run(where: str, recording: Recording | None, run: dict[str, Any], compared: Comparison) -> None:
    if recording is None:
        for number in range(len(run["steps"]) + 1):
            compared.step(f"{where}, step {number}", ["it was not read"])
        return
    transcript = recording.transcript
    last = transcript.rounds[-1]
    compared.expect(f"{where}, question", last.examiner, run["question"])
    if run.get("agent") is not None:
        compared.expect(f"{where}, agent", recording.agent, run["agent"])
    usage = transcript.usage.get("target")
    for kind in ("input_tokens", "output_tokens"):
        if run.get(kind) is not None:
            compared.expect(f"{where}, {kind}", None if usage is None else getattr(usage, kind), run[kind])
    steps = [step for step in trajectory(transcript) if step.tool is not None]
    for number, (step, true) in enumerate(zip_longest(steps, run["steps"])):
        place = f"{where}, step {number}"
        if true is None:
            compared.wrong.append(f"{place}: {step.tool} was not called")
        else:
            compared.step(place, ["it was not read"] if step is None else list(_differences(step, true)))
    answered = last.agent
    right = answered == run["answer"]
    compared.step(f"{where}, answer", [] if right else [f"{answered!r} instead of {run['answer']!r}"])


def _differences(step: Step, true: dict[str, Any]) -> Iterator[str]:
    if step.tool != true["tool"]:
        yield f"tool {step.tool!r} instead of {true['tool']!r}"
    if step.tool_input != true["input"]:
        yield f"input {step.tool_input!r} instead of {true['input']!r}"
    if (step.error is None) != true["success"]:
        yield f"success {step.error is None} instead of {true['success']} ({step.error!r})"
    if true["success"]:
        if step.result != true["result"]:
            yield f"result {step.result!r} instead of {true['result']!r}"
    elif str(true["result"]) not in (step.result or "") and str(true["result"]) not in (step.error or ""):
        yield f"neither result {step.result!r} nor error {step.error!r} has {true['result']!r}"
