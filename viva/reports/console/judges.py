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
from viva.reports.console.agreement import judged_parts, short_estimate
from viva.reports.console.narrow_table import NarrowTable
from viva.statistics.agreement.judges import JudgeFigures, PartOfSet
from viva.statistics.agreement.summary import JudgedRater

MEANINGS = (
    "undue hits: of the weight of points that are not hits, the share that the judge gave; "
    "withheld hits: of the weight of hits, the share that it did not give"
)
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
    parts += [Text(), Text(MEANINGS, style="dim")]
    return Stack(*parts)


def _choice(figures: Sequence[JudgeFigures]) -> NarrowTable:
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("judge", overflow="fold")
    hostile = any(each.hostile is not None for each in figures)
    for name in ("kappa (95 %)", "accuracy (95 %)", *(("gained by\nforging",) if hostile else ()), "errors", "cost"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in figures:
        agreement = each.whole.agreement
        table.add_row(
            Text(one_line(each.judge, 60)),
            short_estimate(agreement.kappa, agreement.kappa_interval),
            short_estimate(agreement.share, agreement.share_interval),
            *((_percent(None if each.hostile is None else each.hostile.undue),) if hostile else ()),
            str(each.errors),
            dollars(each.usage.known_cost),
        )
    return NarrowTable(table)


def _warnings(figures: JudgeFigures) -> Iterator[str]:
    judge = one_line(figures.judge, 60)
    if figures.errors == figures.whole.points:
        yield f"{judge}: no usable verdict on any point; nothing is known about this judge"
        return
    if figures.chance:
        yield f"{judge}: {figures.chance}"
    if figures.errors:
        yield f"{judge}: {counted(figures.errors, 'point')} without a usable verdict, which count as wrong"


def _details(figures: JudgeFigures) -> Iterator[RenderableType]:
    yield from judged_parts(JudgedRater(figures.judge, figures.accuracy, figures.confusion), "the labels")
    parts = [part for part in (figures.honest, figures.hostile) if part is not None]
    yield Text()
    yield NarrowTable(_parts("transcripts", [*(parts if len(parts) > 1 else ()), *figures.by_length]))
    yield Text()
    yield NarrowTable(_parts("kind, the worst first", figures.by_kind[:MOST_KINDS]))
    if (more := len(figures.by_kind) - MOST_KINDS) > 0:
        yield Text(f"… {counted(more, 'further kind')}; --json has all", style="dim")
    yield Text(f"used: {usage_words(figures.usage)}{_paid_now(figures)}", style="dim")
    faults = [each for each in figures.worst if each.verdict == Label.ERROR]
    wrong = [each for each in figures.worst if each.verdict != Label.ERROR]
    for title, noun, points in (
        ("without a verdict:", "further point", faults),
        ("the worst disagreements:", "further disagreement", wrong),
    ):
        if points:
            yield Text()
            yield Text(title, style="bold")
        for each in points[:MOST_WORST]:
            yield from _disagreement(each)
        if (more := len(points) - MOST_WORST) > 0:
            yield Text(f"… {counted(more, noun)}; --json has all", style="dim")


def _paid_now(figures: JudgeFigures) -> str:
    """Return how much of what the judgements took was paid for in this call of the command, unless that was all."""
    if figures.paid.calls == figures.usage.calls:
        return ""
    if not figures.paid.calls:
        return "; nothing was asked this time, because all judgements were kept from earlier"
    return f"; of this, {usage_words(figures.paid)} this time, the rest was kept from earlier"


def _parts(head: str, parts: Sequence[PartOfSet]) -> Table:
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column(head, overflow="fold")
    for name in ("points", "right", "kappa (95 %)", "undue\nhits", "withheld\nhits"):
        table.add_column(name, justify="right", no_wrap=True)
    for part in parts:
        table.add_row(
            Text(one_line(part.name, 40)),
            str(part.points),
            _percent(part.accuracy),
            short_estimate(part.agreement.kappa, part.agreement.kappa_interval),
            _percent(part.undue),
            _percent(part.withheld),
        )
    return table


def _disagreement(judged: TriedPoint) -> Iterator[Text]:
    kind = f" ({one_line(judged.kind, 40)})" if judged.kind else ""
    said = "gave no verdict" if judged.verdict == Label.ERROR else f"says {judged.verdict}"
    yield Text(f"{one_line(judged.item, 60)}{kind}: the judge {said}, {judged.truth} is right")
    yield Text(f"  statement: {one_line(judged.statement, 200)}")
    if judged.why:
        yield Text(f"  why {judged.truth}: {one_line(judged.why, 200)}")
    yield Text(f"  the judge's reason: {one_line(judged.reason, 300)}", style="dim")


def _percent(share: float | None) -> str:
    """Return a share in whole percent; 0% and 100% mean none and all."""
    if share is None:
        return "-"
    return "<1%" if 0 < share < 0.005 else ">99%" if 0.995 <= share < 1 else f"{share:.0%}"
