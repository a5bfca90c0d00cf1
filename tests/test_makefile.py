"""What `make` promises besides its targets: a mistyped variable is reported before anything is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import BENCHES
from tests.conftest import pytest_xdist_auto_num_workers

ROOT = Path(__file__).resolve().parents[1]
# The tests may have been started by make, whose own variables would be handed on.
ENVIRONMENT = {
    key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS", "TESTS", "ARGS"))
}


def make(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--dry-run", "--no-print-directory", *words]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env={**ENVIRONMENT, **environment})


@pytest.mark.parametrize(
    ("words", "unknown"),
    [
        (("eval", "CSE=echo"), "CSE"),
        (("eval", "case=echo"), "case"),
        (("eval", "CSE=a name with spaces"), "CSE"),
        (("eval", "CASE=echo", "AGNET:=x"), "AGNET"),
        (("replay", "JORNAL=runs/x"), "JORNAL"),
        (("replay", "CASE=echo"), "CASE"),
        (("test", "TEST=tests/cases"), "TEST"),
        (("check", "TEST=tests/cases"), "TEST"),
        (("bench", "NAME=suite"), "NAME"),
        (("docs", "OUT=site"), "OUT"),
    ],
)
def test_a_name_that_a_target_does_not_take_is_refused_with_those_that_it_takes(
    words: tuple[str, ...], unknown: str
) -> None:
    done = make(*words)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"unknown variable {unknown}; make {words[0]} accepts" in done.stderr
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        (("eval", "CASE=echo", "AGENT=my agents/a.py:A"), '--agent "my agents/a.py:A"'),
        (("eval", "CASE=a b.yaml#order[row 1]"), 'viva run "a b.yaml#order[row 1]"'),
        (("eval", "SUITE=exams", "AGENT=a.py:A"), 'viva suite "exams" --agent "a.py:A"'),
        (("eval", "ARGS=--quiet --out=some folder X=3 CSE=4"), "--quiet --out=some folder X=3 CSE=4"),
        (("eval", "MODEL=openai:a", "JUDGE=both", "SANDBOX=docker"), '--judge "both" --sandbox "docker"'),
        (("eval", "replay", "CASE=echo", "JOURNAL=runs/x"), 'viva replay "runs/x"'),
        (("test", "TESTS=tests/cases tests/judge", "ARGS=-k 'a or b'"), "tests/cases tests/judge -k 'a or b'"),
        (("test", "ARGS=-n 0"), "-m 'not soak' -n auto --dist worksteal -n 0"),
        (("soak", "ARGS=-x"), "-m soak -x"),
        (("docs", "ARGS=--serve"), "-m docs.site --serve"),
        (("bench", "ARGS=rounds", f"PYTHON={sys.executable}"), "-m bench rounds"),
    ],
)
def test_names_that_it_takes_go_through_whatever_their_values(words: tuple[str, ...], shown: str) -> None:
    done = make(*words)
    assert done.returncode == 0, done.stderr
    assert shown in " ".join(done.stdout.split()).replace('"not soak"', "'not soak'")


@pytest.mark.parametrize(
    ("paths", "workers"),
    [
        (["tests"], 14),
        (["tests/cases"], 14),
        (["tests/cases/test_load.py", "tests/cases/test_find.py"], 14),
        (["tests/cases/test_load.py"], 0),
        (["tests/cases/test_load.py::test_one[a::b]"], 0),
    ],
)
def test_one_file_is_tested_without_the_start_of_workers_and_all_else_on_more_workers_than_cores(
    paths: list[str], workers: int, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(request.config, "args", paths)
    monkeypatch.setattr("tests.conftest.cores", lambda: 6)
    monkeypatch.setattr("tests.conftest.warm_processes_work", lambda: True)
    assert pytest_xdist_auto_num_workers(request.config) == workers


def test_the_environment_may_hold_any_name() -> None:
    done = make("eval", "CASE=echo", CSE="x", TEST="a b=c", NAME="y")
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("words", [["--help"], ["nothing"], ["--hlep"], ["sute"]])
def test_the_benchmarks_are_named_and_none_is_run_by_mistake(words: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", "bench", *words], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == (0 if words == ["--help"] else 2)
    if words == ["--help"]:
        assert all(name in done.stdout for name in BENCHES)
    assert "python 3" not in done.stdout
