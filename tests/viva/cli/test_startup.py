"""What a start of `viva` does not load: every import is time that each user pays on each call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from tests.viva.viva_command import VIVA, clean_environment

HEAVY = {
    "autogen_core",
    "autogen_agentchat",
    "autogen_ext",
    "openai",
    "docker",
    "pydantic",
    "rich",
    "jinja2",
    "msgspec",
    "yaml",
}


def loaded(folder: Path, *arguments: str) -> set[str]:
    """The top-level packages that a call of the installed script imports."""
    done = subprocess.run(
        [sys.executable, "-X", "importtime", VIVA, *arguments],
        cwd=folder,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    lines = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
    assert len(lines) > 20, "nothing was measured"
    return {line.rsplit("|", 1)[1].strip().partition(".")[0] for line in lines}


@pytest.mark.parametrize("arguments", [("--version",), ("--help",)])
def test_the_version_and_the_help_load_nothing_heavy(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert not loaded(tmp_path, *arguments) & {*HEAVY, "asyncio", "opentelemetry"}


def test_a_scripted_exam_judged_by_code_loads_no_autogen_and_no_model_client(desk: Desk) -> None:
    packages = loaded(desk.folder, "run", "echo", "--sandbox", "process", "--quiet")
    assert not {name for name in packages if name.startswith("autogen")} | (packages & {"openai", "httpx", "docker"})
    assert "viva" in packages


def test_judging_again_and_replay_load_no_autogen_and_no_model_client(desk: Desk) -> None:
    desk.run("echo")
    for arguments in (("judge", "journal", "--sandbox", "process", "--quiet"), ("replay", "journal")):
        packages = loaded(desk.folder, *arguments)
        assert not {name for name in packages if name.startswith("autogen")} | (packages & {"openai", "httpx"})
