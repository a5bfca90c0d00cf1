"""`--viva-suite NAME` gives pytest the cases, agents and options of a suite of `viva.yaml`."""

from __future__ import annotations

import json

import pytest

from tests.viva.pytest_plugin.sessions import INI

pytest_plugins = ["pytester"]

FILE = """\
suites:
  exams:
    cases: [echo, sum_1_to_50]
    agent: example:careful
    sandbox: bwrap
    name: 'e*'
    trials: 2
    max_rounds: 7
    fail_under: 0.9
  code: {cases: echo, agent: 'mine.py:Agent', sandbox: bwrap}
  nobody: {cases: echo, sandbox: bwrap}
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """A folder with a `viva.yaml`."""
    pytester.makeini(INI)
    (pytester.path / "viva.yaml").write_text(FILE)
    return pytester


def test_cases_agents_and_options_come_from_the_suite(project: pytest.Pytester) -> None:
    done = project.runpytest_inprocess("--viva-suite", "exams", "-v", "--viva-out", "journal")
    done.assert_outcomes(passed=2, deselected=2)
    done.stdout.fnmatch_lines(["*suite exams from *viva.yaml; testing example:careful", "*echo[[]1]*"])
    lines = (project.path / "journal" / "journal.jsonl").read_text().splitlines()
    settings = [json.loads(line)["data"] for line in lines if '"event":"setting"' in line]
    assert {each["max_rounds"] for each in settings} == {7}
    assert {each["sandbox"] for each in settings} == {"bwrap"}
    assert {each["suite"] for each in settings} == {"exams"}


GATED = "suites: {gated: {cases: echo, agent: 'example:failing', sandbox: bwrap, threshold: 0, %s}}"


def test_the_gates_of_the_suite_are_those_of_the_session(project: pytest.Pytester) -> None:
    (project.path / "viva.yaml").write_text(GATED % "fail_under: 0.5")
    done = project.runpytest_inprocess("--viva-suite", "gated", "--viva-out", "first")
    done.assert_outcomes(passed=1)
    done.stdout.fnmatch_lines(["viva: gate: *below 0.5*"])
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    (project.path / "viva.yaml").write_text(GATED % "baseline: first, max_drop: 0, max_cost: 1")
    done = project.runpytest_inprocess("--viva-suite", "gated")
    done.stdout.fnmatch_lines(["*viva.yaml (without max_cost, which pytest has no options for); testing*"])
    assert done.ret == pytest.ExitCode.OK
    (project.path / "viva.yaml").write_text(GATED % "baseline: nowhere, max_drop: 0")
    done = project.runpytest_inprocess("--viva-suite", "gated")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*the suite 'gated': *nowhere*"])


def test_what_is_typed_wins_even_if_it_is_the_default(project: pytest.Pytester) -> None:
    case = project.path / "cases" / "own"
    case.mkdir(parents=True)
    (case / "case.yaml").write_text(
        "task_description: Say it.\nscript: [x]\nscoring_points: [{score_point: It speaks, eval_code: assert rounds}]\n"
    )
    project.runpytest_inprocess("--viva-suite", "exams", "--viva-trials=1").assert_outcomes(passed=1, deselected=1)
    (project.path / "viva.yaml").write_text(FILE.replace("name: 'e*'", "threshold: 1"))
    done = project.runpytest_inprocess("--viva-suite", "exams", "--viva-agent", "example:forgetful", "cases")
    done.assert_outcomes(passed=2)


def test_what_loads_code_is_refused_until_it_is_trusted(project: pytest.Pytester) -> None:
    done = project.runpytest_inprocess("--viva-suite", "code")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*runs the code of mine.py:Agent*viva trust *or --viva-trust (once)*"])
    done = project.runpytest_inprocess("--viva-suite", "code", "--viva-trust")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["*there is no agent file mine.py*"])


@pytest.mark.parametrize(
    ("name", "message"), [("exam", "*has no suite 'exam'*'exams'*"), ("nobody", "*the suite 'nobody' names no agent*")]
)
def test_a_mistake_is_a_usage_error(name: str, message: str, project: pytest.Pytester) -> None:
    done = project.runpytest_inprocess("--viva-suite", name)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines([message])


def test_workers_have_the_suite_too_and_its_gates_are_applied_once(project: pytest.Pytester) -> None:
    (project.path / "viva.yaml").write_text(GATED % "fail_under: 0.5")
    done = project.runpytest_subprocess("--viva-suite", "gated", "-n", "1")
    done.assert_outcomes(passed=1)
    assert done.stdout.str().count("viva: gate: ") == 1
    assert done.ret == pytest.ExitCode.TESTS_FAILED


PYTHON = "def test_something():\n    pass\n"


@pytest.mark.parametrize("workers", [False, True])
@pytest.mark.parametrize("gate", ["fail_under: 0.5", "max_examiner_faults: 0.1", "fail_under: {loops: 0.9}"])
def test_a_session_without_an_exam_passes_no_gate(project: pytest.Pytester, gate: str, workers: bool) -> None:
    (project.path / "viva.yaml").write_text(GATED % gate)
    project.makepyfile(test_python=PYTHON)
    chosen = ("--viva-suite", "gated", "test_python.py")
    done = project.runpytest_subprocess(*chosen, "-n", "1") if workers else project.runpytest_inprocess(*chosen)
    done.assert_outcomes(passed=1)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    done.stdout.fnmatch_lines(["viva: gate: nothing was scored: no runs"])
    assert done.stdout.str().count("viva: gate: ") == 1


def test_a_session_that_leaves_only_python_tests_passes_no_gate(project: pytest.Pytester) -> None:
    (project.path / "viva.yaml").write_text(
        GATED.replace("cases: echo", "cases: [echo, test_python.py]") % "fail_under: 0"
    )
    project.makepyfile(test_python=PYTHON)
    done = project.runpytest_inprocess("--viva-suite", "gated", "-k", "something")
    done.assert_outcomes(passed=1, deselected=1)
    assert done.ret == pytest.ExitCode.TESTS_FAILED


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan", "--setup-only", "--fixtures"])
def test_a_session_that_runs_nothing_has_no_gate_to_pass(project: pytest.Pytester, option: str) -> None:
    (project.path / "viva.yaml").write_text(GATED % "fail_under: 0.5")
    project.makepyfile(test_python=PYTHON)
    done = project.runpytest_inprocess("--viva-suite", "gated", "test_python.py", option)
    assert done.ret == pytest.ExitCode.OK
    assert "viva: gate" not in done.stdout.str()


def test_a_suite_without_a_limit_has_no_gate(project: pytest.Pytester) -> None:
    (project.path / "viva.yaml").write_text(GATED % "trials: 2")
    project.makepyfile(test_python=PYTHON)
    done = project.runpytest_inprocess("--viva-suite", "gated", "test_python.py")
    assert done.ret == pytest.ExitCode.OK
