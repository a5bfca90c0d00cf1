"""Says which agent of a report is ahead, and whether the cases are enough to tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from viva.records.wording import counted
from viva.statistics.clustered import paired_interval
from viva.statistics.groups import FEWEST_CASES, Group
from viva.statistics.scores import LAST_BIT
from viva.statistics.summary import Figures


@dataclass(frozen=True, slots=True)
class Lead:
    """Who is ahead."""

    headline: str
    detail: str


def ranked(agents: Sequence[Group]) -> list[Group]:
    """Return agents with the highest mean score first; those without a score come last."""
    return sorted(agents, key=lambda agent: -1.0 if agent.mean is None else agent.mean, reverse=True)


def lead_of(figures: Figures, labels: Mapping[str, str]) -> Lead | None:
    """Compare the agent with the highest mean score with the next one, over the cases that both have.

    Args:
        figures: The statistics of all runs.
        labels: A short name for each agent.

    Returns:
        None if fewer than two agents have a score.
    """
    scored = [agent for agent in ranked(figures.agents) if agent.mean is not None]
    if len(scored) < 2:
        return None
    pairs = _common(figures.cells, scored[0].name, scored[1].name)
    names = labels[scored[0].name], labels[scored[1].name]
    if not pairs:
        scores = f"{scored[0].mean:.2f} against {scored[1].mean:.2f} of {names[1]}"
        return Lead(f"{names[0]} has the highest score", f"{scores}; they have no case in common.")
    if fmean(one - other for one, other in pairs) < 0:
        # Over the cases that both have, the order may be the other one.
        pairs, names = [(other, one) for one, other in pairs], (names[1], names[0])
    return _compared(names, pairs, sum(abs((each.mean or 0) - (scored[0].mean or 0)) <= LAST_BIT for each in scored))


def _compared(names: tuple[str, str], pairs: Sequence[tuple[float, float]], level: int) -> Lead:
    best, next_best = names
    means = fmean(one for one, _ in pairs), fmean(other for _, other in pairs)
    over = f"over {counted(len(pairs), 'case')}"
    if means[0] - means[1] <= LAST_BIT:
        who = f"{best} and {next_best}" if level <= 2 else f"{level} agents"
        return Lead(f"{who} are tied", f"{means[0]:.2f} each {over}.")
    change = f"{means[0]:.2f} against {means[1]:.2f} of {next_best}, a difference of {means[0] - means[1]:+.2f} {over}"
    if len(pairs) < FEWEST_CASES:
        return Lead(f"{best} has the highest score", f"{change}; intervals need at least {FEWEST_CASES} cases.")
    interval = paired_interval([round(one - other, 12) for one, other in pairs])
    ends = f"95 % interval {interval.low:+.2f} to {interval.high:+.2f}"
    if interval.low > 0:
        return Lead(f"{best} is ahead", f"{change} ({ends}).")
    return Lead("No agent is clearly ahead", f"{best} has {change} ({ends}): no significant difference.")


def _common(cells: Sequence[Group], first: str, second: str) -> list[tuple[float, float]]:
    """Return the mean scores of both agents in each case that both have."""
    means = {(cell.agent, cell.case): cell.mean for cell in cells if cell.mean is not None}
    cases = [case for agent, case in means if agent == first and (second, case) in means]
    return [(means[first, case], means[second, case]) for case in cases]
