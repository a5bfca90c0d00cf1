"""Shows a comparison on a terminal, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Group as Stack
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from viva.records.codec import to_plain
from viva.records.text import one_line
from viva.records.wording import counted, point_name
from viva.reports.console.changed_causes import changed_causes
from viva.reports.console.narrow_table import NarrowTable
from viva.reports.console.whys import command_line, quoted
from viva.statistics.causes.changes import CauseChange
from viva.statistics.comparison import CasePair, Difference, PairedComparison, PairedSide
from viva.statistics.findings import findings
from viva.statistics.flips.by_trial import PointFlips
from viva.statistics.groups import Group
from viva.statistics.scores import LAST_BIT

MOST_ROWS = 30
MOST_NAMES = 12
MOST_TRIALS = 12


def comparison_report(comparison: PairedComparison, causes: Sequence[CauseChange] = ()) -> RenderableType:
    """Show both sides, the cases that changed, what fails more or less often, and the conclusions."""
    parts: list[RenderableType] = [_sides(comparison), _figures(comparison), Text()]
    changed = [pair for pair in comparison.cases if pair.turned or abs(pair.score_difference) > LAST_BIT]
    if changed:
        parts += [_changes(comparison, changed), Text()]
    if comparison.flips:
        parts += [*_flips(comparison), Text()]
    parts += changed_causes(causes, comparison.first.label, comparison.second.label)
    parts += [Text(one_line(line), style="bold") for line in findings(comparison)]
    own = ", or that of its case" if comparison.own_thresholds else ""
    parts.append(
        Text(
            f"A run passes if its low bound is at least {comparison.threshold:g}{own}; a case passes if more than "
            "half of its trials pass."
        )
    )
    for words, names in (
        (f"only in {comparison.first.label}", comparison.only_first),
        (f"only in {comparison.second.label}", comparison.only_second),
        ("no counted run on one side", comparison.not_counted),
    ):
        if names:
            parts.append(Text(f"not compared, {words}: {_names(names)}", style="yellow"))
    parts += [Text(f"note: {one_line(note, 500)}", style="yellow") for note in comparison.notes]
    if comparison.worse:
        parts += [Text(), Text("Next", style="bold")]
        parts.append(
            command_line(f"viva report {quoted(comparison.second.journal)} --format html", "see why cases got worse: ")
        )
    return Stack(*parts)


def comparison_plain(comparison: PairedComparison) -> dict[str, Any]:
    """Return the comparison as JSON data, with its conclusions in words."""
    plain: dict[str, Any] = to_plain(comparison)
    plain["better"] = [pair.case for pair in comparison.better]
    plain["worse"] = [pair.case for pair in comparison.worse]
    plain["findings"] = findings(comparison)
    return plain


def _sides(comparison: PairedComparison) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for side in (comparison.first, comparison.second):
        table.add_row(side.label, Text(f"{one_line(side.agent, 200)} in {one_line(side.journal, 300)}"))
    count = len(comparison.cases)
    table.add_row("", Text(f"{counted(count, 'case')} in both"))
    if comparison.evaluator is not None:
        table.add_row("", Text(f"scores by the evaluator {one_line(comparison.evaluator, 80)}"))
    return table


def _figures(comparison: PairedComparison) -> NarrowTable:
    one, two = comparison.first, comparison.second
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("over the common cases", no_wrap=True)
    for name in (one.label, two.label):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(f"{two.label} - {one.label} (95 %)", justify="right", no_wrap=True)

    def row(name: str, first: str, second: str, change: Text | str = "") -> None:
        table.add_row(name, first, second, change)

    row("mean score", f"{one.score:.3f}", f"{two.score:.3f}", _difference(comparison.score))
    row("pass rate", f"{one.rate:.3f}", f"{two.rate:.3f}", _difference(comparison.rate))
    k = min(max(one.group.pass_hat_k, default=1), max(two.group.pass_hat_k, default=1))
    if k > 1:
        before, after = one.group.pass_hat_k[k], two.group.pass_hat_k[k]
        row(f"pass^{k}", f"{before:.3f}", f"{after:.3f}", f"{after - before:+.3f}")
        row("flaky cases", str(one.group.flaky_cases), str(two.group.flaky_cases))
    row("counted runs", str(one.group.runs), str(two.group.runs))
    if one.group.excluded or two.group.excluded:
        row("runs excluded", *(str(side.group.runs_all - side.group.runs) for side in (one, two)))
    if one.group.target_errors or two.group.target_errors:
        row("agent failures", str(one.group.target_errors), str(two.group.target_errors))
    if comparison.trials_paired:
        turned = f"{comparison.trials_better} better, {comparison.trials_worse} worse"
        row("trials in both", str(comparison.trials_paired), str(comparison.trials_paired), turned)
    group, other = one.group, two.group
    row("cost per run, $", *_spent(group.cost_mean, other.cost_mean, ".4f"))
    first, second, ratio = _spent(group.tokens_mean, other.tokens_mean, ",.0f")
    known = group.tokens_known and other.tokens_known
    row("tokens per run", _least(first, group), _least(second, other), ratio if known else "")
    row("seconds per run", *_spent(group.seconds_mean, other.seconds_mean, ".2f"))
    row("rounds per run", *(f"{_rounds(side):.1f}" for side in (one, two)))
    return NarrowTable(table)


def _changes(comparison: PairedComparison, changed: Sequence[CasePair]) -> NarrowTable:
    """Show cases whose result changed first, worse ones before better ones, and then by the change of the score."""
    order = {"worse": 0, "better": 1, "": 2}
    ranked = sorted(changed, key=lambda pair: (order[pair.turned], -abs(pair.score_difference)))
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("case", overflow="fold")
    for side in (comparison.first, comparison.second):
        table.add_column(f"{side.label} score, passes", justify="right", no_wrap=True)
    table.add_column("change", justify="right", no_wrap=True)
    table.add_column("result", no_wrap=True)
    for pair in ranked[:MOST_ROWS]:
        style = {"worse": "red", "better": "green"}.get(pair.turned, "")
        table.add_row(
            Text(one_line(pair.case, 60)),
            f"{pair.first_score:.3f} {pair.first_passes}/{pair.first_runs}",
            f"{pair.second_score:.3f} {pair.second_passes}/{pair.second_runs}",
            f"{pair.score_difference:+.3f}",
            Text(pair.turned, style=style),
        )
    if len(ranked) > MOST_ROWS:
        table.add_row(Text(f"… {len(ranked) - MOST_ROWS} more: --json", style="dim"))
    return NarrowTable(table)


def _flips(comparison: PairedComparison) -> Iterator[RenderableType]:
    """Show the points whose verdicts changed, those that lost most hits first."""
    flips = sorted(comparison.flips, key=lambda each: each.better - each.worse)
    lost, gained = sum(each.worse for each in flips), sum(each.better for each in flips)
    trials = f"{counted(lost, 'hit')} lost and {gained} gained in trials that both have"
    yield Text(f"{counted(len(flips), 'point')} flipped: {trials}", style="bold")
    for each in flips[:MOST_ROWS]:
        style = "red" if each.worse > each.better else "green" if each.better > each.worse else ""
        yield Text(f"  {_point_words(each)}", style=style)
    if len(flips) > MOST_ROWS:
        yield Text(f"  … {len(flips) - MOST_ROWS} more: --json", style="dim")


def _point_words(flips: PointFlips) -> str:
    before, after = (_labels(labels) for labels in (flips.before, flips.after))
    return f"{one_line(flips.case, 60)} {point_name(flips.criterion, flips.statement)}: {before} -> {after}"


def _labels(labels: Sequence[str]) -> str:
    more = f" … ({counted(len(labels), 'trial')})" if len(labels) > MOST_TRIALS else ""
    return " ".join(one_line(label, 20) for label in labels[:MOST_TRIALS]) + more


def _difference(difference: Difference) -> Text:
    style = ("green" if difference.value > 0 else "red") if difference.clear else ""
    ends = f"{difference.interval.low:+.3f} to {difference.interval.high:+.3f}"
    return Text(f"{difference.value:+.3f} ({ends})", style=style)


def _number(value: float | None, form: str) -> str:
    return "unknown" if value is None else format(value, form)


def _least(tokens: str, group: Group) -> str:
    """Return the tokens per run; some may not have been reported."""
    return tokens if group.tokens_known or group.tokens_mean is None else f"at least {tokens}"


def _spent(before: float | None, after: float | None, form: str) -> tuple[str, str, str]:
    """Return both numbers, and the ratio of the second to the first."""
    ratio = f"x {after / before:.2f}" if before and after is not None else ""
    return _number(before, form), _number(after, form), ratio


def _rounds(side: PairedSide) -> float:
    return side.group.rounds / side.group.runs_all


def _names(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(one_line(name, 60) for name in names[:MOST_NAMES]) + more
