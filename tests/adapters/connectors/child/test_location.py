"""The SPEC of an agent in another environment, the interpreters it names, and what those must be able to run."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import viva.adapters
from tests.adapters.connectors.child.child_agents import PLAIN
from viva.adapters.connectors.child.location import Location, find_python, split
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, open_session
from viva.errors import SetupError

INSIDE = sorted((Path(viva.adapters.__file__).parent / "inside").glob("*.py"))


@pytest.mark.parametrize(
    ("spec", "module"),
    [
        ("a.py:C@{python}", "a.py"),
        ("some/where/a.py:C@{python}", "some/where/a.py"),
        ("/home/me@work/a.py:C@{python}", "/home/me@work/a.py"),
        ("pack.module:C@{python}", "pack.module"),
    ],
)
def test_the_part_behind_the_class_is_the_interpreter(spec: str, module: str) -> None:
    assert split(spec.format(python=sys.executable)) == Location(
        module, "C", sys.executable, suffix=f"@{sys.executable}"
    )


@pytest.mark.parametrize("spec", ["a.py:C", "/home/me@work/a.py:C", "pack.module:C", "a.py", "a.py:C@", "a.py@x"])
def test_other_specs_are_left_alone(spec: str) -> None:
    assert split(spec) is None


def test_an_interpreter_is_found_by_environment_path_or_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = tmp_path / "me@home" / "venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    # The link is kept as it is: an interpreter knows its environment by the path it is called by.
    assert find_python(str(environment)) == str(environment / "bin" / "python")
    assert find_python(str(environment / "bin" / "python")) == str(environment / "bin" / "python")
    assert split(f"a.py:C@{environment}") == Location(
        "a.py", "C", str(environment / "bin" / "python"), suffix=f"@{environment}"
    )
    monkeypatch.setenv("PATH", str(environment / "bin"))
    assert find_python("python") == str(environment / "bin" / "python")
    monkeypatch.chdir(tmp_path)
    assert find_python("me@home/venv") == str(environment / "bin" / "python")


def test_a_missing_interpreter_is_the_users_mistake_and_says_what_to_do(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(PLAIN)
    with pytest.raises(SetupError, match="there is no virtual environment or interpreter no/such"):
        load_agent(f"{file}:Sync@no/such")
    with pytest.raises(SetupError, match=r"is not a virtual environment: .* python -m venv"):
        load_agent(f"{file}:Sync@{tmp_path}")
    with pytest.raises(SetupError, match="cannot be run: Permission denied"):
        load_agent(f"{file}:Sync@{file}")
    file.chmod(0o755)
    with pytest.raises(SetupError, match="cannot be run: Exec format error"):
        load_agent(f"{file}:Sync@{file}")
    with pytest.raises(SetupError, match=r"there is no agent file .*/b\.py\. Did you mean .*/a\.py\?"):
        load_agent(f"{tmp_path}/b.py:Sync@{sys.executable}")
    with pytest.raises(SetupError, match=rf"Did you mean [^:]*/a\.py:Sync@{sys.executable}\?"):
        load_agent(f"{file}:Sinc@{sys.executable}")
    with pytest.raises(
        SetupError, match=r"^'[^:]*a\.py' does not say which class, function or object; write [^:]*a\.py:\w+\.$"
    ):
        load_agent(str(file), isolate=True)


def test_the_agents_packages_are_looked_for_in_its_own_environment(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(PLAIN)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    agent = load_agent(f"{file}:Sync@{tmp_path / 'venv'}")
    assert agent.search_path is not None
    assert agent.search_path[0] == str(tmp_path)
    assert any(str(tmp_path / "venv") in entry for entry in agent.search_path[1:])
    assert not any(Path(entry) == Path(viva.adapters.__file__).parent for entry in agent.search_path)


@pytest.mark.parametrize("file", INSIDE, ids=lambda file: file.name)
def test_what_runs_beside_the_agent_is_old_python_and_standard_library(file: Path) -> None:
    tree = ast.parse(file.read_text(), feature_version=(3, 8))
    imported = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            imported.add((node.module or "").partition(".")[0])
    assert imported <= set(sys.stdlib_module_names)
    # Annotations are never evaluated, so they may be newer than the interpreter; aliases of types may not.
    assert any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)


def other_pythons() -> list[str]:
    found = {}
    folders = [
        *os.environ.get("PATH", "").split(os.pathsep),
        *map(str, Path("~/.pyenv/versions").expanduser().glob("*/bin")),
    ]
    for minor in range(8, 16):
        for folder in folders:
            path = shutil.which(f"python3.{minor}", path=folder)
            if path and minor not in found:
                done = subprocess.run(
                    [path, "-c", f"import sys; assert sys.version_info[1] == {minor}"], capture_output=True
                )
                if done.returncode == 0:
                    found[minor] = path
    return [path for minor, path in found.items() if minor != sys.version_info[1]]


@pytest.mark.parametrize("name", ["Sync", "Async", "Later"])
async def test_every_interpreter_of_this_machine_will_do(tmp_path: Path, name: str) -> None:
    file = tmp_path / "a.py"
    file.write_text(PLAIN)
    pythons = other_pythons()
    if not pythons:
        pytest.skip("there is no other Python here")
    # How the method waits is no matter of the version.
    for python in pythons if name == "Sync" else pythons[:1]:
        agent = load_agent(f"{file}:{name}@{python}")
        session = await open_session(agent.factory, AgentArguments("t", workspace=tmp_path), 30)
        assert (await session.reply("hello", 30)).text == "HELLO"
        assert (await session.reply("reply", 30)).steps[0].tool == "search"
        assert await session.close() is None


def test_an_interpreter_that_is_too_old_says_so(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text(PLAIN)
    old = [str(path) for path in Path("~/.pyenv/versions").expanduser().glob("3.[67]*/bin/python")]
    if not old:
        pytest.skip("there is no old Python here")
    with pytest.raises(SetupError, match=r"this is Python 3\.[67]; an agent needs 3\.8 or newer"):
        load_agent(f"{file}:Sync@{old[0]}")
