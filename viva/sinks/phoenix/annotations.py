"""Turns verdicts into annotations of spans and traces on a Phoenix server, with the names of the framework's document.

An annotation is known by its name, its span or trace, and its identifier: written again, it replaces the one before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from viva.judge.trajectory import (
    QUERY_TO_THOUGHT,
    SEQUENCE,
    SKIPPED,
    STEP_EVALUATORS,
    THOUGHT_TO_TOOL,
    TRAJECTORY_EVALUATORS,
)
from viva.judge.trajectory.decisions import decisions
from viva.records.text import one_line, storable
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Label, Verdict, is_model

NAMES = {
    THOUGHT_TO_TOOL: "GitHub Tool Calling Eval (Thought-to-Tool)",
    QUERY_TO_THOUGHT: "GitHub Query Interpretation Eval (Query-to-Thought)",
    SEQUENCE: "GitHub Sequence Optimality Eval",
}
"""Evaluator to its name in the document; others are called `Viva` and their name."""
EXPLANATION = 10_000
"""Characters."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation of a span or a trace."""

    span: str | None
    """None for one of the trace."""
    trace: str
    name: str
    kind: str
    """`LLM` or `CODE`."""
    identifier: str
    label: str
    score: float | None
    explanation: str
    metadata: Mapping[str, Any]

    def plain(self) -> dict[str, Any]:
        """Return it in the form of the server's interface."""
        result: dict[str, Any] = {"label": self.label, "explanation": self.explanation}
        if self.score is not None:
            result["score"] = self.score
        where = {"trace_id": self.trace} if self.span is None else {"span_id": self.span}
        return {
            **where,
            "name": self.name,
            "annotator_kind": self.kind,
            "identifier": self.identifier,
            "result": result,
            "metadata": dict(self.metadata),
        }


def name_of(evaluator: str, criterion: str) -> str:
    """Return the name of an evaluator's annotations; with several criteria, each has a name of its own."""
    own = NAMES.get(evaluator, f"Viva {evaluator}")
    return own if criterion in ("", evaluator) else f"{own}: {criterion}"


def trajectory_annotations(run: str, transcript: Transcript, insights: tuple[Insight, ...]) -> Iterator[Annotation]:
    """Make the annotations of the trajectory evaluators' verdicts in a recorded run.

    A verdict about a step belongs to the span in which the step was decided, one about the run to its trace. What was
    skipped or could not be judged has no annotation.
    """
    if not transcript.trace_id:
        return
    spans = {each.id: each.span for each in decisions(transcript)}
    for insight in insights:
        if insight.subject != run or insight.evaluator not in TRAJECTORY_EVALUATORS:
            continue
        for verdict in insight.verdicts:
            if verdict.label in (SKIPPED, Label.ERROR):
                continue
            span = spans.get(verdict.subject) if insight.evaluator in STEP_EVALUATORS else None
            if span is not None or verdict.subject == run:
                yield annotation(verdict, insight.evaluator, run, span, transcript.trace_id)


def annotation(verdict: Verdict, evaluator: str, run: str, span: str | None, trace: str) -> Annotation:
    """Make the annotation of a verdict."""
    quotes = [f"{each.where}: {each.quote}" for each in verdict.evidence[:5]]
    evidence = {"evidence": [storable(quote)[:1000] for quote in quotes]} if quotes else {}
    return Annotation(
        span,
        trace,
        one_line(
            name_of(evaluator, "" if verdict.criterion == evaluator else verdict.statement or verdict.criterion), 200
        ),
        "LLM" if is_model(verdict.by) else "CODE",
        # Several steps can be decided in one span, and several runs lie in one trace.
        f"viva:{verdict.subject}" if span is not None else f"viva:{run}",
        storable(verdict.label)[:200],
        verdict.score,
        storable(verdict.reason)[:EXPLANATION],
        {"run": run, "judge": storable(verdict.by)[:200], **evidence},
    )
