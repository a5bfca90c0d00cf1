"""What a source has the user say: one message, several, or the messages of a chat."""

from __future__ import annotations

import json
from collections.abc import Sequence

from viva.interchange.draft import CaseDraft
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

USUAL = ("question", "query", "input", "prompt", "message", "text", "user_input", "content")
"""Keys of a mapping under which datasets keep what the user says."""
LONGEST_TASK = 600
"""Longer messages are in the script alone, and are not repeated in the task."""
SAID = "a message of the script"


def add_input(draft: CaseDraft, given: Source) -> None:
    """Add what the user says to a case: text, a list of texts, chat messages, or a mapping with one of them."""
    messages = given.get("messages") or given.get("turns")
    if given.is_text:
        draft.script.append(given.take())
    elif messages is not None and messages.is_list:
        add_messages(draft, list(messages.elements()))
    elif given.is_list and all(_is_message(each) for each in given.elements()):
        add_messages(draft, list(given.elements()))
    elif given.is_list and all(each.is_text for each in given.elements()):
        draft.script += [each.take() for each in given.elements()]
    elif given.is_mapping:
        _add_mapping(draft, given)
    elif given.peek() is not None and not isinstance(given.peek(), str):
        draft.script.append(as_text(given.express(SAID)))
    if not draft.task_description and draft.script:
        draft.task_description = task_of(draft.script)


def task_of(script: Sequence[object]) -> str:
    """Return the task of a case whose messages are fixed, for a model that examines instead of the script."""
    said = [message for message in script if isinstance(message, str)]
    if sum(map(len, said)) > LONGEST_TASK:
        return "Say to the agent what the script says, message by message."
    if len(said) == 1:
        return f"Say this to the agent: {said[0]}"
    return "Say these things to the agent, one after the other:\n" + "\n".join(f"- {each}" for each in said)


def add_messages(draft: CaseDraft, messages: Sequence[Source]) -> None:
    """Add the messages of a chat: those of the user become the script."""
    for message in messages:
        content, role = message.get("content"), message.get("role")
        speaker = str(role.peek()) if role is not None else "user"
        if content is None:
            continue
        if speaker in ("user", "human"):
            if role is not None:
                role.express(SAID)
            draft.script.append(content.take() if content.is_text else as_text(content.express(SAID)))
        else:
            message.report(Gap.NO_HOME, f"a message of the {speaker}, which a script does not have")


def as_text(value: object) -> str:
    """Return a value as the user would say it: text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _add_mapping(draft: CaseDraft, given: Source) -> None:
    fields = dict(given.items())
    key = next((name for name in USUAL if name in fields and fields[name].peek() not in (None, "")), None)
    if key is None and len(fields) == 1:
        key = next(iter(fields))
    if key is None:
        draft.script.append(as_text(given.express(SAID + ", as JSON")))
        return
    add_input(draft, fields.pop(key))
    for rest in fields.values():
        rest.report(Gap.NO_HOME, "a further input beside the message; add it to the message, or to config_var")


def _is_message(each: Source) -> bool:
    return each.get("content") is not None
