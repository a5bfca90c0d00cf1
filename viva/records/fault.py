"""The party that caused a failure; transcripts and verdicts name it."""

from __future__ import annotations

from enum import StrEnum


class Fault(StrEnum):
    """The party that caused a failure.

    A stop has any but `JUDGE`. A verdict has `JUDGE` or `INFRA`, or `EXAMINER` if the exam was unfair.
    """

    TARGET = "target"
    EXAMINER = "examiner"
    JUDGE = "judge"
    INFRA = "infra"
