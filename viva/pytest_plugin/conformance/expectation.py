"""What a check raises: it differs from what was expected, or it does not apply to this agent."""

from __future__ import annotations

from viva.records.text import printable

SHOWN = 1000


class Differs(Exception):
    """Something else came than what was expected."""

    def __init__(self, expected: str, came: str, *, after: str = "") -> None:
        """Args:
        expected: What was promised.
        came: What came instead; hostile text is made harmless where it is shown.
        after: What was done before, usually the message.
        """
        super().__init__(expected, came, after)
        self.expected, self.came, self.after = expected, came, after

    def text(self) -> str:
        """Return the lines for the user."""
        lines = [("after", self.after), ("expected", self.expected), ("came", self.came)]
        return "\n".join(f"{name + ':':<10}{_shown(words)}" for name, words in lines if words)


class DoesNotApply(Exception):
    """The agent cannot be asked for this, so the check is skipped."""


def expect(holds: bool, expected: str, came: object, *, after: str = "") -> None:
    """Check one expectation.

    Raises:
        Differs: it does not hold.
    """
    if not holds:
        raise Differs(expected, came if isinstance(came, str) else repr(came), after=after)


def quoted(text: str) -> str:
    """Return a reply as it is shown in `came`: with its length if it is long or empty."""
    if not text:
        return "an empty reply"
    head = repr(text[:SHOWN])
    return f"{head}… ({len(text):,} characters)" if len(text) > SHOWN else head


def _shown(words: str) -> str:
    return printable(words, 4 * SHOWN).replace("\n", "\n          ")
