"""Runs the exams of one pytest session or worker: collects the cases, and owns the event loop and the journal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from viva.cases.find import looks_like_a_case
from viva.cases.many.references import SUFFIXES
from viva.errors import SetupError, SharedSetupError
from viva.exam.judging.unfair import UnfairAttempt, attempts_so_far
from viva.exam.stored_runs import read_states_to_resume
from viva.exam.subscribers import RunHeader, Subscribers
from viva.journal.fresh_folder import FreshFolder
from viva.journal.lock import exclusive_writer
from viva.journal.writer import FILE, Journal, JournalError, run_id
from viva.project.finding import NAME as PROJECT_FILE
from viva.pytest_plugin.cases import PLAIN, CaseFile, CaseItem
from viva.pytest_plugin.figures import figures_by_agent
from viva.pytest_plugin.given import agent_labels, exam_options, journal_folder
from viva.pytest_plugin.named_suite import gate_words, is_chosen
from viva.records.redact import redacted, redacted_line
from viva.records.run_record import RunRecord
from viva.records.text import one_line, printable
from viva.records.transcript import Round
from viva.records.wording import UNSAFE
from viva.sinks import make_sinks
from viva.suites.engine import LocalEngine
from viva.suites.job import Action, Job, WorkOrder
from viva.suites.loop_watch import LoopWatch
from viva.suites.resuming.next_step import past_outcomes
from viva.suites.sink_feed import SinkFeed
from viva.suites.worker import Worker


class Exams:
    """All exams of one session, or of one worker of it: one event loop, one set of resources, one journal."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.labels = agent_labels(config.getoption("viva_agent"))
        """The agents under test: a short name for each SPEC."""
        self.folder = journal_folder(config)
        self._fresh = FreshFolder(self.folder)
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        """A separate loop: other plugins keep theirs as the current one."""
        self._is_worker = hasattr(config, "workerinput")
        self._locks = contextlib.ExitStack()
        self._locked = False
        self._engine = LocalEngine()
        self._worker: Worker | None = None
        self._journal: Journal | None = None
        self._trouble: Exception | None = None
        """What would meet every item."""
        self._troubles: dict[str, SetupError] = {}
        """What would meet every item of an agent, by its SPEC."""
        self._seen: set[str] = set()
        """The ids of the runs of this session."""
        self._attempts: dict[str, int] = {}
        self._past: dict[str, tuple[str, ...]] = {}
        """The outcomes of earlier attempts that the next one of a run names."""
        self._unfair: dict[str, tuple[UnfairAttempt, ...]] = {}
        """The earlier attempts at a run in which the examiner was at fault."""
        self._played = "", ""
        """The persona and the strategy of the examiner."""
        self._other_yaml: list[Path] = []
        self._notes: dict[str, None] = {}
        self._feeds: list[SinkFeed] = []
        self._gate = ""
        """Why the session fails the gates of its suite."""
        self._ran = False
        """Whether the session ran its tests, and did not only collect them."""

    @property
    def shown_folder(self) -> Path:
        """Return the journal's folder, relative to the current folder if possible."""
        here = Path.cwd()
        return self.folder.relative_to(here) if self.folder.is_relative_to(here) else self.folder

    def examine(self, item: CaseItem) -> RunRecord:
        """Run one exam as a suite does: with retries if a failure was not the agent's fault.

        Raises:
            SetupError: the resources cannot be created; the session ends.
            SandboxError: the requested sandbox is not available; the session ends.
            JournalError: the journal cannot be written; the session ends.
        """
        try:
            worker, journal = self._ready(item.session)
            if item.agent in self._troubles:
                raise self._troubles[item.agent]
            persona, strategy = self._played
            run = self._run_of(item)
            header = RunHeader(
                id=run,
                subject=item.case.name,
                agent=item.agent,
                trial=item.trial,
                persona=persona,
                strategy=strategy,
                attempt=self._attempts.get(run, 0) + 1,
                tags=item.case.tags,
                requeued=self._past.get(run, ()),
                suite=self._config.getoption("viva_suite") or "",
            )
            unfair = self._unfair.get(run, ())
            job = Job(action=Action.EXAMINE, header=header, case_hash=item.case.hash, unfair=unfair)
            if (reason := worker.why_not(job)) is not None:
                self._troubles[item.agent] = SharedSetupError(reason)
                raise self._troubles[item.agent]
            record = self._runner.run(self._watched(worker, job, item))
            journal.sync()
        except PLAIN as error:
            # Every other item would fail in the same way, unless it is of another agent.
            if item.agent not in self._troubles or len(self._troubles) == len(self.labels):
                self._trouble = error
                item.session.shouldstop = f"viva: {redacted_line(str(error), 300)}"
            raise
        self._attempts[run] = record.attempt
        self._unfair[run] = attempts_so_far(record)
        if record.outcome.counts:
            # Another plugin may have an item repeated until it passes.
            self._past[run] = (*header.requeued, record.outcome.value)
        return record

    def _run_of(self, item: CaseItem) -> str:
        return run_id(item.case.name, item.agent, item.trial, *self._played)

    async def _watched(self, worker: Worker, job: Job, item: CaseItem) -> RunRecord:
        async with LoopWatch(self._note, worker.resources.options.reply_seconds):
            return (await worker.do(job, Subscribers([_LastRound(item), *self._feeds]))).record

    def _note(self, words: str) -> None:
        self._notes[words] = None

    def _ready(self, session: pytest.Session) -> tuple[Worker, Journal]:
        if self._trouble is not None:
            raise self._trouble
        if self._worker is None or self._journal is None:
            items = [item for item in session.items if isinstance(item, CaseItem)]
            cases = {item.case.name: item.case for item in items}
            options = exam_options(self._config)
            self._played = next(iter(options.personas), ""), next(iter(options.strategies), "")
            order = WorkOrder(
                options=options,
                cases=tuple(cases.values()),
                agents=tuple(dict.fromkeys(item.agent for item in items)),
            )
            sinks = make_sinks(self._config.getoption("viva_sink"))
            self._feeds = [SinkFeed(sink, name, self._note, self.folder) for name, sink in sinks]
            runs = frozenset(map(self._run_of, items))
            self._worker = self._runner.run(self._engine.open(order, lambda: self._open_journal(runs)))
            self._notes |= dict.fromkeys(self._engine.notices)
            sandbox = self._worker.resources.judge.sandbox
            if sandbox is not None and not sandbox.isolates:
                # If all items pass, nothing else says so.
                self._notes[f"checks run in the sandbox {sandbox.name}, which {UNSAFE}: for cases you trust only"] = (
                    None
                )
        assert self._journal is not None
        return self._worker, self._journal

    def _lock_folder(self) -> None:
        if (note := self._locks.enter_context(exclusive_writer(self.folder))) is not None:
            self._note(note)

    def _open_journal(self, runs: frozenset[str]) -> Journal:
        """Open the journal, and note what it holds.

        Args:
            runs: The ids of the session's runs.
        """
        if not self._is_worker:
            self._lock_folder()
        if (self.folder / FILE).exists():
            states = read_states_to_resume(self.folder)
            self._attempts = {run: state.attempt for run, state in states.items()}
            # A session with only some of the runs may have been chosen by their results.
            alone = not states.keys() <= runs
            self._past = {run: past_outcomes(state, alone=alone) for run, state in states.items()}
            self._unfair = {run: state.unfair for run, state in states.items() if alone}
        self._journal = Journal(self.folder)
        return self._journal

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """Collect the YAML files that look like a case; others are ignored, and listed at the end."""
        if file_path.suffix.lower() not in SUFFIXES or file_path.name.startswith("."):
            return None
        if file_path.name == PROJECT_FILE:
            return None
        if not looks_like_a_case(file_path):
            self._other_yaml.append(file_path)
            return None
        return CaseFile.from_parent(parent, path=file_path)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out cases that a named suite excludes, and reject those with the same name: their runs have one id."""
        left_out = [each for each in items if isinstance(each, CaseItem) and not is_chosen(self._config, each.case)]
        if left_out:
            self._config.hook.pytest_deselected(items=left_out)
            items[:] = [each for each in items if each not in left_out]
        seen: dict[str, Path] = {}
        for item in items:
            if isinstance(item, CaseItem):
                first = seen.setdefault(item.case.name, item.case.file)
                item.same_name = first if first != item.case.file else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Let the item describe a failed setup as well: pytest asks it for the call only."""
        report = yield
        if isinstance(item, CaseItem) and call.when == "setup" and call.excinfo is not None and report.failed:
            report.longrepr = item.repr_failure(call.excinfo)
        return report

    def pytest_report_header(self) -> str:
        """Return the agents under test."""
        suite = getattr(self._config.option, "viva_suite_words", "")
        return f"viva: {suite and f'{suite}; '}testing {', '.join(one_line(spec, 200) for spec in self.labels)}"

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> None:
        """Note that the session runs its tests: a gate is not passed by a session without an exam."""
        self._ran = not any(self._config.getoption(name, False) for name in ("collectonly", "setuponly", "setupplan"))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note the runs of this session; those of workers are reported here, too."""
        self._seen.update(str(value) for name, value in report.user_properties if name == "run_id")

    def pytest_report_collectionfinish(self) -> list[str]:
        """Return the YAML files that are not cases: one of them may be a case with a misspelt key."""
        shown = ", ".join(one_line(str(file), 120) for file in self._other_yaml[:5])
        more = f" and {len(self._other_yaml) - 5} more" if len(self._other_yaml) > 5 else ""
        return [f"viva: ignored, not cases: {shown}{more}"] if self._other_yaml else []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Share one journal among all workers of pytest-xdist; this process locks it for them.

        Raises:
            pytest.UsageError: another process is writing to it.
        """
        if not self._locked:
            try:
                self._lock_folder()
            except (SetupError, JournalError) as error:
                raise pytest.UsageError(f"viva: {redacted(str(error))}") from error
            self._locked = True
        node.workerinput["viva_out"] = str(self.folder)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Collect the notes of a worker at its end."""
        self._notes.update(dict.fromkeys(getattr(node, "workeroutput", {}).get("viva_notes", ())))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Release everything, and fail the session if a gate of its suite does."""
        for feed in self._feeds:
            self._runner.run(feed.on_closed())
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["viva_notes"] = list(self._notes)
        self._runner.run(self._engine.close())
        if self._journal is not None:
            self._journal.close()
        self._runner.close()
        self._locks.close()
        # A journal in which nothing was said, because of a mistake that the first run revealed; workers have told this
        # process nothing of it.
        if (self._locked or isinstance(self._trouble, SharedSetupError)) and not self._fresh.holds():
            self._fresh.remove()
        runs = self._seen if self._seen or self._ran else None
        if runs is not None and (words := gate_words(self._config, self.folder, runs)):
            self._gate = words
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Print the notes and the location of the journal."""
        if self._gate:
            terminalreporter.write_line(f"viva: gate: {one_line(self._gate, 1000)}", red=True)
        for note in self._notes:
            terminalreporter.write_line(f"viva: note: {redacted_line(note, 1000)}")
        if (self.folder / FILE).exists():
            if len(self.labels) > 1:
                threshold = self._config.getoption("viva_threshold")
                for line in figures_by_agent(self.folder, self._seen, self.labels, threshold):
                    terminalreporter.write_line(f"viva: {line}")
            terminalreporter.write_line(f"viva: journal: {printable(str(self.shown_folder))}")


class _LastRound:
    """Notes the newest round of an item's conversation, which is shown if the item fails."""

    def __init__(self, item: CaseItem) -> None:
        self._item = item

    async def on_start(self, run: RunHeader) -> None:
        self._item.last_round = None

    async def on_round(self, run: RunHeader, round_: Round) -> None:
        self._item.last_round = round_
