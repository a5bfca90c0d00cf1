"""Reads the earlier turns of a conversation from the messages that the first model call of a run was given."""

from __future__ import annotations

from collections.abc import Sequence

from viva.recordings.react import read_react
from viva.recordings.spans.messages import Message, input_messages
from viva.recordings.spans.questions import asked_in, question_places
from viva.recordings.spans.span import Span
from viva.records.transcript import Round


def earlier_rounds(
    inputs: Sequence[Message], top: Sequence[Span], question: str | None, *, in_words: bool
) -> tuple[Round, ...]:
    """Return a round for each turn before the question of a run: what was said, without steps.

    The steps of those turns are in traces of their own. A first turn has no rounds before it, whatever a framework put
    into messages of the user before the question.

    Args:
        inputs: What the first model call of the run was given.
        top: The outermost spans of the run, which are asked if the model call does not say what it was given.
        question: Of the run.
        in_words: Whether the agent acts in words (ReAct), so that its replies hold its thoughts, too.
    """
    messages = inputs or next((found for span in top if (found := input_messages(span))), ())
    asked = question_places(messages)
    if not asked:
        return ()
    same = (place for place in reversed(asked) if asked_in(messages[place]).strip() == (question or "").strip())
    before = messages[: next(same, asked[-1])]
    if not any(message.role == "assistant" for message in before):
        return ()
    turns: list[tuple[str | None, list[Message]]] = []
    questions = frozenset(asked)
    for place, message in enumerate(before):
        if place in questions:
            turns.append((asked_in(message), []))
        elif message.role == "assistant":
            if not turns:
                turns.append((None, []))  # a greeting
            turns[-1][1].append(message)
    return tuple(Round(number, said, _reply(given, in_words)) for number, (said, given) in enumerate(turns, 1))


def _reply(given: Sequence[Message], in_words: bool) -> str | None:
    """Return the last words of a turn that are not said beside a call."""
    for message in reversed(given):
        if message.calls or not (text := (message.text or "").strip()):
            continue
        return (read_react(text).answer or text) if in_words else message.text
    return None
