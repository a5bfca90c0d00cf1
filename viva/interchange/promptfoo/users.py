"""Simulated users of promptfoo, which become examiners: they run on the model that the user names with --model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.errors import SetupError
from viva.interchange.drafts.draft import CaseDraft
from viva.interchange.drafts.wording import ROLES
from viva.interchange.ledger import Gap
from viva.interchange.promptfoo.references import FileReferences
from viva.interchange.promptfoo.templates import filled_in, in_words
from viva.interchange.source import Source

PROVIDER = "promptfoo:simulated-user"
TURNS = 10
"""Promptfoo's default of `maxTurns`."""


def is_simulated_user(provider: Source | None) -> bool:
    """Return whether the provider of a test is a simulated user."""
    return provider is not None and _identity(provider) is not None


def _identity(provider: Source) -> Source | None:
    identity = provider.get("id") if provider.is_mapping else provider
    return identity if identity is not None and str(identity.peek()).startswith(PROVIDER) else None


def add_user(
    draft: CaseDraft,
    provider: Source,
    given: Mapping[str, Source],
    variables: Mapping[str, Any],
    references: FileReferences,
) -> None:
    """Make a case of a simulated user: its instructions are the task.

    Args:
        draft: The case.
        provider: The simulated user.
        given: The variables of the test, of which `instructions` and `initialMessages` come before the provider's.
        variables: Their values.
        references: Resolves files of messages.
    """
    identity = _identity(provider)
    if identity is not None:
        identity.express("a model that examines")
    config = dict(config.items()) if (config := provider.get("config")) is not None else {}
    instructions = config.pop("instructions", None)
    if instructions is not None:
        text, left = filled_in(instructions.peek(), variables)
        instructions.take() if text == instructions.peek() else instructions.express("task_description")
        draft.task_description = in_words(text)
        if left:
            draft.mark(f"{instructions}: fill in {', '.join(left[:5])}")
    elif "instructions" in variables:
        draft.task_description = in_words(variables["instructions"])
    if not draft.task_description.strip():
        draft.task_description = "Talk to the agent as its user would."
        draft.mark("say what the user wants: the simulated user has no instructions")
    turns = config.pop("maxTurns", None)
    draft.fields["max_rounds"] = _turns(turns)
    messages = given.get("initialMessages") or config.pop("initialMessages", None)
    config.pop("initialMessages", None)
    if messages is not None:
        _add_messages(draft, messages, variables, references)
    for key, each in config.items():
        why = "the agent keeps its own history" if key == "stateful" else "a setting of the simulated user"
        each.express(why) if key == "stateful" else each.report(Gap.NO_HOME, why)


def _turns(turns: Source | None) -> int:
    number = None if turns is None else turns.peek()
    if turns is None or isinstance(number, bool) or not isinstance(number, int) or number < 1:
        if turns is not None:
            turns.report(Gap.NEEDS_A_PERSON, f"it is not a number of turns; {TURNS} was taken")
        return TURNS
    return int(turns.take())


def _add_messages(draft: CaseDraft, messages: Source, variables: Mapping[str, Any], references: FileReferences) -> None:
    try:
        found = references.resolved(messages)
    except SetupError as error:
        messages.report(Gap.REFUSED, str(error))
        found = None
    entries = [] if found is None else list(found.elements())
    if found is not None and not entries:
        found.report(Gap.NOT_READ, "it is not a list of messages")
    turns: list[dict[str, str]] = []
    for entry in entries:
        filled, _ = filled_in(entry.peek(), variables)
        role = ROLES.get(str(filled.get("role")).lower()) if isinstance(filled, dict) else None
        content = filled.get("content") if isinstance(filled, dict) else None
        if role is None or not isinstance(content, str) or not content.strip():
            entry.report(Gap.NOT_READ, "it is not a message with role and content")
            continue
        if role == "system" and turns and turns[-1]["role"] != "system":
            entry.report(Gap.NO_HOME, "a system message in the middle of a conversation")
            continue
        entry.express("a turn of the conversation already begun")
        turns.append({"role": role, "content": content})
    last: list[str] = []
    while turns and turns[-1]["role"] == "user":
        last.insert(0, turns.pop()["content"])
    if last:
        draft.fields["opening"] = "\n\n".join(last)
    draft.conversation += turns
