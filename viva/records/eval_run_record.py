"""`EvalRunRecord`: one observed run, as the people who observe agents speak of it. A view of `RunRecord`."""

from __future__ import annotations

from dataclasses import dataclass

from viva.records.run_record import RunRecord
from viva.records.transcript import Metrics, Transcript
from viva.records.verdict import Insight

NO_METRICS = Metrics()


@dataclass(frozen=True, slots=True)
class EvalRunRecord:
    """One run: a journal's `RunRecord`, and the transcript where it was captured. It holds nothing of its own."""

    record: RunRecord
    transcript: Transcript | None = None
    """None if no content was captured, and where only the record was read."""

    @property
    def id(self) -> str:
        """The run's id in its journal."""
        return self.record.id

    @property
    def task(self) -> str:
        """The task's label."""
        return self.record.subject

    @property
    def agent(self) -> str:
        """Who was observed."""
        return self.record.agent

    @property
    def agent_version(self) -> str | None:
        """Return the version, if it is known."""
        return self.record.agent_version

    @property
    def started(self) -> float:
        """When the run began, in seconds since the epoch."""
        return self.record.timing.started

    @property
    def ended(self) -> float:
        """When the run and its evaluation were done, in seconds since the epoch."""
        return self.record.timing.started + self.record.timing.seconds

    @property
    def seconds(self) -> float:
        """How long the run took, without its evaluation."""
        return max(0.0, self.record.timing.seconds - self.record.timing.judge_seconds)

    @property
    def model(self) -> str | None:
        """The dominant model; see `Metrics.dominant_model`."""
        return self.metrics.dominant_model

    @property
    def success(self) -> bool | None:
        """Return whether the run succeeded; None if unknown."""
        return self.record.success

    @property
    def metrics(self) -> Metrics:
        """The metrics snapshot; an empty one where nothing was counted."""
        return NO_METRICS if self.record.metrics is None else self.record.metrics

    @property
    def trace_id(self) -> str | None:
        """The OpenTelemetry trace that the run was a part of, as 32 hex digits."""
        return self.record.trace_id

    @property
    def insights(self) -> tuple[Insight, ...]:
        """What the evaluators said, the primary first."""
        return self.record.insights

    @property
    def score(self) -> float | None:
        """The primary evaluator's overall score in [0, 1]; None if nothing was judged."""
        return self.record.score
