"""The Protocol of evaluators: any object with this method is one, without inheritance."""

from __future__ import annotations

from collections.abc import Awaitable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from viva.records.history import EvalHistorySource
from viva.records.transcript import Metrics, Transcript
from viva.records.verdict import Insight, Verdict

if TYPE_CHECKING:
    from viva.cases import Case  # an agent in a process of its own imports this package, and needs no cases


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
    persona: str = ""
    """The bundled persona that the examiner played; empty if it played none, or one that only the case describes."""
    strategy: str = ""
    """The bundled strategy by which the examiner tried to mislead the agent; empty if it followed none."""
    persona_words: str = ""
    """The description of the bundled persona, as the examiner was told it."""
    strategy_words: str = ""
    """The description of the bundled strategy, as the examiner was told it."""
    reference: Any = None
    """A correct answer or trajectory, if there is one; its evaluator defines the form."""


Judgement = bool | float | str | Mapping[str, bool | float] | Verdict | Insight | Iterable[Verdict] | Iterable[Insight]
"""What an evaluator may return: see `Evaluator.evaluate`."""


class Evaluator(Protocol):
    """Judges one transcript. A plain function with the same two parameters is an evaluator, too.

    Optional attributes: `name` in reports (otherwise the name of the class or function in snake_case), and `needs`, the
    names of what it requires (`viva.judge.registry.Need`).
    """

    def evaluate(self, transcript: Transcript, context: Context) -> Judgement | Awaitable[Judgement]:
        """Judge the transcript; plain (then it runs in a thread) or async.

        Returns:
            A bool, a score in [0, 1], a label, named scores in [0, 1], one or several Verdicts, or one or several
            Insights about different subjects. An exception, or anything else, becomes an `error` in the evaluator's
            insight.
        """
        ...
