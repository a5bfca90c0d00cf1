"""The public face of Viva: what Python programs and adapters import. See docs/python.md.

A name is imported from the package it lives in when it is first used, so that `import viva` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapters.errors import SetupError
    from adapters.virtual_user import VirtualUser
    from cases import Case, CaseError, ScoringPoint, ScriptLine
    from harness.exam.options import Options
    from harness.exam.subscribers import RunHeader, Subscriber
    from harness.statistics.groups import Group
    from harness.statistics.summary import Figures
    from records.evaluator import Context, Evaluator
    from records.journal_errors import JournalError
    from records.journal_reader import StoredRun
    from records.run_record import Outcome, RunRecord, Setting, Timing
    from records.sink import Sink
    from records.transcript import Metrics, Reply, Round, Step, StepKind, StopReason, Transcript, Usage
    from records.verdict import Evidence, Fault, Insight, Label, Verdict, Vote
    from sandbox.interface import SandboxError
    from viva.evaluation_agent import EvaluationAgent
    from viva.exams import examine, examine_async
    from viva.given_cases import load_case
    from viva.journals import SuiteResult, read_journal
    from viva.judgements import judge, judge_async
    from viva.suites import run_suite, run_suite_async

_HOMES = {
    "adapters.errors": ("SetupError",),
    "adapters.virtual_user": ("VirtualUser",),
    "cases": ("Case", "CaseError", "ScoringPoint", "ScriptLine"),
    "harness.exam.options": ("Options",),
    "harness.exam.subscribers": ("RunHeader", "Subscriber"),
    "harness.statistics.groups": ("Group",),
    "harness.statistics.summary": ("Figures",),
    "records.evaluator": ("Context", "Evaluator"),
    "records.journal_errors": ("JournalError",),
    "records.journal_reader": ("StoredRun",),
    "records.run_record": ("Outcome", "RunRecord", "Setting", "Timing"),
    "records.sink": ("Sink",),
    "records.transcript": ("Metrics", "Reply", "Round", "Step", "StepKind", "StopReason", "Transcript", "Usage"),
    "records.verdict": ("Evidence", "Fault", "Insight", "Label", "Verdict", "Vote"),
    "sandbox.interface": ("SandboxError",),
    "viva.evaluation_agent": ("EvaluationAgent",),
    "viva.exams": ("examine", "examine_async"),
    "viva.given_cases": ("load_case",),
    "viva.journals": ("SuiteResult", "read_journal"),
    "viva.judgements": ("judge", "judge_async"),
    "viva.suites": ("run_suite", "run_suite_async"),
}
"""Where each public name is imported from."""
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Case",
    "CaseError",
    "Context",
    "EvaluationAgent",
    "Evaluator",
    "Evidence",
    "Fault",
    "Figures",
    "Group",
    "Insight",
    "JournalError",
    "Label",
    "Metrics",
    "Options",
    "Outcome",
    "Reply",
    "Round",
    "RunHeader",
    "RunRecord",
    "SandboxError",
    "ScoringPoint",
    "ScriptLine",
    "Setting",
    "SetupError",
    "Sink",
    "Step",
    "StepKind",
    "StopReason",
    "StoredRun",
    "Subscriber",
    "SuiteResult",
    "Timing",
    "Transcript",
    "Usage",
    "Verdict",
    "VirtualUser",
    "Vote",
    "examine",
    "examine_async",
    "judge",
    "judge_async",
    "load_case",
    "read_journal",
    "run_suite",
    "run_suite_async",
]


if not TYPE_CHECKING:  # type checkers would take any name for one of these

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name not in _HOME_OF:
            raise AttributeError(f"module 'viva' has no attribute {name!r}")
        thing = globals()[name] = getattr(importlib.import_module(_HOME_OF[name]), name)
        return thing


def __dir__() -> list[str]:
    """List the public names, imported or not."""
    return sorted({*globals(), *__all__})
