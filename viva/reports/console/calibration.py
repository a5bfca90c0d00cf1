"""Shows on a terminal how far each judge agrees with people, and where it does not."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.console import Group as Stack
from rich.console import RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from viva.records.text import one_line
from viva.records.verdict import Label
from viva.records.wording import counted
from viva.reports.console.agreement import agreement_report, estimate, label_table, short_estimate
from viva.reports.console.narrow_table import NarrowTable
from viva.reports.console.whys import SHOWN, command_line, quoted
from viva.statistics.agreement.summary import AgreementFigures
from viva.statistics.calibration.figures import Disagreement, JudgeCalibration

MOST_DISAGREEMENTS = 5
HARDER = "the figures are about points that are hard to judge (viva label without --sample chooses at random)"


def calibration_report(
    judges: Sequence[JudgeCalibration], people: AgreementFigures | None, stored: Path | None, note: str = ""
) -> RenderableType:
    """Show the people among themselves, then each judge with its worst disagreements.

    Args:
        judges: The judges.
        people: The people; None if there is only one.
        stored: The file in which the calibrations of models were stored; None if there are none.
        note: What else to say.
    """
    parts: list[RenderableType] = []
    if people is not None:
        parts += [Text("People among themselves", style="bold"), agreement_report([people], note=note)]
    for each in judges:
        parts.extend(_judge(each))
    if stored is not None:
        parts.append(Text(stored_words(stored)))
    return Stack(*parts)


def stored_words(store: Path) -> str:
    """Return where calibrations were stored, and what that is good for."""
    folder = one_line(str(store.parent), 1000)
    return f"stored in {one_line(str(store), 1000)}; reports on the journals in {folder} show it"


def _judge(each: JudgeCalibration) -> Iterator[RenderableType]:
    name = one_line(each.judge.name, 60) if each.judge.is_model else "eval_code"
    if each.judge.is_model and each.judge.votes > 1:
        name += f" with {each.judge.votes} votes"
    yield Text(
        f"Judge {name}: {counted(each.accuracy.items, 'labelled point')} of {counted(each.cases, 'case')}", style="bold"
    )
    left_out = []
    if each.errors:
        left_out.append(f"{counted(each.errors, 'point')} that it could not judge")
    if each.undecided:
        left_out.append(f"{counted(each.undecided, 'point')} about which people are unsure or evenly divided")
    if left_out:
        yield Text(f"left out: {', '.join(left_out)}", style="yellow")
    if each.hard:
        of = "all" if each.hard == each.accuracy.items else f"{each.hard} of them"
        yield Text(f"chosen as hard: {of}; {HARDER}", style="yellow")
    accuracy, agreement = each.accuracy, each.agreement
    yield Text(f"accuracy {estimate(accuracy.share, accuracy.share_interval)} ({accuracy.right} of {accuracy.items})")
    kappa = "not defined" if agreement.kappa is None else estimate(agreement.kappa, agreement.kappa_interval)
    yield Text(f"kappa {kappa}")
    if accuracy.items and each.chance:
        yield Text(f"{name}: {each.chance}", style="yellow")
    yield label_table(accuracy)
    if each.kinds:
        yield _kinds(each)
    yield from _points("Points that it could not judge", each.faults, "more point")
    yield from _points("Worst disagreements", each.disagreements, "more disagreement")
    yield Text()


def _kinds(each: JudgeCalibration) -> NarrowTable:
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("kind", overflow="fold")
    for name in ("points", "accuracy (95 %)", "kappa (95 %)"):
        table.add_column(name, justify="right", no_wrap=True)
    for kind in each.kinds:
        table.add_row(
            Text(kind.kind),
            str(kind.accuracy.items),
            short_estimate(kind.accuracy.share, kind.accuracy.share_interval),
            short_estimate(kind.agreement.kappa, kind.agreement.kappa_interval),
        )
    return NarrowTable(table)


def _points(title: str, points: Sequence[Disagreement], noun: str) -> Iterator[RenderableType]:
    if points:
        yield Text()
        yield Text(title, style="bold")
    for one in points[:MOST_DISAGREEMENTS]:
        yield from _disagreement(one)
    if (more := len(points) - MOST_DISAGREEMENTS) > 0:
        yield Text(f"… {counted(more, noun)}; --json has all", style="dim")


def _disagreement(one: Disagreement) -> Iterator[RenderableType]:
    said = ", ".join(f"{one_line(rater, 40)} {label}" for rater, label in list(one.people.items())[:6])
    line = Text(overflow="fold")
    verdict = "gave no verdict" if one.said == Label.ERROR else f"says {one_line(one.said, 20)}"
    line.append(f"the judge {verdict}, people say {one.true} ", style="red")
    line.append(f"({said}): {one_line(one.statement or one.criterion, SHOWN)}")
    line.append(f" ({one_line(one.case, 60)}, weight {one.weight:g})", style="dim")
    yield line
    if one.reason:
        yield Padding(Text(one_line(one.reason, SHOWN), overflow="fold"), (0, 0, 0, 2))
    yield command_line(f"viva replay {quoted(f'{one.journal}#{one.run}')}")
