"""Prints figures next to their budgets."""

from __future__ import annotations

from dataclasses import dataclass

IDEAL = "of ideal"
"""The share of the time that waiting alone would take."""
SPEED = frozenset({"us", "ms", "s", "runs/s", IDEAL})
"""Units of figures that depend on the speed of the machine."""


@dataclass(frozen=True)
class Figure:
    """A measured figure."""

    name: str
    value: float
    unit: str
    budget: float | None = None
    at_least: bool = False
    """The budget is a lower bound."""
    note: str = ""
    reference: bool = False
    """The figure is shown for orientation only: another program, the physical part, a quotient or a difference of other
    figures, or the tail of a few samples. Two states are not compared by it."""

    @property
    def absolute(self) -> bool:
        """Return whether the value depends on the speed of the machine."""
        return self.unit in SPEED

    @property
    def kept(self) -> bool | None:
        """Return whether the budget is met; None without a budget."""
        if self.budget is None:
            return None
        return self.value >= self.budget if self.at_least else self.value <= self.budget


def show(title: str, figures: list[Figure]) -> None:
    """Print a block of figures."""
    print(f"\n{title}")
    for figure in figures:
        sign = ">=" if figure.at_least else "<="
        budget = "" if figure.budget is None else f"budget {sign} {figure.budget:g} {figure.unit}"
        mark = {True: "met", False: "MISSED", None: ""}[figure.kept]
        print(f"  {figure.name:<58} {figure.value:>9.4g} {figure.unit:<8} {budget:<24} {mark:<7} {figure.note}")
