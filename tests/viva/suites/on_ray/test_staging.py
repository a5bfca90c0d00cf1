"""What is brought to the nodes: what the jobs need, and no secrets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk
from viva.cases import load_case
from viva.errors import SetupError
from viva.exam.options import Options
from viva.suites.job import WorkOrder
from viva.suites.on_ray import staging as module
from viva.suites.on_ray.staging import Staging, stage


@pytest.fixture
def place(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A folder with all kinds of things in it."""
    monkeypatch.chdir(desk.folder)
    for file in (
        "agents/one.py", "agents/sub/beside.py", "agents/.env", "agents/.git/config", "agents/venv/pyvenv.cfg",
        "agents/own-venv/pyvenv.cfg", "agents/own-venv/lib.py", "agents/old/journal.jsonl", "agents/__pycache__/a.pyc",
        "module.py", "model.yaml", "apis.json",
    ):  # fmt: skip
        (desk.folder / file).parent.mkdir(parents=True, exist_ok=True)
        (desk.folder / file).write_text("secret" if file == "agents/.env" else "x")
    (desk.folder / "agents" / "away").symlink_to(desk.folder)
    return desk


def staged(tmp: Path, *agents: str, cases: tuple[Any, ...] = (), **options: Any) -> tuple[WorkOrder, Staging, set[str]]:
    """The order, what was staged, and the files."""
    folder = tmp / "staged-here"
    folder.mkdir()
    order, found = stage(WorkOrder(options=Options(**options), cases=cases, agents=agents), folder)
    return order, found, {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def test_an_agents_folder_is_brought_without_what_is_hidden_or_cannot_be_moved(
    place: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _, found, files = staged(tmp_path_factory.mktemp("t"), "agents/one.py:Agent", "example:careful")
    assert files == {"here/agents/one.py", "here/agents/sub/beside.py"}
    assert found.agents == {"agents/one.py:Agent": "agents/one.py:Agent", "example:careful": "example:careful"}


def test_an_agent_file_is_brought_with_what_is_beside_it(place: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    (place.folder / "agents" / "ours.yaml").write_text("connector: http")
    _, found, files = staged(tmp_path_factory.mktemp("t"), "agents/ours.yaml")
    assert files == {"here/agents/ours.yaml", "here/agents/one.py", "here/agents/sub/beside.py"}
    assert found.agents == {"agents/ours.yaml": "agents/ours.yaml"}


def test_an_agent_elsewhere_is_brought_beside(place: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "far.py").write_text("x")
    spec = f"{elsewhere / 'far.py'}:Agent@.venv"
    folder = tmp_path_factory.mktemp("t")
    _, found, files = staged(folder, spec)
    (file,) = files
    where, _, python = found.agents[spec].partition("@")
    assert (folder / "staged-here" / "here" / where.partition(":")[0]).resolve() == folder / "staged-here" / file
    assert python == str(place.folder / ".venv"), "an environment must be at the same place on the node"


def test_data_files_and_files_that_options_name_are_brought_but_no_model_file(
    place: Desk, tmp_path_factory: pytest.TempPathFactory
) -> None:
    name = place.case(data={"table.csv": "a", ".hidden": "h"}, data_files=["table.csv", ".hidden"])
    case = load_case(place.folder / name)
    order, found, files = staged(
        tmp_path_factory.mktemp("t"), cases=(case,), apis="apis.json", model="model.yaml",
        evaluators=("agents/one.py:Likes", "agents/one.py:Likes(words=3, of='b.py:x')", "reward"),
    )  # fmt: skip
    data = {f"data/{case.hash}/table.csv", f"data/{case.hash}/.hidden"}
    assert files == {"here/apis.json", "here/agents/one.py", "here/agents/sub/beside.py", *data}
    assert found.evaluators == {"agents/one.py:Likes": "agents/one.py:Likes"}
    kept = ("agents/one.py:Likes", "agents/one.py:Likes(words=3, of='b.py:x')", "reward")
    assert order.options.evaluators == kept, "records name what the user named"
    assert order.options.model == str(place.folder / "model.yaml")


def test_the_files_of_mcp_servers_are_brought(place: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    server = {"name": "desk", "module": "desk.py", "files": ["orders.json"]}
    case = load_case(place.folder / place.case(data={"desk.py": "pass", "orders.json": "[]"}, mcp=[server]))
    _, found, files = staged(tmp_path_factory.mktemp("t"), cases=(case,))
    assert {f"data/{case.hash}/desk.py", f"data/{case.hash}/orders.json"} <= files
    assert case.hash in found.data


def test_a_module_of_the_current_folder_is_brought(place: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    _, found, files = staged(tmp_path_factory.mktemp("t"), "module:Agent")
    assert "here/module.py" in files
    assert found.agents == {"module:Agent": "module:Agent"}


def test_too_much_is_a_mistake_that_names_the_folder(
    place: Desk, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MOST_FILES", 1)
    with pytest.raises(SetupError, match=r"agents is among them\. Put the agent into a folder of its own"):
        staged(tmp_path_factory.mktemp("t"), "agents/one.py:Agent")


def test_a_temporary_folder_inside_the_current_folder_is_not_brought_into_itself(place: Desk) -> None:
    _, _, files = staged(place.folder, "module:Agent")
    assert not any("staged-here" in file for file in files)
