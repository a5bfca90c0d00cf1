"""Draws a page's plots as inline SVG: intervals, score against cost, trials. The style sheet defines the colours."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from markupsafe import Markup

from viva.reports.facts import Standing
from viva.statistics.groups import Group
from viva.statistics.intervals import Interval
from viva.statistics.over_time.trend import DrawnPoint
from viva.statistics.scores import LAST_BIT
from viva.statistics.summary import Figures

SERIES = 8
"""Number of colours; further agents share the last one."""
WIDTH, HEIGHT = 440, 264
LEFT, RIGHT, TOP, BOTTOM = 40, 14, 14, 40
MOST_POINTS = 600
MOST_DOTS = 100
"""Maximum number of dots on one line; with more trials, only the line is drawn."""
MOST_MARKS = 24
"""Maximum number of trials that are drawn in a cell; of more trials, the first ones are drawn."""


@dataclass(frozen=True, slots=True)
class Plot:
    """A drawing, and its contents in words."""

    title: str
    svg: Markup
    note: str
    """The text below the drawing."""
    legend: tuple[tuple[int, str], ...] = ()
    """The colour number and the name of each agent."""


def bar(mean: float | None, interval: Interval | None, low: float | None = None, high: float | None = None) -> Markup:
    """Draw a mean with its interval on a line from 0 to 1, as wide as its column; a paler bar spans open verdicts."""
    if mean is None:
        return Markup("")
    parts = [Markup('<line class="axis" x1="0" x2="100" y1="8" y2="8"/>')]
    if low is not None and high is not None and high - low > LAST_BIT:
        parts.append(_element("rect", "open", x=low * 100, y=2, width=(high - low) * 100, height=12))
    if interval is not None:
        parts.append(_element("rect", "whisker", x=interval.low * 100, y=6, width=_span(interval) * 100, height=4))
    parts.append(_element("line", "mean", x1=mean * 100, x2=mean * 100, y1=1, y2=15))
    words = f"{mean:.3f}" + (f", 95 % interval {interval.low:.2f} to {interval.high:.2f}" if interval else "")
    head = Markup('<svg class="bar" viewBox="0 0 100 16" preserveAspectRatio="none" role="img" aria-label="{}">')
    return head.format(words) + Markup("").join([*parts, Markup("</svg>")])


def marks(standings: Sequence[Standing], most: int = MOST_MARKS) -> Markup:
    """Draw one mark for each of the first trials: a disc passed, a ring failed, a dash is excluded."""
    shown = standings[:most]
    parts = [_mark(position, standing) for position, standing in enumerate(shown)]
    width = len(shown) * 9 + 1
    head = Markup('<svg class="marks" width="{0}" height="10" viewBox="0 0 {0} 10" aria-hidden="true">')
    return head.format(width) + Markup("").join([*parts, Markup("</svg>")])


@cache
def _mark(position: int, standing: Standing) -> Markup:
    x = position * 9 + 5
    if standing is Standing.PASSED:
        return _element("circle", "passed", cx=x, cy=5, r=3.5)
    if standing is Standing.FAILED:
        return _element("circle", "failed", cx=x, cy=5, r=2.9)
    return _element("rect", "excluded", x=x - 3.5, y=4, width=7, height=2)


def sparkline(points: Sequence[DrawnPoint]) -> Markup:
    """Draw means from 0 to 1 over time; an upright line stands where a new agent version begins."""
    width = max(1, len(points) - 1)
    parts = []
    for number, point in enumerate(points):
        if number and point.version != points[number - 1].version:
            x = (number - 0.5) * 100 / width
            parts.append(_element("line", "version", x1=x, x2=x, y1=0, y2=24))
    spots = [(number * 100 / width, 22 - point.mean * 20) for number, point in enumerate(points)]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in spots)
    parts.append(Markup('<polyline class="line" points="{}"/>').format(line))
    parts.append(_element("circle", "last", cx=spots[-1][0], cy=spots[-1][1], r=2.5))
    words = ", ".join(f"{point.mean:.2f}" for point in points)
    head = Markup('<svg class="spark" viewBox="-3 -1 106 26" role="img" aria-label="{}">').format(words)
    return head + Markup("").join(parts) + Markup("</svg>")


def score_against_cost(figures: Figures, labels: Mapping[str, str]) -> Plot | None:
    """Draw the mean score against dollars per run, or tokens or seconds without cost; agents have large marks."""
    groups = [group for group in (*figures.agents, *figures.cells) if group.mean is not None]
    measure, unit, what = _measure(groups)
    agents = [group.name for group in figures.agents]
    cells = [group for group in figures.cells if _is_drawable(group, measure)][:MOST_POINTS]
    totals = [group for group in figures.agents if _is_drawable(group, measure)]
    if len(cells) < 2:
        return None
    top = _nice_top(max(measure(group) or 0.0 for group in (*cells, *totals)))
    parts = [_frame(unit, "score", [(top * i / 4, _short(top * i / 4)) for i in range(5)], top)]
    for group in cells:
        x, y = _x((measure(group) or 0.0) / top), _y(group.mean or 0.0)
        parts.append(_element("circle", f"s{_colour(agents, group.agent)} faint", cx=x, cy=y, r=3))
    for group in totals:
        x, colour = _x((measure(group) or 0.0) / top), _colour(agents, group.name)
        if group.mean_interval is not None and not group.too_few:
            ends = {"y1": _y(group.mean_interval.low), "y2": _y(group.mean_interval.high)}
            parts.append(_element("line", f"s{colour} thick", x1=x, x2=x, **ends))
        parts.append(_element("circle", f"s{colour} ringed", cx=x, cy=_y(group.mean or 0.0), r=6))
    words = "; ".join(
        f"{labels[g.name]}: score {g.mean:.3f} at {_short(measure(g) or 0.0)} {unit}" for g in totals[:12]
    )
    note = "Large: an agent's mean with its 95 % interval. Small: each of its cases."
    if measure is _known_tokens and not all(group.tokens_known for group in groups):
        note += " Those of which some tokens were not reported are left out."
    return Plot(f"Score against {what}", _svg(parts, words), note, _legend(agents, labels))


def over_trials(figures: Figures, labels: Mapping[str, str]) -> Plot | None:
    """Draw pass^k (all of k trials pass) and pass@k (at least one passes) against k; None with a single trial."""
    agents = [group.name for group in figures.agents]
    drawn = [group for group in figures.agents if len(group.pass_hat_k) > 1]
    if not drawn:
        return None
    most = max(max(group.pass_hat_k) for group in drawn)
    step = max(1, math.ceil((most - 1) / 7))
    ticks = [((k - 1) / (most - 1), str(k)) for k in range(1, most + 1, step)]
    parts = [_frame("trials k", "share", ticks, 1.0)]
    for group in drawn:
        colour = _colour(agents, group.name)
        for kind, by_k in (("all", group.pass_hat_k), ("any", group.pass_at_k)):
            points = " ".join(f"{_x((k - 1) / (most - 1)):.1f},{_y(v):.1f}" for k, v in sorted(by_k.items()))
            parts.append(Markup('<polyline class="s{} line {}" points="{}"/>').format(colour, kind, points))
        for k, value in group.pass_hat_k.items() if most <= MOST_DOTS else ():
            parts.append(_element("circle", f"s{colour}", cx=_x((k - 1) / (most - 1)), cy=_y(value), r=3))
    words = "; ".join(
        f"{labels[g.name]}: pass^{max(g.pass_hat_k)} {g.pass_hat_k[max(g.pass_hat_k)]:.3f}" for g in drawn
    )
    note = "Solid: all of k trials pass (pass^k). Dashed: at least one of k trials passes (pass@k)."
    return Plot("Trials", _svg(parts, words), note, _legend(agents, labels))


def _measure(groups: Sequence[Group]) -> tuple[Callable[[Group], float | None], str, str]:
    """Return the available measure of cost: dollars if all prices are known, else tokens, else seconds.

    A group of which some tokens were not reported has no place among others: what is known is a lower bound.
    """
    if any(group.cost_mean for group in groups) and all(group.cost_mean is not None for group in groups):
        return (lambda group: group.cost_mean), "US dollars per run", "cost"
    if any(map(_known_tokens, groups)):
        return _known_tokens, "tokens per run", "tokens"
    return (lambda group: group.seconds_mean), "seconds per run", "time"


def _known_tokens(group: Group) -> float | None:
    return group.tokens_mean if group.tokens_known else None


def _is_drawable(group: Group, measure: Callable[[Group], float | None]) -> bool:
    """Return whether a group can be drawn; the costs in an untrusted journal may not be finite."""
    value = measure(group)
    return group.mean is not None and value is not None and math.isfinite(value) and math.isfinite(group.mean)


def _frame(x_name: str, y_name: str, ticks: Sequence[tuple[float, str]], top: float) -> Markup:
    parts = []
    for score in (0.0, 0.25, 0.5, 0.75, 1.0):
        parts.append(_element("line", "grid", x1=LEFT, x2=WIDTH - RIGHT, y1=_y(score), y2=_y(score)))
        parts.append(_label(f"{score:g}", LEFT - 7, _y(score) + 4, "end"))
    parts += [_label(words, _x(value / top), HEIGHT - BOTTOM + 17, "middle") for value, words in ticks]
    parts.append(_label(x_name, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 5, "middle", "name"))
    parts.append(_label(y_name, 2, TOP - 3, "start", "name"))
    return Markup("").join(parts)


def _svg(parts: Sequence[Markup], words: str) -> Markup:
    head = Markup('<svg class="plot" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(WIDTH, HEIGHT, words)
    return head + Markup("").join(parts) + Markup("</svg>")


def _element(tag: str, kind: str, **numbers: float) -> Markup:
    attributes = Markup(" ").join(Markup('{}="{:.2f}"').format(name, value) for name, value in numbers.items())
    return Markup('<{} class="{}" {}/>').format(tag, kind, attributes)


def _label(words: str, x: float, y: float, anchor: str, kind: str = "tick") -> Markup:
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}" text-anchor="{}">{}</text>').format(kind, x, y, anchor, words)


def _legend(agents: Sequence[str], labels: Mapping[str, str]) -> tuple[tuple[int, str], ...]:
    return tuple((_colour(agents, agent), labels[agent]) for agent in agents) if len(agents) > 1 else ()


def _colour(agents: Sequence[str], agent: str | None) -> int:
    return min(agents.index(agent), SERIES - 1) if agent in agents else 0


def _x(share: float) -> float:
    return LEFT + 6 + share * (WIDTH - LEFT - RIGHT - 12)


def _y(score: float) -> float:
    return TOP + 4 + (1 - score) * (HEIGHT - TOP - BOTTOM - 4)


def _span(interval: Interval) -> float:
    return max(0.002, interval.high - interval.low)


def _nice_top(value: float) -> float:
    """Return the next value of the form 1, 2, 4 or 8 times a power of ten."""
    if not 0 < value < math.inf:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 4, 8, 10) if step * power >= value * 0.999)


def _short(value: float) -> str:
    return f"{value / 1e6:g}M" if value >= 1e6 else f"{value / 1e3:g}k" if value >= 1e4 else f"{value:.3g}"
