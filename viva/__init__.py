"""The public interface of Viva, which Python programs and adapters import. See docs/python.md.

A name is imported from its package when it is first used, so that `import viva` takes almost no time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from adapters.errors import SetupError
    from adapters.events.autogen import autogen_collector, observing_autogen
    from adapters.events.collector import EvalCollector, EvalMetricsSnapshot
    from adapters.events.gen_ai import GenAiSpans
    from adapters.virtual_user import VirtualUser
    from cases import Case, CaseError, ScoringPoint, ScriptLine
    from harness.analysis.agent import EvalAgent
    from harness.analysis.findings import EvalAnalysis
    from harness.analysis.options import EvalAgentOptions, EvalAnalysisRequest
    from harness.exam.options import Options
    from harness.exam.subscribers import RunHeader, Subscriber
    from harness.observe.eval_harness import CompletedRun, EvalHarness, EvalInsight
    from harness.observe.eval_suite import EvalCase, EvalSuite
    from harness.observe.eval_suite_result import EvalCaseResult, EvalSuiteResult
    from harness.observe.options import EvalOptions
    from harness.sinks.otel.names import EvalTelemetry
    from harness.statistics.groups import Group
    from harness.statistics.summary import Figures
    from judge.operational.decision import Trend
    from judge.operational.evaluator import OperationalEvaluator
    from judge.success import SuccessEvaluator
    from records.eval_run_record import EvalRunRecord
    from records.evaluator import Context, Evaluator
    from records.history import EvalHistorySource
    from records.journal_errors import JournalError
    from records.journal_history import JournalHistory
    from records.journal_reader import StoredRun
    from records.run_record import Outcome, RunRecord, Setting, Timing
    from records.run_span import RunSpan, RunTracer
    from records.sink import Sink
    from records.transcript import Metrics, Reply, Round, Step, StepKind, StopReason, Transcript, Usage
    from records.verdict import Evidence, Fault, Insight, Label, Verdict, Vote
    from sandbox.interface import SandboxError
    from viva.evaluation_agent import EvaluationAgent
    from viva.exams import examine, examine_async
    from viva.given_cases import load_case
    from viva.journals import SuiteResult, read_journal
    from viva.judgements import judge, judge_async
    from viva.recordings import trace, trace_async
    from viva.suites import run_suite, run_suite_async

_HOMES = {
    "adapters.errors": ("SetupError",),
    "adapters.events.autogen": (
        "autogen_collector",
        "observing_autogen",
    ),
    "adapters.events.collector": (
        "EvalCollector",
        "EvalMetricsSnapshot",
    ),
    "adapters.events.gen_ai": ("GenAiSpans",),
    "adapters.virtual_user": ("VirtualUser",),
    "cases": ("Case", "CaseError", "ScoringPoint", "ScriptLine"),
    "harness.analysis.agent": ("EvalAgent",),
    "harness.analysis.findings": ("EvalAnalysis",),
    "harness.analysis.options": (
        "EvalAgentOptions",
        "EvalAnalysisRequest",
    ),
    "harness.exam.options": ("Options",),
    "harness.exam.subscribers": ("RunHeader", "Subscriber"),
    "harness.observe.eval_harness": (
        "CompletedRun",
        "EvalHarness",
        "EvalInsight",
    ),
    "harness.observe.eval_suite": (
        "EvalCase",
        "EvalSuite",
    ),
    "harness.observe.eval_suite_result": (
        "EvalCaseResult",
        "EvalSuiteResult",
    ),
    "harness.observe.options": ("EvalOptions",),
    "harness.sinks.otel.names": ("EvalTelemetry",),
    "harness.statistics.groups": ("Group",),
    "harness.statistics.summary": ("Figures",),
    "judge.operational.decision": ("Trend",),
    "judge.operational.evaluator": ("OperationalEvaluator",),
    "judge.success": ("SuccessEvaluator",),
    "records.eval_run_record": ("EvalRunRecord",),
    "records.evaluator": ("Context", "Evaluator"),
    "records.history": ("EvalHistorySource",),
    "records.journal_errors": ("JournalError",),
    "records.journal_reader": ("StoredRun",),
    "records.journal_history": ("JournalHistory",),
    "records.run_record": ("Outcome", "RunRecord", "Setting", "Timing"),
    "records.run_span": (
        "RunSpan",
        "RunTracer",
    ),
    "records.sink": ("Sink",),
    "records.transcript": ("Metrics", "Reply", "Round", "Step", "StepKind", "StopReason", "Transcript", "Usage"),
    "records.verdict": ("Evidence", "Fault", "Insight", "Label", "Verdict", "Vote"),
    "sandbox.interface": ("SandboxError",),
    "viva.evaluation_agent": ("EvaluationAgent",),
    "viva.exams": ("examine", "examine_async"),
    "viva.given_cases": ("load_case",),
    "viva.journals": ("SuiteResult", "read_journal"),
    "viva.judgements": ("judge", "judge_async"),
    "viva.recordings": ("trace", "trace_async"),
    "viva.suites": ("run_suite", "run_suite_async"),
}
"""The module from which each public name is imported."""
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "Case",
    "CaseError",
    "CompletedRun",
    "Context",
    "EvalAgent",
    "EvalAgentOptions",
    "EvalAnalysis",
    "EvalAnalysisRequest",
    "EvalCase",
    "EvalCaseResult",
    "EvalCollector",
    "EvalHarness",
    "EvalHistorySource",
    "EvalInsight",
    "EvalMetricsSnapshot",
    "EvalOptions",
    "EvalRunRecord",
    "EvalSuite",
    "EvalSuiteResult",
    "EvalTelemetry",
    "EvaluationAgent",
    "Evaluator",
    "Evidence",
    "Fault",
    "Figures",
    "GenAiSpans",
    "Group",
    "Insight",
    "JournalError",
    "JournalHistory",
    "Label",
    "Metrics",
    "OperationalEvaluator",
    "Options",
    "Outcome",
    "Reply",
    "Round",
    "RunHeader",
    "RunRecord",
    "RunSpan",
    "RunTracer",
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
    "SuccessEvaluator",
    "SuiteResult",
    "Timing",
    "Transcript",
    "Trend",
    "Usage",
    "Verdict",
    "VirtualUser",
    "Vote",
    "autogen_collector",
    "examine",
    "examine_async",
    "judge",
    "judge_async",
    "load_case",
    "observing_autogen",
    "read_journal",
    "run_suite",
    "run_suite_async",
    "trace",
    "trace_async",
]


if not TYPE_CHECKING:  # type checkers would take any name for one of these

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name not in _HOME_OF:
            raise AttributeError(f"module 'viva' has no attribute {name!r}")
        thing = globals()[name] = getattr(importlib.import_module(_HOME_OF[name]), name)
        return thing


def __dir__() -> list[str]:
    """Return the public names, whether or not they have been imported."""
    return sorted({*globals(), *__all__})
