"""Makes agents pytest collectors, and checks pytest items; formats their failures."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Protocol

import pytest

from viva.errors import SetupError
from viva.models.autogen.silenced import filters_for_pytest
from viva.pytest_plugin.conformance.checks import CHECKS, Check
from viva.pytest_plugin.conformance.expectation import Differs, DoesNotApply
from viva.pytest_plugin.conformance.subject import CheckedAgent
from viva.records.redact import redacted
from viva.records.text import one_line

NAME = "viva-conformance"


class ConformanceHost(Protocol):
    """Runs the checks of a session; `viva.pytest_plugin.conformance.host` registers it as a plugin."""

    def check(self, item: ConformanceItem) -> str | None:
        """Run one check."""
        ...


class ConformanceAgent(pytest.Collector):
    """One agent under check."""

    def __init__(self, *, subject: CheckedAgent, **rest: Any) -> None:
        super().__init__(**rest)
        self.subject = subject

    def collect(self) -> Iterator[pytest.Item]:
        """Yield an item for each check."""
        for check in CHECKS:
            yield ConformanceItem.from_parent(self, name=check.__name__, check=check, subject=self.subject)


class ConformanceItem(pytest.Item):
    """One check of one agent."""

    def __init__(self, *, check: Check, subject: CheckedAgent, **rest: Any) -> None:
        super().__init__(**rest)
        self.check = check
        self.subject = subject
        for silenced in filters_for_pytest():
            self.add_marker(pytest.mark.filterwarnings(silenced))

    def runtest(self) -> None:
        """Run the check.

        Raises:
            Differs: something else came than what was expected.
            SetupError: the agent cannot be loaded.
        """
        host: ConformanceHost | None = self.config.pluginmanager.get_plugin(NAME)
        assert host is not None
        try:
            figure = host.check(self)
        except DoesNotApply as reason:
            pytest.skip(one_line(str(reason), 300))
        if figure is not None:
            self.user_properties.append(("sessions", figure))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """Return what was expected and what came."""
        error = excinfo.value
        if isinstance(error, Differs):
            words = f"{(self.check.__doc__ or '').strip()}\n{error.text()}"
            title = one_line(f"expected {error.expected}; came {error.came}", 300)
        elif isinstance(error, SetupError):
            words = redacted(str(error))
            title = one_line(words, 300)
        else:
            return super().repr_failure(excinfo, style)
        error.args = (words,)
        shown: Any = excinfo.getrepr(style="value", chain=False)
        shown.reprcrash.path, shown.reprcrash.lineno, shown.reprcrash.message = self.parent_name, 1, title
        return shown

    @property
    def parent_name(self) -> str:
        """Return the name of the agent's collector."""
        return "" if self.parent is None else self.parent.name

    def reportinfo(self) -> tuple[os.PathLike[str] | str, int | None, str]:
        """Return the place that is shown, and the heading of a failure."""
        return self.path, None, f"{self.parent_name}: {self.name}"
