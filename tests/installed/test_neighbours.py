"""Viva is installed beside packages and modules that have the names of its parts: neither gets in the other's way."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

import pytest

from tests.installed.environments import NEIGHBOURS, Environment, Workshop, top_names
from viva.plugins.old_names import TOPS

ECHO = ("viva", "run", "echo", "--sandbox", "process", "--quiet")
AGENT = """
from {package} import VirtualUser


class Agent(VirtualUser):
    def get_reply_from_agent(self, message):
        return "GUTENBERG"
"""


@pytest.fixture(params=["beside_neighbours", "after_neighbours"])
def crowded(request: pytest.FixtureRequest) -> Environment:
    """Viva and its neighbours, installed in one order and in the other."""
    found: Environment = request.getfixturevalue(request.param)
    return found


def test_the_wheel_puts_one_package_into_site_packages(alone: Environment) -> None:
    assert top_names(alone.site) == {"viva"}
    (viva,) = alone.distributions()
    assert viva.files is not None
    beside = {file.parts[0] for file in viva.files} - {"viva", "..", f"vivavoce-{viva.version}.dist-info"}
    assert not beside
    assert [file.parts[-2:] for file in viva.files if file.parts[0] == ".."] == [("bin", "viva")]


def test_neighbours_and_viva_overwrite_nothing(crowded: Environment) -> None:
    assert {one.name for one in crowded.distributions()} == {"vivavoce", *NEIGHBOURS}
    for one in crowded.distributions():
        for file in one.files or ():
            if file.hash is None:  # the list itself
                continue
            digest = hashlib.new(file.hash.mode, (crowded.site / file).read_bytes()).digest()
            assert base64.urlsafe_b64encode(digest).rstrip(b"=").decode() == file.hash.value, f"{one.name}: {file}"


def test_an_exam_runs_beside_neighbours(crowded: Environment, tmp_path: Path) -> None:
    done = crowded.call(*ECHO, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "echo scored 2/2 = 1.00\n"), done.stderr


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with packages of its own that are called like Viva's."""
    for name in (*TOPS, "plugins", "suites"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"WHOSE = 'my {name}'\n")
    (tmp_path / "agent.py").write_text(AGENT.format(package="viva"))
    tests = "".join(
        f"def test_{name}():\n    import {name}\n    assert {name}.WHOSE == 'my {name}'\n\n\n" for name in TOPS
    )
    (tmp_path / "test_own.py").write_text(f"{tests}def test_viva():\n    import viva\n    assert viva.Insight\n")
    case = tmp_path / "exams" / "printer"
    case.mkdir(parents=True)
    (case / "case.yaml").write_text(
        'version: 0.1\ntask_description: Say who printed first.\nscript: ["Who printed first?"]\nscoring_points:\n'
        '  - {score_point: He is named., weight: 1, eval_code: \'assert "GUTENBERG" in rounds[0]["agent"]\'}\n'
    )
    return tmp_path


@pytest.mark.parametrize("agent", ["agent.py:Agent", "agent:Agent"])
def test_a_project_with_packages_of_these_names_is_tested_with_the_plugin(
    agent: str, project: Path, beside_neighbours: Environment
) -> None:
    options = ("exams", "--viva-agent", agent, "--viva-sandbox", "process", "--trace-config")
    done = beside_neighbours.call("python", "-m", "pytest", "-q", "test_own.py", *options, cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(TOPS) + 2} passed" in done.stdout
    assert "viva.pytest_plugin.entry_point" in done.stdout or "viva/pytest_plugin/entry_point.py" in done.stdout


def test_without_an_agent_the_tests_of_such_a_project_run_beside_the_plugin(
    project: Path, beside_neighbours: Environment
) -> None:
    done = beside_neighbours.call("python", "-m", "pytest", "-q", "test_own.py", cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(TOPS) + 1} passed" in done.stdout


@pytest.mark.parametrize("words", [(), ("--isolate",)])
def test_the_command_works_in_such_a_project(
    words: tuple[str, ...], project: Path, beside_neighbours: Environment
) -> None:
    for command in (["viva"],) if words else (["viva"], ["python", "-m", "viva"]):
        call = [
            *command,
            "run",
            "exams/printer",
            "--agent",
            "agent.py:Agent",
            "--sandbox",
            "process",
            "--quiet",
            *words,
        ]
        done = beside_neighbours.call(*call, cwd=project)
        assert (done.returncode, done.stdout) == (0, "printer scored 1/1 = 1.00\n"), done.stderr


def test_a_script_beside_modules_of_these_names_uses_viva(alone: Environment, tmp_path: Path) -> None:
    for name in TOPS:
        (tmp_path / f"{name}.py").write_text(f"WHOSE = 'my {name}'\n")
    (tmp_path / "script.py").write_text(
        f"import {', '.join(TOPS)}\nimport viva\n\n"
        "for name in viva.__all__:\n    getattr(viva, name)\n"
        "run = viva.examine('echo', 'example:careful', sandbox='process')\n"
        "print(viva.Insight.__name__, run.score, records.WHOSE, judge.WHOSE)\n"
    )
    done = alone.call("python", "script.py", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "Insight 1.0 my records my judge\n"), done.stderr


def test_what_is_built_from_the_archive_is_what_is_built_from_the_repository(workshop: Workshop) -> None:
    assert workshop.wheel.read_bytes() == workshop.wheel_from_sdist.read_bytes()


def run_an_old_adapter(environment: Environment, folder: Path, *words: str) -> tuple[int, str]:
    """Return the exit code, and everything that was printed, of an exam of `from adapters import VirtualUser`."""
    (folder / "agent.py").write_text(AGENT.format(package="adapters"))
    call = ("viva", "run", "echo", "--agent", "agent.py:Agent", "--sandbox", "process", *words)
    done = environment.call(*call, cwd=folder)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("words", [(), ("--isolate",)])
def test_an_adapter_with_the_old_import_works_and_a_note_names_the_new_line(
    words: tuple[str, ...], alone: Environment, tmp_path: Path
) -> None:
    code, printed = run_an_old_adapter(alone, tmp_path, *words)
    assert code == 0, printed
    assert "agent.py:2: `adapters` is the old name of Viva's package; write `from viva import VirtualUser`" in printed


@pytest.mark.parametrize("words", [(), ("--isolate",)])
def test_an_old_import_that_finds_the_library_adapters_is_told_the_new_line(
    words: tuple[str, ...], beside_neighbours: Environment, tmp_path: Path
) -> None:
    """The library itself lacks what pip would install with it: that Viva needs it would be a wrong track."""
    code, printed = run_an_old_adapter(beside_neighbours, tmp_path, *words)
    assert code == 2, printed
    assert "agent.py:2 cannot be imported" in printed
    assert "If this line means Viva's adapters, write `from viva import VirtualUser`." in printed
    assert "Install it" not in printed


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("harness.sinks.jsonl", "viva.sinks.jsonl"),
        ("adapters.readers.recording", "viva.recordings.recording"),
    ],
)
def test_import_strings_of_old_modules_are_told_the_new_ones(
    old: str, new: str, beside_neighbours: Environment, tmp_path: Path
) -> None:
    call = ("viva", "run", "echo", "--evaluators", f"{old}:Thing", "--sandbox", "process")
    done = beside_neighbours.call(*call, cwd=tmp_path)
    assert done.returncode == 2
    assert f"Viva's module {old} is now {new}" in " ".join(done.stderr.split())
