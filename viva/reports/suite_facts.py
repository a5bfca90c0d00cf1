"""Shows on a terminal what is true of a whole suite: what passes, what is excluded, what it cost, how it was held."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rich.table import Table
from rich.text import Text

from viva.judge.trajectory import SKIPPED
from viva.records.text import one_line
from viva.records.transcript import NO_USAGE
from viva.records.wording import UNSAFE, cached_words, counted, usage_words
from viva.reports.facts import threshold_words
from viva.reports.reliability.calibration_words import calibration_lines
from viva.reports.reliability.corrected_words import corrected_lines
from viva.reports.reliability.missing_words import missing_lines
from viva.reports.reliability.requeued_words import requeued_lines
from viva.reports.reliability.skipped_words import skipped_lines
from viva.reports.reliability.vote_words import vote_lines
from viva.statistics.groups import FEWEST_CASES, Group
from viva.statistics.summary import Figures

MOST_HELD = 6


def facts_table(figures: Figures, journal: Path, labels: Mapping[str, str]) -> Table:
    """Make a table of names and values.

    Args:
        figures: The statistics.
        journal: The journal's folder.
        labels: The short name of each agent.
    """
    suite = figures.suite
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    table.add_row("", "")
    for spec, label in labels.items():
        table.add_row("agent", Text(label if label == spec else f"{label} = {one_line(spec, 200)}"))
    table.add_row("passes", Text(f"a run passes if the low bound of its score is at least {threshold_words(figures)}"))
    if faults := [why for why in suite.excluded if why != SKIPPED]:
        table.add_row(
            "excluded",
            Text(f"{', '.join(faults)}: not the agent's fault, so in none of the averages", style="yellow"),
        )
    for line in skipped_lines(figures):
        table.add_row("not scored", Text(line, style="yellow"))
    for line in requeued_lines(figures):
        table.add_row("requeued", Text(line, style="yellow"))
    for line in missing_lines(figures, labels):
        table.add_row("bounds", Text(line, style="yellow"))
    for line in corrected_lines(figures, labels):
        table.add_row("corrected", Text(line))
    if suite.target_errors:
        table.add_row("target_error", Text("the agent failed: judged up to that point, and counted"))
    if any(group.too_few for group in (*figures.agents, *figures.tags)):
        table.add_row("too few", Text(f"intervals need at least {FEWEST_CASES} cases"))
    table.add_row("usage", Text(usage_words(sum(suite.usage.values(), NO_USAGE))))
    if suite.cached_answers:
        table.add_row("", Text(cached_words(suite.cached_answers)))
    if words := _uneven(figures, labels):
        table.add_row("trials", Text(words, style="yellow"))
    for held in figures.held[:MOST_HELD]:
        where = f", sandbox {held.sandbox}" if held.sandbox else ""
        inside = f", agent {held.agent}" if held.agent else ""
        inside += f", suite {held.suite}" if held.suite else ""
        runs = f" ({counted(held.runs, 'run')})" if len(figures.held) > 1 else ""
        words = f"examiner {held.examiner or 'unknown'}, judge {held.judge or 'unknown'}{where}{inside}{runs}"
        table.add_row("setting", Text(words, style="yellow" if UNSAFE in held.sandbox else ""))
    for line in calibration_lines(figures.judges, [journal]):
        table.add_row("judge", Text(line.removeprefix("judge ")))
    for number, line in enumerate(vote_lines(figures)):
        table.add_row("" if number else "votes", Text(line))
    stops = ", ".join(f"{count} {stop}" for stop, count in sorted(suite.stops.items()))
    table.add_row("stopped", Text(stops))
    table.add_row("time", Text(f"{suite.seconds:.1f} s over all runs, {suite.seconds_mean or 0:.2f} s each"))
    table.add_row("journal", Text(one_line(str(journal), 1000)))
    return table


def _uneven(figures: Figures, labels: Mapping[str, str]) -> str:
    """Return why pass^k ends early: the cell with the fewest counted runs limits k. Empty if it does not."""
    cells = [cell for cell in figures.cells if cell.runs]
    fewest, most = min(cells, key=_runs, default=None), max(cells, key=_runs, default=None)
    if fewest is None or most is None or fewest.runs == most.runs:
        return ""
    name = f"{one_line(fewest.case or '', 60)} by {labels.get(fewest.agent or '', '')}"
    return f"other cases have up to {most.runs} counted runs, but {name} has {fewest.runs}: pass^k ends there"


def _runs(group: Group) -> int:
    return group.runs
