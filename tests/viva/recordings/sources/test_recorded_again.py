"""The recordings of platforms are made again with their packages of today, and still say the same."""

from __future__ import annotations

import shutil
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from tests.viva.recordings.sources.test_platforms import check
from tests.viva.recordings.sources.test_sessions import check_agent, check_inspect
from viva.recordings.table import read_recordings

MAKE = Path(__file__).parent / "make"
MADE = {
    "mlflow": ("mlflow_traces.py", "mlflow-skinny sqlalchemy alembic pandas"),
    "langsmith": ("langsmith_runs.py", "langchain langchain-openai"),
    "braintrust": ("braintrust_rows.py", "braintrust openai pytest"),
    "weave": ("weave_calls.py", "weave openai"),
    "inspect": ("inspect_log.py", "inspect-ai"),
}
"""The script that makes a platform's recording, and the packages that it needs."""


@pytest.mark.soak
@pytest.mark.parametrize("platform", MADE)
def test_the_packages_of_today_write_what_is_read(tmp_path: Path, platform: str) -> None:
    script, packages = MADE[platform]
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "-q", *packages.split()], check=True, stdout=sys.stderr)
    out = tmp_path / ("log.eval" if platform == "inspect" else "made.jsonl")
    subprocess.run([python, MAKE / script, out], check=True, stdout=sys.stderr, cwd=tmp_path)
    found = list(read_recordings(f"{platform}:{out}"))
    (check_inspect if platform == "inspect" else check)(found)


@pytest.mark.soak
@pytest.mark.parametrize("agent", ["claude_code", "codex"])
def test_the_coding_agents_of_today_write_what_is_read(tmp_path: Path, agent: str) -> None:
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed")
    command = agent.partition("_")[0]
    package = {"claude": "@anthropic-ai/claude-code", "codex": "@openai/codex"}[command]
    subprocess.run([npm, "install", "--silent", "--prefix", tmp_path, package], check=True, stdout=sys.stderr)
    out = tmp_path / "made.jsonl"
    script = [sys.executable, MAKE / "coding_agents.py", command, out, tmp_path / "node_modules" / ".bin"]
    subprocess.run(script, check=True, stdout=sys.stderr)
    check_agent(agent, list(read_recordings(f"{agent}:{out}")))
