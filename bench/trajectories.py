"""Reads recorded traces and evaluates them without a model: time for 10,000 steps, and memory by the number of traces.

usage: python -m bench.trajectories TRACES [read | evaluate | write FILE]
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.memory import peak_mb
from bench.table import Figure

STEPS = 5
"""Number of steps of each trace: four tool calls and an answer."""
EVALUATORS = ("tool_success", "repeated_calls", "loops", "known_tools", "argument_schema")
TRACES = 2_000
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = json.dumps([{"type": "function", "name": "weather", "description": "Tell the weather.", "parameters": SCHEMA}])


def write_traces(path: Path, traces: int) -> None:
    """Write traces as OTLP's JSON Lines, one span on each line, the newest trace first, as a server answers."""
    with path.open("w") as file:
        for trace in reversed(range(traces)):
            for span in _trace(trace):
                file.write(json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}) + "\n")


def _trace(trace: int) -> list[dict[str, Any]]:
    begin = 1_700_000_000_000_000_000 + trace * 10**9
    spans = [_span(trace, 0, None, begin, "invoke_agent", {"gen_ai.agent.name": "a"})]
    messages: list[Any] = [{"role": "user", "parts": [{"type": "text", "content": f"Question {trace}? " + "x" * 200}]}]
    for number in range(STEPS):
        call = {"type": "tool_call", "id": f"c{number}", "name": "weather", "arguments": {"city": f"City {number}"}}
        words = {"type": "text", "content": "I look it up. " * 5}
        said = {"role": "assistant", "parts": [words] if number == STEPS - 1 else [words, call]}
        about = {
            "gen_ai.input.messages": json.dumps(messages),
            "gen_ai.output.messages": json.dumps([said]),
            "gen_ai.tool.definitions": TOOLS,
            "gen_ai.response.model": "m",
            "gen_ai.usage.input_tokens": 100,
            "gen_ai.usage.output_tokens": 10,
        }
        spans.append(_span(trace, 2 * number + 1, 0, begin + number * 10**7, "chat", about))
        if number < STEPS - 1:
            about = {"gen_ai.tool.name": "weather", "gen_ai.tool.call.id": f"c{number}"}
            about |= {
                "gen_ai.tool.call.arguments": json.dumps(call["arguments"]),
                "gen_ai.tool.call.result": "18 degrees",
            }
            spans.append(_span(trace, 2 * number + 2, 0, begin + number * 10**7 + 10**6, "execute_tool", about))
            back = {"type": "tool_call_response", "id": f"c{number}", "response": "18 degrees"}
            messages = [*messages, said, {"role": "tool", "parts": [back]}]
    return spans


def _span(
    trace: int, number: int, parent: int | None, start: int, operation: str, about: dict[str, Any]
) -> dict[str, Any]:
    attributes = {"gen_ai.operation.name": operation, **about}
    typed = [
        {"key": key, "value": {"intValue": str(value)} if isinstance(value, int) else {"stringValue": value}}
        for key, value in attributes.items()
    ]
    return {
        "traceId": f"{trace + 1:032x}",
        "spanId": f"{trace * 100 + number + 1:016x}",
        **({} if parent is None else {"parentSpanId": f"{trace * 100 + parent + 1:016x}"}),
        "name": operation,
        "startTimeUnixNano": str(start),
        "endTimeUnixNano": str(start + 10**6),
        "attributes": typed,
    }


def read_only(path: Path) -> int:
    """Read the traces, and return the number of steps of their trajectories."""
    from viva.recordings.table import read_recordings
    from viva.records.trajectory import trajectory

    return sum(len(trajectory(recording.transcript)) for recording in read_recordings(f"otlp:{path}"))


def read_and_evaluate(path: Path, target: Path) -> int:
    """Import the traces into a journal and evaluate them, as `viva trace` does; return the number of steps."""
    from rich.console import Console

    from viva.exam.options import Options
    from viva.journal.reader import read_records
    from viva.reports.progress.reporter import ConsoleDisplay
    from viva.suites.conduct import Surroundings
    from viva.suites.request import RecordingsRequest
    from viva.suites.tracing import trace_recordings

    options = Options(evaluators=EVALUATORS)
    request = RecordingsRequest(command="trace", recordings=(f"otlp:{path}",), options=options, folder=os.getcwd())
    asyncio.run(trace_recordings(request, target, Surroundings(ConsoleDisplay(Console(stderr=True), show=False))))
    judged = 0
    for record in read_records(target):
        assert [insight.evaluator for insight in record.insights] == list(EVALUATORS)
        judged += 1
    return judged * STEPS


def main(traces: int, how: str) -> None:
    """Measure once, and print one line of JSON."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "traces.jsonl"
        # Created by another process, so that its memory is not counted here.
        subprocess.run([sys.executable, "-m", "bench.trajectories", str(traces), "write", str(path)], check=True)
        began, used = time.perf_counter(), time.process_time()
        steps = read_only(path) if how == "read" else read_and_evaluate(path, Path(folder) / "journal")
        wall, cpu = time.perf_counter() - began, time.process_time() - used
    assert steps == traces * STEPS, steps
    print(json.dumps({"wall_s": round(wall, 3), "cpu_s": round(cpu, 3), "peak_mb": peak_mb()}))


def figures() -> list[Figure]:
    """Measure reading alone, and reading with evaluating; each in a process of its own."""
    found = []
    for how, budget in (("read", None), ("evaluate", 5.0)):
        peaks = []
        for traces in (TRACES // 5, TRACES):
            command = [sys.executable, "-m", "bench.trajectories", str(traces), how]
            said = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            label = f"{how} {traces * STEPS:,} steps in {traces:,} traces"
            found.append(Figure(label, said["wall_s"], "s", budget if traces == TRACES else None))
            peaks.append(said["peak_mb"])
        found.append(Figure(f"{how}: memory at {TRACES:,} traces", peaks[1], "MB"))
        # Of two states, the difference says nothing: it is a few megabytes, of which chance decides tenths.
        label = f"{how}: memory at {TRACES:,} traces beyond that at {TRACES // 5:,}"
        found.append(Figure(label, peaks[1] - peaks[0], "MB", 5.0, reference=True))
    return found


if __name__ == "__main__":
    if sys.argv[2:3] == ["write"]:
        write_traces(Path(sys.argv[3]), int(sys.argv[1]))
    else:
        main(int(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "evaluate")
