"""`pytest --costs`: what tests cost in seconds of processor time, with their child processes, by folder and by test.

A process counts once it has ended and its parent has waited for it. What runs in containers is the Docker engine's, and
does not count.
"""

from __future__ import annotations

import resource
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

COSTLIEST = 30
"""Tests that are listed by name."""
_KEY = "cpu_seconds"


def _spent() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


class Costs:
    """Measures each phase of a test where it runs, and adds up where it is reported."""

    def __init__(self) -> None:
        self.before = 0.0
        self.folders: Counter[str] = Counter()
        self.tests: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.preparing: list[float] = []
        """Of each process that runs tests: what it took to start and to collect them."""

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begin to measure."""
        self.before = _spent()
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput[_KEY] = self.before
        elif session.items:
            self.preparing.append(self.before)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Note what a process of pytest-xdist took before its first test."""
        self.preparing.append(getattr(node, "workeroutput", {}).get(_KEY, 0.0))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        """Write what has been spent since the report before into this one."""
        report = yield
        now = _spent()
        report.user_properties.append((_KEY, now - self.before))  # type: ignore[attr-defined]
        self.before = now
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a report up."""
        spent = sum(value for name, value in report.user_properties if name == _KEY)
        folder = report.nodeid.partition("::")[0].rpartition("/")[0]
        self.folders[folder] += spent  # type: ignore[assignment]
        self.tests[report.nodeid] += spent  # type: ignore[assignment]
        self.counts[folder] += report.when == "call"

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        total = sum(self.folders.values()) + sum(self.preparing)
        terminalreporter.section(f"{total:.0f} seconds of processor time")
        each = ", ".join(f"{seconds:.0f}" for seconds in self.preparing)
        terminalreporter.write_line(f"{sum(self.preparing):8.1f}  starting and collecting, by process: {each}")
        for folder, seconds in self.folders.most_common():
            terminalreporter.write_line(f"{seconds:8.1f}  {folder}, {self.counts[folder]} tests")
        terminalreporter.write_line("")
        for test, seconds in self.tests.most_common(COSTLIEST):
            terminalreporter.write_line(f"{seconds:8.1f}  {test}")
