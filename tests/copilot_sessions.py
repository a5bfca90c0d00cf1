"""Copilot sessions for tests: the recorded one, a longer one made with the SDK's own classes, and a session to hold.

The session to hold is the SDK's own `CopilotSession`; only the runtime behind it is a stand-in that sends events.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

RECORDED = Path(__file__).parents[2] / "shared/data/copilot_events.jsonl"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)

Event = dict[str, Any]


def recorded_events() -> list[Event]:
    """The events of the recorded session; the test is skipped where they are not there, unless they are required."""
    if not RECORDED.is_file():
        reason = f"{RECORDED} is not there: the shared recordings lie beside the repository"
        if "data" in os.environ.get("VIVA_REQUIRE", "").split(","):
            pytest.fail(reason)
        pytest.skip(reason)
    return [json.loads(line) for line in RECORDED.read_text().splitlines()]


def event(kind: str, second: float = 0, agent: str | None = None, **data: Any) -> Event:
    """One event as the runtime sends it."""
    sent: Event = {
        "id": str(UUID(int=int(second * 10) + 1)),
        "timestamp": (NOON + timedelta(seconds=second)).isoformat(),
        "parentId": None,
        "type": kind,
        "data": data,
    }
    return sent if agent is None else {**sent, "agentId": agent}


def long_session() -> list[Any]:
    """A session of two turns, made with the SDK's own classes: sub-agent, cache, failures, an abort, closing sums."""
    sdk = pytest.importorskip("copilot.session_events")
    made: list[Any] = []

    def add(kind: Any, data: Any, agent: str | None = None) -> None:
        number = len(made) + 1
        made.append(
            sdk.SessionEvent(
                data=data, id=UUID(int=number), timestamp=NOON + timedelta(seconds=number), type=kind, agent_id=agent
            )
        )

    kinds = sdk.SessionEventType
    start = sdk.SessionStartData("1.0", "copilot", "session-7", NOON, 1, selected_model="gpt-5")
    add(kinds.SESSION_START, start)
    add(kinds.SYSTEM_MESSAGE, sdk.SystemMessageData("be careful", sdk.SystemMessageRole.SYSTEM))
    add(kinds.USER_MESSAGE, sdk.UserMessageData("make the tests pass"))
    add(kinds.ASSISTANT_TURN_START, sdk.AssistantTurnStartData("1"))
    request = sdk.AssistantMessageToolRequest("bash", "t1", arguments={"command": "pytest"})
    add(kinds.ASSISTANT_MESSAGE, sdk.AssistantMessageData("let me see", "m1", tool_requests=[request]))
    add(kinds.ASSISTANT_USAGE, _usage("gpt-5", 1000, 50, 800, 100, 20, 1.0, 3e6))
    add(kinds.TOOL_EXECUTION_START, sdk.ToolExecutionStartData("t1", "bash", arguments={"command": "pytest"}))
    failure = sdk.ToolExecutionCompleteError("2 failed", code="exit_1")
    add(kinds.TOOL_EXECUTION_COMPLETE, sdk.ToolExecutionCompleteData(False, "t1", error=failure))
    add(kinds.TOOL_EXECUTION_START, sdk.ToolExecutionStartData("t2", "task"))
    started = sdk.SubagentStartedData("explores", "Explorer", "explore", "t2", model="gpt-5-mini")
    add(kinds.SUBAGENT_STARTED, started, "agent-1")
    add(kinds.ASSISTANT_USAGE, _usage("gpt-5-mini", 400, 30, 0, 0, 0, 0.25, 5e5, initiator="sub-agent"), "agent-1")
    add(kinds.TOOL_EXECUTION_START, sdk.ToolExecutionStartData("t3", "grep"), "agent-1")
    found = sdk.ToolExecutionCompleteResult("src/a.py")
    add(kinds.TOOL_EXECUTION_COMPLETE, sdk.ToolExecutionCompleteData(True, "t3", result=found), "agent-1")
    ended = sdk.SubagentCompletedData("Explorer", "explore", "t2", total_tokens=430, total_tool_calls=1)
    add(kinds.SUBAGENT_COMPLETED, ended, "agent-1")
    add(kinds.TOOL_EXECUTION_COMPLETE, sdk.ToolExecutionCompleteData(True, "t2"))
    source, kind = sdk.ModelCallFailureSource.TOP_LEVEL, sdk.ModelCallFailureKind.TRANSPORT
    add(kinds.MODEL_CALL_FAILURE, sdk.ModelCallFailureData(source, failure_kind=kind, model="gpt-5"))
    add(kinds.MODEL_CALL_FAILURE, sdk.ModelCallFailureData(source, status_code=429, model="gpt-5"))
    add(kinds.ASSISTANT_USAGE, _usage("gpt-5", 1500, 70, 1000, 0, 0, 1.0, 4e6, initiator="agent"))
    add(kinds.ASSISTANT_MESSAGE, sdk.AssistantMessageData("fixed", "m2", output_tokens=70))
    add(kinds.USER_MESSAGE, sdk.UserMessageData("and the docs"))
    add(kinds.TOOL_EXECUTION_COMPLETE, sdk.ToolExecutionCompleteData(True, "t0"))
    add(kinds.TOOL_EXECUTION_START, sdk.ToolExecutionStartData("t4", "bash"))
    add(kinds.ABORT, sdk.AbortData(sdk.AbortReason.USER_INITIATED))
    add(kinds.SESSION_TASK_COMPLETE, sdk.SessionTaskCompleteData(success=True))
    usage = sdk.ShutdownModelMetricUsage(1800, 100, 2500, 120)
    metric = sdk.ShutdownModelMetric(sdk.ShutdownModelMetricRequests(2.0, 2), usage)
    changes = sdk.ShutdownCodeChanges([], 0, 0)
    routine = sdk.ShutdownType.ROUTINE
    add(kinds.SESSION_SHUTDOWN, sdk.SessionShutdownData(changes, {"gpt-5": metric}, 0, routine, timedelta(seconds=9)))
    return made


def _usage(
    model: str,
    given: int,
    said: int,
    cached: int,
    written: int,
    reasoning: int,
    cost: float,
    units: float,
    initiator: str | None = None,
) -> Any:
    sdk = pytest.importorskip("copilot.session_events")
    return sdk.AssistantUsageData(
        model,
        input_tokens=given,
        output_tokens=said,
        cache_read_tokens=cached,
        cache_write_tokens=written,
        reasoning_tokens=reasoning or None,
        cost=cost,
        copilot_usage=sdk.AssistantUsageCopilotUsage(units),
        duration=timedelta(milliseconds=500),
        initiator=initiator,
    )


class Runtime:
    """A stand-in for the SDK's client and the runtime behind it: each prompt is answered with events."""

    def __init__(self, answer: Callable[[str], Sequence[Event]]) -> None:
        """Args:
        answer: The events for a prompt; the last message of the main agent among them is the response.
        """
        self.answer = answer
        self.configs: list[dict[str, Any]] = []
        self.prompts: list[dict[str, Any]] = []
        self.detached = 0
        self.open = 0
        self.most_open = 0
        self.meeting: asyncio.Barrier | None = None
        """Where sessions wait for each other before they work."""

    async def create_session(self, **config: Any) -> Any:
        """Open a real `CopilotSession`."""
        session = pytest.importorskip("copilot.session")
        self.configs.append(config)
        wire = _Wire(self)
        wire.session = session.CopilotSession(f"session-{len(self.configs)}", wire)
        return wire.session


class _Wire:
    """The connection of one session."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.session: Any = None

    async def request(self, method: str, params: dict[str, Any], **_: Any) -> dict[str, Any]:
        runtime = self.runtime
        if method == "session.detach":
            runtime.detached += 1
            return {"success": True}
        assert method == "session.sendAndWait", method
        runtime.prompts.append(params)
        runtime.open += 1
        runtime.most_open = max(runtime.most_open, runtime.open)
        try:
            if runtime.meeting is not None:
                await runtime.meeting.wait()
            return await self._work(params["prompt"])
        finally:
            runtime.open -= 1

    async def _work(self, prompt: str) -> dict[str, Any]:
        from copilot.session_events import session_event_from_dict

        last = None
        for sent in self.runtime.answer(prompt):
            if sent["type"] == "test.hang":
                await asyncio.sleep(3600)
            self.session._dispatch_event(session_event_from_dict(sent))
            if sent["type"] == "assistant.message" and "agentId" not in sent:
                last = sent
        return {"response": last, "aborted": False, "completionEventId": None}
