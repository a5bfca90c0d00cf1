"""Writes an HTML page with the statistics, plots, all runs and their conversations; a large one has parts beside it."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, TextIO

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from viva.journal.reader import StoredRun
from viva.records.text import one_line
from viva.records.wording import UNSAFE, counted, dollars
from viva.reports.console import trends as trend_console
from viva.reports.console.cause_trends import CHANGED, WORSE, cause_words, share_words
from viva.reports.console.suite import short_names
from viva.reports.examiner_words import examiner_lines
from viva.reports.facts import Standing, threshold_words
from viva.reports.journals import Journals
from viva.reports.number_words import interval, number, percent, percents
from viva.reports.page import plots
from viva.reports.page.bisections import shown_bisections
from viva.reports.page.conversations import Blocks
from viva.reports.page.failures import MOST_FAILURES
from viva.reports.page.lead import lead_of, ranked
from viva.reports.page.page_files import PageFiles, sweep
from viva.reports.page.page_parts import PageParts
from viva.reports.page.reason_diffs import compared, framed, shortened
from viva.reports.page.rows import MOST_COLUMNS, ORDER, Row, Rows, gather_rows
from viva.reports.reliability.calibration_words import calibration_lines
from viva.reports.reliability.hit_words import hit_lines
from viva.reports.reliability.lines import reliability_lines
from viva.reports.reliability.skipped_words import skipped_lines
from viva.reports.reliability.vote_words import vote_lines
from viva.reports.trajectory_words import trajectory_lines
from viva.reports.variant_words import variant_tables
from viva.statistics.evaluators import EvaluatorStatistics
from viva.statistics.groups import Group
from viva.statistics.summary import Figures

TEMPLATES = Path(__file__).parent / "templates"
MOST_MATRIX_ROWS = 300
"""Maximum number of cases in the matrix; of more cases, the worst are shown."""
MOST_MATRIX_AGENTS = 24
MOST_MATRIX_CELLS = 3_000
MOST_MATRIX_MARKS = 6_000
"""Number of marks of trials in the matrix, of 50 bytes each; cells of a large matrix have fewer."""
FEWEST_MARKS = 5
ROWS_SHOWN = 200
"""Number of rows that are shown at first; the script shows more on request."""
MOST_ROW_BYTES = 500_000
"""Maximum size of the rows in the page itself, apart from those shown at first; the others are in its first parts."""
MOST_GROUPS = 60


def write(journals: Journals, out: TextIO, *, blocks: Blocks | None = None) -> None:
    """Write the page piece by piece.

    Args:
        journals: The journals that the page reports on.
        out: The file to write to.
        blocks: Limits for the conversations.

    Raises:
        JournalError: a journal cannot be read.
    """
    rows = gather_rows(journals)
    page = _page_of(out)
    files = None if page is None else PageFiles(page)
    if page is not None:
        sweep(page)
    blocks = blocks or Blocks()
    blocks.images.files = files
    labels = _labels(rows)
    values = {**_assets(), **_head(journals), **_statistics(rows, labels), **_agents(labels)}
    parts = PageParts(files)
    shown, later = _divided(_row_texts(rows, values), MOST_ROW_BYTES if files else None)
    if later:
        parts.add("rows", "".join(later))
    for place, stored, attempt in _conversations(journals, rows, blocks):
        blocks.add(place, stored, attempt, parts)
    blocks.images.scaled.trim()
    parts.close()
    pieces = (
        _environment()
        .get_template("page.html")
        .generate(
            values,
            trends=rows.trends,
            cause_trends=[each for each in rows.cause_trends if each.kind in CHANGED],
            trajectories=_trajectories(rows.figures, labels),
            reliability=list(reliability_lines(rows.figures, labels)),
            examiner=[line for line in examiner_lines(rows.figures, labels) if line],
            votes=list(vote_lines(rows.figures)),
            hits=list(hit_lines(rows.figures.hit_layers)),
            skipped=list(skipped_lines(rows.figures)),
            variants=list(variant_tables(rows.figures, labels)),
            judges=calibration_lines(rows.figures.judges, [folder for folder, _ in journals.locations]),
            bisections=list(shown_bisections(folder for folder, _ in journals.locations)),
            rows=rows.rows,
            shown_rows=shown,
            rows_shown=ROWS_SHOWN,
            blocks=[(name, Markup(text)) for name, text in parts.inline],  # noqa: S704  # escaped by `json_bytes`
            index=Markup(parts.index()) if parts.divided else None,  # noqa: S704
            files=files,
            written=blocks,
        )
    )
    for piece in pieces:
        out.write(piece)


def _page_of(out: TextIO) -> Path | None:
    """Return the path of the page that is written; None if it has no place, as standard output."""
    name = getattr(out, "name", None)
    if not isinstance(name, str | Path) or str(name).startswith("<"):
        return None
    return Path(name)


def _row_texts(rows: Rows, values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the rows of the table of runs, failures first."""
    table: Any = _environment().get_template("rows.html").make_module({**values, "rows_shown": ROWS_SHOWN})
    for place, row in enumerate(rows.failures_first):
        yield str(table.row(row, place))


def _divided(texts: Iterator[str], most: int | None) -> tuple[list[Markup], list[str]]:
    """Return the first texts, up to a number of bytes, and the others."""
    first, size = list[Markup](), 0
    for text in texts:
        size += len(text.encode())
        if most is not None and size > most and len(first) >= ROWS_SHOWN:
            return first, [text, *texts]
        first.append(Markup(text))  # noqa: S704 - the template escaped it
    return first, []


def _labels(rows: Rows) -> dict[str, str]:
    """Return a short name for each agent; agents without a run that counts come last."""
    labels = short_names([group.name for group in rows.figures.agents])
    for agent in rows.trials.agents:
        labels.setdefault(agent, one_line(agent, 24) or "unknown")
    return labels


def _assets() -> dict[str, Any]:
    script = "\n".join((TEMPLATES / name).read_text(encoding="utf-8") for name in ("run_parts.js", "page.js"))
    return {
        "style": Markup((TEMPLATES / "page.css").read_text(encoding="utf-8")),  # noqa: S704 - our own file
        "script": Markup(script),  # noqa: S704 - our own file
        "script_hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    }


def _head(journals: Journals) -> dict[str, Any]:
    return {
        "title": _title(journals),
        "journals": [
            one_line(str(folder), 500) + (f"#{one_line(run, 200)}" if run else "") for folder, run in journals.locations
        ],
        "made": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "caveats": journals.caveats(),
        "damage": journals.damage.words("unreadable line"),
    }


def _statistics(rows: Rows, labels: Mapping[str, str]) -> dict[str, Any]:
    figures = rows.figures
    return {
        "figures": figures,
        "lead": lead_of(figures, labels),
        "ranking": ranked(figures.agents),
        "failures": rows.failures.worst,
        "unsorted": rows.failures.left_out,
        "most_failures": MOST_FAILURES,
        "ranks": {standing: rank for rank, standing in enumerate(ORDER)},
        "counted": {one_line(case.name, 200): case.runs for case in figures.cases},
        "suite": figures.suite,
        "standings": rows.standings,
        "outcomes": rows.outcomes,
        "rows_left_out": rows.left_out,
        "matrix": _matrix(rows),
        "evaluators": _evaluators(figures),
        "columns": [each.name for each in figures.evaluators if not each.primary][:MOST_COLUMNS],
        "plots": [plot for draw in (plots.score_against_cost, plots.over_trials) if (plot := draw(figures, labels))],
        "most": MOST_GROUPS,
        "held": figures.held[:12],
        "unsafe": sorted({each.sandbox for each in figures.held if UNSAFE in each.sandbox}),
    }


def _agents(labels: Mapping[str, str]) -> dict[str, Any]:
    agents = list(labels)
    return {
        "agents": agents,
        "numbers": {agent: number for number, agent in enumerate(agents)},
        "labels": labels,
        "specs": [(labels[agent], one_line(agent, 300)) for agent in agents[:MOST_GROUPS] if labels[agent] != agent],
    }


def _evaluators(figures: Figures) -> Sequence[EvaluatorStatistics]:
    """Return the statistics of each evaluator and agent; empty if they would repeat those of the runs."""
    if len(figures.evaluators) < 2 and not any(each.scores for each in figures.evaluators):
        return ()
    return figures.evaluator_agents if len(figures.agents) > 1 else figures.evaluators


def _trajectories(figures: Figures, labels: Mapping[str, str]) -> list[tuple[str, list[str]]]:
    """Yield the lines about the trajectories of an agent (empty for all)."""
    if len(figures.trajectory_agents) > 1:
        each = figures.trajectory_agents[:MOST_GROUPS]
        return [(labels.get(one.agent or "", ""), list(trajectory_lines(one))) for one in each]
    return [] if figures.trajectories is None else [("", list(trajectory_lines(figures.trajectories)))]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The scores by case and agent."""

    agents: tuple[str, ...]
    lines: tuple[tuple[str, tuple[tuple[Group | None, Markup], ...]], ...]
    """The name of each case, with the statistics and the marks of the trials of each agent."""
    left_out: int
    """Number of cases that are not shown."""
    most_marks: int
    """Number of trials of a cell that have a mark."""


def _matrix(rows: Rows) -> Matrix:
    cells = {(group.case, group.agent): group for group in rows.figures.cells}
    agents = tuple(group.name for group in ranked(rows.figures.agents)[:MOST_MATRIX_AGENTS])
    cases = sorted(rows.figures.cases, key=lambda group: 2.0 if group.mean is None else group.mean)
    shown = min(MOST_MATRIX_ROWS, MOST_MATRIX_CELLS // max(1, len(agents)))
    left_out = max(0, len(cases) - shown)
    lines = []
    most = max(FEWEST_MARKS, min(plots.MOST_MARKS, MOST_MATRIX_MARKS // max(1, len(cells))))
    for case in cases[:shown]:
        name = one_line(case.name, 200)
        trials = (rows.trials.of(name, agent) for agent in agents)
        line = tuple(
            (cells.get((case.name, agent)), plots.marks(own, most)) for agent, own in zip(agents, trials, strict=True)
        )
        lines.append((name, line))
    return Matrix(agents, tuple(lines), left_out, most)


def _conversations(journals: Journals, rows: Rows, blocks: Blocks) -> Iterator[tuple[int, StoredRun, int]]:
    """Yield the conversations that the page has room for, with the numbers of their rows and their attempts."""

    def wanted(folder: Path, run: str) -> bool:
        number = rows.numbers.get((str(folder), run))
        return number is not None and blocks.has_room(number, passed=rows.rows[number].standing is Standing.PASSED)

    runs = {name for _, name in rows.numbers} if rows.left_out else None
    for stored in journals.conversations(wanted, runs, quick=True):
        number = rows.numbers[str(stored.folder), stored.id]
        row: Row = rows.rows[number]
        yield number, stored, stored.attempt if row.standing is Standing.UNFINISHED else row.attempt


def _title(journals: Journals) -> str:
    names = [one_line(folder.resolve().name, 80) for folder, _ in journals.locations]
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: Mapping[str, Any] = {
        "number": number,
        "counted": counted,
        "interval": interval,
        "percent": percent,
        "percents": percents,
        "dollars": dollars,
        "trend": trend_console.name_words,
        "scores": trend_console.scores_words,
        "change": trend_console.change_words,
        "versions": trend_console.compared_words,
        "cause_words": cause_words,
        "shares": share_words,
        "worse": lambda trend: trend.kind in WORSE,
        "line": one_line,
        "compared": compared,
        "framed": framed,
        "threshold_words": threshold_words,
        "runs_of": lambda cases, runs: sum(runs.get(case, 0) for case in cases),
        "shortened": shortened,
        "breakable": lambda text: Markup("_<wbr>").join(text.split("_")),
    }
    environment.filters.update(filters)
    environment.globals |= {"bar": plots.bar, "sparkline": plots.sparkline}
    return environment
