"""Checks gates before the first run: whether what they compare will exist, so that no run is spent on a mistake."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

from viva.errors import SetupError
from viva.judge.loaded_evaluator import LoadedEvaluator
from viva.judge.trajectory import QUERY_TO_THOUGHT, SEQUENCE, THOUGHT_TO_TOOL
from viva.records.text import one_line
from viva.statistics.summary import Figures
from viva.statistics.trajectory_figures import COMBINED_STEPS, COMBINED_TRACES, RATES
from viva.suites.gates import Gates, case_lows

COMBINED = {
    COMBINED_STEPS: (THOUGHT_TO_TOOL, QUERY_TO_THOUGHT),
    COMBINED_TRACES: (THOUGHT_TO_TOOL, QUERY_TO_THOUGHT, SEQUENCE),
}
"""The evaluators that each combined rate requires."""
NAMES_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGates:
    """The gates that a command was given, before anything was run."""

    floors: Gates = field(default_factory=Gates)
    """The values of `--fail-under`."""
    drops: Gates = field(default_factory=Gates)
    """The values of `--max-drop`."""
    baseline: Figures | None = None
    """The value of `--baseline`."""

    @property
    def evaluators(self) -> tuple[str, ...]:
        """Return the names of evaluators and combined rates that have a gate."""
        return tuple(dict.fromkeys((*self.floors.evaluators, *self.drops.evaluators)))

    def check_baseline(self, planned: Mapping[str, Collection[str]]) -> None:
        """Check that the baseline holds what the gates will compare.

        Args:
            planned: The names of the cases or tasks, by agent.

        Raises:
            SetupError: it has no case in common with the runs of an agent, or no score by an evaluator with a gate.
        """
        if self.baseline is None:
            return
        for name in (*([None] if self.drops.primary is not None else []), *self.drops.evaluators):
            if name in RATES:
                rate = self.baseline.trajectories.rate(name) if self.baseline.trajectories and name else None
                if rate is None or rate.low is None:
                    raise SetupError(f"--max-drop {name}: the baseline has no rate by {name}. {REMEDY}")
                continue
            before = case_lows(self.baseline, name)
            if name is not None and not before:
                raise SetupError(
                    f"--max-drop {one_line(name, 80)}: the baseline has no score by this evaluator. {REMEDY}"
                )
            _refuse_nothing_in_common(planned, before)


NO_GATES = PlannedGates()
REMEDY = "Name another journal with --baseline."


def _refuse_nothing_in_common(
    planned: Mapping[str, Collection[str]], before: Mapping[str, Mapping[str, float]]
) -> None:
    """Refuse a baseline without a case in common: for an agent that both have, or in all if they share no agent."""
    agents = sorted(before.keys() & planned.keys())
    pairs = [(f" of {one_line(agent, 80)}", set(before[agent]), set(planned[agent])) for agent in agents]
    if not agents:
        pairs = [("", {name for cases in before.values() for name in cases}, set().union(*planned.values()))]
    for whose, old, new in pairs:
        if not old & new:
            words = f"the baseline has no case{whose} in common with these runs: it has {_shown(old)}, they have"
            raise SetupError(f"{words} {_shown(new)}. {REMEDY}")


def _shown(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = f" and {len(ordered) - NAMES_SHOWN} more" if len(ordered) > NAMES_SHOWN else ""
    return (", ".join(one_line(name, 60) for name in ordered[:NAMES_SHOWN]) or "none") + more


def refuse_unprovided(gated: Iterable[str], evaluators: Mapping[str, LoadedEvaluator]) -> None:
    """Refuse gates on evaluators that do not judge.

    Args:
        gated: The names that have a gate.
        evaluators: The evaluators that judge, by their names in the options.

    Raises:
        SetupError: a gate's evaluator, or one that a combined rate requires, is not among them.
    """
    names = [each.name for each in evaluators.values()]
    for name in gated:
        if all(needed in names for needed in COMBINED.get(name, (name,))):
            continue
        shown = one_line(name, 80)
        if name in COMBINED:
            raise SetupError(
                f"the gate on {shown} requires the evaluators {', '.join(COMBINED[name])}, and those of this command "
                f"are {', '.join(names)}. Name them with --evaluators, or correct the gate."
            )
        near = [evaluators[name].name] if name in evaluators else difflib.get_close_matches(name, names, 1)
        hint = f"Did you mean {one_line(near[0], 80)}?" if near else "Add it to --evaluators, or correct the gate."
        known = ", ".join(one_line(each, 80) for each in names)
        raise SetupError(
            f"there is a gate on the evaluator {shown!r}, which does not judge these runs: the evaluators are {known}. "
            f"{hint}"
        )
