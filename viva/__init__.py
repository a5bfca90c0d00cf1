"""The public interface of Viva, which Python programs and adapters import. See `viva docs python`.

A name is imported from its package when it is first used, so that `import viva` takes almost no time.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from viva.adapters.virtual_user import VirtualUser
    from viva.analysis.agent import EvalAgent
    from viva.analysis.findings import EvalAnalysis
    from viva.analysis.options import EvalAgentOptions, EvalAnalysisRequest
    from viva.api.bisections import BisectionResult, bisect, bisect_async
    from viva.api.evaluation_agent import EvaluationAgent
    from viva.api.exams import examine, examine_async
    from viva.api.exports import export_cases
    from viva.api.given_cases import load_case
    from viva.api.imports import import_cases
    from viva.api.journals import SuiteResult, read_journal
    from viva.api.judgements import judge, judge_async
    from viva.api.named_suites import suite, suite_async
    from viva.api.recordings import trace, trace_async
    from viva.api.replays import replay, replay_async
    from viva.api.suites import run_suite, run_suite_async
    from viva.cases import (
        Case,
        CaseError,
        CaseStrategy,
        DoneWhen,
        Insistence,
        ScoringPoint,
        ScriptLine,
        User,
        UserFact,
    )
    from viva.errors import SetupError
    from viva.exam.options import Options
    from viva.exam.subscribers import RunHeader, Subscriber
    from viva.interchange import ExportReport, ImportReport
    from viva.journal.errors import JournalError
    from viva.journal.history import JournalHistory
    from viva.journal.reader import StoredRun
    from viva.judge.operational.decision import Trend
    from viva.judge.operational.evaluator import OperationalEvaluator
    from viva.judge.success import SuccessEvaluator
    from viva.observe.eval_harness import CompletedRun, EvalHarness
    from viva.observe.eval_suite import EvalCase, EvalSuite
    from viva.observe.eval_suite_result import EvalCaseResult, EvalSuiteResult
    from viva.observe.observer import EvalInsight
    from viva.observe.options import EvalOptions
    from viva.recordings.events.autogen import autogen_collector, observing_autogen, take_autogen_record
    from viva.recordings.events.autogen_stream import autogen_messages, take_autogen_message
    from viva.recordings.events.collector import EvalCollector, EvalMetricsSnapshot
    from viva.recordings.events.gen_ai import GenAiSpans, take_gen_ai_span
    from viva.records.eval_run_record import EvalRunRecord
    from viva.records.evaluator import Context, Evaluator
    from viva.records.fault import Fault
    from viva.records.history import EvalHistorySource
    from viva.records.run_record import Outcome, RunRecord, Setting, Timing
    from viva.records.run_span import RunSpan, RunTracer
    from viva.records.sink import Sink
    from viva.records.transcript import Metrics, Reply, Round, Step, StepKind, StopReason, Transcript, Usage
    from viva.records.verdict import Evidence, Insight, Label, Verdict, Vote
    from viva.sandbox.interface import SandboxError
    from viva.sinks.otel.names import EvalTelemetry
    from viva.statistics.groups import Group
    from viva.statistics.summary import Figures

_HOMES = {
    "viva.interchange": ("ExportReport", "ImportReport"),
    "viva.errors": ("SetupError",),
    "viva.recordings.events.autogen": (
        "autogen_collector",
        "observing_autogen",
        "take_autogen_record",
    ),
    "viva.recordings.events.autogen_stream": (
        "autogen_messages",
        "take_autogen_message",
    ),
    "viva.recordings.events.collector": (
        "EvalCollector",
        "EvalMetricsSnapshot",
    ),
    "viva.recordings.events.gen_ai": ("GenAiSpans", "take_gen_ai_span"),
    "viva.adapters.virtual_user": ("VirtualUser",),
    "viva.cases": (
        "Case",
        "CaseError",
        "CaseStrategy",
        "DoneWhen",
        "Insistence",
        "ScoringPoint",
        "ScriptLine",
        "User",
        "UserFact",
    ),
    "viva.analysis.agent": ("EvalAgent",),
    "viva.analysis.findings": ("EvalAnalysis",),
    "viva.analysis.options": (
        "EvalAgentOptions",
        "EvalAnalysisRequest",
    ),
    "viva.exam.options": ("Options",),
    "viva.exam.subscribers": ("RunHeader", "Subscriber"),
    "viva.observe.eval_harness": (
        "CompletedRun",
        "EvalHarness",
    ),
    "viva.observe.observer": ("EvalInsight",),
    "viva.observe.eval_suite": (
        "EvalCase",
        "EvalSuite",
    ),
    "viva.observe.eval_suite_result": (
        "EvalCaseResult",
        "EvalSuiteResult",
    ),
    "viva.observe.options": ("EvalOptions",),
    "viva.sinks.otel.names": ("EvalTelemetry",),
    "viva.statistics.groups": ("Group",),
    "viva.statistics.summary": ("Figures",),
    "viva.judge.operational.decision": ("Trend",),
    "viva.judge.operational.evaluator": ("OperationalEvaluator",),
    "viva.judge.success": ("SuccessEvaluator",),
    "viva.records.eval_run_record": ("EvalRunRecord",),
    "viva.records.evaluator": ("Context", "Evaluator"),
    "viva.records.history": ("EvalHistorySource",),
    "viva.journal.errors": ("JournalError",),
    "viva.journal.reader": ("StoredRun",),
    "viva.journal.history": ("JournalHistory",),
    "viva.records.run_record": ("Outcome", "RunRecord", "Setting", "Timing"),
    "viva.records.run_span": (
        "RunSpan",
        "RunTracer",
    ),
    "viva.records.sink": ("Sink",),
    "viva.records.transcript": ("Metrics", "Reply", "Round", "Step", "StepKind", "StopReason", "Transcript", "Usage"),
    "viva.records.fault": ("Fault",),
    "viva.records.verdict": ("Evidence", "Insight", "Label", "Verdict", "Vote"),
    "viva.sandbox.interface": ("SandboxError",),
    "viva.api.bisections": ("BisectionResult", "bisect", "bisect_async"),
    "viva.api.evaluation_agent": ("EvaluationAgent",),
    "viva.api.exams": ("examine", "examine_async"),
    "viva.api.given_cases": ("load_case",),
    "viva.api.journals": ("SuiteResult", "read_journal"),
    "viva.api.judgements": ("judge", "judge_async"),
    "viva.api.recordings": ("trace", "trace_async"),
    "viva.api.replays": ("replay", "replay_async"),
    "viva.api.exports": ("export_cases",),
    "viva.api.imports": ("import_cases",),
    "viva.api.named_suites": ("suite", "suite_async"),
    "viva.api.suites": ("run_suite", "run_suite_async"),
}
"""The module from which each public name is imported."""
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = [
    "BisectionResult",
    "Case",
    "CaseError",
    "CaseStrategy",
    "CompletedRun",
    "Context",
    "DoneWhen",
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
    "ExportReport",
    "Fault",
    "Figures",
    "GenAiSpans",
    "Group",
    "ImportReport",
    "Insight",
    "Insistence",
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
    "User",
    "UserFact",
    "Verdict",
    "VirtualUser",
    "Vote",
    "autogen_collector",
    "autogen_messages",
    "bisect",
    "bisect_async",
    "examine",
    "examine_async",
    "export_cases",
    "import_cases",
    "judge",
    "judge_async",
    "load_case",
    "observing_autogen",
    "read_journal",
    "replay",
    "replay_async",
    "run_suite",
    "run_suite_async",
    "suite",
    "suite_async",
    "take_autogen_message",
    "take_autogen_record",
    "take_gen_ai_span",
    "trace",
    "trace_async",
]


if not TYPE_CHECKING:  # type checkers would take any name for one of these

    def __getattr__(name: str) -> Any:
        """Import a public name when it is first used."""
        if name not in _HOME_OF:
            raise AttributeError(f"module 'viva' has no attribute {name!r}")
        thing = getattr(importlib.import_module(_HOME_OF[name]), name)
        return globals().setdefault(name, thing)  # `judge` is already there: the package, which is called like it


def __dir__() -> list[str]:
    """Return the public names, whether or not they have been imported."""
    return sorted({*globals(), *__all__})
