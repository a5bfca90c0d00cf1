"""Shows insights on a terminal: those about the run in tables, those about a round or step in lines at its side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from viva.exam.record import points_of
from viva.judge.scoring_points.layers import LAYER_WORDS, layer_of
from viva.records.run_record import RunRecord
from viva.records.text import exact_line, one_line
from viva.records.verdict import Insight, Label, Verdict
from viva.records.wording import SCORING_POINTS, counted
from viva.reports.facts import headline, quote_line, subject_words, vote_words
from viva.reports.point_tree import TreeGroup, has_tree, tree_rows
from viva.reports.same_reasons import joined, statement_of
from viva.statistics.scores import primary_insight

STYLES: dict[str, str] = {Label.HIT: "green", Label.MISS: "red", Label.UNSURE: "yellow", Label.ERROR: "magenta"}
MOST_INSIGHTS = 30
MOST_VERDICTS = 100
"""Maximum number of verdicts of one insight; `viva report --format html` shows more."""


def insight_tables(record: RunRecord) -> Iterator[RenderableType]:
    """Yield a table for each insight: first the primary one, then the others sorted by name."""
    main = primary_insight(record)
    others = [insight for insight in record.insights if insight is not main]
    others.sort(key=lambda insight: (insight.evaluator, insight.subject))
    shown = [*([main] if main is not None else []), *others]
    for position, insight in enumerate(shown[:MOST_INSIGHTS]):
        points = points_of(insight)[0] is not None or insight.evaluator == SCORING_POINTS
        if position:
            yield Text()
        # Without other evaluators, the facts below the table summarize the scoring points.
        if len(shown) > 1 or not points:
            primary = " (primary)" if insight is main and len(shown) > 1 else ""
            yield Text(headline(insight, record.id) + primary, style="bold")
            if insight.summary:
                yield Text(one_line(insight.summary, 1000))
        if insight.verdicts:
            yield _rows(insight) if points else _verdicts(insight, record.id)
        for note in insight.notes[:MOST_VERDICTS]:
            yield Text(one_line(note, 300), style="yellow")
    if len(shown) > MOST_INSIGHTS:
        yield Text(f"… {counted(len(shown) - MOST_INSIGHTS, 'more insight')}: viva report --format html", style="dim")


def verdict_lines(verdicts: Sequence[Verdict]) -> Iterator[Text]:
    """Yield one line for each verdict, which is shown at the round or step that it is about."""
    for verdict in verdicts:
        score = "" if verdict.score is None else f" {verdict.score:.2f}"
        reason = f": {exact_line(verdict.reason, 300)}" if verdict.reason else ""
        name = one_line(verdict.statement or verdict.criterion, 80)
        words = f"{name}: {one_line(verdict.label, 30)}{score}{reason}"
        yield Text(words, style=STYLES.get(verdict.label, "cyan"))


def _points(insight: Insight) -> Table:
    table = _table(("weight", "verdict", "scoring point", "reason and evidence"))
    for group in joined(insight.verdicts):
        verdict = group[0]
        table.add_row(
            Text(f"{sum(each.weight for each in group):g}"),
            Text(one_line(verdict.label, 20), style=STYLES.get(verdict.label, "")),
            Text(one_line(statement_of(group), 300 * len(group))),
            _why(verdict),
        )
    return table


def _rows(insight: Insight) -> Table:
    """Return the scoring points, as a tree if they are one; a group of which all is hit is folded to one line."""
    if not has_tree(insight):
        return _points(insight)
    table = _table(("weight", "verdict", "scoring point", "reason and evidence"))
    folded = 0
    for row in tree_rows(insight):
        if isinstance(row, TreeGroup):
            hidden = folded > 0
            folded = folded if hidden else len(row.verdicts) if row.is_folded else 0
            if not hidden:
                table.add_row(*_group_cells(row))
        elif folded:
            folded -= 1
        else:
            level, verdict = row
            table.add_row(
                Text(f"{verdict.weight:.3g}"),
                Text(one_line(verdict.label, 20), style=STYLES.get(verdict.label, "")),
                Text("  " * level + one_line(statement_of((verdict,)), 300)),
                _why(verdict),
            )
    return table


def _group_cells(group: TreeGroup) -> tuple[Text, ...]:
    style = {1.0: "green", 0.0: "red"}.get(group.score, "yellow") if group.score is not None else "magenta"
    words = f"{counted(len(group.verdicts), 'point')}, all hit" if group.is_folded else ""
    return (
        Text(f"{group.weight:.3g}", style="bold"),
        Text(group.score_words, style=f"bold {style}"),
        Text("  " * group.level + one_line(group.statement, 300), style="bold"),
        Text(words, style="dim"),
    )


def _verdicts(insight: Insight, run: str) -> Table:
    table = _table(("about", "verdict", "criterion", "reason and evidence"))
    for verdict in insight.verdicts[:MOST_VERDICTS]:
        score = "" if verdict.score is None else f" {verdict.score:.2f}"
        table.add_row(
            Text("run" if verdict.subject == run else one_line(subject_words(verdict.subject), 24)),
            Text(f"{one_line(verdict.label, 20)}{score}", style=STYLES.get(verdict.label, "")),
            Text(one_line(verdict.statement or verdict.criterion, 300)),
            _why(verdict),
        )
    if len(insight.verdicts) > MOST_VERDICTS:
        table.add_row("", "", Text(f"… {len(insight.verdicts) - MOST_VERDICTS} more", style="dim"), "")
    return table


def _table(columns: tuple[str, str, str, str]) -> Table:
    table = Table(expand=True, show_edge=False, pad_edge=False, header_style="bold")
    table.add_column(columns[0], justify="right" if columns[0] == "weight" else "left", no_wrap=True)
    table.add_column(columns[1], no_wrap=True)
    # Folded, because rich cuts a word that is longer than its column: a path, or a value without blanks.
    table.add_column(columns[2], ratio=2, overflow="fold")
    table.add_column(columns[3], ratio=3, overflow="fold")
    return table


def _why(verdict: Verdict) -> Text:
    text = Text(exact_line(verdict.reason, 400))
    for evidence in verdict.evidence[:3]:
        text.append(f"\n{quote_line(evidence, 200)}", style="cyan")
    layer = layer_of(verdict)
    rests = f", {LAYER_WORDS[layer]}" if layer not in (None, "code") else ""
    text.append(f"\nby {one_line(verdict.by, 60)}{rests}", style="dim")
    if verdict.votes:
        text.append(f" ({', '.join(vote_words(verdict))})", style="dim")
    if verdict.flags:
        text.append(f" [{one_line(', '.join(verdict.flags), 200)}]", style="yellow")
    return text
