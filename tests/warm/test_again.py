"""What a warm session of pytest starts in turn: its workers are forked, and other programs are fresh."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.viva.pytest_plugin.sessions import INI
from tests.viva.viva_command import run_pytest
from tests.warm.commands import can_be_warm

pytestmark = pytest.mark.skipif(not can_be_warm(None, {}), reason="this system has no warm processes")

SESSION = """
import os
import subprocess
import sys

import pytest

NAMES = "import sys; sys.exit('viva.cli.process' in sys.modules)"


def pytest_configure(config):
    if not hasattr(config, "workerinput"):
        os.environ["SESSION"] = str(os.getpid())
        subprocess.run([sys.executable, "-c", NAMES], check=True)


@pytest.fixture
def imported_before():
    return "viva.cli.process" in sys.modules
"""
TEST = """
import os

def test_where(imported_before):
    assert imported_before
    assert os.getppid() == int(os.environ["SESSION"]) != os.getpid()
"""


def test_a_worker_is_a_forked_child_of_its_session_and_another_program_is_fresh(tmp_path: Path) -> None:
    for name, text in (("pytest.ini", INI), ("conftest.py", SESSION), ("test_it.py", TEST)):
        (tmp_path / name).write_text(text)
    done = run_pytest("-q", "-n", "2", cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout


def test_a_worker_that_dies_is_told_as_one_that_was_started_anew(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text(INI)
    (tmp_path / "test_it.py").write_text("import os\n\ndef test_end():\n    os._exit(3)\n")
    done: subprocess.CompletedProcess[str] = run_pytest("-q", "-n", "1", cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert "crashed while running" in done.stdout
