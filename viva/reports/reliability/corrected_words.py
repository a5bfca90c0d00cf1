"""Says in words what a score becomes after the judge's measured error was corrected."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from viva.records.text import one_line
from viva.records.wording import counted
from viva.statistics.corrected.figures import CorrectedScore, failed_words
from viva.statistics.summary import Figures

MOST_AGENTS = 60


def corrected_lines(figures: Figures, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield one or two lines for each agent, if people labelled points; else none.

    Args:
        figures: The statistics.
        labels: The short name of each agent.
    """
    several = len(figures.corrected) > 1
    for each in figures.corrected[:MOST_AGENTS]:
        whose = f"{labels.get(each.agent) or one_line(each.agent, 60)}: " if several else ""
        yield f"{whose}{_score(each)}"
        if each.value is not None and each.failed < each.runs:
            yield f"{whose}{_judge(each)}"
    for note in figures.corrected[0].notes if figures.corrected else ():
        yield one_line(note, 300)


def _score(each: CorrectedScore) -> str:
    if each.value is None or each.low is None or each.high is None:
        return f"no corrected score: {each.refused}"
    of = f"{counted(each.labels, 'labelled point')} in {each.labelled_cases} of {counted(each.cases, 'case')}"
    if each.measured_in:
        of = f"{counted(each.labels, 'labelled point')} in {counted(each.labelled_cases, 'case')} of "
        of += one_line(each.measured_in, 200)
    score = f"{each.value:.2f} (95 %: {each.low:.2f}-{each.high:.2f})"
    return f"{score}, as judged {each.raw:.2f}; {of}{failed_words(each)}"


def _judge(each: CorrectedScore) -> str:
    if each.sensitivity is None or each.specificity is None:
        return f"the judge counts {each.trust or 0:.0%} beside the labels; these have no hit, or no miss"
    hits, misses = counted(each.labelled_hits, "hit"), counted(each.labelled_misses, "miss", "misses")
    words = f"the judge recognizes {each.sensitivity:.0%} of {hits} and {each.specificity:.0%} of {misses}"
    if each.measured_in:
        return f"{words} there, and is assumed to do so here"
    if each.binary is None or each.binary_low is None or each.binary_high is None:
        return f"{words}; {each.binary_refused}"
    return f"{words}: {each.binary:.2f} ({each.binary_low:.2f}-{each.binary_high:.2f}) by Rogan and Gladen"
