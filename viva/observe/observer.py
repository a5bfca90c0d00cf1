"""`Observer`: the part of a harness that is there only while observing is on."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from dataclasses import dataclass, replace

from viva.adapters.calls import describe
from viva.adapters.trace_context import current_trace_id
from viva.exam.attempt.exam_run import ExamRun
from viva.exam.examine import judge_and_record
from viva.exam.given import Given
from viva.exam.judging.resources import refuse_evaluators
from viva.exam.resources import Resources, build_resources
from viva.exam.subscribers import RunHeader
from viva.exam.versions import versions
from viva.journal.history import JournalHistory
from viva.journal.writer import Journal, observed_run_id
from viva.judge.loaded_evaluator import parameters_of_all
from viva.judge.registry import find_evaluators
from viva.models.cache.scope import answers_of
from viva.observe.eval_harness import CompletedRun
from viva.observe.options import LOG, EvalOptions
from viva.recordings.events.collector import EvalCollector
from viva.records.eval_run_record import EvalRunRecord
from viva.records.history import EvalHistorySource
from viva.records.run_record import RunRecord, Setting, Timing
from viva.records.text import one_line, storable
from viva.records.transcript import Transcript
from viva.records.verdict import Insight
from viva.suites.sink_feed import SinkFeed
from viva.version import viva_version

EvalInsight = Insight
"""The result of an evaluator, by the proposal's name."""
OBSERVED = "observed"
"""Stands for the examiner, because no exam was conducted."""


@dataclass(slots=True)
class _OpenRun:
    header: RunHeader
    started: float
    began: float
    """The start, on the monotonic clock."""
    trace_id: str | None


class Observer:
    """The state of a harness while observing is on."""

    def __init__(self, options: EvalOptions, collector: EvalCollector) -> None:
        """Args:
        options: What is kept, where it is sent, and who judges.
        collector: Receives the events.

        Raises:
            SetupError: a sink or evaluator is not there, or cannot judge runs without a case.
            JournalError: the journal cannot be written.
        """
        self.collector = collector
        self._options = options
        # A mistake in the options is reported now, not when the first run is complete.
        names, given = options.named_evaluators()
        refuse_evaluators(find_evaluators(names, given))
        sinks = options.make_sinks()
        self._journal = Journal(options.journal)
        self._feeds = [SinkFeed(sink, name, _warn, options.journal) for name, sink in sinks]
        self._history: EvalHistorySource = options.history or JournalHistory(options.journal)
        self._trials: Counter[str] = Counter()
        self._resources: Resources | None = None
        self._run: _OpenRun | None = None
        self._closed = False

    def begin(self, label: str) -> None:
        """Begin a run; see `EvalHarness.begin_task`."""
        if self._closed:
            raise RuntimeError("this harness is closed: attach another one to observe further runs.")
        if not isinstance(label, str):
            raise TypeError(f"the label of a task must be text, not {type(label).__name__}.")
        self._give_up()
        label = storable(label)
        self._trials[label] += 1
        name = f"{self.collector.session_id}-{secrets.token_hex(8)}"
        header = RunHeader(
            id=observed_run_id(name, label),
            subject=label,
            agent=self._options.agent or self.collector.source,
            agent_version=self._options.agent_version,
            trial=self._trials[label],
            max_rounds=1,
        )
        for feed in self._feeds:
            feed.begin_run(header)
        self._run = _OpenRun(header, time.time(), time.monotonic(), current_trace_id())
        self.collector.begin_task(label)

    async def complete(self, success: bool | None) -> CompletedRun:
        """End the run; see `EvalHarness.complete_run`."""
        run, self._run = self._run, None
        if run is None:
            raise RuntimeError("there is no run to complete: call begin_task(label) before the prompt.")
        try:
            transcript, record = await self._record(run, success)
        except BaseException:
            # Its span must end, and must not stay current for what the caller does next.
            self._abandon(run)
            raise
        for feed in self._feeds:
            await feed.on_end(run.header, record, transcript)
        # All at once: a sink that hangs takes no time from the others.
        await asyncio.gather(*(feed.settled(self._options.sink_seconds) for feed in self._feeds))
        kept: Transcript | None = transcript if self._options.capture_content else None
        return CompletedRun(EvalRunRecord(record, kept), record.insights[0] if record.insights else None)

    async def _record(self, run: _OpenRun, success: bool | None) -> tuple[Transcript, RunRecord]:
        """Write what was observed to the journal, and judge it."""
        transcript = self.collector.transcript()
        transcript = replace(
            transcript,
            trace_id=run.trace_id,
            success=transcript.success if success is None else success,
            participants={"target": run.header.agent},
        )
        timing = Timing(run.started, time.monotonic() - run.began)
        setting = self._setting(run.header)
        # Kept before it is judged: an evaluator that lacks something costs no run.
        for kind, value in (("setting", setting), *(("round", round_) for round_ in transcript.rounds)):
            self._journal.append(kind, run.header.id, 1, value)
        self._journal.append("transcript", run.header.id, 1, transcript.without_rounds())
        exam = await self._exam(run.header)
        setting = _judged_by(setting, exam)
        exam.append("setting", setting)
        with answers_of(run.header.id):
            record = await judge_and_record(exam, setting, transcript, None, timing)
        await asyncio.to_thread(self._journal.sync)
        return transcript, record

    async def close(self) -> None:
        """End the subscription, wait for the sinks, and close them."""
        if self._closed:
            return
        self._closed = True
        self._give_up()
        try:
            self.collector.detach()
        except Exception as error:
            # The session is not Viva's; what was observed must reach its sinks all the same.
            _warn(f"the session's events could not be unsubscribed from: {describe(error)}")
        await asyncio.gather(*(feed.on_closed() for feed in self._feeds))
        if self._resources is not None:
            await self._resources.close()
        self._journal.close()

    def _give_up(self) -> None:
        run, self._run = self._run, None
        if run is not None:
            self._abandon(run)

    def _abandon(self, run: _OpenRun) -> None:
        for feed in self._feeds:
            feed.give_up_run(run.header)

    async def _exam(self, header: RunHeader) -> ExamRun:
        if self._resources is None:
            given = Given(evaluators=self._options.named_evaluators()[1])
            self._resources = await build_resources(self._options.exam_options(), (None,), given=given)
        return ExamRun(
            header=header,
            resources=self._resources,
            journal=self._journal,
            folder=self._journal.folder,
            evaluators=tuple(self._resources.judge.evaluators.values()),
            history=self._history,
        )

    def _setting(self, header: RunHeader) -> Setting:
        session = self.collector.session_id
        return Setting(
            viva=viva_version(),
            case=header.subject,
            agent=header.agent,
            agent_version=header.agent_version,
            trial=header.trial,
            examiner=OBSERVED,
            source=self.collector.source if session is None else f"{self.collector.source}:{storable(session)}",
            versions=versions(),
        )


def _judged_by(setting: Setting, exam: ExamRun) -> Setting:
    judge = exam.resources.judge
    return replace(
        setting,
        judge=judge.kind,
        **judge.named_models,
        evaluators=tuple(each.name for each in exam.evaluators),
        evaluator_parameters=parameters_of_all(exam.evaluators),
        prompts=judge.prompts,
    )


def _warn(words: str) -> None:
    LOG.warning("%s", one_line(words, 1000))
