"""The plain data that an exam produces, and its file formats."""

from viva.records.evaluator import Context, Evaluator
from viva.records.fault import Fault
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.sink import Sink
from viva.records.transcript import Metrics, Reply, Round, Step, StepKind, StopReason, Transcript, Usage
from viva.records.verdict import Evidence, Insight, Label, Verdict, Vote

__all__ = [
    "Context",
    "Evaluator",
    "Evidence",
    "Fault",
    "Insight",
    "Label",
    "Metrics",
    "Outcome",
    "Reply",
    "Round",
    "RunRecord",
    "Setting",
    "Sink",
    "Step",
    "StepKind",
    "StopReason",
    "Timing",
    "Transcript",
    "Usage",
    "Verdict",
    "Vote",
]
