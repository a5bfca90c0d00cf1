"""What a session of the Copilot SDK sends to Viva's process, with a session of the test's own."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from viva.adapters.inside.frameworks.copilot import CopilotAgent
from viva.adapters.observed import completed
from viva.records.transcript import StepKind

REPLY = "x" * 1_000_000


def message(content: str, agent: str | None = None, **data: Any) -> SimpleNamespace:
    event = {"type": "assistant.message", "agentId": agent, "data": {"content": content, **data}}
    return SimpleNamespace(type=SimpleNamespace(value=event["type"]), to_dict=lambda: event)


class TalkativeSession:
    """Says the same as a thought, by a sub-agent, and as its reply."""

    def on(self, handler: Callable[[Any], None]) -> Callable[[], None]:
        self.handler = handler
        return lambda: None

    async def send_and_wait(self, text: str, timeout: float) -> Any:
        self.handler(message(REPLY, toolRequests=[{"toolCallId": "call"}]))
        self.handler(message(REPLY, "helper"))
        self.handler(message(REPLY))
        return SimpleNamespace(data=SimpleNamespace(content=REPLY))


async def test_a_reply_is_sent_once_and_the_same_words_elsewhere_are_kept() -> None:
    made: Any = type("made", (CopilotAgent,), {"target": TalkativeSession()})
    reply = await made("the task").get_reply_from_agent("Hello.")
    assert [len(event["data"]["content"]) for event in reply.events] == [len(REPLY), len(REPLY), 0]
    whole = completed(reply)
    assert whole.text == REPLY
    assert [step.kind for step in whole.steps] == [StepKind.AGENT]
