"""Joins the messages of one model call's output: some providers give reasoning, words and calls as one message each."""

from __future__ import annotations

from collections.abc import Sequence

from viva.recordings.spans.messages import Message


def spoken(messages: Sequence[Message]) -> Message | None:
    """Return what a model said and asked for, as one message.

    OpenAI's Responses API gives an item for the reasoning, one for the words and one for each call. Several messages
    that each have words are alternatives (`n` above 1), of which the last counts.

    Returns:
        None if no message says anything.
    """
    # What a provider's own tool gave back is between two messages of the model; the later one is its output.
    last = max((place for place, message in enumerate(messages) if message.answers), default=-1)
    said = [message for message in messages[last + 1 :] if message.calls or message.reasoning or _words(message)]
    said = said or [message for message in messages if message.calls or message.reasoning or _words(message)]
    if not said:
        return None
    if len(said) == 1 or all(_words(message) for message in said):
        return said[-1]
    return Message(
        said[-1].role,
        "\n".join(text for message in said if (text := _words(message))) or None,
        "\n".join(message.reasoning for message in said if message.reasoning) or None,
        tuple(call for message in said for call in message.calls),
    )


def _words(message: Message) -> str:
    return message.text if message.text and message.text.strip() else ""
