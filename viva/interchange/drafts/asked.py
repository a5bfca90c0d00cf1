"""What a source has the user say: one message, several, or the messages of a chat."""

from __future__ import annotations

import json
from collections.abc import Sequence

from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

USUAL = ("question", "query", "input", "prompt", "message", "text", "user_input", "content")
"""Keys of a mapping under which datasets keep what the user says."""
ROLES = {
    **dict.fromkeys(("user", "human"), "user"),
    **dict.fromkeys(("assistant", "agent", "ai", "model", "bot"), "agent"),
    **dict.fromkeys(("system", "developer"), "system"),
}
GUIDED = "\n\nHow to go about it: "
"""Between what the user wants, and how they go about it."""
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


def add_messages(draft: CaseDraft, messages: Sequence[Source]) -> None:
    """Add the messages of a chat.

    If only the user speaks, the messages are the script. Otherwise, those before the user's last are given as the
    conversation that has already begun, and the last is the script.
    """
    spoken = [message for message in messages if message.get("content") is not None]
    speakers = [_speaker(message) for message in spoken]
    others = [speaker for speaker in speakers if speaker != "user"]
    last = max((index for index, speaker in enumerate(speakers) if speaker == "user"), default=-1)
    for index, (message, speaker) in enumerate(zip(spoken, speakers, strict=True)):
        if speaker is None or index > last:
            message.report(Gap.NO_HOME, "a message that a conversation already begun cannot hold")
        elif not others or index == last:
            draft.script.append(_said(message))
        elif speaker == "system" and draft.conversation and draft.conversation[-1]["role"] != "system":
            message.report(Gap.NO_HOME, "a system message in the middle of a conversation")
        else:
            draft.conversation.append({"role": speaker, "content": _said(message)})


def _speaker(message: Source) -> str | None:
    role = message.get("role")
    name = "user" if role is None else str(role.peek()).lower()
    return ROLES.get(name) if _blank(message.get("content")) is False else None


def _blank(content: Source | None) -> bool:
    return content is None or (isinstance(content.peek(), str) and not content.peek().strip())


def _said(message: Source) -> str:
    role, content = message.get("role"), message.get("content")
    if role is not None:
        role.express("the role of a turn")
    if content is None:
        return ""
    return str(content.take()) if content.is_text else as_text(content.express(SAID))


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
    further = {name: each.take() for name, each in fields.items() if each.peek() not in (None, "", [], {})}
    if further:
        given.remark(Gap.NEEDS_A_PERSON, "further inputs beside the message are in config_var.inputs, for your adapter")
        before = draft.fields.get("config_var", {}).get("inputs", {})
        draft.fields["config_var"] = {"inputs": {**before, **further}}


def _is_message(each: Source) -> bool:
    return each.get("content") is not None
