"""The continuing examiner: goes on with a stored conversation, as if it had examined from the beginning."""

from __future__ import annotations

from collections.abc import Sequence

from viva.examiner.examiner import Examiner, ExaminerError, Instructed, Recalling
from viva.records.transcript import Round, Usage


class ContinuingExaminer:
    """Repeats the messages of the earlier rounds, unless told to recall them all, and then continues by itself."""

    def __init__(self, examiner: Examiner, before: Sequence[Round], edited: str | None = None) -> None:
        """Args:
        examiner: Continues the conversation.
        before: The earlier rounds, each with both sides.
        edited: Replaces the first message after them.
        """
        self._examiner = examiner
        self._before = tuple(before)
        self._edited = edited
        self._repeated = 0
        self.name = examiner.name
        self.may_repeat = True

    @property
    def usage(self) -> Usage:
        """Return the usage of what was not repeated."""
        return self._examiner.usage

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the notes of the examiner that continues."""
        return tuple(getattr(self._examiner, "notes", ()))

    async def recall_all(self) -> None:
        """Remember the earlier rounds as they are stored, so that none of them is repeated.

        Raises:
            ExaminerError: the examiner cannot continue this conversation.
        """
        reply = None
        for round_ in self._before:
            await self._recall(reply, round_.examiner or "")
            reply = round_.agent
        self._repeated = len(self._before)
        self.may_repeat = self._examiner.may_repeat

    async def next_message(self, reply: str | None) -> str | None:
        """Return the next message of the earlier rounds, or of the examiner that continues; None at the end.

        Raises:
            ExaminerError: there is no usable message.
            ModelError: the provider of its model failed.
        """
        if self._repeated == len(self._before):
            self.may_repeat = self._examiner.may_repeat
            if self._edited is not None:
                return await self._replaced(reply)
            return await self._examiner.next_message(reply)
        message = self._before[self._repeated].examiner or ""
        self._repeated += 1
        await self._recall(reply, message)
        return message

    def tell(self, notice: str) -> None:
        """Tell the examiner that continues something before its next message."""
        if isinstance(self._examiner, Instructed):
            self._examiner.tell(notice)

    async def _replaced(self, reply: str | None) -> str | None:
        """Return the edited message; the examiner takes it for its own, or passes over the one that it replaces."""
        message, self._edited = self._edited, None
        if isinstance(self._examiner, Instructed):
            await self._recall(reply, message or "")
        else:
            await self._examiner.next_message(reply)
        return message

    async def _recall(self, reply: str | None, message: str) -> None:
        if not isinstance(self._examiner, Recalling):
            raise ExaminerError(f"the examiner {self.name} cannot continue a stored conversation")
        await self._examiner.recall(reply, message)
