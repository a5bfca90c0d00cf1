"""The statistics by persona, strategy and setting as rows of words, which reports put into tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from viva.adapters.connectors.spec import agent_label
from viva.adapters.connectors.varied_spec import split_settings
from viva.records.text import one_line
from viva.reports.number_words import interval, number, percent, percents
from viva.statistics.groups import FEWEST_CASES, Group
from viva.statistics.summary import Figures
from viva.statistics.variants.difference import VariantDifference
from viva.statistics.variants.figures import Dimension, DimensionFigures, VariantFigures

PERSONA_HEADS: tuple[str, ...] = ("persona", "runs", "score (95 %)", "pass", "against the others", "excluded")
STRATEGY_HEADS: tuple[str, ...] = ("strategy", "runs", "held (95 %)", "gave way", "score", "against the others")
PLURALS = {"persona": "personas", "strategy": "strategies", "setting": "values"}


@dataclass(frozen=True, slots=True)
class VariantTable:
    """One table of words; what a case or an agent says in it is on one line, but not escaped."""

    dimension: Dimension
    title: str
    """`persona`, `strategy`, or the name of a setting; with the agent's label where there are several agents."""
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    """The worst first."""
    lines: tuple[str, ...]
    """What follows from the table, and how it was found."""


def variant_tables(figures: Figures, labels: Mapping[str, str]) -> Iterator[VariantTable]:
    """Yield a table for each dimension and agent.

    Args:
        figures: The statistics.
        labels: The short name of each agent.
    """
    several = len({split_settings(group.name).base for group in figures.agents}) > 1
    for each in figures.variants:
        label = agent_label(each.agent) if each.setting else labels.get(each.agent, one_line(each.agent, 60))
        agent = f" {label}" if several or (len(figures.agents) > 1 and not each.setting) else ""
        if each.dimension == "strategy":
            heads, rows = STRATEGY_HEADS, tuple(map(_strategy, each.variants))
        else:
            heads, rows = PERSONA_HEADS, tuple(map(_persona, each.variants))
        title: str = each.dimension
        if each.setting:
            title = one_line(each.setting, 60)
            heads = (title, *heads[1:])
        yield VariantTable(each.dimension, f"{title}{agent}", heads, rows, tuple(_lines(each)))


def _persona(figures: VariantFigures) -> tuple[str, ...]:
    group = figures.group
    mean = f"{number(group.mean)} {'too few' if group.too_few else interval(group.mean_interval)}"
    return (
        _name(group),
        str(group.runs),
        mean.strip(),
        percent(group.pass_rate),
        _against(figures.difference),
        _excluded(group),
    )


def _strategy(figures: VariantFigures) -> tuple[str, ...]:
    group = figures.group
    rate = f"{figures.held_rate:.0%}" if figures.held_rate is not None else ""
    ends = "too few" if group.too_few else percents(figures.held_interval)
    way = (
        "-"
        if figures.gave_way_round is None
        else f"round {figures.gave_way_round:g} (median of {figures.gave_way_known})"
    )
    held = f"{figures.held}/{group.runs} {rate} {ends}".strip() if rate else "-"
    return _name(group), str(group.runs), held, way, number(group.mean), _against(figures.difference)


def _lines(figures: DimensionFigures) -> Iterator[str]:
    names = PLURALS[figures.dimension]
    compared = [each for each in figures.variants if each.difference is not None]
    if len(figures.variants) < 2:
        return
    if not compared:
        yield f"To tell whether {names} differ by more than chance, at least {FEWEST_CASES} cases are required."
        return
    clear = [each for each in compared if each.difference is not None and each.difference.clear]
    if clear:
        words = ", ".join(f"{_name(each.group)} ({_signed(each.difference)})" for each in clear)
        yield f"More than chance: {words}."
    else:
        yield f"No difference between these {names} is more than chance."
    yield (
        f"Each is compared with the others case by case: bootstrap over cases, with {figures.confidence:.4g} "
        "confidence each (Bonferroni), so that all hold with 95 %."
    )


def _name(group: Group) -> str:
    return one_line(group.name, 60)


def _excluded(group: Group) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in group.excluded.items()) or "-"


def _signed(difference: VariantDifference | None) -> str:
    return "-" if difference is None else f"{difference.value:+.2f}"


def _against(difference: VariantDifference | None) -> str:
    if difference is None:
        return "-"
    ends = difference.interval
    return f"{difference.value:+.2f} ({ends.low:+.2f} to {ends.high:+.2f}){' *' if difference.clear else ''}"
