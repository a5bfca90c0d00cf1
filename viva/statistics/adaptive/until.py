"""What an adaptive suite is to decide: a precise score, a comparison of two agents, or a gate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from statistics import NormalDist

from viva.errors import SetupError
from viva.records.text import one_line
from viva.statistics.intervals import CONFIDENCE

MARGIN = 0.05
"""The margin if none is given."""
POWER = 0.95
"""The power of the fixed design that a gate is compared with: it is as reliable at the margin as the gate is."""
FORMS = "ci=HALF-WIDTH, compare, or gate=SCORE"
Z = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2)


class Aim(StrEnum):
    """The kinds of decisions."""

    CI = "ci"
    COMPARE = "compare"
    GATE = "gate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Until:
    """A decision that a suite is run for."""

    aim: Aim
    value: float = 0.0
    """The half width of the interval, or the score of the gate."""
    margin: float = MARGIN
    """A difference of two scores, or the distance of a score from the gate, that need not be told from 0."""

    def __str__(self) -> str:
        return self.aim.value if self.aim is Aim.COMPARE else f"{self.aim.value}={self.value:g}"

    @property
    def information(self) -> float:
        """Return 1 / variance of the estimate at which the decision is due: the last look.

        With it, an interval has the half width; a difference is either told from 0 or shown to be below the margin;
        and a score that is farther from the gate than the margin is told from it with the power of `POWER`.
        """
        if self.aim is Aim.CI:
            return (Z / self.value) ** 2
        if self.aim is Aim.COMPARE:
            return (2 * Z / self.margin) ** 2
        return ((Z + NormalDist().inv_cdf(POWER)) / self.margin) ** 2

    def fixed_trials(self, cases: int, variance: float | None = None) -> int:
        """Return the trials of each case, and of each agent, of a suite of fixed size with the same error.

        Args:
            cases: The number of cases.
            variance: The variance of a trial's score, averaged over cases. None if it is not known when the suite is
                planned: then the largest possible one, as for scores that are only 0 or 1.
        """
        if variance is None:
            variance = self.value * (1 - self.value) if self.aim is Aim.GATE else 0.25
        agents = 2 if self.aim is Aim.COMPARE else 1
        return max(1, math.ceil(agents * variance * self.information / cases - 1e-9))


def parse_until(text: str, margin: float | None = None) -> Until:
    """Return the decision that an option names.

    Args:
        text: `ci=0.05`, `compare` or `gate=0.9`.
        margin: Of a comparison or gate; None for the default.

    Raises:
        SetupError: it is none, or its number is not possible.
    """
    name, equals, number = text.strip().partition("=")
    shown = one_line(text, 60)
    if name not in tuple(Aim) or bool(equals) != (name != Aim.COMPARE):
        raise SetupError(f"--until {shown!r} is not a decision; use {FORMS}.")
    aim = Aim(name)
    value = 0.0
    if equals:
        try:
            value = float(number)
        except ValueError:
            raise SetupError(f"--until {shown}: {one_line(number, 40)!r} is not a number.") from None
        if aim is Aim.CI and not 0.001 <= value < 0.5:
            raise SetupError(
                f"--until {shown}: the half width must be at least 0.001 and below 0.5; the interval "
                "from 0 to 1, which says nothing, has 0.5."
            )
        if aim is Aim.GATE and not 0 < value < 1:
            raise SetupError(f"--until {shown}: the gate must be between 0 and 1, without these: no number of trials "
                             "shows that a score is surely above 1 or below 0.")  # fmt: skip
    if margin is not None:
        if aim is Aim.CI:
            raise SetupError("--margin is for --until compare and --until gate=SCORE; ci has its half width.")
        if not 0.001 <= margin < 1:
            raise SetupError(f"--margin {margin:g}: it must be at least 0.001 and below 1.")
    return Until(aim=aim, value=value, margin=MARGIN if margin is None else margin)
