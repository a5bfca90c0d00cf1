"""Which stored conversations a command did not use, and the words for them."""

from __future__ import annotations

from dataclasses import dataclass, field

from viva.records.wording import counted


@dataclass(slots=True)
class LeftOut:
    """The stored conversations that were left out, by reason."""

    not_ended: list[str] = field(default_factory=list)
    """Ids of the runs whose conversations never ended."""
    gaps: dict[str, str] = field(default_factory=dict)
    """The missing rounds of runs, in words, by run id."""
    broken_off: int = 0
    """Number of conversations that broke off before every question was asked, so that no other agent is asked the
    rest."""

    @property
    def number(self) -> int:
        """Return how many there are."""
        return len(self.not_ended) + len(self.gaps) + self.broken_off

    @property
    def words(self) -> str:
        """Return how many were left out for each reason; empty if none were."""
        reasons = (
            (len(self.not_ended), "did not end"),
            (len(self.gaps), "had missing rounds"),
            (self.broken_off, "broke off before every question was asked"),
        )
        return ", ".join(f"{counted(number, 'conversation')} {why}" for number, why in reasons if number)
