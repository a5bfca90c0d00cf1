"""Readers of three made-up systems, named by import string: spans, a desktop log, an SDK's events.

Together they fill every field that a transcript, a round and a step has, as real sources of these kinds would.
"""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

from viva.recordings.recording import Recording
from viva.records.transcript import Metrics, Round, Step, StepKind, StopReason, Transcript, Usage

LARGE = "All of it, from A to Ω. " * 20_000
"""More than a line of a journal takes."""
HOSTILE = "\x1b[31m<script>alert(1)</script> =1+1 \ud800 ]]>"


def picture(shade: int) -> bytes:
    """A PNG of one grey pixel."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes((0, shade)))) + chunk(b"IEND", b"")


class Spans:
    """Two traces of one task, as spans with parents, tokens and attributes tell them."""

    def read(self, source: str) -> Iterator[Recording]:
        """Read traces; the second says next to nothing."""
        used = Usage(1200, 80, 400, 16, 2, 1, 0.0125, cache_write_tokens=64)
        steps = (
            Step("span-1", StepKind.AGENT, agent="planner", started=1_760_000_000.25, seconds=3.5),
            Step(
                "span-2", StepKind.MODEL, "span-1", "planner", thought="Ask the index.", plan="1. search 2. answer",
                model="gpt-x", usage=used, started=1_760_000_000.5, seconds=1.25,
                attributes={"llm.temperature": 0.0, "events": [{"name": "retry", "n": 1}, None], "ünicode": HOSTILE},
            ),
            Step(
                "span-3", StepKind.TOOL, "span-1", "planner", tool="search", tool_input={"q": "rain", "k": [1, 2]},
                result=LARGE, started=1_760_000_001.75, seconds=0.5, usage=Usage(reported=False),
            ),
            Step("span-4", StepKind("handoff"), "span-3", tool="ask", tool_input='{"broken', error="Timeout: 30 s"),
            Step("span-5", StepKind.THINK, thought=""),
        )  # fmt: skip
        rounds = (
            Round(
                1, "Will it rain?", "Yes.", steps, usage=used, started=1_760_000_000.0, agent_seconds=4.0,
                attributes={"span.kind": "CHAIN", "session.id": "s-9"},
            ),
        )  # fmt: skip
        yield Recording(
            Transcript(
                rounds, source="spans", trace_id="trace-1", system="You are a planner.",
                tools=({"name": "search", "parameters": {"type": "object"}}, {"name": "ask"}),
                participants={"target": "planner", "examiner": "a person"}, stop=StopReason.FINISHED,
                usage={"target": used, "retriever": Usage(7, 0, calls=1, cost=None)},
                attributes={"resource": {"service.name": "weather"}}, notes=("3 spans without a parent",),
            ),
            place=f"{source}, trace 1", run_key="trace-1", subject="rain", agent="planner", agent_version="1.4",
            reward=0.75, notes=("one span is of an unknown kind",),
            damage={"spans without a parent": 3},
            lost=("a line of it is torn",),
        )  # fmt: skip
        yield Recording(
            Transcript((Round(1, None, "No."),), source="spans", trace_id="trace-2"),
            place=f"{source}, trace 2", run_key="trace-2", subject="rain", agent="planner",
        )  # fmt: skip


class Desktop:
    """A session at a desktop: child steps, pictures at each, screenshots at the end. Its source is a folder."""

    def read(self, source: str) -> Iterator[Recording]:
        """Read the one session; its pictures are made beside it."""
        folder = Path(source)
        for shade in range(4):
            (folder / f"step {shade}.png").write_bytes(picture(shade))
        embedded = f"data:image/png;base64,{base64.b64encode(picture(9)).decode()}"
        steps = (
            Step("1", StepKind.ACTION, agent="HostAgent", observation="A desktop.", images=("step 0.png",)),
            Step(
                "1.1", StepKind.ACTION, "1", "AppAgent", "A window called Mail.", "Write it.", "open, write, send",
                "click_input", {"button": "left", "double": False}, None, None, ("step 1.png", embedded), "gpt-v",
                Usage(900, 30, calls=1, cost=0.01), 12.5, 0.0,
                {"Subtask": "send a mail", "Comment": "first of two", "ControlLabel": 7},
            ),
            Step("1.2", StepKind.ACTION, "1", "AppAgent", result="Sent.", images=("gone.png", "step 1.png")),
        )  # fmt: skip
        rounds = (
            Round(1, "Send a mail.", "Sent.", steps, images=("step 2.png",), examiner_seconds=0.5, agent_seconds=20.0),
            Round(
                2, "And another.", "It failed.", error="the window was closed", examiner_usage=Usage(5, 5, cost=None)
            ),
        )
        yield Recording(
            Transcript(
                rounds, source="desktop", kick_off="Let us begin.", images=("step 3.png", "step 0.png"),
                stop=StopReason.CANCELLED, stop_detail="the user closed the session", fault="target",
                attributes={"complete": "unsure", "sub_scores": {"mail": "yes"}},
            ),
            place=f"{source}/request.log", run_key="session-1", subject="mail", agent="ufo", workspace=folder, trial=2,
            reward=1.0, pictures=folder,
        )  # fmt: skip


class Events:
    """Sessions of an SDK: tools that never completed, an unknown reason to stop, no reward that could be used."""

    def read(self, source: str) -> Iterator[Recording]:
        """Read sessions; one has no round at all."""
        started = Step("call-1", tool="bash", tool_input={"command": "ls\n-l"}, attributes={"never_completed": True})
        failed = Step("call-2", tool="edit", error="no such file", attributes={"event": {"type": "tool.error"}})
        rounds = (
            Round(1, "Fix it.", None, (started, failed), attributes={"turn": "t-1"}),
            Round(2, None, HOSTILE, usage=Usage(10, 1, calls=1, cost=None, reported=False)),
        )
        yield Recording(
            Transcript(
                rounds, source="events", stop=StopReason("quota_exceeded"), attributes={"premium": 1.5}, success=False,
                metrics=Metrics(
                    usage_by_model={"small": Usage(10, 1, calls=1, cost=None)}, tool_calls={"bash": 1, "edit": 1},
                    tool_failures={"edit": 1}, never_completed=1, never_started=2, aborts={"user": 1},
                    model_failures={"timeout": 1}, billing_units={"premium": 1.5},
                ),
            ),
            place=f"{source}, session a", run_key="a", subject="fix",
        )  # fmt: skip
        yield Recording(
            Transcript((), "events", stop=StopReason.TARGET_ERROR, stop_detail="model failure: 529", fault="infra"),
            place=f"{source}, session b", run_key="b", subject="fix", reward=0.0,
        )  # fmt: skip
