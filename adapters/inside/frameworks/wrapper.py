"""`FrameworkAgent`: what the wrappers share, and how they write down what an agent does."""

from __future__ import annotations

import dataclasses
import json
import time
from typing import Any, ClassVar

from .vocabulary import Reply, Step, StepKind, Usage


class FrameworkAgent:
    """An agent made of a framework's object. One wrapper serves one run; the object may serve many at the same time."""

    target: ClassVar[Any] = None

    def __init__(
        self,
        task_description: str = "",
        app_dir: str | None = None,
        config_var: Any = None,
        workspace: Any = None,
    ) -> None:
        self.task_description = task_description
        self.app_dir = app_dir
        self.config_var = config_var
        self.workspace = workspace
        self.steps = Steps()
        self.begin(type(self).target)

    @classmethod
    def check(cls, target: Any) -> None:
        """Check that an object can be examined, before the first exam.

        Raises:
            Setup: `needs`.
        """

    @classmethod
    def check_shared(cls, target: Any) -> None:
        """Check that an object can serve several runs of one process.

        Raises:
            Setup: `needs`.
        """

    def begin(self, target: Any) -> None:
        """Make what this run alone uses."""
        raise NotImplementedError

    async def answer(self, message: str) -> str | Reply:
        """Send one message, note the steps, and return the text of the reply."""
        raise NotImplementedError

    async def get_reply_from_agent(self, message: str) -> Reply:
        answer = await self.answer(message)
        reply = answer if isinstance(answer, Reply) else Reply(answer)
        return Reply(reply.text, self.steps.take(), reply.usage, reply.images)

    def note_unanswered(self) -> None:
        """Note what is known of a message that was not answered, where that is not noted at once."""

    async def reply_so_far(self) -> Reply | None:
        """Return the steps since the last reply, which failed or came too late."""
        self.note_unanswered()
        return Reply("", self.steps.take_rest())


class Steps:
    """Notes steps as they begin and end, in the order in which they begin."""

    def __init__(self) -> None:
        self._drafts: list[dict[str, Any]] = []
        self._held: list[dict[str, Any]] = []
        self._count = 0

    def add(self, kind: StepKind, *, after: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
        """Note the beginning of a step; the result is for `end`.

        Args:
            kind: The kind of the step.
            after: The step that it follows, if it is not the last one.
            fields: What is known of the step.
        """
        self._count += 1
        draft = {"id": f"s{self._count}", "kind": kind, "started": time.time(), **fields}
        place = next((place for place, other in enumerate(self._drafts, 1) if other is after), len(self._drafts))
        self._drafts.insert(place, draft)
        return draft

    def end(self, draft: dict[str, Any], **fields: Any) -> None:
        """Note the end of a step."""
        draft.update(fields, seconds=max(0.0, time.time() - draft["started"]))

    def drop(self, draft: dict[str, Any]) -> None:
        """Forget a step that will begin again."""
        self._drafts = [other for other in self._drafts if other is not draft]

    def hold(self, draft: dict[str, Any]) -> None:
        """Leave a step for a later reply, if it has not ended until the next one: it waits for the user."""
        self._held.append(draft)

    def take(self) -> tuple[Step, ...]:
        """Return the steps since the last time."""
        held = [draft for draft in self._held if "seconds" not in draft]
        drafts = [draft for draft in self._drafts if not any(draft is other for other in held)]
        self._drafts, self._held = held, []
        return tuple(Step(**draft) for draft in drafts)

    def take_rest(self) -> tuple[Step, ...]:
        """Return the steps since the last time, also those that wait for the user: there is no later reply."""
        self._held = []
        return self.take()


def usage_of(given: Any, made: Any, cached: Any = None, reasoning: Any = None, written: Any = None) -> Usage:
    """Return the usage of one model call from counts that may be missing, or 0 because nothing was reported."""
    if not given and not made:
        return Usage(calls=1, reported=False)
    return Usage.answered(given, made, cached, reasoning, cache_write_tokens=written)


def parsed(arguments: Any) -> Any:
    """Return the arguments of a tool call, which some models send as JSON; text that cannot be parsed is kept."""
    if not isinstance(arguments, str):
        return arguments
    try:
        return json.loads(arguments) if arguments.strip() else {}
    except ValueError:
        return arguments


def as_text(value: Any) -> str:
    """Return any value as text: JSON where it can be written so."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    try:
        return json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        return str(value)


def error_text(error: BaseException) -> str:
    """Return an exception in one line."""
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
