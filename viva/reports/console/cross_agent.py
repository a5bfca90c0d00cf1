"""Shows a comparison of agents by their trajectories: a column for each, a row for each name and rate."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from viva.records.text import one_line
from viva.records.wording import counted
from viva.reports.trajectory_words import NAMES, percent
from viva.statistics.cross_agent import CrossAgent, SideFigures
from viva.statistics.trajectory_figures import Rate

MOST_COLUMNS = 6
MOST_TOOLS = 15


def cross_agent_table(comparison: CrossAgent) -> list[RenderableType]:
    """Show the comparison."""
    shown = comparison.sides[:MOST_COLUMNS]
    table = Table(title="Cross-agent comparison", title_justify="left", show_edge=False, pad_edge=False)
    table.add_column("")
    for position, each in enumerate(shown, 1):
        table.add_column(Text(f"{position}{' (compared with)' if each.side.other else ''}"), overflow="fold")
    for name in ("agent", "version", "framework", "technique"):
        values = [one_line(getattr(each.side, name), 40) for each in shown]
        if any(values):
            table.add_row(name, *(Text(value or "unknown") for value in values))
    table.add_row("runs", *(str(each.runs) for each in shown))
    if any(each.excluded for each in shown):
        table.add_row("excluded", *(Text(_excluded(each)) for each in shown))
    table.add_row("mean score", *("-" if each.mean is None else f"{each.mean:.2f}" for each in shown))
    for name in NAMES:
        rates = [each.figures.rate(name) for each in shown]
        if any(rate is not None for rate in rates):
            table.add_row(Text(NAMES[name]), *(Text(_rate(rate)) for rate in rates))
    for tool in _tools(shown):
        table.add_row(
            Text(f"uses of {one_line(tool, 40)}"), *(Text(str(_uses(each, tool))) for each in shown), style="dim"
        )
    words = f"{counted(comparison.queries, 'query', 'queries')} answered by every side"
    if left := comparison.left_out - comparison.not_counted:
        words += f"; {left} not answered by every side are left out"
    if comparison.not_counted:
        words += f"; {comparison.not_counted} left out, because some side has no run of it that counts"
    if 0 < comparison.scored < comparison.queries:
        words += f"; the mean score is over the {comparison.scored} with a score on every side"
    notes = [Text(words)]
    if len(comparison.sides) > MOST_COLUMNS:
        notes.append(Text(f"{counted(len(comparison.sides) - MOST_COLUMNS, 'more side')}: --json", style="dim"))
    if not comparison.queries:
        notes.append(
            Text("nothing can be compared: no query was answered by every side in a run that counts", style="yellow")
        )
    return [Text(), table, *notes]


def _excluded(side: SideFigures) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in side.excluded.items()) or "-"


def _rate(rate: Rate | None) -> str:
    if rate is None:
        return "-"
    beside = rate.unsure + rate.errors
    return f"{percent(rate.value)} of {rate.judged}" + (f" ({beside} open)" if beside else "")


def _tools(shown: Sequence[SideFigures]) -> list[str]:
    uses: dict[str, int] = {}
    for each in shown:
        for tool in each.figures.tools:
            uses[tool.tool] = uses.get(tool.tool, 0) + tool.uses
    return sorted(uses, key=lambda tool: (-uses[tool], tool))[:MOST_TOOLS]


def _uses(each: SideFigures, tool: str) -> int:
    return next((use.uses for use in each.figures.tools if use.tool == tool), 0)
