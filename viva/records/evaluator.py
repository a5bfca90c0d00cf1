"""The Protocol of evaluators: any object with these methods is one, without inheritance."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Any, Protocol

from viva.cases import Case
from viva.records.history import EvalHistorySource
from viva.records.transcript import Metrics, Transcript
from viva.records.verdict import Insight


@dataclass(frozen=True, slots=True)
class Context:
    """The information that evaluators get in addition to the transcript."""

    subject: str
    """The id of the run (or trace) that is evaluated."""
    case: Case | None = None
    workspace: Path | None = None
    """The agent's files, if it left any."""
    _: KW_ONLY
    folder: Path | None = None
    """The journal's folder, which contains the images that the transcript names."""
    metrics: Metrics | None = None
    """The metrics of an observed session."""
    task: str = ""
    """The task's label, or the name of the case."""
    agent: str = ""
    """The agent that is evaluated."""
    started: float | None = None
    """The start of the run, in seconds since the epoch."""
    history: EvalHistorySource | None = None
    """Earlier runs, for an evaluator that compares; None if there is no history."""
    reference: Any = None
    """A correct answer or trajectory, if there is one; its evaluator defines the form."""


class Evaluator(Protocol):
    """Judges one transcript."""

    name: str

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Judge the transcript. A failure to judge is an `error` verdict in the Insight, never an exception."""
        ...
