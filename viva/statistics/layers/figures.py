"""Counts on what the hits on scoring points rest; one pass over records."""

from __future__ import annotations

from dataclasses import dataclass

from viva.judge.scoring_points.layers import NEVER_AROSE, WORDS_ALONE
from viva.records.run_record import RunRecord
from viva.records.verdict import Label
from viva.records.wording import SCORING_POINTS


@dataclass(frozen=True, slots=True, kw_only=True)
class HitFigures:
    """What the hits of the runs that count rest on."""

    hits: int
    words_alone: int
    """Those of a model that quotes only what the agent said, although it could go by steps or files."""
    never_arose: int
    """Those on statements whose condition never arose."""


_HIT = Label.HIT


class HitTallies:
    """Adds up the hits of runs."""

    def __init__(self) -> None:
        self._hits = self._words_alone = self._never_arose = 0

    def add(self, record: RunRecord) -> None:
        """Add one run; one that does not count changes nothing."""
        if not record.outcome.counts:
            return
        for insight in record.insights:
            if insight.evaluator != SCORING_POINTS:
                continue
            for verdict in insight.verdicts:
                if verdict.label == _HIT:
                    self._hits += 1
                    if flags := verdict.flags:  # most have none
                        self._words_alone += WORDS_ALONE in flags
                        self._never_arose += NEVER_AROSE in flags

    def overall(self) -> HitFigures | None:
        """Return the figures of all runs; None if no hit has one of these flags."""
        if not self._words_alone and not self._never_arose:
            return None
        return HitFigures(hits=self._hits, words_alone=self._words_alone, never_arose=self._never_arose)
