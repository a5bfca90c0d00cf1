"""Shows the statistics of a suite on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from viva.adapters.connectors.spec import agent_label
from viva.records.codec import to_plain
from viva.records.run_record import Outcome
from viva.records.text import one_line
from viva.reports.console.narrow_table import NarrowTable
from viva.reports.console.variants import variant_parts
from viva.reports.console.whys import Locate, error_lines, miss_lines, next_lines
from viva.reports.examiner_words import examiner_lines
from viva.reports.number_words import interval, number, percent, percents
from viva.reports.reliability.hit_words import hit_lines
from viva.reports.suite_facts import facts_table
from viva.reports.trajectory_words import trajectory_lines
from viva.statistics.groups import Group
from viva.statistics.summary import Figures

MOST_ROWS = 60
MOST_NAMED_SCORES = 12
MATRIX_AGENTS = 6
"""Maximum number of agents that fit side by side."""


def suite_report(
    figures: Figures, journal: Path, *, again: str = "", locate: Locate | None = None, joined: bool = False
) -> RenderableType:
    """Show the statistics of agents, cases, evaluators and the suite with intervals, and what was excluded and why.

    What was missed, the distinct errors, and the next useful commands follow.

    Args:
        figures: The statistics. Several agents are shown side by side, never combined.
        journal: The journal's folder.
        again: The command that made the journal and can repeat excluded runs (`viva suite`); empty if unknown.
        locate: Finds the journal of the run that an error or a miss names; None stands for `journal`.
        joined: Whether the statistics are of several journals, so that no command with one of them is named.
    """
    labels = short_names([group.name for group in figures.agents])
    parts: list[RenderableType] = []
    if len(figures.agents) > 1:
        parts.append(_table("agent", figures.agents, labels))
        if len(figures.agents) <= MATRIX_AGENTS:
            parts.append(_matrix(figures, labels))
    else:
        parts.append(_table("case", figures.cases, {}))
    if figures.tags:
        parts.append(_table("tag", figures.tags, labels))
    if len(figures.agents) == 1:
        parts.append(_table("suite", (figures.suite,), {}))
    if len(figures.evaluators) > 1 or any(each.scores for each in figures.evaluators):
        parts.append(_evaluators(figures, labels))
    parts.extend(variant_parts(figures, labels))
    if figures.trajectories is not None:
        parts.extend(_trajectories(figures, labels))
    parts.extend(Text(line) for line in examiner_lines(figures, labels))
    parts.extend(Text(line) for line in hit_lines(figures.hit_layers))
    parts.append(facts_table(figures, journal, labels))
    find = locate or (lambda _: journal)
    parts.extend(error_lines(figures, find))
    parts.extend(miss_lines(figures, find, labels))
    if not joined:
        parts.extend(next_lines(figures, journal, again))
    return Stack(*parts)


def short_names(specs: Sequence[str]) -> dict[str, str]:
    """Return a label for each agent SPEC that fits a column: the class or model, numbered if labels are the same."""
    names: dict[str, str] = {}
    for spec in specs:
        label = agent_label(spec)
        taken = sum(1 for other in names.values() if other == label or other.startswith(f"{label} "))
        names[spec] = f"{label} {taken + 1}" if taken else label
    return names


def _evaluators(figures: Figures, labels: Mapping[str, str]) -> NarrowTable:
    """Make a table with one row for each evaluator, or for each evaluator and agent."""
    several = len(figures.agents) > 1
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("evaluator", overflow="fold")
    for name in ("judged", "not judged", "mean"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("bounds", no_wrap=True)
    table.add_column("named scores", overflow="fold")
    rows = figures.evaluator_agents if several else figures.evaluators
    for each in rows[:MOST_ROWS]:
        agent = f" {labels.get(each.agent or '', '')}" if several else ""
        scores = [f"{one_line(name, 40)} {value:.2f}" for name, value in list(each.scores.items())[:MOST_NAMED_SCORES]]
        table.add_row(
            Text(f"{one_line(each.name, 60)}{' (primary)' if each.primary else ''}{agent}"),
            str(each.judged),
            Text(str(each.not_judged), style="yellow" if each.not_judged else ""),
            number(each.mean),
            f"{each.low:.2f}-{each.high:.2f}" if each.has_bounds else "",
            Text(", ".join(scores)),
        )
    if len(rows) > MOST_ROWS:
        table.add_row(Text(f"… {len(rows) - MOST_ROWS} more: viva report", style="dim"))
    return NarrowTable(table)


def _trajectories(figures: Figures, labels: Mapping[str, str]) -> Iterator[Text]:
    """The figures of trajectories, of each agent where there are several."""
    several = len(figures.trajectory_agents) > 1
    shown = figures.trajectory_agents if several else (figures.trajectories,)
    for each in shown[:MOST_ROWS]:
        if each is not None:
            yield Text()
            if several:
                yield Text(labels.get(each.agent or "", one_line(each.agent or "", 60)), style="bold")
            yield from map(Text, trajectory_lines(each))


def _matrix(figures: Figures, labels: Mapping[str, str]) -> Table:
    """Make a table of mean scores and passed runs by case and agent."""
    cells = {(group.case, group.agent): group for group in figures.cells}
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("case", overflow="fold")
    agents = [group.name for group in figures.agents]
    rows = [(case, [_cell(cells.get((case.name, agent))) for agent in agents]) for case in figures.cases[:MOST_ROWS]]
    # Everything is folded where the space is short: rich cuts a table off if a column must not shrink.
    for agent in agents:
        table.add_column(Text(labels[agent], overflow="fold"), justify="right", overflow="fold")
    for case, found in rows:
        table.add_row(Text(one_line(case.name, 60)), *found)
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
    """Return the statistics as JSON data."""
    unused = figures.unused
    return {
        field.name: to_plain(getattr(figures, field.name), full=True)
        for field in fields(figures)
        if field.name not in unused
    }


def _table(kind: str, groups: Sequence[Group], labels: Mapping[str, str]) -> NarrowTable:
    """Make a table with one row for each group that fits 80 columns; `viva report` shows everything."""
    k = min((max(group.pass_hat_k, default=1) for group in groups), default=1)
    notes = [_notes(group) for group in groups]
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column(kind, overflow="fold")
    for name in ("runs", "mean (95 %)", "pass (95 %)"):
        table.add_column(name, justify="right", no_wrap=True)
    if k > 1:
        table.add_column(f"pass^{k}", justify="right", no_wrap=True)
    if any(notes):
        # One note per line, without wrapping: rich loses characters when it wraps the last column of such a table.
        table.add_column("notes", no_wrap=True)
    for group, note in list(zip(groups, notes, strict=True))[:MOST_ROWS]:
        row = [
            Text(_name(group, labels)),
            Text(str(group.runs)),
            Text(f"{number(group.mean)} {'too few' if group.too_few else interval(group.mean_interval)}"),
            Text(f"{percent(group.pass_rate)} {'' if group.too_few else percents(group.pass_rate_interval)}".strip()),
        ]
        if k > 1:
            row.append(Text(number(group.pass_hat_k.get(k))))
        table.add_row(*row, *([Text(note, style="yellow")] if any(notes) else []))
    if len(groups) > MOST_ROWS:
        table.add_row(Text(f"… {len(groups) - MOST_ROWS} more: viva report", style="dim"))
    return NarrowTable(table)


def _name(group: Group, labels: Mapping[str, str]) -> str:
    if group.kind == "tag" and len(labels) > 1:
        return f"{one_line(group.name, 60)} {labels[group.agent or '']}"
    return labels.get(group.name) or one_line(group.name or "all", 60)


def _notes(group: Group) -> str:
    parts = [f"{count} {kind}" for kind, count in group.excluded.items()]
    if group.target_errors:
        parts.append(f"{group.target_errors} {Outcome.TARGET_ERROR.value}")
    if group.flaky:
        parts.append(f"{group.flaky_cases} flaky")
    return "\n".join(parts)
