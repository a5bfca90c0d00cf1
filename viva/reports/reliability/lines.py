"""The lines beneath a score that say how far it can be trusted, for page and Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from viva.reports.reliability.corrected_words import corrected_lines
from viva.reports.reliability.missing_words import missing_lines
from viva.reports.reliability.requeued_words import requeued_lines
from viva.statistics.summary import Figures


def reliability_lines(figures: Figures, labels: Mapping[str, str]) -> Iterator[str]:
    """Yield each line with what it is about.

    Args:
        figures: The statistics.
        labels: The short name of each agent.
    """
    for line in requeued_lines(figures):
        yield f"Requeued: {line}."
    for line in missing_lines(figures, labels):
        yield f"Bounds: {line}."
    for line in corrected_lines(figures, labels):
        yield f"Corrected: {line}."
