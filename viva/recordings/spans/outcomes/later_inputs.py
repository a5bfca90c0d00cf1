"""Finds what came of a call in the input of the model calls that follow."""

from __future__ import annotations

from viva.recordings.react import ReactText, observation_in, read_react
from viva.recordings.spans.messages import RequestedCall
from viva.recordings.spans.model_calls import ModelCall
from viva.recordings.spans.questions import complaint_in


class LaterAnswers:
    """The results in the input of one model call."""

    def __init__(self, later: ModelCall) -> None:
        self._by_id = {
            identity: text for message in later.inputs for identity, text in message.answers if identity is not None
        }
        """The newest of each id, because ids may be reused."""
        last = max((place for place, message in enumerate(later.inputs) if message.role == "assistant"), default=-1)
        self._after = [answer for message in later.inputs[last + 1 :] for answer in message.answers]
        """The runs after the agent's last words."""

    def find(self, call: RequestedCall, number: int) -> str | None:
        """Return the result of a call: by its id, or else by its number among the calls that were asked for."""
        if call.id is not None:
            return self._by_id.get(call.id)
        after = self._after
        return after[number][1] if number < len(after) and after[number][0] is None else None


def after_words(later: ModelCall, text: str, read: dict[str, ReactText]) -> tuple[str | None, str | None]:
    """Return what follows an agent's words in the input of a later model call.

    Returns:
        The observation and the parser's complaint; None for each that is not there.
    """
    words = text.strip()
    messages = later.inputs
    for place in range(len(messages) - 1, -1, -1):
        said = messages[place]
        if said.role == "assistant" and place + 1 < len(messages) and _same_words(said.text or "", words, read):
            back = messages[place + 1]
            follows = back.text if back.text is not None else back.answers[0][1] if back.answers else ""
            complaint = complaint_in(follows)
            if complaint is not None:
                return None, complaint
            observed = observation_in(follows)
            return (observed if observed is not None else follows if back.answers else None), None
    if len(messages) == 1 and words and words in (messages[0].text or ""):
        follows = (messages[0].text or "").rpartition(words)[2]
        complaint = complaint_in(follows)
        return (None, complaint) if complaint is not None else (_scratchpad(follows), None)
    return None, None


def _same_words(said: str, words: str, read: dict[str, ReactText]) -> bool:
    """Return whether an agent's words are those of an earlier turn; LlamaIndex writes the input of an action anew.

    `read` keeps what was read: each model call is given all earlier turns again.
    """
    if said.strip() == words:
        return True
    for each in (said, words):
        if each not in read:
            read[each] = read_react(each)
    one, other = read[said], read[words]
    return one.tool is not None and (one.tool, one.thought) == (other.tool, other.thought)


def _scratchpad(follows: str) -> str | None:
    """Return the observation that follows an agent's words in a prompt that holds all of them."""
    observed = observation_in(follows)
    if observed is None:
        return None
    cut = min(
        (at for mark in ("\nThought:", "\nAction:", "\nassistant:", "\nuser:") if (at := observed.find(mark)) >= 0),
        default=None,
    )
    return observed[:cut].strip()
