"""What an adapter may offer beside replies: a state, a conversation already begun, and what it did without an answer.

The state is that between two messages: saved after a round, loaded before the first.

An adapter offers it by `save_state()`, plain or async, which returns JSON data. With `load_state(state)`, which
continues from it in a new object before the first message, a conversation can be forked, too. An agent that cannot,
although its adapter has the methods, returns None from `save_state`, and raises NotImplementedError in `load_state`.

A conversation that has already begun is given by `load_conversation(messages)`, plain or async, before the first
message. The messages are those of the chat protocol: each has `role` (`system`, `user` or `assistant`) and `content`.

What the agent did before it failed, or was too late, it tells by `reply_so_far()`, plain or async. It returns a Reply
with the steps and the usage since its last reply, or None.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from viva.adapters.contract import as_reply
from viva.adapters.inside.states import UnfitState, offers_state, state_text
from viva.cases.given_turns import GivenTurn
from viva.errors import AgentError
from viva.records.bounded_json import UnfitJson, read
from viva.records.redact import Keys
from viva.records.transcript import Reply

SO_FAR_SECONDS = 2.0
"""Maximum duration of asking an agent that has just failed what it did."""
STATE_SECONDS = 20.0
"""Maximum duration of saving or loading a state."""

__all__ = [
    "STATE_SECONDS",
    "as_messages",
    "load_conversation",
    "load_state",
    "offers_state",
    "read_state",
    "reply_so_far",
    "save_state",
]


class StatefulSession(Protocol):
    """The part of an `AgentSession` that this module uses."""

    @property
    def agent(self) -> Any:
        """Return the adapter's object."""
        ...

    async def call(self, name: str, *arguments: Any, seconds: float) -> Any:
        """Call a method of the agent, plain or async, where its code runs."""
        ...


async def save_state(session: StatefulSession, seconds: float = STATE_SECONDS) -> bytes | None:
    """Return the agent's present state as JSON, without keys that Viva knows; None if it offers none.

    Raises:
        AgentTimeout: saving took too long.
        AgentError: saving failed, or the state is not JSON or too large.
    """
    if not offers_state(session.agent):
        return None
    try:
        state = await session.call("save_state", seconds=seconds)
        return None if state is None else json.dumps(Keys().hide(json.loads(state_text(state)))).encode()
    except NotImplementedError:
        return None
    except UnfitState as error:
        raise AgentError(str(error)) from error


async def load_state(session: StatefulSession, state: Any, seconds: float = STATE_SECONDS) -> bool:
    """Give a new agent a state to continue from, before its first message; return False if it cannot load one.

    Raises:
        AgentTimeout: loading took too long.
        AgentError: loading failed.
    """
    if not callable(getattr(session.agent, "load_state", None)):
        return False
    try:
        await session.call("load_state", state, seconds=seconds)
    except NotImplementedError:
        return False
    return True


def as_messages(turns: Sequence[GivenTurn]) -> list[dict[str, str]]:
    """Return turns as messages of the chat protocol."""
    return [{"role": "assistant" if turn.role == "agent" else turn.role, "content": turn.content} for turn in turns]


async def load_conversation(session: StatefulSession, turns: Sequence[GivenTurn]) -> bool:
    """Give a new agent the conversation so far; return False if it takes none.

    Raises:
        AgentTimeout: it took too long.
        AgentError: the agent's method failed.
    """
    if not callable(getattr(session.agent, "load_conversation", None)):
        return False
    try:
        await session.call("load_conversation", as_messages(turns), seconds=STATE_SECONDS)
    except NotImplementedError:
        return False
    return True


async def reply_so_far(session: StatefulSession, keys: Keys) -> Reply | None:
    """Return what the agent did since its last reply; None if it does not report that.

    Args:
        session: A session in which a reply has just failed.
        keys: Keys that no reply may show.
    """
    try:
        if not callable(getattr(session.agent, "reply_so_far", None)):
            return None
        answer = await session.call("reply_so_far", seconds=SO_FAR_SECONDS)
        return None if answer is None else as_reply(answer, keys)
    except Exception:  # also of a property of the agent's own; what it failed with before is what counts
        return None


def read_state(content: bytes) -> Any:
    """Return the state that was stored.

    Raises:
        ValueError: this is not a state that Viva stored; the message says why.
    """
    try:
        return read(content)
    except UnfitJson as error:
        raise ValueError(str(error)) from error
