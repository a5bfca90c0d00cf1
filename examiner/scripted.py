"""The scripted examiner: says a case's `script`, without a model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from cases import ScriptLine
from records.transcript import NO_USAGE

REPLY_SEARCHED = 20_000
"""Characters of a reply, head and tail, in which `if_agent_says` is looked for: what the agent says may be made to keep
an innocent pattern searching for hours, and nothing else goes on meanwhile."""


class ScriptedExaminer:
    """Says the lines of a script in order, and skips those that the agent's last words do not call for."""

    name = "script"
    may_repeat = True
    usage = NO_USAGE

    def __init__(self, script: Sequence[ScriptLine]) -> None:
        self._reply = ""
        self._messages = self._walk(script)

    async def next_message(self, reply: str | None) -> str | None:
        """The next message, or None after the last."""
        self._reply = _searched(reply or "")
        return next(self._messages, None)

    def _walk(self, script: Sequence[ScriptLine]) -> Iterator[str]:
        for line in script:
            if line.if_agent_says is None or re.search(line.if_agent_says, self._reply, re.IGNORECASE):
                yield from line.messages()


def _searched(reply: str) -> str:
    if len(reply) <= REPLY_SEARCHED:
        return reply
    return f"{reply[: REPLY_SEARCHED // 2]}\n{reply[-REPLY_SEARCHED // 2 :]}"
