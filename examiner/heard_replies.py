"""What the model examiner hears of the agent's replies: all of them within one budget, so that none fills its context.

An agent that could fill it, or say what a provider's filter refuses, would end its exam as a failure of the provider
whenever it liked, and leave the averages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from viva.records.text import printable

REPLY_SHOWN = 20_000
"""Maximum number of characters of one reply that the examiner reads, as it reads them: escapes count."""
REPLIES_SHOWN = 200_000
"""Maximum number of characters of all replies, about; if there are more, older replies are shortened."""
LEFT_FREE = 50_000
"""Number of characters that are free again after older replies were shortened."""
OLDER_SHOWN = (1_000, 200)
"""Maximum number of characters of an older reply, and if that is not enough."""
BRIEF = 500
"""Maximum number of characters of any reply if the provider refuses longer ones."""

NOT_SHOWN = (
    "this reply of the agent is not shown, because your model's provider refuses it. Go on with what the task asks for."
)


@dataclass(slots=True)
class HeardReply:
    """One reply in the examiner's conversation."""

    reply: str
    """As the agent gave it."""
    place: int
    """Its place in the conversation with the model."""
    notices: tuple[str, ...]
    """What the examiner was told with it."""
    words: str
    """What the model is sent: as much of the reply as is shown, and the notices."""
    size: int
    """The number of characters of the reply that are shown."""


class HeardReplies:
    """The replies that the examiner heard. They are shortened in place, and `rewrite` is told each time."""

    def __init__(self, notice: Callable[[str], str], rewrite: Callable[[HeardReply], None]) -> None:
        """Args:
        notice: Writes a notice to the model that the agent cannot imitate.
        rewrite: Puts the words of a reply in the place of its earlier ones.
        """
        self._notice = notice
        self._rewrite = rewrite
        self._replies: list[HeardReply] = []
        self._size = 0
        self._most = REPLIES_SHOWN
        self.shortened = False
        """Whether older replies were shortened, because all were too long together."""

    @property
    def first_place(self) -> int | None:
        """Return the place of the first reply in the conversation with the model; None if there is none."""
        return self._replies[0].place if self._replies else None

    def add(self, reply: str, place: int, notices: Iterable[str] = ()) -> str:
        """Return the words for a new reply, which make room for themselves."""
        heard = HeardReply(reply, place, tuple(notices), "", 0)
        self._show(heard, REPLY_SHOWN)
        self._replies.append(heard)
        if self._size > self._most:
            for most in OLDER_SHOWN:
                self.shortened |= self._shorten_until(REPLIES_SHOWN - LEFT_FREE, self._replies[:-1], most)
            self._most = max(REPLIES_SHOWN, self._size + LEFT_FREE)
        return heard.words

    def in_fewer_words(self) -> Iterator[str]:
        """Shorten what is heard step by step, for a provider that refused it; yield each time what is left, in words.

        All replies are cut short, then the last one is left out, then all of them.
        """
        if self._shorten_until(0, self._replies, BRIEF):
            yield f"only the first {BRIEF} characters of each"
        if self._shorten_until(0, self._replies[-1:], 0):
            yield "nothing of the last one"
        if self._shorten_until(0, self._replies, 0):
            yield "none of them"

    def _shorten_until(self, size: int, replies: Iterable[HeardReply], most: int) -> bool:
        """Shorten replies, the oldest first, until all together are short enough; return whether any was shortened."""
        shortened = False
        for heard in replies:
            if self._size <= size:
                break
            if heard.size > most:
                self._show(heard, most)
                self._rewrite(heard)
                shortened = True
        return shortened

    def _show(self, heard: HeardReply, most: int) -> None:
        shown, length = beginning(heard.reply, most)
        if not heard.reply.strip():
            lines, shown = [self._notice("the agent replied with an empty message.")], ""
        elif length == len(heard.reply):
            lines = [shown]
        elif not shown:
            lines = [self._notice(NOT_SHOWN)]
        else:
            more = f"{len(heard.reply) - length:,} more characters of this reply are not shown."
            lines = [shown, self._notice(more)]
        self._size += len(shown) - heard.size
        heard.words, heard.size = "\n".join([*lines, *heard.notices]), len(shown)


def beginning(reply: str, most: int) -> tuple[str, int]:
    """Return the beginning of a reply as a model reads it, and how many characters of the reply it is.

    Invisible characters and those that reorder text are escaped. An escape has up to ten characters, so the limit holds
    for what is read, not for what was written.

    Args:
        reply: What the agent wrote.
        most: Maximum number of characters of the beginning.
    """
    length = min(len(reply), most)
    shown = printable(reply[:length])
    while len(shown) > most:
        length = length * most // len(shown)
        shown = printable(reply[:length])
    return shown, length
