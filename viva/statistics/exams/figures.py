"""The figures of an examiner: its fault rate, its faults by kind, and the scores with and without unfair exams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from viva.statistics.intervals import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class ExaminerFigures:
    """Holds the figures of the exams whose examiner was judged, for all agents or for one.

    An exam is one attempt at a run: an unfair exam that was held again counts, too.
    """

    agent: str | None = None
    """The SPEC of the agent; None for all agents."""
    exams: int = 0
    """Number of exams whose examiner was judged, or broke off."""
    unfair: int = 0
    """Number of exams in which the examiner was at fault."""
    rate: float | None = None
    """`unfair` / `exams`, in [0, 1]."""
    rate_interval: Interval | None = None
    """Wilson's 95 % interval; if there are several cases, exams of one case are not counted as independent."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """Number of unfair exams with each kind of fault, the most frequent first."""
    noted: Mapping[str, int] = field(default_factory=dict)
    """Number of exams in which each kind of fault was only noted, without the attempts that were repeated."""
    reviewed: int = 0
    """Number of exams that a model reviewed, too, without the attempts that were repeated."""
    unreviewed: int = 0
    """Number of exams whose requested review gave no usable answer."""
    open: int = 0
    """Number of exams that may be unfair although they do not count as such: the requested review gave no usable answer
    and code found nothing serious, or the evaluator failed. The latter are not among `exams`."""
    failed: int = 0
    """Number of exams on which the evaluator failed; they are among `open`."""
    raw: float | None = None
    """Mean score as if nobody had judged the examiner: of the first attempt at each run, unfair or not."""
    raw_interval: Interval | None = None
    """95 % interval of `raw`, computed as `fair_interval` is."""
    fair: float | None = None
    """Mean score without unfair exams: of the last attempt at each run, if it was fair."""
    fair_interval: Interval | None = None
    """95 % interval of `fair`: over cases if there are several (bootstrap), else over the runs (Student). None for
    several agents."""
    runs: int = 0
    """Number of runs in `fair`."""
    runs_raw: int = 0
    """Number of runs in `raw`."""
