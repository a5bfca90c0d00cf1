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
        figures: The statistics; nothing is yielded if no examiner was to be judged.
        labels: The short name of each agent.
    """
    whole = figures.examiner
    if whole is None or not whole.exams + whole.failed:
        return
    yield ""
    yield _faults(whole)
    if whole.kinds:
        yield f"  unfair by kind: {_kinds(whole.kinds)}"
    if whole.noted:
        yield f"  only noted, by exams: {_kinds(whole.noted)}"
    if whole.reviewed or whole.unreviewed:
        failed = f", {counted(whole.unreviewed, 'exam')} not reviewed: no usable answer" if whole.unreviewed else ""
        yield f"  {counted(whole.reviewed, 'exam')} reviewed by a model{failed}"
    if whole.failed:
        yield f"  {counted(whole.failed, 'exam')} could not be judged: the evaluator failed"
    if whole.open:
        most = (whole.unfair + whole.open) / (whole.exams + whole.failed)
        yield f"  {counted(whole.open, 'exam')} may be unfair, too: the rate may be as high as {most:.0%}"
    several = len(figures.examiner_agents) > 1
    for each in figures.examiner_agents[:MOST_AGENTS]:
        whose = f"{labels.get(each.agent or '', '')}: " if several else ""
        if each.raw is None and each.fair is None:
            if several and each.failed:
                yield f"  {whose}{_faults(each)}"
            continue
        faults = f"; {_faults(each)}" if several else ""
        # Without an unfair exam, both are the same score, which is shown already.
        if each.unfair or several:
            yield f"  {whose}{_scores(each, figures)}{faults}"


def _scores(each: ExaminerFigures, figures: Figures) -> str:
    few = len({cell.case for cell in figures.cells}) < FEWEST_CASES
    raw = f"{number(each.raw)}{'' if few else _ends(each.raw_interval)}"
    fair = f"{number(each.fair)}{'' if few else _ends(each.fair_interval)}"
    return f"score without unfair exams {fair}, with them {raw}"


def _faults(each: ExaminerFigures) -> str:
    """Return the fault rate of all exams that were judged, or that there are none."""
    if not each.exams:
        return f"the examiner could be judged in no exam ({each.failed} failed)"
    return f"examiner at fault in {each.unfair} of {counted(each.exams, 'exam')}: {_rate(each)}"


def _rate(each: ExaminerFigures) -> str:
    ends = each.rate_interval
    shown = "" if ends is None else f" (95 %: {ends.low * 100:.0f}-{ends.high * 100:.0f})"
    return f"{each.rate or 0:.0%}{shown}"


def _kinds(kinds: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in list(kinds.items())[:MOST_KINDS])


def _ends(interval: Interval | None) -> str:
    return "" if interval is None else f" (95 %: {interval.low:.2f}-{interval.high:.2f})"
