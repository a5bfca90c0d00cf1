"""The agents that take the exams of the lint: four that deserve nothing, and one that replies as the solution says."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from viva.adapters.virtual_user import VirtualUser
from viva.cases import SolutionReply

REFUSAL = "I cannot help with that."
IN_CASE = "lint_case"
"""The key of `config_var` that tells the solution's agent which case it takes."""
MOST_NAMED = 50
"""Maximum number of file names that the parroting agent repeats."""


class TriedAgent(VirtualUser):
    """Takes any conversation that has already begun, and passes it over."""

    def load_conversation(self, messages: object) -> None:
        """Do nothing with it."""


class SilentAgent(TriedAgent):
    """Replies with nothing."""

    def get_reply_from_agent(self, message: str) -> str:
        """Return an empty reply."""
        return ""


class RefusingAgent(TriedAgent):
    """Refuses everything."""

    def get_reply_from_agent(self, message: str) -> str:
        """Return the refusal."""
        return REFUSAL


class EchoingAgent(TriedAgent):
    """Repeats the examiner's message."""

    def get_reply_from_agent(self, message: str) -> str:
        """Return the message."""
        return message


class ParrotingAgent(TriedAgent):
    """Repeats the examiner's message, the task where the case has no script, and the names of its files."""

    def __init__(self, task_description: str, config_var: Mapping[str, Any] | None = None) -> None:
        """Args:
        task_description: The task.
        config_var: Says under `IN_CASE` what else to repeat.
        """
        super().__init__(task_description, None, config_var)
        self._known = (config_var or {}).get(IN_CASE) or ""

    def get_reply_from_agent(self, message: str) -> str:
        """Return all that there is to repeat."""
        return "\n".join(filter(None, (message, self._known, *_names(self.workspace))))


def _names(folder: Path | None) -> Iterator[str]:
    """Yield the paths of the files in a folder."""
    names = (
        os.path.relpath(os.path.join(parent, name), folder)
        for parent, _, files in os.walk(folder or "")
        for name in files
    )
    for _, name in zip(range(MOST_NAMED), names, strict=False):
        yield name


def solver(solutions: Mapping[str, Sequence[SolutionReply]]) -> Callable[..., VirtualUser]:
    """Return the factory of agents that reply as a solution says; the last reply is repeated if there are more rounds.

    Args:
        solutions: The replies by the name that the case's `config_var` has under `IN_CASE`.
    """

    class SolvingAgent(TriedAgent):
        """Replies as the solution says."""

        def __init__(self, task_description: str, config_var: Mapping[str, Any] | None = None) -> None:
            super().__init__(task_description, None, config_var)
            self._replies = list(solutions[(config_var or {})[IN_CASE]])
            self._number = 0

        def get_reply_from_agent(self, message: str) -> str:
            """Write the files of the next reply, and return it."""
            reply = self._replies[min(self._number, len(self._replies) - 1)]
            if self._number < len(self._replies):
                for name, content in reply.files.items():
                    assert self.workspace is not None
                    path = self.workspace / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(content, encoding="utf-8")
            self._number += 1
            return reply.say

    return SolvingAgent


TRIVIAL: Mapping[str, type[VirtualUser]] = {
    "silent": SilentAgent,
    "echoing": EchoingAgent,
    "refusing": RefusingAgent,
    "parroting": ParrotingAgent,
}
"""The agents that deserve nothing, by their names."""
SOLUTION = "solution"
"""The name of the agent that deserves every point."""
