"""Shows the figures of a suite on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from harness.figures.summary import Figures, Group, Interval
from records.codec import to_plain
from records.text import one_line

MOST_ROWS = 60
MATRIX_AGENTS = 6
"""More agents than this do not fit beside each other."""


def suite_report(figures: Figures, journal: Path) -> RenderableType:
    """Agents, cases and the whole, with intervals; what could not be scored stands apart."""
    labels = short_names([group.name for group in figures.agents])
    parts: list[RenderableType] = []
    if len(figures.agents) > 1:
        parts.append(_table("agent", figures.agents, labels))
        if len(figures.agents) <= MATRIX_AGENTS:
            parts.append(_matrix(figures, labels))
    else:
        parts.append(_table("case", figures.cases, {}))
    if figures.tags:
        parts.append(_table("tag", figures.tags, {}))
    parts.append(_table("suite", (figures.suite,), {}))
    parts.append(_facts(figures, journal, labels))
    return Stack(*parts)


def short_names(specs: Sequence[str]) -> dict[str, str]:
    """A label for each agent SPEC that fits a column: the class or model, numbered where two would be the same."""
    names: dict[str, str] = {}
    for spec in specs:
        place, _, name = spec.rpartition("#") if "#" in spec else spec.split("@")[0].rpartition(":")
        label = one_line(name or place, 24)
        taken = sum(1 for other in names.values() if other == label or other.startswith(f"{label} "))
        names[spec] = f"{label} {taken + 1}" if taken else label
    return names


def _matrix(figures: Figures, labels: Mapping[str, str]) -> Table:
    """Mean score and passed runs, case by agent."""
    cells = {(group.case, group.agent): group for group in figures.cells}
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("case", overflow="fold")
    agents = [group.name for group in figures.agents]
    for agent in agents:
        table.add_column(Text(labels[agent]), justify="right", no_wrap=True)
    for case in figures.cases[:MOST_ROWS]:
        found = [cells.get((case.name, agent)) for agent in agents]
        table.add_row(Text(one_line(case.name, 60)), *(_cell(group) for group in found))
    if len(figures.cases) > MOST_ROWS:
        table.add_row(Text(f"… {len(figures.cases) - MOST_ROWS} more: viva report", style="dim"))
    return table


def _cell(group: Group | None) -> Text:
    if group is None or not group.runs:
        return Text("-")
    flaky = " flaky" if group.flaky else ""
    style = "green" if group.passes == group.runs else "red" if not group.passes else "yellow"
    return Text(f"{number(group.mean)} {group.passes}/{group.runs}{flaky}", style=style)


def figures_plain(figures: Figures) -> Any:
    """The figures as JSON data."""
    return to_plain(figures, full=True)


def _table(kind: str, groups: Sequence[Group], labels: Mapping[str, str]) -> Table:
    """One row a group: what fits 80 columns; everything is in `viva report`."""
    k = min((max(group.pass_hat_k, default=1) for group in groups), default=1)
    apart = [_apart(group) for group in groups]
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column(kind, overflow="fold", min_width=16)
    for name in ("runs", "mean (95 %)", "pass (95 %)"):
        table.add_column(name, justify="right", no_wrap=True)
    if k > 1:
        table.add_column(f"pass^{k}", justify="right", no_wrap=True)
    if any(apart):
        table.add_column("apart", overflow="fold")
    for group, note in list(zip(groups, apart, strict=True))[:MOST_ROWS]:
        row = [
            Text(labels.get(group.name) or one_line(group.name or "all", 60)),
            Text(str(group.runs)),
            Text(f"{number(group.mean)} {interval(group.mean_interval)}"),
            Text(f"{percent(group.pass_rate)} {percents(group.pass_rate_interval)}"),
        ]
        if k > 1:
            row.append(Text(number(group.pass_hat_k.get(k))))
        table.add_row(*row, *([Text(note, style="yellow")] if any(apart) else []))
    if len(groups) > MOST_ROWS:
        table.add_row(Text(f"… {len(groups) - MOST_ROWS} more: viva report", style="dim"))
    return table


def _apart(group: Group) -> str:
    parts = [f"{count} {kind}" for kind, count in group.excluded.items()]
    if group.target_errors:
        parts.append(f"{group.target_errors} agent failures (counted)")
    if group.flaky:
        parts.append("flaky" if group.kind == "cell" else f"{group.flaky_cases} flaky")
    return ", ".join(parts)


def _facts(figures: Figures, journal: Path, labels: Mapping[str, str]) -> Table:
    suite = figures.suite
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    cost = "cost unknown" if suite.cost is None else f"${suite.cost:.4f}"
    table.add_row("", "")
    for spec, label in labels.items():
        table.add_row("agent", Text(f"{label} = {one_line(spec, 200)}"))
    table.add_row("passes", Text(f"a run passes from a score of {figures.threshold:g} (its low bound)"))
    if suite.tokens:
        table.add_row("tokens", Text(f"{suite.tokens:,}, {cost}"))
    stops = ", ".join(f"{count} {stop}" for stop, count in sorted(suite.stops.items()))
    table.add_row("stops", Text(stops))
    table.add_row("time", Text(f"{suite.seconds:.1f} s over all runs, {suite.seconds_mean or 0:.2f} s each"))
    table.add_row("journal", Text(str(journal)))
    return table


def number(value: float | None) -> str:
    """A score for a table."""
    return "-" if value is None else f"{value:.2f}"


def interval(value: Interval | None) -> str:
    """An interval of scores for a table."""
    return "" if value is None else f"({value.low:.2f}-{value.high:.2f})"


def percent(value: float | None) -> str:
    """A rate for a table."""
    return "-" if value is None else f"{value:.0%}"


def percents(value: Interval | None) -> str:
    """An interval of rates for a table."""
    return "" if value is None else f"({value.low * 100:.0f}-{value.high * 100:.0f})"
