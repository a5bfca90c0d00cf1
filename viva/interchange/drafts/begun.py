"""A chat as a case has it: the conversation already begun, and the user's next message."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.wording import ROLES, as_text
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

EXAMPLES = {"example_user": "user", "example_assistant": "agent"}
"""Names of the speakers of examples, which openai/evals gives to messages of the system."""
PARTS = ("text", "input_text", "output_text")


def add_chat(draft: CaseDraft, messages: Iterable[Source]) -> None:
    """Add a chat to a case: what the user says at its end is asked, and what is before that is given.

    Args:
        draft: The case.
        messages: Mappings with `role` and `content`. Calls of tools and their results are reported; the case is marked.
    """
    messages = list(messages)
    if any(map(_is_of_a_tool, messages)):
        draft.mark("messages with calls and results of tools were left out of the conversation (see the report)")
    turns = in_order([turn for message in messages if (turn := _turn(message)) is not None])
    # A prompt may consist of instructions alone: the agent is to answer the last of them.
    asked = [turns.pop()] if turns and turns[-1]["role"] == "system" else []
    while turns and turns[-1]["role"] == "user":
        asked.insert(0, turns.pop())
    draft.script += [turn["content"] for turn in asked]
    if turns:
        draft.conversation = turns


def _is_of_a_tool(message: Source) -> bool:
    role = message.get("role")
    calls = message.get("tool_calls") or message.get("function_call")
    return str(role.peek() if role else "").lower() in ("tool", "function") or bool(calls and calls.peek())


def in_order(turns: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return turns as a case allows them: what the system says stands before all others."""
    return sorted(turns, key=lambda turn: turn["role"] != "system")


def _turn(message: Source) -> dict[str, Any] | None:
    role, name, content = message.get("role"), message.get("name"), message.get("content")
    speaker = str(role.express("who speaks")).lower() if role is not None else "user"
    speaker = ROLES.get(speaker, "")
    if name is not None and str(name.peek()) in EXAMPLES:
        speaker = EXAMPLES[str(name.express("who speaks"))]
    elif name is not None:
        name.report(Gap.NO_HOME, "a turn that is given has a speaker and a text")
    text = _text(content) if content is not None else ""
    if not speaker or not text.strip():
        message.report(Gap.NO_HOME, "a conversation already begun has messages of the user, the agent and the system")
        return None
    for key, value in message.items():
        if key not in ("role", "content", "name"):
            value.report(Gap.NO_HOME, "a turn that is given has a speaker and a text")
    return {"role": speaker, "content": text}


def _text(content: Source) -> str:
    if content.is_text:
        return str(content.take())
    if not content.is_list:
        return as_text(content.express("a message, as JSON"))
    texts = []
    for part in content.elements():
        kind, text = part.get("type"), part.get("text")
        if part.is_text:
            texts.append(str(part.take()))
        elif text is not None and text.is_text:
            texts.append(str(text.take()))
            if kind is not None and kind.peek() in PARTS:
                kind.express("a message")
        else:
            part.report(Gap.NO_HOME, "a message of a case is text; give files as data_files")
    return "\n".join(texts)
