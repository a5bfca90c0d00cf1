"""Gates on rates: those of trajectories, and the examiner's faults.

Rates of trajectories are compared by the low bound, in which everything unsure or not judged counts as wrong.
"""

from __future__ import annotations

from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.records.text import one_line
from viva.records.wording import counted
from viva.statistics.scores import LAST_BIT, passes
from viva.statistics.summary import Figures
from viva.statistics.trajectory_figures import TrajectoryFigures

FAULTS_OPTION = "--max-examiner-faults"


def rates_below(figures: Figures, name: str, floor: float) -> list[str]:
    """Return the agents whose rate is below a floor; `rate_missing` returns those of which nothing was judged."""
    words = []
    for agent, low in _lows(figures, name).items():
        if not passes(low, floor):
            whose = f" of {one_line(agent, 80)}" if len(figures.trajectory_agents) > 1 else ""
            words.append(f"the rate{whose} by {name} (low bound) is {low:.4f}, below {floor:g}")
    return words


def rates_dropped(figures: Figures, baseline: Figures, name: str, max_drop: float) -> list[str]:
    """Compare each agent with itself if both journals have it, and all runs of both otherwise."""
    now, before = _lows(figures, name), _lows(baseline, name)
    if not now:
        return []
    both = sorted(now.keys() & before.keys())
    if both:
        pairs = [(f" of {one_line(agent, 80)}", before[agent], now[agent]) for agent in both]
    else:
        old, new = (each.trajectories.rate(name) if each.trajectories else None for each in (baseline, figures))
        if old is None or old.low is None or new is None or new.low is None:
            return [f"the baseline has no rate by {name}"]
        pairs = [("", old.low, new.low)]
    return [
        f"the rate{whose} by {name} fell from {old:.4f} to {new:.4f}, by more than {max_drop:g}"
        for whose, old, new in pairs
        if not passes(new, old - max_drop)
    ]


def rate_missing(figures: Figures, name: str) -> str:
    """Return what could not be judged for a rate with a gate; empty if everything was."""
    words = []
    for each in figures.trajectory_agents or (TrajectoryFigures(),):
        rate = each.rate(name)
        whose = f" of {one_line(each.agent or '', 80)}" if len(figures.trajectory_agents) > 1 else ""
        if rate is None:
            words.append(f"{name} judged no run{whose}")
        elif rate.value is None:
            left = rate.unsure + rate.errors + rate.skipped
            words.append(f"{name} judged nothing{whose}: {counted(left, 'verdict')} without a score")
        elif rate.errors:
            words.append(f"{name} could not judge everything{whose}: {counted(rate.errors, 'error')}")
    return "; ".join(words)


def _lows(figures: Figures, name: str) -> dict[str, float]:
    """The low bound of the rate of each agent of which anything was judged."""
    rates = ((each.agent or "", each.rate(name)) for each in figures.trajectory_agents)
    return {agent: rate.low for agent, rate in rates if rate is not None and rate.low is not None}


def faults_above(figures: Figures, most: float | None) -> list[str]:
    """Return in words that the examiner was at fault too often; empty if it was not, or without a gate.

    Args:
        figures: The statistics.
        most: The maximum fault rate, in [0, 1]; None without a gate.
    """
    examiner = figures.examiner
    if most is None or examiner is None or examiner.rate is None or examiner.rate <= most + LAST_BIT:
        return []
    exams = f"{examiner.unfair} of {counted(examiner.exams, 'exam')}"
    return [f"the examiner was at fault in {exams}, a rate of {examiner.rate:.4f}, above {most:g}"]


def faults_missing(figures: Figures, most: float | None) -> list[str]:
    """Return in words that the gate has nothing to compare; empty if it has, or without a gate."""
    if most is None or figures.examiner is not None:
        return []
    when = "it is judged if a model examines, or with --evaluators exam"
    return [f"{FAULTS_OPTION}: the examiner was judged in no exam; {when}"]


def gate_on_examiner(figures: Figures, most: float | None) -> tuple[int, str]:
    """Return the exit code of this gate alone, and the reason in words (empty for 0)."""
    if above := faults_above(figures, most):
        return EXIT_BELOW, above[0]
    missing = faults_missing(figures, most)
    return (EXIT_NOT_SCORED, missing[0]) if missing else (EXIT_DONE, "")
