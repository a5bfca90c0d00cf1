"""Describes in words how fair the exams of a suite were, for every report."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from viva.records.wording import counted
from viva.reports.number_words import number
from viva.statistics.exams.figures import ExaminerFigures
from viva.statistics.groups import FEWEST_CASES
from viva.statistics.intervals import Interval
from viva.statistics.summary import Figures

MOST_KINDS = 12
MOST_AGENTS = 60


def examiner_lines(figures: Figures, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield lines about the examiner: its fault rate, and the scores of each agent with and without unfair exams.

    Args:
        figures: The statistics; nothing is yielded if no examiner was judged.
        labels: The short name of each agent.
    """
    whole = figures.examiner
    if whole is None or whole.rate is None:
        return
    yield ""
    yield f"examiner at fault in {whole.unfair} of {counted(whole.exams, 'exam')}: {_rate(whole)}"
    if whole.kinds:
        yield f"  unfair by kind: {_kinds(whole.kinds)}"
    if whole.noted:
        yield f"  only noted, by exams: {_kinds(whole.noted)}"
    if whole.reviewed or whole.unreviewed:
        failed = f", {counted(whole.unreviewed, 'exam')} not reviewed: no usable answer" if whole.unreviewed else ""
        yield f"  {counted(whole.reviewed, 'exam')} reviewed by a model{failed}"
    several = len(figures.examiner_agents) > 1
    for each in figures.examiner_agents[:MOST_AGENTS]:
        if each.raw is None and each.fair is None:
            continue
        whose = f"{labels.get(each.agent or '', '')}: " if several else ""
        faults = f"; examiner at fault in {each.unfair} of {each.exams}: {_rate(each)}" if several else ""
        # Without an unfair exam, both are the same score, which is shown already.
        if each.unfair or several:
            yield f"  {whose}{_scores(each, figures)}{faults}"


def _scores(each: ExaminerFigures, figures: Figures) -> str:
    few = len({cell.case for cell in figures.cells}) < FEWEST_CASES
    raw = f"{number(each.raw)}{'' if few else _ends(each.raw_interval)}"
    fair = f"{number(each.fair)}{'' if few else _ends(each.fair_interval)}"
    return f"score without unfair exams {fair}, with them {raw}"


def _rate(each: ExaminerFigures) -> str:
    ends = each.rate_interval
    shown = "" if ends is None else f" (95 %: {ends.low * 100:.0f}-{ends.high * 100:.0f})"
    return f"{each.rate or 0:.0%}{shown}"


def _kinds(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in list(kinds.items())[:MOST_KINDS])


def _ends(interval: Interval | None) -> str:
    return "" if interval is None else f" (95 %: {interval.low:.2f}-{interval.high:.2f})"
