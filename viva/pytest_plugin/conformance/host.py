"""Collects the checks of each agent without a test file, and runs them on one event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Generator

import pytest

from viva.pytest_plugin.conformance.expectation import Differs, DoesNotApply
from viva.pytest_plugin.conformance.footprint import MARK
from viva.pytest_plugin.conformance.items import NAME, ConformanceAgent, ConformanceItem
from viva.pytest_plugin.conformance.subject import CheckedAgent, Demands
from viva.pytest_plugin.given import agent_labels, exam_options
from viva.records.text import one_line
from viva.suites.loop_watch import LoopWatch

HUNG_SECONDS = 300.0
"""Maximum duration of a check beyond the time limits of three replies; checks of many sessions have their own."""


class Conformance:
    """All checks of one session of pytest, or of one worker of it."""

    def __init__(self, config: pytest.Config) -> None:
        """Args:
        config: Holds the agents and the options.

        Raises:
            pytest.UsageError: an option is wrong.
        """
        self._config = config
        options = exam_options(config)
        self._demands = Demands(
            message=config.getoption("viva_conformance_message"),
            sessions=config.getoption("viva_conformance_sessions"),
            reply_seconds=options.reply_seconds,
            isolate=options.isolate,
            memory_mb=options.agent_memory_mb,
        )
        self.labels = agent_labels(config.getoption("viva_conformance"), "--viva-conformance")
        self._runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
        """A separate loop: other plugins keep theirs as the current one."""
        self._met: dict[str, bool] = {}
        """Whether an agent answered at all, by its SPEC."""
        self._notes: dict[str, None] = {}

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        """Add the agents to what is collected; without a path on the command line, nothing else is."""
        report = yield
        if isinstance(collector, pytest.Session) and report.passed:
            agents = [
                ConformanceAgent.from_parent(
                    collector, name=f"conformance[{label}]", nodeid=f"conformance[{label}]", subject=subject
                )
                for label, subject in self._subjects()
            ]
            named = self._config.args_source is pytest.Config.ArgsSource.ARGS
            report.result = [*(report.result if named or self._config.getoption("viva_agent") else ()), *agents]
        return report

    def _subjects(self) -> list[tuple[str, CheckedAgent]]:
        return [(label, CheckedAgent(spec, self._demands)) for spec, label in self.labels.items()]

    def check(self, item: ConformanceItem) -> str | None:
        """Run one check; return a figure to be shown, or None.

        Raises:
            Differs: something else came than what was expected.
            DoesNotApply: the check does not apply to the agent.
            SetupError: the agent cannot be loaded.
        """
        subject = item.subject
        if not self._met.get(subject.spec, True):
            raise DoesNotApply("the agent does not answer, as an earlier failure says")
        os.environ[MARK] = subject.mark
        try:
            return self._runner.run(self._watched(item))
        finally:
            os.environ.pop(MARK, None)

    async def _watched(self, item: ConformanceItem) -> str | None:
        subject = item.subject
        seconds = HUNG_SECONDS + 3 * self._demands.reply_seconds
        if self._demands.sessions is not None:
            seconds += self._demands.sessions * self._demands.reply_seconds
        async with LoopWatch(self._note, self._demands.reply_seconds):
            try:
                async with asyncio.timeout(seconds) as limit:
                    if subject.spec not in self._met:
                        self._met[subject.spec] = False
                        await subject.meet()
                        self._met[subject.spec] = True
                    figure = await item.check(subject)
            except TimeoutError as error:
                if not limit.expired():
                    raise
                raise Differs("the check ends", f"it hung for {seconds:g} s") from error
            except BaseExceptionGroup as group:
                raise _first(group) from group
            await subject.nothing_runs()
        return figure

    def _note(self, words: str) -> None:
        self._notes[words] = None

    def pytest_report_header(self) -> str:
        """Return the agents under check."""
        return f"viva: conformance of {', '.join(one_line(spec, 200) for spec in self.labels)}"

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note how many sessions there were."""
        for name, value in report.user_properties:
            if name == "sessions" and report.when == "call" and report.passed:
                self._note(f"{report.nodeid}: {value}")

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the notes."""
        for note in self._notes:
            terminalreporter.write_line(f"viva: {one_line(note, 1000)}")

    def pytest_sessionfinish(self) -> None:
        """Release the event loop."""
        self._runner.close()


def register(config: pytest.Config) -> None:
    """Register the suite.

    Raises:
        pytest.UsageError: an option is wrong.
    """
    config.pluginmanager.register(Conformance(config), NAME)


def _first(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """Return the first exception that says something, of those that sessions at the same time raised."""
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            return _first(error)
        if isinstance(error, Differs):
            return error
    return group.exceptions[0]
