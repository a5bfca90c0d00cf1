"""Shows on a terminal how good judges are on a labelled set: a table to choose from, then each of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from viva.judge.calibration.judging import TriedPoint
from viva.judge.calibration.sets import LabelledSet
from viva.records.text import one_line
from viva.records.verdict import Label
from viva.records.wording import counted, dollars, usage_words
from viva.reports.console.agreement import estimate, judged_parts
from viva.reports.console.narrow_table import NarrowTable
from viva.statistics.agreement.judges import JudgeFigures, PartOfSet
from viva.statistics.agreement.summary import JudgedRater

CHANCE = "no better than chance"
MOST_KINDS = 12
"""Maximum number of kinds that are shown of each judge, those with the lowest accuracy; --json has all."""
MOST_WORST = 10
"""Maximum number of disagreements that are shown of each judge; --json has all."""


def judges_report(labelled: LabelledSet, figures: Sequence[JudgeFigures]) -> RenderableType:
    """Show the judges, the best first, then the figures of each in the same order.

    Args:
        labelled: What they judged.
        figures: The figures of each judge.
    """
    ordered = sorted(figures, key=lambda each: -(each.whole.agreement.kappa or 0.0))
    parts: list[RenderableType] = [
        Text(
            f"{one_line(labelled.name, 60)}: {counted(labelled.size, 'labelled point')} on "
            f"{counted(len(labelled.items), 'transcript')}",
            style="bold",
        ),
        _choice(ordered),
        *(Text(line, style="yellow") for each in ordered for line in _warnings(each)),
    ]
    for each in ordered:
        parts += [Text(), *_details(each)]
    return Stack(*parts)


def _choice(figures: Sequence[JudgeFigures]) -> NarrowTable:
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("judge", overflow="fold")
    hostile = any(each.hostile is not None for each in figures)
    for name in ("kappa (95 %)", "accuracy (95 %)", *(("gained by forging",) if hostile else ()), "errors", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in figures:
        agreement = each.whole.agreement
        table.add_row(
            Text(one_line(each.judge, 60)),
            estimate(agreement.kappa, agreement.kappa_interval),
            estimate(agreement.share, agreement.share_interval),
            *((_percent(None if each.hostile is None else each.hostile.undue),) if hostile else ()),
            str(each.errors),
            dollars(each.usage.known_cost),
        )
    return NarrowTable(table)


def _warnings(figures: JudgeFigures) -> Iterator[str]:
    judge = one_line(figures.judge, 60)
    if not figures.beats_chance:
        yield f"{judge}: {CHANCE}; its verdicts say nothing about an agent"
    if figures.errors:
        yield f"{judge}: {counted(figures.errors, 'point')} without a usable verdict, which count as wrong"


def _details(figures: JudgeFigures) -> Iterator[RenderableType]:
    yield from judged_parts(JudgedRater(figures.judge, figures.accuracy, figures.confusion), "the labels")
    parts = [part for part in (figures.honest, figures.hostile) if part is not None]
    yield NarrowTable(_parts("transcripts", [*(parts if len(parts) > 1 else ()), *figures.by_length]))
    yield NarrowTable(_parts("kind, the worst first", figures.by_kind[:MOST_KINDS]))
    if (more := len(figures.by_kind) - MOST_KINDS) > 0:
        yield Text(f"… {counted(more, 'further kind')}: --json", style="dim")
    earlier = "" if figures.paid.calls == figures.usage.calls else f", of these now: {usage_words(figures.paid)}"
    yield Text(f"used: {usage_words(figures.usage)}{earlier}", style="dim")
    faults = [each for each in figures.worst if each.verdict == Label.ERROR]
    wrong = [each for each in figures.worst if each.verdict != Label.ERROR]
    for title, noun, points in (
        ("without a verdict:", "further point", faults),
        ("the worst disagreements:", "further disagreement", wrong),
    ):
        if points:
            yield Text(title, style="bold")
        for each in points[:MOST_WORST]:
            yield from _disagreement(each)
        if (more := len(points) - MOST_WORST) > 0:
            yield Text(f"… {counted(more, noun)}: --json", style="dim")


def _parts(head: str, parts: Sequence[PartOfSet]) -> Table:
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column(head, overflow="fold")
    for name in ("points", "right", "kappa (95 %)", "undue hits", "withheld hits"):
        table.add_column(name, justify="right", no_wrap=True)
    for part in parts:
        table.add_row(
            Text(one_line(part.name, 40)),
            str(part.points),
            _percent(part.accuracy),
            estimate(part.agreement.kappa, part.agreement.kappa_interval),
            _percent(part.undue),
            _percent(part.withheld),
        )
    return table


def _disagreement(judged: TriedPoint) -> Iterator[Text]:
    kind = f" ({one_line(judged.kind, 40)})" if judged.kind else ""
    said = "gave no verdict" if judged.verdict == Label.ERROR else f"says {judged.verdict}"
    yield Text(f"{one_line(judged.item, 60)}{kind}: {judged.truth} is right, the judge {said}")
    yield Text(f"  statement: {one_line(judged.statement, 200)}")
    if judged.why:
        yield Text(f"  why: {one_line(judged.why, 200)}")
    yield Text(f"  the judge: {one_line(judged.reason, 300)}", style="dim")


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}".replace("%", " %")
