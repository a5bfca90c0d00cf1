"""`viva init adapter` finds the framework of a project, and writes an agent of it that can be examined."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.environments import folder_of
from tests.viva.cli.test_init import is_clean
from tests.viva.viva_command import in_this_process, warm_trials
from viva.cli.init.frameworks import FRAMEWORKS, WRITTEN


def init(folder: Path, *arguments: str, active: str = "", expect: int) -> str:
    """Run the command; return what it printed."""
    environment = {"VIRTUAL_ENV": active}
    with warm_trials():
        done = in_this_process("init", "adapter", "--name", "MyAgent", *arguments, cwd=folder, environment=environment)
    assert done.returncode == expect, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def environment_with(folder: Path, *distributions: str) -> Path:
    """Make what looks like a virtual environment with these distributions; it has no interpreter."""
    for name in distributions:
        info = folder / f"lib/python3.12/site-packages/{name.replace('-', '_')}-1.2.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (folder / "pyvenv.cfg").touch()
    return folder


@pytest.mark.parametrize("framework", WRITTEN)
def test_the_agent_of_an_installed_framework_passes_its_test(framework: str, tmp_path: Path) -> None:
    (tmp_path / ".venv").symlink_to(folder_of(framework.replace("-", "_")))
    printed = init(tmp_path, expect=0)
    assert "1 passed" in printed
    assert "--agent my_agent.py:agent@.venv" in printed
    is_clean(tmp_path / "my_agent.py", tmp_path / "test_my_agent.py")


@pytest.mark.parametrize("name", ["venv", ".venv"])
def test_the_environment_of_the_folder_is_looked_at(name: str, tmp_path: Path) -> None:
    environment_with(tmp_path / name, "langgraph")
    printed = init(tmp_path, expect=3)  # the trial, because this environment is empty
    assert f"LangGraph 1.2 is in {name}: `viva docs langgraph`." in printed
    assert f'"my_agent.py:agent@{name}"' in (tmp_path / "test_my_agent.py").read_text()


def test_the_active_environment_comes_before_that_of_the_folder(tmp_path: Path) -> None:
    active, folder = environment_with(tmp_path / "active", "pydantic-ai-slim"), tmp_path / "project"
    environment_with(folder / ".venv", "langgraph")
    assert "Pydantic AI 1.2" in init(folder, active=str(active), expect=3)
    assert f'"my_agent.py:agent@{active}"' in (folder / "test_my_agent.py").read_text()


def test_several_frameworks_are_a_question(tmp_path: Path) -> None:
    environment_with(tmp_path / ".venv", "langgraph", "openai-agents")
    assert "--framework is missing" in init(tmp_path, expect=2)
    assert not (tmp_path / "my_agent.py").exists()
    assert "agent@.venv" in init(tmp_path, "--framework", "openai-agents", expect=3)
    assert "1 passed" in init(tmp_path, "--framework", "none", "--force", expect=0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--framework", "langgraph"), "LangGraph is neither in Viva's environment nor in that of this folder"),
        (("--framework", "crew"), "--framework crew is none of autogen"),
        (("--framework", "taskweaver"), "--framework taskweaver is none of"),
        (("--framework", "langgraph", "--url", "http://127.0.0.1:1"), "omit one of them"),
    ],
)
def test_a_framework_that_cannot_be_used_is_a_usage_error(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    assert words in init(tmp_path, *arguments, expect=2)
    assert not list(tmp_path.iterdir())


def test_a_framework_without_a_first_agent_is_named_with_its_page(tmp_path: Path) -> None:
    environment_with(tmp_path / ".venv", "agentos-taskweaver")
    assert "TaskWeaver 1.2 is in .venv: `viva docs taskweaver`." in init(tmp_path, expect=0)


def test_each_page_exists() -> None:
    pages = Path(__file__).parents[3] / "docs/agents"
    assert all((pages / f"{each.page}.md").is_file() for each in FRAMEWORKS.values())
