"""What a source has the user say: one message, several, or the messages of a chat."""

from __future__ import annotations

from collections.abc import Sequence

from viva.interchange.drafts.begun import add_chat
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.wording import ROLES, as_text
from viva.interchange.ledger import Gap
from viva.interchange.source import Source

USUAL = ("question", "query", "input", "prompt", "message", "text", "user_input", "content")
"""Keys of a mapping under which datasets keep what the user says."""
CHATS = ("messages", "turns")
"""Keys of a mapping under which datasets keep a chat."""
GUIDED = "\n\nHow to go about it: "
"""Between what the user wants, and how they go about it."""
SAID = "a message of the script"


def add_input(draft: CaseDraft, given: Source) -> None:
    """Add what the user says to a case: text, a list of texts, chat messages, or a mapping with one of them."""
    if given.is_text:
        draft.script.append(given.take())
    elif given.is_list and all(_is_message(each) for each in given.elements()):
        _add_messages(draft, list(given.elements()))
    elif given.is_list and all(each.is_text for each in given.elements()):
        draft.script += [each.take() for each in given.elements()]
    elif given.is_mapping:
        _add_mapping(draft, given)
    elif given.peek() is not None and not isinstance(given.peek(), str):
        draft.script.append(as_text(given.express(SAID)))


def _add_messages(draft: CaseDraft, messages: Sequence[Source]) -> None:
    """Add the messages of a chat. What the agent said after the user's last message is no part of the question."""
    last = max((index for index, each in enumerate(messages) if _is_of_user(each)), default=-1)
    add_chat(draft, messages[: last + 1])
    for each in messages[last + 1 :]:
        each.report(Gap.NO_HOME, "an answer after the user's last message; the agent is to give it")


def _is_of_user(message: Source) -> bool:
    role, content = message.get("role"), message.get("content")
    said = content is not None and bool(str(content.peek()).strip())
    return said and (role is None or ROLES.get(str(role.peek()).lower()) == "user")


def _add_mapping(draft: CaseDraft, given: Source) -> None:
    fields = dict(given.items())
    chat = next((name for name in CHATS if name in fields and fields[name].is_list), None)
    key = chat or next((name for name in USUAL if name in fields and fields[name].peek() not in (None, "")), None)
    if key is None and len(fields) == 1:
        key = next(iter(fields))
    if key is None:
        draft.script.append(as_text(given.express(SAID + ", as JSON")))
        return
    if chat is not None:
        _add_messages(draft, list(fields.pop(chat).elements()))
    else:
        add_input(draft, fields.pop(key))
    further = {name: each.take() for name, each in fields.items() if each.peek() not in (None, "", [], {})}
    if further:
        given.remark(Gap.NEEDS_A_PERSON, "further inputs beside the message are in config_var.inputs, for your adapter")
        before = draft.fields.get("config_var", {}).get("inputs", {})
        draft.fields["config_var"] = {"inputs": {**before, **further}}


def _is_message(each: Source) -> bool:
    return each.get("content") is not None
