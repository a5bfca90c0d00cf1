"""Gates on the rates of trajectories: by the low bound, in which everything unsure or not judged counts as wrong."""

from __future__ import annotations

from viva.records.text import one_line
from viva.records.wording import counted
from viva.statistics.scores import passes
from viva.statistics.summary import Figures
from viva.statistics.trajectory_figures import TrajectoryFigures


def rates_below(figures: Figures, name: str, floor: float) -> list[str]:
    """Return the agents whose rate is below a floor; one of which nothing was judged is told by `rate_missing`."""
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
