"""Shows on a terminal how far raters agree, and where published figures and data disagree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from viva.records.text import one_line
from viva.records.wording import counted
from viva.reports.console.narrow_table import NarrowTable
from viva.reports.reliability.calibration_words import short_figure
from viva.statistics.agreement.alpha import Alpha
from viva.statistics.agreement.by_label import Accuracy
from viva.statistics.agreement.chance import chance_words
from viva.statistics.agreement.published import Check
from viva.statistics.agreement.summary import AgreementFigures, JudgedRater
from viva.statistics.intervals import Interval

ONE_RATER = "nothing is compared: add the labels of another rater, or the journal that was labelled"
MOST_LABELS = 12
MOST_KINDS = 60


def agreement_report(
    figures: Sequence[AgreementFigures], checks: Sequence[Check] = (), gold: str = "", note: str = ""
) -> RenderableType:
    """Show the agreement about all items, then by kind, then what is wrong with codings and published figures.

    Args:
        figures: All items first, then each kind.
        checks: The published figures.
        gold: The rater whose labels are true; empty if there is none.
        note: What else to say about the figures.
    """
    parts: list[RenderableType] = []
    for each in figures[:MOST_KINDS]:
        parts.extend(_part(each, gold))
    if len(figures) > MOST_KINDS:
        parts.append(Text(f"… {len(figures) - MOST_KINDS} more kinds: --json", style="dim"))
    if note:
        parts.append(Text(note, style="yellow"))
    parts.extend(Text(line, style="yellow") for line in _recodings(figures))
    parts.extend(Text(line, style="" if check.agrees else "bold yellow") for check in checks for line in _check(check))
    return Stack(*parts)


def _part(figures: AgreementFigures, gold: str) -> Iterator[RenderableType]:
    labels = ", ".join(one_line(label, 20) for label in figures.labels[:MOST_LABELS])
    more = f" and {len(figures.labels) - MOST_LABELS} more" if len(figures.labels) > MOST_LABELS else ""
    title = f"{one_line(figures.kind, 60)}: " if figures.kind else ""
    clusters = f" of {counted(figures.clusters, 'case')}" if figures.clusters < figures.items else ""
    yield Text(
        f"{title}{counted(figures.items, 'item')}{clusters}, {counted(len(figures.raters), 'rater')}, "
        f"{counted(figures.given, 'label')} ({labels}{more})",
        style="bold",
    )
    if figures.alpha is not None:
        yield Text(alpha_line(figures.alpha, "ordinal" if figures.ordinal else "nominal"))
    if figures.pairs:
        yield _pairs(figures)
    elif len(figures.raters) < 2:
        yield Text(ONE_RATER, style="yellow")
    for each in figures.judged:
        yield from judged_parts(each, gold)
    if not figures.kind:
        yield from _chance(figures, gold)
    yield Text()


def _chance(figures: AgreementFigures, gold: str) -> Iterator[Text]:
    """Yield the raters that are not shown to be better than chance against the true labels.

    One whose labels fit under other names is left out: its kappa says nothing about it, and the coding is reported.
    """
    for pair in figures.pairs:
        if pair.recoding is not None:
            continue
        found, interval = pair.agreement, pair.agreement.kappa_interval
        ends = None if interval is None else (interval.low, interval.high)
        if gold and pair.first == gold and (words := chance_words(ends, found.items, found.clusters)):
            yield Text(f"{one_line(pair.second, 60)}: {words}", style="yellow")


def alpha_line(alpha: Alpha, level: str) -> str:
    """Return Krippendorff's alpha as a line of text."""
    shown = estimate(alpha.alpha, alpha.interval) if alpha.alpha is not None else "not defined"
    return f"Krippendorff's alpha ({level}): {shown}"


def _pairs(figures: AgreementFigures) -> NarrowTable:
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("raters", overflow="fold")
    for name in ("same", "agreement (95 %)", "kappa (95 %)"):
        table.add_column(name, justify="right", no_wrap=True)
    for each in figures.pairs:
        table.add_row(
            Text(f"{one_line(each.first, 40)}, {one_line(each.second, 40)}"),
            f"{each.agreement.same}/{each.agreement.items}",
            estimate(each.agreement.share, each.agreement.share_interval),
            estimate(each.agreement.kappa, each.agreement.kappa_interval),
        )
    return NarrowTable(table)


def judged_parts(judged: JudgedRater, gold: str) -> Iterator[RenderableType]:
    """Yield a line with the accuracy of a rater, and a table with precision and recall by label.

    Args:
        judged: The rater against the true labels.
        gold: Whose labels are true.
    """
    found = judged.accuracy
    yield Text(
        f"{one_line(judged.rater, 60)} against {one_line(gold, 60)}: right in {found.right} of {found.items}, "
        f"accuracy {estimate(found.share, found.share_interval)}"
    )
    yield label_table(found)


def label_table(found: Accuracy) -> NarrowTable:
    """Make a table with precision and recall by label."""
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("label", overflow="fold")
    for name in ("true", "said", "precision (95 %)", "recall (95 %)"):
        table.add_column(name, justify="right", no_wrap=True)
    for label in found.labels[:MOST_LABELS]:
        precision = estimate(label.precision, label.precision_interval)
        recall = estimate(label.recall, label.recall_interval)
        table.add_row(Text(one_line(label.label, 40)), str(label.true), str(label.said), precision, recall)
    return NarrowTable(table)


def _recodings(figures: Sequence[AgreementFigures]) -> Iterator[str]:
    for each in figures:
        for pair in each.pairs:
            if (found := pair.recoding) is not None:
                where = f"{one_line(each.kind, 60)}: " if each.kind else ""
                now = "not defined" if found.kappa is None else f"{found.kappa:.3f}"
                yield (
                    f"coding: {where}the labels of {one_line(pair.second, 40)} look {one_line(found.words(), 200)} "
                    f"against those of {one_line(pair.first, 40)}: kappa is {now}, and would be {found.recoded:.3f}"
                )


def _check(check: Check) -> Iterator[str]:
    claim = check.claim
    value = "not defined" if check.value is None else f"{check.value:.{max(3, claim.decimals)}f}"
    published = f"{claim.value:.{claim.decimals}f}"
    if check.agrees:
        yield f"published: {one_line(claim.words(), 200)} = {published}: confirmed ({value})"
        return
    yield f"published: {one_line(claim.words(), 200)} = {published}, but by these labels it is {value}"
    for cause in check.causes:
        yield f"  {published} comes out if {one_line(cause, 300)}"


def short_estimate(value: float | None, interval: Interval | None) -> str:
    """Return an estimate with its interval for tables with many columns: `.85 [.82, .88]`; a hyphen without one."""
    if value is None:
        return "-"
    ends = "" if interval is None else f" [{short_figure(interval.low)}, {short_figure(interval.high)}]"
    return f"{short_figure(value)}{ends}"


def estimate(value: float | None, interval: Interval | None, decimals: int = 3) -> str:
    """Return an estimate with its interval: `0.852 [0.820, 0.882]`; a hyphen where it is not defined."""
    if value is None:
        return "-"
    ends = "" if interval is None else f" [{interval.low:.{decimals}f}, {interval.high:.{decimals}f}]"
    return f"{value:.{decimals}f}{ends}"
