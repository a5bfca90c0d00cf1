"""What the figures of an examiner are: its fault rate, by kind, and the scores with and without unfair exams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viva.statistics.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminerFigures:
    """Holds the figures of the exams of which the examiner was judged, of all agents or of one.

    An exam is one attempt at a run: an unfair exam that was held again counts, too.
    """

    agent: str | None = None
    """None for all agents."""
    exams: int = 0
    """Exams of which the examiner was judged, or broke off."""
    unfair: int = 0
    """Those in which it was at fault."""
    rate: float | None = None
    """`unfair` / `exams`, in [0, 1]."""
    rate_interval: Interval | None = None
    """95 %, Wilson; exams of one case are not counted as independent where there are several cases."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """Kind of fault to the unfair exams with it, the most frequent first."""
    noted: Mapping[str, int] = field(default_factory=dict)
    """Kind of fault to the exams in which it was only noted; exams that were held again are not among them."""
    reviewed: int = 0
    """Exams that a model reviewed as well; exams that were held again are not among them."""
    unreviewed: int = 0
    """Exams whose requested review gave no usable answer."""
    raw: float | None = None
    """Mean score if nobody judged the examiner: of the first attempt at each run, unfair or not."""
    raw_interval: Interval | None = None
    """95 %, as that of `fair`."""
    fair: float | None = None
    """Mean score without unfair exams: of the last attempt at each run, if it was fair."""
    fair_interval: Interval | None = None
    """95 %: over cases where there are several (bootstrap), else over the runs (Student). None for several agents."""
    runs: int = 0
    """Runs in `fair`."""
    runs_raw: int = 0
    """Runs in `raw`."""
