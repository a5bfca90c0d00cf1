"""Workers of pytest-xdist that are forked from a process which has collected the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.warm.processes import warm_processes_work

ROOT = Path(__file__).resolve().parents[2]
CONFTEST = """
from tests.warm.workers import fork_workers

def pytest_xdist_setupnodes(config, specs):
    print("forked:", fork_workers(config, specs))
"""
TESTS = """
import os, random, sys, warnings
import pytest

COLLECTED_BY = os.getpid()
open("collected", "a").write("once ")

@pytest.mark.parametrize("number", range(6))
def test_each_has_its_own(number, worker_id, tmp_path, capfd):
    assert COLLECTED_BY != os.getpid()
    assert os.environ["PYTEST_XDIST_WORKER"] == worker_id and worker_id in str(tmp_path)
    os.write(1, b"%d" % number)
    assert capfd.readouterr().out == str(number)
    with pytest.raises(OSError):
        sys.stdin.read()

def test_fails():
    os.write(1, b"written by the one that fails")
    assert [1] == [2]

def test_dies():
    os._exit(7)
"""

pytestmark = pytest.mark.skipif(not warm_processes_work(), reason="processes are not forked here")


def run(folder: Path, tests: str) -> str:
    """Run tests with two workers; return what pytest prints."""
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_it.py").write_text(tests)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:randomly", "-p", "no:cacheprovider"],
        cwd=folder,
        env={**kept, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "xdist.plugin"},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout + done.stderr


def test_the_tests_are_collected_once_and_each_worker_has_files_of_its_own(tmp_path: Path) -> None:
    said = run(tmp_path, TESTS)
    assert "forked: True" in said
    assert "2 failed, 6 passed" in said, said
    assert "crashed while running 'test_it.py::test_dies'" in said
    assert "E         At index 0 diff: 1 != 2" in said
    assert (tmp_path / "collected").read_text() == "once "


def test_what_cannot_be_collected_is_reported_by_fresh_workers(tmp_path: Path) -> None:
    said = run(tmp_path, "import nowhere_to_be_found")
    assert "forked: False" in said
    assert "No module named 'nowhere_to_be_found'" in said
