"""However Viva was installed (wheel, wheel from the source archive, editable), the same smoke selection passes."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from tests.installed.environments import ROOT, Environment, Workshop

TYPED = """\
from pathlib import Path
from typing import assert_type

import viva
from viva import Outcome, Reply, Step, StoredRun, VirtualUser
from viva.cases import load_case
from viva.judge.registry import EVALUATORS, Need
from viva.sandbox.limits import SandboxLimits


class Agent(VirtualUser):
    def get_reply_from_agent(self, message: str) -> Reply:
        return Reply(message, (Step("s1"),))


class Brevity:
    name = "brevity"

    async def evaluate(self, transcript: viva.Transcript, context: viva.Context) -> viva.Insight:
        return viva.Insight("brevity", context.subject, "short", 1.0)


async def main() -> None:
    run: StoredRun = await viva.examine_async("echo", Agent, evaluators=[Brevity()])
    assert_type(run.outcome, Outcome | None)
    assert_type(viva.run_suite(["echo"], {"a": Agent, "b": "example:careful"}).figures.suite.mean, float | None)
    assert_type(await viva.judge_async([run], evaluators="reward"), viva.SuiteResult)


assert_type(viva.examine("echo", Agent, max_rounds=3), StoredRun)
assert_type(viva.judge("runs/exam", evaluators="reward"), viva.SuiteResult)
assert_type(viva.examine(load_case(Path("echo")), Agent), StoredRun)
assert_type(SandboxLimits().seconds, float)
assert_type(EVALUATORS.builtin["reward"], str)
assert_type(Need("model"), Need)
viva.judge(3)
viva.run_suite(3, Agent)
viva.no_such_name
"""


@pytest.fixture(scope="session", params=["wheel", pytest.param("archive", marks=pytest.mark.soak), "editable"])
def installed(request: pytest.FixtureRequest, workshop: Workshop) -> Environment:
    """Viva, installed in one way and another; the wheel from the source archive is the same file as the other one."""
    source = {"wheel": workshop.wheel, "archive": workshop.wheel_from_sdist, "editable": ROOT}[request.param]
    return workshop.environment(request.param, ["--editable", source] if request.param == "editable" else [source])


@pytest.mark.parametrize("command", [("viva",), ("python", "-m", "viva")])
def test_the_command_says_its_version(command: tuple[str, ...], installed: Environment, tmp_path: Path) -> None:
    done = installed.call(*command, "--version", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "viva 0.1.0\n", "")


def test_an_exam_runs_is_shown_and_judged_again(installed: Environment, tmp_path: Path) -> None:
    run = ("run", "sum_1_to_50", "--sandbox", "process", "--quiet", "--out", "exam")
    assert installed.call("viva", *run, cwd=tmp_path).stdout == "sum_1_to_50 scored 15/15 = 1.00\n"
    shown = installed.call("viva", "replay", "exam", cwd=tmp_path)
    assert "The total sum is now 1275." in shown.stdout, shown.stderr
    judged = installed.call("viva", "judge", "exam", "--sandbox", "process", "--quiet", cwd=tmp_path)
    assert judged.stdout.endswith(" scored 15/15 = 1.00\n"), judged.stderr
    page = installed.call("viva", "report", "exam", "--format", "html", "--out", "page.html", cwd=tmp_path)
    assert page.returncode == 0, page.stderr
    assert "sum_1_to_50" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize("installed", ["wheel", "editable"], indirect=True)
def test_bundled_cases_and_parts_are_listed(installed: Environment, tmp_path: Path) -> None:
    cases = installed.call("viva", "cases", cwd=tmp_path)
    assert {"echo", "sum_1_to_50", "weather_asks_back"} <= {line.split()[0] for line in cases.stdout.splitlines()}
    doctor = installed.call("viva", "doctor", cwd=tmp_path)
    assert doctor.returncode == 0, doctor.stdout + doctor.stderr
    for part in ("sandbox process", "scoring_points", "chat", "jsonl"):
        assert part in doctor.stdout


@pytest.mark.parametrize("installed", ["wheel", "editable"], indirect=True)  # the archive's wheel is the same file
def test_a_type_checker_sees_the_types(installed: Environment, workshop: Workshop, tmp_path: Path) -> None:
    (tmp_path / "user.py").write_text(TYPED)
    words = ("--strict", "--follow-imports=silent", "--cache-dir", workshop.folder / "mypy", "user.py")
    done = installed.call("python", "-m", "mypy", *words, cwd=tmp_path)
    # All that is wrong is what shall be: arguments of a wrong type, and a name that is not there.
    errors = [line for line in done.stdout.splitlines() if " error: " in line]
    assert len(errors) == 3, done.stdout + done.stderr
    assert ["Argument 1" in error for error in errors] == [True, True, False]
    assert "no_such_name" in errors[2]


def test_the_conformance_suite_needs_no_test_file(installed: Environment, tmp_path: Path) -> None:
    chosen = ("--viva-conformance", "example:careful", "-k", "opens_and_closes or closes_twice or several")
    done = installed.call("python", "-m", "pytest", "-q", *chosen, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "3 passed" in done.stdout


def test_the_documentation_is_installed(installed: Environment, tmp_path: Path) -> None:
    listed = installed.call("viva", "docs", cwd=tmp_path)
    assert {line.split()[2] for line in listed.stdout.splitlines()} == {
        page.stem for page in (ROOT / "docs").rglob("*.md")
    }
    assert installed.call("viva", "docs", "suites", cwd=tmp_path).stdout.startswith("# Suites\n")


def test_the_source_archive_contains_what_contributors_need(workshop: Workshop) -> None:
    with tarfile.open(workshop.sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"Makefile", "CONTRIBUTING.md", "constraints.txt", "CHANGELOG.md", "LICENSE", "docs/suites.md"} <= names
