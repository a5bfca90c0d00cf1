"""Reads the messages of AutoGen's agents and teams (`run_stream()`) for a collector.

The messages hold what AutoGen's log does not: ids and failures of tool calls, and who spoke. They are recognized by the
names of their classes and fields (`autogen_agentchat.messages`), so that AutoGen is not imported.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator
from datetime import datetime
from typing import Any, TypeVar

from viva.recordings.chat_messages import read_arguments
from viva.recordings.events.collector import EvalCollector

USER = "user"
"""The source of a task's messages."""
_SAID = ("TextMessage", "MultiModalMessage", "StopMessage", "ToolCallSummaryMessage")
_STRUCTURED = "StructuredMessage"
"""The type of a structured message begins with this, and goes on with the name of its content's class."""
_OTHERS = (
    "HandoffMessage",  # its tool call was counted, and its words are for another agent
    "MemoryQueryEvent",
    "ModelClientStreamingChunkEvent",
    "SelectSpeakerEvent",
    "SelectorEvent",
    "UserInputRequestedEvent",
    "CodeGenerationEvent",
)
CODE = "code_executor"
"""The tool of an agent that runs the code it writes."""
Message = TypeVar("Message")


async def autogen_messages(stream: AsyncIterable[Message], collector: EvalCollector | None) -> AsyncIterator[Message]:
    """Yield the messages of `run_stream()` unchanged, after a collector has taken each.

    An exception of the agent is noted as an abort of the run, and raised again.

    Args:
        stream: What `agent.run_stream(task=…)` or `team.run_stream(task=…)` returned.
        collector: One whose events are these messages: `EvalCollector(source="autogen", take=take_autogen_message)`, or
            that of a harness with this `take`, which is None where observing is off.
    """
    try:
        async for message in stream:
            if collector is not None:
                collector.take(message)
            yield message
    except Exception as error:
        if collector is None:
            raise
        name = type(error).__name__
        collector.failed_with(name, error)
        collector.aborted(name)
        raise


def take_autogen_message(collector: EvalCollector, message: Any) -> None:
    """Process one message of `run_stream()` or `on_messages_stream()`, or the result at its end."""
    kind = getattr(message, "type", None)
    kind = kind if isinstance(kind, str) else type(message).__name__
    if kind == "Response":
        take_autogen_message(collector, message.chat_message)
    elif kind == "TaskResult":
        _result(collector, message)
    else:
        _message(collector, kind, message)


def _message(collector: EvalCollector, kind: str, message: Any) -> None:
    at, source = _seconds(getattr(message, "created_at", None)), message.source
    if source == USER:
        # A tool that is an agent is given its task in this way, and that is no word of the user.
        if not collector.waits_for_tools:
            collector.user_said(_text(message), at)
        return
    agent = collector.speaker(source)
    if (usage := getattr(message, "models_usage", None)) is not None:
        collector.model_called(
            None, input_tokens=usage.prompt_tokens, output_tokens=usage.completion_tokens, agent=agent, at=at
        )
    if kind in _SAID or kind.startswith(_STRUCTURED):
        collector.agent_said(_text(message), agent=agent, at=at)
    elif kind == "ThoughtEvent":
        collector.agent_thought(message.content, agent=agent)
    elif kind == "ToolCallRequestEvent":
        for call in message.content:
            collector.tool_started(call.id, call.name, arguments=read_arguments(call.arguments), agent=agent, at=at)
    elif kind == "ToolCallExecutionEvent":
        for result in message.content:
            _returned(collector, result, agent, at)
    elif kind == "CodeExecutionEvent":
        call, code = f"{source}-{getattr(message, 'id', id(message))}", message.result.exit_code
        collector.tool_started(call, CODE, agent=agent, at=at)
        done = {"success": code == 0, "result": message.result.output, "error": message.result.output}
        collector.tool_completed(call, **done, code=None if code == 0 else f"exit {code}", agent=agent, at=at)
    elif kind not in _OTHERS:
        collector.not_known(f"event {kind}")


def _returned(collector: EvalCollector, result: Any, agent: str | None, at: float | None) -> None:
    failed = bool(result.is_error)
    collector.tool_completed(
        result.call_id,
        success=not failed,
        tool=result.name,
        result=result.content,
        error=result.content if failed else None,
        agent=agent,
        at=at,
    )


def _result(collector: EvalCollector, result: Any) -> None:
    """Note the answer of a team, which is what its last speaker said; all other messages were taken before."""
    last = result.messages[-1] if result.messages else None
    if last is not None and last.source != USER and collector.speaker(last.source) is not None:
        collector.agent_said(_text(last), at=_seconds(getattr(last, "created_at", None)))


def _text(message: Any) -> str:
    say = getattr(message, "to_text", None)
    return str(say()) if callable(say) else str(message.content)


def _seconds(moment: Any) -> float | None:
    return moment.timestamp() if isinstance(moment, datetime) else None
