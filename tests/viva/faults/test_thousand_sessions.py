"""A thousand sessions over each connector: memory, descriptors, threads and processes stay flat."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.viva.faults.connections import CONNECTIONS
from tests.viva.faults.suites import FaultySuite, empty_environment
from tests.viva.faults.test_faults_at_fifty import connection_named
from tests.viva.pytest_plugin.conformance_runs import conformance, results

pytestmark = pytest.mark.soak
SESSIONS = 1_000


@pytest.mark.parametrize("name", CONNECTIONS)
def test_a_thousand_sessions_take_no_more_than_the_first(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection, suite = connection_named(name), FaultySuite(tmp_path)
    for variable, value in suite.variables().items():
        monkeypatch.setenv(variable, value)
    with connection.reached(tmp_path, empty_environment(tmp_path / "venv"), suite.variables()) as arguments:
        _, spec, *options = arguments
        options = [option.replace("--isolate", "--viva-isolate") for option in options]
        chosen = ["-k", "stays_flat or leaves_nothing_behind"]
        printed = conformance(tmp_path, f"--viva-conformance={spec}", *options, *chosen, sessions=SESSIONS)
    assert results(printed) == {"leaves_nothing_behind": "PASSED", "stays_flat": "PASSED"}, printed
    assert "stays_flat: 1,000 sessions" in printed
    assert suite.left() == []
