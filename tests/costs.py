"""`pytest --costs`: what tests cost in seconds of processor time, with their child processes, by folder and by test.

The processes below this one count while they run, where `/proc` tells of them, and elsewhere once their parent has
waited for them. What runs in containers is the Docker engine's, and does not count.
"""

from __future__ import annotations

import contextlib
import os
import resource
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

COSTLIEST = 30
"""Tests that are listed by name."""
_KEY = "cpu_seconds"
_SHARED = "shared_cpu_seconds"


def _own() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _below(process: str) -> float:
    """Return what the living descendants of a process have spent, with their ended children."""
    spent = 0.0
    with contextlib.suppress(OSError):  # it has ended meanwhile, or there is no /proc
        for thread in os.listdir(f"/proc/{process}/task"):
            with open(f"/proc/{process}/task/{thread}/children") as children:
                for child in children.read().split():
                    spent += _spent_with_children(child) + _below(child)
    return spent


def _spent_with_children(process: str) -> float:
    with contextlib.suppress(OSError), open(f"/proc/{process}/stat") as file:
        after_name = file.read().rpartition(")")[2].split()
        return sum(map(int, after_name[11:15])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class Costs:
    """Measures each phase of a test where it runs, and adds up where it is reported.

    What fixtures of the whole session start and end, such as servers, belongs to no test.
    """

    def __init__(self) -> None:
        self.before = 0.0
        self.measuring = 0.0
        """What measuring itself has taken."""
        self.shared_now: Counter[str] = Counter()
        """Of this process, by name of the fixture, since its last report."""
        self.shared: Counter[str] = Counter()
        self.folders: Counter[str] = Counter()
        self.tests: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()
        self.preparing: list[float] = []
        """Of each process that runs tests: what it took to start and to collect them."""

    def spent(self) -> float:
        """Return what this process and those below it have spent so far, without what measuring took."""
        spent = _own()
        below = _below(str(os.getpid()))
        self.measuring, measured = self.measuring + _own() - spent, self.measuring
        return spent - measured + below

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Begin to measure. A process that is forked for tests begins a second time, and the first one counts once."""
        self.before = self.spent()
        if hasattr(session.config, "workeroutput"):
            shared = sum(self.preparing) if session.config.workerinput["workerid"] == "gw0" else 0
            session.config.workeroutput[_KEY] = self.before + shared
            self.preparing = [self.before]
        elif session.items:
            self.preparing.append(self.before)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Note what a process of pytest-xdist took before its first test."""
        self.preparing.append(getattr(node, "workeroutput", {}).get(_KEY, 0.0))

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Count what a fixture of the session takes to start, without those that it asks for."""
        if fixturedef.scope != "session":
            return (yield)
        before, others = self.spent(), self.shared_now.total()
        try:
            return (yield)
        finally:
            within = self.shared_now.total() - others
            self.shared_now[fixturedef.argname] += self.spent() - before - within  # type: ignore[assignment]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Iterator[None]:
        """Write what a test has spent into its last report."""
        report = yield
        if call.when == "teardown":
            now = self.spent()
            # What was killed before anybody waited for it, as Chromium's processes are, is no longer in the sum.
            spent = max(0.0, now - self.before - self.shared_now.total())
            report.user_properties += [(_KEY, spent), (_SHARED, dict(self.shared_now))]  # type: ignore[attr-defined]
            self.before = now
            self.shared_now.clear()
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add a report up."""
        spent = sum(value for name, value in report.user_properties if name == _KEY)
        folder = report.nodeid.partition("::")[0].rpartition("/")[0]
        self.folders[folder] += spent  # type: ignore[assignment]
        self.tests[report.nodeid] += spent  # type: ignore[assignment]
        self.counts[folder] += report.when == "call"
        for name, value in report.user_properties:
            if name == _SHARED:
                self.shared.update(value)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        total = sum(self.folders.values()) + self.shared.total() + sum(self.preparing)
        terminalreporter.section(f"{total:.0f} seconds of processor time")
        each = ", ".join(f"{seconds:.0f}" for seconds in self.preparing)
        terminalreporter.write_line(f"{sum(self.preparing):8.1f}  starting and collecting, by process: {each}")
        for name, seconds in self.shared.most_common():
            if seconds >= 0.05:
                terminalreporter.write_line(f"{seconds:8.1f}  starting {name}, for the whole session")
        for folder, seconds in self.folders.most_common():
            terminalreporter.write_line(f"{seconds:8.1f}  {folder}, {self.counts[folder]} tests")
        terminalreporter.write_line("")
        for test, seconds in self.tests.most_common(COSTLIEST):
            terminalreporter.write_line(f"{seconds:8.1f}  {test}")
