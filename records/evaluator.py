"""What an evaluator is: anything with these methods will do, nothing need be inherited."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Protocol

from cases import Case
from records.history import EvalHistorySource
from records.transcript import Metrics, Transcript
from records.verdict import Insight


@dataclass(frozen=True, slots=True)
class Context:
    """What an evaluator may know besides the transcript."""

    subject: str
    """The id of the run (or trace) that is evaluated."""
    case: Case | None = None
    workspace: Path | None = None
    """The agent's files, if it left any."""
    _: KW_ONLY
    folder: Path | None = None
    """The journal's folder: the pictures that the transcript names lie in it."""
    metrics: Metrics | None = None
    """What was counted while the session was observed."""
    task: str = ""
    """The task's label, or the name of the case."""
    agent: str = ""
    """Who is evaluated."""
    started: float | None = None
    """When the run began, in seconds since the epoch."""
    history: EvalHistorySource | None = None
    """Earlier runs, for an evaluator that compares; None where there are none to be had."""
    reference: Any = None
    """What a right answer or trajectory looks like, where there is one; its evaluator says in which form."""


class Evaluator(Protocol):
    """Judges one transcript."""

    name: str

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Judge. A fault in judging is an `error` verdict inside the Insight, never an exception."""
        ...
