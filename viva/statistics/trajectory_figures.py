"""What the figures of trajectories are: rates with their bounds and what could not be judged, and the use of tools."""

from __future__ import annotations

from dataclasses import dataclass

from viva.judge.trajectory import TRAJECTORY_EVALUATORS

COMBINED_STEPS = "combined_steps"
"""Steps whose tool matches their thought, and whose thought matches the query, of all steps judged for both."""
COMBINED_TRACES = "combined_traces"
"""Traces in which every step is right in both, and the sequence is optimal, of all traces judged for all three."""
RATES = (*TRAJECTORY_EVALUATORS, COMBINED_STEPS, COMBINED_TRACES)
"""Names of all rates: those that `--fail-under NAME=RATE` takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """Holds how much of what was judged is right."""

    name: str
    """An evaluator's, `COMBINED_STEPS` or `COMBINED_TRACES`."""
    runs: int = 0
    """Runs that the evaluator was asked about, whatever it said; of a combined rate, those of all that it combines."""
    right: float = 0.0
    """Sum of the scores."""
    judged: int = 0
    """Verdicts with a score."""
    unsure: int = 0
    errors: int = 0
    """What could not be judged: no usable label, say."""
    skipped: int = 0
    """What the evaluator does not judge, such as steps without a thought."""
    failed: int = 0
    """Runs in which the agent failed. What was judged in them is in the rate, but counts as wrong in `low`."""
    failed_right: float = 0.0
    """The part of `right` that is from these runs."""
    failed_unjudged: int = 0
    """Those of these runs in which there was nothing to judge; each counts as one thing that is wrong in `low`."""

    @property
    def value(self) -> float | None:
        """The rate, in [0, 1]; None if nothing was judged."""
        return self.right / self.judged if self.judged else None

    @property
    def low(self) -> float | None:
        """The rate if everything unsure or not judged, and every run in which the agent failed, were wrong; what gates
        compare. None if there is nothing to compare.
        """
        bounded = self.judged + self.unsure + self.errors + self.failed_unjudged
        return (self.right - self.failed_right) / bounded if self.judged or self.failed_unjudged else None

    @property
    def high(self) -> float | None:
        """The rate if everything unsure or not judged were right."""
        left_open = self.unsure + self.errors
        return (self.right + left_open) / (self.judged + left_open) if self.judged else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """Holds how often a tool was called, and how often it succeeded."""

    tool: str
    """Hostile text like all that a recording says."""
    uses: int
    succeeded: int = 0
    failed: int = 0
    """Uses that are in neither were not judged, or their result was not recorded."""

    @property
    def success(self) -> float | None:
        """The share of uses with a known end that succeeded; None if none has."""
        known = self.succeeded + self.failed
        return self.succeeded / known if known else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Holds how often an evaluator of whole trajectories says the same as the recorded reward."""

    name: str
    """The evaluator's."""
    both_right: int = 0
    """Runs that both call right: a score and a reward of 1."""
    both_wrong: int = 0
    evaluator_alone: int = 0
    """Runs that the evaluator alone calls right."""
    reward_alone: int = 0

    @property
    def runs(self) -> int:
        """Runs that have both."""
        return self.both_right + self.both_wrong + self.evaluator_alone + self.reward_alone

    @property
    def value(self) -> float | None:
        """The share of runs in which they agree; None if there are none."""
        return (self.both_right + self.both_wrong) / self.runs if self.runs else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: agreement beyond chance; None if chance alone would agree always."""
        runs = self.runs
        if not runs or self.value is None:
            return None
        evaluator, reward = self.both_right + self.evaluator_alone, self.both_right + self.reward_alone
        chance = (evaluator * reward + (runs - evaluator) * (runs - reward)) / runs**2
        return None if chance == 1 else (self.value - chance) / (1 - chance)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryFigures:
    """Holds the figures of some runs."""

    agent: str | None = None
    """None for all runs."""
    runs: int = 0
    """Runs with an insight of any trajectory evaluator."""
    rates: tuple[Rate, ...] = ()
    """One for each evaluator that judged, then the combined ones where both or all three did."""
    tools: tuple[ToolUse, ...] = ()
    """Most used first; steps without a tool are not among them."""
    agreements: tuple[Agreement, ...] = ()
    """One for each evaluator of whole trajectories, where runs have a recorded reward besides."""

    def rate(self, name: str) -> Rate | None:
        """Return a rate by its name."""
        return next((each for each in self.rates if each.name == name), None)
