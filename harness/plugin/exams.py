"""All exams of one pytest session or worker: which files are cases, the event loop, the resources, the journal."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Generator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.errors import SetupError
from cases.find import SUFFIXES, looks_like_a_case
from examiner.conversation import REPLY_SECONDS
from harness.exam.examine import Run
from harness.exam.journal_paths import new_journal_folder
from harness.exam.options import Options
from harness.exam.resources import Resources, build_resources
from harness.plugin.cases import PLAIN, CaseFile, CaseItem
from harness.suites.engine import Job, Suite, SuiteLimits
from harness.suites.resume import read_states
from harness.wording import UNSAFE
from records.journal import FILE, Journal, JournalError
from records.journal_lock import exclusive_writer
from records.run_record import RunRecord
from records.text import one_line, printable
from records.transcript import Round


class Exams:
    """All exams of one session, or of one worker of it: one event loop, one set of resources, one journal."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        given = getattr(config, "workerinput", {}).get("viva_out") or config.getoption("viva_out")
        self.folder = Path(os.path.abspath(given or new_journal_folder(None, "pytest")))
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        """A loop that is nobody else's: other plugins' stays the current one."""
        self._is_worker = hasattr(config, "workerinput")
        self._held = contextlib.ExitStack()
        self._holds = False
        self._parts: Resources | None = None
        self._journal: Journal | None = None
        self._trouble: Exception | None = None
        self._attempts: dict[str, int] = {}
        self._other_yaml: list[Path] = []
        self._notes: dict[str, None] = {}

    @property
    def shown_folder(self) -> Path:
        """The journal's folder as short as it can be said."""
        here = Path.cwd()
        return self.folder.relative_to(here) if self.folder.is_relative_to(here) else self.folder

    def examine(self, item: CaseItem) -> RunRecord:
        """Hold one exam as a suite holds it: with retries where it was not the agent's fault.

        Raises:
            SetupError: the resources cannot be put together; the session ends.
            SandboxError: the sandbox that was asked for is not there; the session ends.
            JournalError: the journal cannot be written; the session ends.
        """
        try:
            resources, journal = self._ready(item.session)
            run = Run(item.case, resources, journal, item.trial)
            run = replace(run, attempt=self._attempts.get(run.id, 0) + 1)
            listener = _Listener(item)
            self._runner.run(Suite([Job(run)], SuiteLimits(concurrency=1), listener).run())
            journal.sync()
        except PLAIN as error:
            # It would meet every item in the same way.
            self._trouble = error
            item.session.shouldstop = f"viva: {one_line(str(error), 300)}"
            raise
        assert listener.record is not None
        self._attempts[run.id] = listener.record.attempt
        return listener.record

    def _ready(self, session: pytest.Session) -> tuple[Resources, Journal]:
        if self._trouble is not None:
            raise self._trouble
        if self._parts is None or self._journal is None:
            cases = {item.case.name: item.case for item in session.items if isinstance(item, CaseItem)}
            self._parts = self._runner.run(build_resources(self._options(), list(cases.values())))
            self._notes = dict.fromkeys(self._parts.notices)
            if (sandbox := self._parts.judge.sandbox) is not None and not sandbox.isolates:
                # Where all pass, nothing else says so.
                self._notes[f"checks run in the sandbox {sandbox.name}, which {UNSAFE}: for cases you trust only"] = (
                    None
                )
            if not self._is_worker:
                self._held.enter_context(exclusive_writer(self.folder))
            if (self.folder / FILE).exists():
                self._attempts = {run: state.attempt for run, state in read_states(self.folder).items()}
            self._journal = Journal(self.folder)
        return self._parts, self._journal

    def _options(self) -> Options:
        said = self._config.getoption
        return Options(
            agent=said("viva_agent"),
            examiner=said("viva_examiner"),
            judge=said("viva_judge"),
            model=said("viva_model"),
            examiner_model=said("viva_examiner_model"),
            judge_model=said("viva_judge_model"),
            sandbox=said("viva_sandbox"),
            max_rounds=said("viva_max_rounds"),
            reply_seconds=said("viva_reply_timeout") or REPLY_SECONDS,
            app_dir=said("viva_app_dir"),
            allow_pre_command=said("viva_allow_pre_command"),
            isolate=said("viva_isolate"),
        )

    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
        """YAML files that speak of a case; what else lies about is left alone, and named at the end."""
        if file_path.suffix not in SUFFIXES or file_path.name.startswith("."):
            return None
        if not looks_like_a_case(file_path):
            self._other_yaml.append(file_path)
            return None
        return CaseFile.from_parent(parent, path=file_path)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Find cases that are called the same: their runs would have the same id."""
        seen: dict[str, Path] = {}
        for item in items:
            if isinstance(item, CaseItem):
                first = seen.setdefault(item.case.name, item.case.file)
                item.same_name = first if first != item.case.file else None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Have a failed setup, too, told by the item: pytest asks it for the call alone."""
        report = yield
        if isinstance(item, CaseItem) and call.when == "setup" and call.excinfo is not None and report.failed:
            report.longrepr = item.repr_failure(call.excinfo)
        return report

    def pytest_report_header(self) -> str:
        """Who is examined."""
        return f"viva: examining {one_line(self._config.getoption('viva_agent'), 200)}"

    def pytest_report_collectionfinish(self) -> list[str]:
        """YAML files that are not cases: one of them may be a case with a misspelt key."""
        shown = ", ".join(one_line(str(file), 120) for file in self._other_yaml[:5])
        more = f" and {len(self._other_yaml) - 5} more" if len(self._other_yaml) > 5 else ""
        return [f"viva: not taken for cases: {shown}{more}"] if self._other_yaml else []

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """All workers of pytest-xdist write into one journal, which this process holds for them.

        Raises:
            pytest.UsageError: another process writes there.
        """
        if not self._holds:
            try:
                self._held.enter_context(exclusive_writer(self.folder))
            except (SetupError, JournalError) as error:
                raise pytest.UsageError(f"viva: {printable(str(error))}") from error
            self._holds = True
        node.workerinput["viva_out"] = str(self.folder)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take over what a worker has to say at the end."""
        self._notes.update(dict.fromkeys(getattr(node, "workeroutput", {}).get("viva_notes", ())))

    def pytest_sessionfinish(self) -> None:
        """Give everything back."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["viva_notes"] = list(self._notes)
        if self._parts is not None:
            self._runner.run(self._parts.close())
        if self._journal is not None:
            self._journal.close()
        self._runner.close()
        self._held.close()

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Where the journal lies, and what a reader should know."""
        for note in self._notes:
            terminalreporter.write_line(f"viva: note: {one_line(note, 1000)}")
        if (self.folder / FILE).exists():
            terminalreporter.write_line(f"viva: journal: {printable(str(self.shown_folder))}")


class _Listener:
    """Keeps what an item shows."""

    def __init__(self, item: CaseItem) -> None:
        self._item = item
        self.record: RunRecord | None = None

    def on_start(self, run: Run) -> None:
        self._item.last_round = None

    def on_round(self, run: Run, round_: Round) -> None:
        self._item.last_round = round_

    def on_end(self, run: Run, record: RunRecord) -> None:
        self.record = record
