"""The sink `phoenix`: a Phoenix server shows the spans and verdicts of runs as they end."""

from __future__ import annotations

from collections.abc import Iterator

from viva.judge.trajectory import SKIPPED
from viva.records.run_record import RunRecord
from viva.records.transcript import LIVE, Transcript
from viva.records.verdict import Insight, Label, is_model
from viva.sinks.phoenix.annotations import Annotation, annotation, name_of, trajectory_annotations
from viva.sinks.phoenix.server import PhoenixServer
from viva.sinks.phoenix.spans import SpanIds, spans_of

DEFAULT = "http://localhost:6006#viva"


class PhoenixSink:
    """Sends the spans of a run, and its verdicts as annotations of them.

    A run that Viva did not conduct has its spans on a server already: only its annotations are sent, to its own trace.
    """

    def __init__(self, source: str = DEFAULT) -> None:
        """Args:
            address: `http://host:6006#project`.

        Raises:
            SetupError: it is not an address, or the client is not installed.
        """
        self._server = PhoenixServer(source)

    def write(self, record: RunRecord, transcript: Transcript) -> None:
        """Send one run.

        Raises:
            PhoenixError: the server cannot be reached, or refuses.
        """
        if transcript.source != LIVE:
            self._server.annotate(trajectory_annotations(record.id, transcript, record.insights))
            return
        self._server.send(spans_of(record, transcript, self._server.project))
        self._server.annotate(live_annotations(record, transcript), patient=True)

    def close(self) -> None:
        """Nothing is left to send: each run was sent when it ended."""


def live_annotations(record: RunRecord, transcript: Transcript) -> Iterator[Annotation]:
    """Make the annotations of a run that Viva conducted: every insight about it, and every verdict.

    A verdict about a round or step belongs to its span, one about the run to the trace.
    """
    ids = SpanIds(record.id, record.attempt)
    inside = {round_.id for round_ in transcript.rounds}
    inside |= {step.id for round_ in transcript.rounds for step in round_.steps}
    for insight in record.insights:
        if insight.label not in (Label.ERROR, SKIPPED):
            yield _whole(insight, record, ids)
        for verdict in insight.verdicts:
            if verdict.label in (Label.ERROR, SKIPPED):
                continue
            if verdict.subject in inside:
                yield annotation(verdict, insight.evaluator, record.id, ids.span(verdict.subject), ids.trace)
            elif verdict.criterion != insight.evaluator:
                # A verdict about the run with the evaluator's own name repeats the insight.
                yield annotation(verdict, insight.evaluator, record.id, None, ids.trace)


def _whole(insight: Insight, record: RunRecord, ids: SpanIds) -> Annotation:
    first = insight.verdicts[0] if len(insight.verdicts) == 1 else None
    by_model = any(is_model(verdict.by) for verdict in insight.verdicts)
    return Annotation(
        None,
        ids.trace,
        name_of(insight.evaluator, ""),
        "LLM" if by_model else "CODE",
        f"viva:{record.id}",
        insight.label,
        insight.score,
        (first.reason if first is not None else "") or insight.summary,
        {"run": record.id},
    )
