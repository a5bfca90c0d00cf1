"""What an examiner is: the Protocols of its parts, and the exceptions that end an exam."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from viva.records.transcript import Usage


class ExaminerError(Exception):
    """The examiner broke a rule of the exam. Says nothing about the agent."""


class AgentEndsExam(Exception):
    """What the agent says leaves the examiner nothing to go on with. The conversation is judged as it stands."""


class Examiner(Protocol):
    """Provides the next message to the agent. One object serves one conversation."""

    name: str
    """`script`, `replay`, or a model's name."""
    may_repeat: bool
    """Whether the same message twice in a row is intended, whatever the agent says; a model that repeats itself is not
    answering the agent."""

    @property
    def usage(self) -> Usage:
        """Return the usage of this conversation so far."""
        ...

    async def next_message(self, reply: str | None) -> str | None:
        """Return the next message, or None to end the exam.

        Args:
            reply: The agent's last reply; None at the beginning.

        Raises:
            ExaminerError: there is no usable message.
            AgentEndsExam: what the agent said keeps the examiner from going on.
            ModelError: the provider of its model failed.
        """
        ...


@runtime_checkable
class Instructed(Protocol):
    """An examiner to which the conversation can send notices, which the agent does not see."""

    def tell(self, notice: str) -> None:
        """Tell the examiner something before its next message."""
        ...


@runtime_checkable
class Recalling(Protocol):
    """An examiner that can continue a conversation."""

    async def recall(self, reply: str | None, message: str) -> None:
        """Remember that it answered `reply` with `message`.

        Args:
            reply: The agent's last reply; None at the beginning.
            message: The message.

        Raises:
            ExaminerError: it would never send this message.
        """
        ...
