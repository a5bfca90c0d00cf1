"""How tests run the conformance suite in real runs of pytest, and what must come of it."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from pathlib import Path

from tests.viva.pytest_plugin.sessions import WITHOUT_OTHERS
from tests.viva.viva_command import run_pytest
from viva.pytest_plugin.conformance.checks import CHECKS

ROOT = Path(__file__).parents[3]
AGENTS = ROOT / "examples" / "conformance"
SHORT = 60
"""Sessions of the short form."""
FEW = 20
"""Sessions where each may take a process: that memory stays flat over many, the soak checks."""


def conformance(folder: Path, *arguments: str, sessions: int = SHORT) -> str:
    """Run the suite in a folder, and return what pytest printed and its exit code."""
    command = ["-v", *WITHOUT_OTHERS, f"--viva-conformance-sessions={sessions}"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    environment |= {"VIVA_MODEL_WAIT": "0.02", "COLUMNS": "300"}
    done = run_pytest(*command, *arguments, cwd=folder, env=environment, capture_output=True, text=True)
    return f"{done.stdout}\n{done.stderr}\nexit code {done.returncode}"


def results(printed: str) -> dict[str, str]:
    """How each check ended."""
    return dict(re.findall(r"::(\w+) (PASSED|FAILED|SKIPPED|ERROR)", printed))


def passed(printed: str, skipped: set[str], left_out: Collection[str] = ()) -> None:
    """Nothing failed, only these checks were skipped, and all others but those left out were made."""
    found = results(printed)
    assert set(found) == {check.__name__ for check in CHECKS}.difference(left_out), printed
    assert "FAILED" not in found.values(), printed
    assert {name for name, result in found.items() if result == "SKIPPED"} == skipped, printed
    assert "exit code 0" in printed


CRASHES = {"keeps_the_last_words_of_a_crash", "survives_the_crash_of_another"}
STARTS = {"waits_for_a_slow_start", "reports_a_crash_at_the_start"}
CUT = {"ends_a_cut_connection_as_target_error"}
OF_PROCESSES = {*CRASHES, *STARTS, "notices_an_agent_that_leaves", "ends_its_offspring"}
