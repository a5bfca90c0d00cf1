"""The scripted examiner: sends the messages of a case's `script`, without a model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from viva.cases import ScriptLine
from viva.examiner.examiner import ExaminerError
from viva.records.text import one_line
from viva.records.transcript import NO_USAGE

REPLY_SEARCHED = 20_000
"""Number of characters of a reply (head and tail) against which `if_agent_says` is matched. An agent could send text
for which a harmless pattern takes hours, and blocks everything else."""

SEARCH_SECONDS = 0.5
"""Maximum duration of one search, which blocks everything else."""


class ScriptedExaminer:
    """Sends the lines of a script in order, and skips those whose condition the agent's last reply does not meet."""

    name = "script"
    may_repeat = True
    usage = NO_USAGE

    def __init__(self, script: Sequence[ScriptLine]) -> None:
        self._reply = ""
        self._recalls = False
        """Whether every condition counts as met, because an earlier message is searched for."""
        self.notes: tuple[str, ...] = ()
        """Notes for readers of the conversation."""
        self._messages = self._walk(script)

    async def next_message(self, reply: str | None) -> str | None:
        """Return the next message, or None after the last."""
        self._reply = _searched(reply or "")
        return next(self._messages, None)

    async def recall(self, reply: str | None, message: str) -> None:
        """Go on after this message, whether or not the reply meets the conditions of the script.

        Raises:
            ExaminerError: the rest of the script does not have it.
        """
        self._recalls = True
        try:
            if message not in self._messages:  # which goes on behind the message that it finds
                raise ExaminerError(f"the script does not have the stored message {one_line(message, 80)!r}")
        finally:
            self._recalls = False

    def _walk(self, script: Sequence[ScriptLine]) -> Iterator[str]:
        for line in script:
            if line.if_agent_says is None or self._recalls or self._says(line.if_agent_says):
                yield from line.messages()

    def _says(self, pattern: str) -> bool:
        """Return whether the reply matches. A search that takes too long counts as not found: the agent's reply decides
        how long it takes, and must not end the exam as an error of the examiner."""
        import regex  # type: ignore[import-untyped]  # with a time limit, which Python's own has not

        try:
            return bool(regex.search(pattern, self._reply, regex.IGNORECASE, timeout=SEARCH_SECONDS))
        except TimeoutError:
            self.notes = (
                *self.notes,
                f"the search for {one_line(pattern, 80)!r} took longer than {SEARCH_SECONDS:g} s",
            )
            return False
        except regex.error as error:
            raise ExaminerError(f"the pattern {one_line(pattern, 80)!r} cannot be matched: {error}") from error


def _searched(reply: str) -> str:
    if len(reply) <= REPLY_SEARCHED:
        return reply
    return f"{reply[: REPLY_SEARCHED // 2]}\n{reply[-REPLY_SEARCHED // 2 :]}"
