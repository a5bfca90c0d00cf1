"""The conformance suite with agents behind the other connectors, and with agents of real frameworks."""

from __future__ import annotations

import faulthandler
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.adapters.assistants.taskweaver_projects import stand_in_for_litellm
from tests.conftest import package
from tests.environments import folder_of, program_of, python_of
from tests.viva.pytest_plugin.conformance_runs import AGENTS, CUT, FEW, OF_PROCESSES, conformance, passed

pytestmark = pytest.mark.soak  # each runs the whole suite, which takes a minute or more
SERVED = {*OF_PROCESSES, "writes_in_its_workspace"}
FRAMEWORKS: dict[str, set[str]] = {
    "autogen": set(),
    "claude_agent_sdk": set(),
    "langgraph": set(),
    "llama_index": set(),
    "openai_agents": set(),
    "pydantic_ai": {"takes_an_empty_reply"},
    "taskweaver": {"takes_an_empty_reply", "takes_a_reply_of_50_mb"},
}
"""Each framework, and the checks for which it offers nothing; the example says why."""


@pytest.fixture(autouse=True)
def takes_its_time() -> None:
    """Do not end a test after the time in which others must have ended; the suite limits the time of each check."""
    faulthandler.cancel_dump_traceback_later()


@contextmanager
def served(python: Path | str, script: str) -> Iterator[str]:
    """Run a server; yield what it prints first."""
    command = [str(python), str(AGENTS / script)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().strip()
        finally:
            server.kill()


def test_the_responses_api_passes(tmp_path: Path) -> None:
    with served(sys.executable, "responses_server.py") as spec:
        passed(conformance(tmp_path, "--viva-conformance", spec, sessions=FEW), SERVED)


def test_a_json_api_by_mapping_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with served(sys.executable, "json_api_server.py") as url:
        monkeypatch.setenv("VIVA_CONFORMANCE_URL", url)
        # In one word: pytest would take the path for one of its own, and read the settings of this repository.
        printed = conformance(tmp_path, f"--viva-conformance={AGENTS / 'json_api.yaml'}", sessions=FEW)
    passed(printed, SERVED)


@pytest.mark.skipif(find_spec("a2a") is None, reason="the package a2a-sdk is not installed")
def test_a2a_passes(tmp_path: Path) -> None:
    with served(python_of("a2a"), "a2a_server.py") as spec:
        printed = conformance(tmp_path, "--viva-conformance", spec, sessions=FEW)
    passed(printed, {*SERVED, *CUT, "survives_invalid_encoding", "survives_a_lone_surrogate"})


def test_a_program_in_a_terminal_passes(tmp_path: Path) -> None:
    command = f"{shlex.quote(sys.executable)} {shlex.quote(str(AGENTS / 'terminal.py'))}"
    printed = conformance(tmp_path, "--viva-conformance", f"cmd+plain:{command}", sessions=FEW)
    passed(printed, {*CUT, "keeps_every_character", "survives_a_lone_surrogate", "survives_a_flood_on_stderr"})


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_agents_of_each_framework_pass(framework: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if framework == "taskweaver":
        stand_in_for_litellm(tmp_path / "stand-in", monkeypatch)
    spec = f"{AGENTS}/with_{framework}.py:made@{folder_of(framework)}"
    printed = conformance(tmp_path, f"--viva-conformance={spec}", sessions=FEW)
    passed(printed, {*CUT, *FRAMEWORKS[framework]})


def test_copilot_passes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package("copilot")
    monkeypatch.setenv("COPILOT_CLI_PATH", str(program_of("copilot_cli", "copilot")))
    spec = f"{AGENTS}/with_copilot.py:session"
    printed = conformance(tmp_path, "--viva-isolate", f"--viva-conformance={spec}", sessions=FEW)
    passed(printed, {*CUT, "keeps_every_character", "takes_an_empty_reply"})
