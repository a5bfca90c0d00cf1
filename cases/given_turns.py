"""The conversation that a case begins with: turns that are given, and that neither examiner nor agent produced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from viva.cases.text import describe

ROLES = ("user", "agent", "system")
TURN_KEYS = ("role", "content")


@dataclass(frozen=True, slots=True)
class GivenTurn:
    """One turn of a conversation that has already begun."""

    role: str
    """One of `ROLES`; a journal of a later version may have others."""
    content: str


class TurnMistake(ValueError):
    """One turn is wrong. `key` names the part that is, if that is known."""

    def __init__(self, message: str, key: str | None = None) -> None:
        super().__init__(message)
        self.key = key


def read_turn(item: Any) -> GivenTurn:
    """Read one entry of `conversation`: a mapping with `role` and `content`.

    Raises:
        TurnMistake: it is something else.
    """
    if not isinstance(item, dict):
        raise TurnMistake(f"a turn has the keys {', '.join(TURN_KEYS)}; this is {describe(item)}")
    role, content = item.get("role"), item.get("content")
    if role not in ROLES:
        wrong = (
            "is missing" if role is None else f"must be {', '.join(ROLES[:-1])} or {ROLES[-1]}, not {describe(role)}"
        )
        raise TurnMistake(f"role {wrong}", "role")
    if not isinstance(content, str) or not content.strip():
        wrong = "is missing" if content is None else f"must be text, not {describe(content)}; put it in quotes"
        raise TurnMistake(f"content {'is empty' if isinstance(content, str) else wrong}", "content")
    return GivenTurn(role, content)


def order_mistake(turns: list[GivenTurn]) -> tuple[int, str] | None:
    """Return the index of the first turn that is out of place, and why; None if all are in order."""
    for index, turn in enumerate(turns):
        if turn.role == "system" and index and turns[index - 1].role != "system":
            return index, "a turn of the system stands before all others"
    if turns and turns[-1].role == "user":
        words = "the last turn is the user's, so the agent would have to answer it: make it the first line of script"
        return len(turns) - 1, f"{words}, or the opening"
    return None
