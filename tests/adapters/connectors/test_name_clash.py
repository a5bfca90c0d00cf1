"""An agent beside modules called like Viva's own packages gets its own, in a process of its own; a note says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from adapters.connectors.name_clash import find_clash
from adapters.connectors.table import load_agent
from adapters.inside.raised import PACKAGES
from tests.adapters.connectors.child.child_connectors import open_agent

ROOT = Path(__file__).parents[3]
VIVA = Path(sys.executable).with_name("viva")
AGENT = """
from {package} import VirtualUser, Reply, Step, StepKind, Usage
{more}
class Agent(VirtualUser):
    def get_reply_from_agent(self, message):
        return {says}
"""


@pytest.fixture(autouse=True)
def _path_as_before(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def agent_file(folder: Path, package: str = "adapters", more: str = "", says: str = "message") -> Path:
    file = folder / "agent.py"
    file.write_text(AGENT.format(package=package, more=more, says=says))
    return file


@pytest.mark.parametrize("name", PACKAGES)
@pytest.mark.parametrize("form", ["{}.py", "{}/__init__.py", "{}/part.py", "{}.abi3.so"])
def test_python_of_such_a_name_is_a_clash(form: str, name: str, tmp_path: Path) -> None:
    write(tmp_path, {form.format(name): ""})
    found = find_clash(f"{tmp_path}/agent.py:Agent")
    assert found is not None
    assert found.relative_to(tmp_path).parts[0].partition(".")[0] == name


@pytest.mark.parametrize(
    "files",
    [
        ("cases/echo/case.yaml",),
        ("records/a.json",),
        ("judges.py",),
        ("sub/records.py",),
        ("viva.toml",),
        ("harness/sub/a.py",),
    ],
)
def test_a_folder_without_python_is_none(files: tuple[str, ...], tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(files, ""))
    assert find_clash(f"{tmp_path}/agent.py:Agent") is None


def test_vivas_own_packages_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert find_clash("agent.py:Agent") is None
    assert find_clash("pack.module:Agent") is None
    assert find_clash(f"{ROOT}/examples/agents/careful.py:CarefulAgent") is None


def test_a_users_module_below_vivas_checkout_is_one(tmp_path: Path) -> None:
    for file in ("adapters/inside/stand_ins.py", "judge/__init__.py", "mine/records.py", "mine/judge/__init__.py"):
        write(tmp_path, {file: ""})
    assert find_clash(f"{tmp_path}/agent.py:Agent") is None
    assert find_clash(f"{tmp_path}/mine/agent.py:Agent") == tmp_path / "mine/judge/__init__.py"


def test_the_current_folder_counts_as_well(tmp_path: Path) -> None:
    write(tmp_path / "here", {"judge.py": ""})
    (tmp_path / "there").mkdir()
    for spec in ("pack.module:Agent", f"{tmp_path}/there/agent.py:Agent"):
        assert find_clash(spec) == tmp_path / "here/judge.py"


@pytest.mark.parametrize("package", ["adapters", "viva"])
async def test_the_agent_gets_its_own_modules_and_vivas_names(package: str, tmp_path: Path) -> None:
    """In Viva's process this ended with: cannot import name 'load' from 'records'."""
    write(
        tmp_path,
        {
            "records.py": "def load(): return 'my records'",
            "judge/__init__.py": "WHOSE = 'my judge'",
            "cases/__init__.py": "",
            "cases/mine.py": "WHOSE = 'my cases'",
            "adapters/__init__.py": "WHOSE = 'my adapters'",
            "adapters/radio.py": "KIND = 'my radio'",
            "viva/__init__.py": "WHOSE = 'my viva'",
        },
    )
    more = "import adapters, cases.mine, judge, viva\nfrom adapters.radio import KIND\nfrom records import load"
    says = "[load(), judge.WHOSE, cases.mine.WHOSE, adapters.WHOSE, KIND, viva.WHOSE].__repr__()"
    file = agent_file(tmp_path, package, more, says)
    session = await open_agent(f"{file}:Agent", tmp_path)
    assert (await session.reply("?", 20)).text == (
        "['my records', 'my judge', 'my cases', 'my adapters', 'my radio', 'my viva']"
    )
    await session.close()


async def test_what_the_users_own_adapters_define_is_the_users(tmp_path: Path) -> None:
    own = "from adapters import Step as Vivas\nclass Step: WHOSE = 'mine'\nclass Base: pass\n"
    write(tmp_path, {"adapters/__init__.py": own})
    more = "import adapters, viva\nclass Mixed(VirtualUser, adapters.Base): pass"
    says = "f'{Step.WHOSE} {viva.Step.__name__} {adapters.Vivas is viva.Step} {VirtualUser is viva.VirtualUser}'"
    session = await open_agent(f"{agent_file(tmp_path, more=more, says=says)}:Agent", tmp_path)
    assert (await session.reply("?", 20)).text == "mine Step True True"
    await session.close()


@pytest.mark.parametrize("name", ["adapters", "viva", "judge"])
async def test_an_agents_file_may_be_called_like_a_package_of_vivas(name: str, tmp_path: Path) -> None:
    file = tmp_path / f"{name}.py"
    source = AGENT.format(package="adapters", more="open('times', 'a').write('x')", says="open('times').read()")
    file.write_text(source)
    agent = load_agent(f"{file}:Agent")
    assert agent.kind == "child"
    Path("times").unlink()
    session = await open_agent(f"{file}:Agent", tmp_path)
    # Once for the look before the exam, once for the exam: never twice in one process.
    assert (await session.reply("?", 20)).text == "xx"
    await session.close()


async def test_modules_of_the_current_folder_come_before_vivas(tmp_path: Path) -> None:
    write(tmp_path / "here", {"judge/__init__.py": "WHOSE = 'my judge'"})
    (tmp_path / "there").mkdir()
    file = agent_file(tmp_path / "there", more="import judge", says="judge.WHOSE")
    session = await open_agent(f"{file}:Agent", tmp_path)
    assert (await session.reply("?", 20)).text == "my judge"
    await session.close()


def test_a_note_says_so_and_without_a_clash_there_is_none(tmp_path: Path) -> None:
    file = agent_file(tmp_path)
    assert load_agent(f"{file}:Agent").notices == ()
    write(tmp_path, {"records.py": ""})
    agent = load_agent(f"{file}:Agent")
    assert agent.kind == "child"
    (notice,) = agent.notices
    assert notice.startswith("Agent runs in its own process, because ")
    assert f"{tmp_path}/records.py has the name of one of Viva's packages" in notice
    assert load_agent(f"{file}:Agent", isolate=True).notices == ()


def test_an_example_needs_nothing_of_the_users(tmp_path: Path) -> None:
    write(tmp_path / "here", {"records.py": ""})
    assert load_agent("example:careful").notices == ()


@pytest.mark.parametrize("spec", ["agent.py:Agent", "agent:Agent"])
@pytest.mark.parametrize("command", ["run", "suite"])
def test_the_command_examines_such_an_agent_and_prints_the_note(command: str, spec: str, tmp_path: Path) -> None:
    write(tmp_path, {"records.py": "def load(): return 'GUTENBERG'"})
    agent_file(tmp_path, more="from records import load", says="load()")
    words = [VIVA, command, "echo", "--agent", spec, "--sandbox", "process", "--out", "journal"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "records.py has the name of one of Viva's packages" in done.stdout + done.stderr
