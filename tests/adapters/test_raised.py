"""An agent's exception is told with file and line of its own code, in the same words through every connector."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.adapters.connectors.child.child_agents import RAISING, TOOLS
from tests.adapters.connectors.child.child_connectors import open_agent
from viva.adapters.calls import ERROR_SHOWN
from viva.adapters.connectors.table import load_agent
from viva.adapters.inside.raised import Home, home_of, raised_at
from viva.adapters.session import AgentArguments, open_session
from viva.errors import AgentError

SECRET = "sk-of-mine-123456"


def at(marker: str) -> str:
    """The line of the agent's file that ends in this comment."""
    return (
        f"agent_of_mine.py:{next(n for n, line in enumerate(RAISING.splitlines(), 1) if line.endswith(f'# {marker}'))}"
    )


WORDS = {
    "here": f"{at('here')}: KeyError: 'key'",
    "beside it": "tools_of_mine.py:2: KeyError: 'answer'",
    "in a library": f"{at('in a library')}: JSONDecodeError: Expecting property name enclosed in double quotes: ",
    "in code without a file": f"{at('in code without a file')}: JSONDecodeError: Expecting property name",
    "in code that names a file": f"{at('in code that names a file')}: ZeroDivisionError: division by zero",
    "from another": f"{at('from another')}: ValueError: no answer",
    "while handling": f"{at('while handling')}: ValueError: no answer",
    "on a thread": f"{at('here')}: KeyError: 'key'",
    "exit": f"{at('exit')}: RuntimeError: SystemExit: enough",
    "deep": f"{at('deep')}: RecursionError: maximum recursion depth exceeded",
    "secret": f"{at('secret')}: ValueError: no entry with [KEY_OF_MINE]",
    "hidden trace": f"{at('hidden trace')}: Sly: (its text cannot be shown)",
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("KEY_OF_MINE", SECRET)
    path = tmp_path / "agent_of_mine.py"
    path.write_text(RAISING)
    (tmp_path / "tools_of_mine.py").write_text(TOOLS)
    monkeypatch.delitem(sys.modules, "tools_of_mine", raising=False)
    return path


@pytest.mark.parametrize("name", ["Sync", "Async", "Later"])
async def test_an_exception_is_told_with_the_innermost_line_of_the_agents_own(
    file: Path, connector: tuple[str, bool], workspace: Path, name: str
) -> None:
    session = await open_agent(f"{file}:{name}{connector[0]}", workspace, isolate=connector[1])
    heard = {}
    for message in WORDS:
        with pytest.raises(AgentError) as caught:
            await session.reply(message, 20)
        heard[message] = str(caught.value)[: len(WORDS[message])]
        assert SECRET not in str(caught.value)
        assert str(file.parent) not in str(caught.value)
    assert heard == WORDS
    assert await session.close() == f"close() failed: {at('here')}: KeyError: 'key'"


async def test_long_words_are_cut_once_and_file_and_line_stay(
    file: Path, connector: tuple[str, bool], workspace: Path
) -> None:
    session = await open_agent(f"{file}:Sync{connector[0]}", workspace, isolate=connector[1])
    with pytest.raises(AgentError) as caught:
        await session.reply("long", 20)
    await session.close()
    found = re.fullmatch(rf"{at('long')}: ValueError: (x+)… \[(1,\d+) more characters\]", str(caught.value))
    assert found is not None
    assert len(found[1]) + int(found[2].replace(",", "")) == 5000
    assert len(str(caught.value)) <= ERROR_SHOWN


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("Broken", f"{at('here')}: KeyError: 'key'"),
        ("BrokenAsync", f"{at('exit')}: RuntimeError: SystemExit: enough"),
    ],
)
async def test_so_is_one_of_its_construction(
    file: Path, connector: tuple[str, bool], workspace: Path, name: str, words: str
) -> None:
    with pytest.raises(AgentError) as caught:
        await open_agent(f"{file}:{name}{connector[0]}", workspace, isolate=connector[1])
    assert str(caught.value) == f"its construction failed: {words}"


async def test_an_agent_that_cancels_itself_is_told_where(
    file: Path, connector: tuple[str, bool], workspace: Path
) -> None:
    session = await open_agent(f"{file}:Cancels{connector[0]}", workspace, isolate=connector[1])
    with pytest.raises(AgentError) as caught:
        await session.reply("?", 20)
    assert str(caught.value) == f"{at('cancelled')}: RuntimeError: it cancelled its own task"
    await session.close()


async def test_an_exception_on_no_line_of_the_agents_own_is_told_without_one(
    file: Path, connector: tuple[str, bool], workspace: Path
) -> None:
    session = await open_agent(f"{file}:OnlyOfALibrary{connector[0]}", workspace, isolate=connector[1])
    with pytest.raises(AgentError, match=r"^JSONDecodeError: Expecting value"):
        await session.reply("?", 20)
    await session.close()


async def test_an_agent_of_a_module_is_told_with_the_path_of_its_package(
    file: Path, connector: tuple[str, bool], workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a library of the same project, and an environment that lies in its folder."""
    package = file.parent / "pack_of_mine"
    (package / "deep").mkdir(parents=True)
    (package / "deep" / "__init__.py").write_text(
        "import library_of_all\n"
        "class Agent:\n"
        "    def get_reply_from_agent(self, message):\n"
        "        library_of_all.fail()\n"
    )
    packages = file.parent / ".venv/lib/site-packages"
    packages.mkdir(parents=True)
    (packages / "library_of_all.py").write_text("def fail():\n    raise OSError('gone')\n")
    for name in ("pack_of_mine.deep", "pack_of_mine", "library_of_all"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.chdir(file.parent)
    monkeypatch.syspath_prepend(str(packages))
    monkeypatch.setenv("PYTHONPATH", str(packages))
    session = await open_agent(f"pack_of_mine.deep:Agent{connector[0]}", workspace, isolate=connector[1])
    with pytest.raises(AgentError) as caught:
        await session.reply("?", 20)
    assert str(caught.value) == "pack_of_mine/deep/__init__.py:4: OSError: gone"
    await session.close()


def test_libraries_are_not_the_agents_own_wherever_they_lie(tmp_path: Path) -> None:
    home = Home(str(tmp_path))
    assert home.path_of(str(tmp_path / "a/b.py")) == "a/b.py"
    assert home.path_of(str(tmp_path / ".venv/lib/python3/site-packages/a.py")) is None
    assert home.path_of(str(tmp_path) + "-too/a.py") is None
    assert home.path_of("<string>") is None
    assert home.path_of("relative.py") is None
    everything = Home(os.sep)
    assert everything.path_of(json.__file__) is None
    assert everything.path_of(sys.modules["viva.adapters.session"].__file__ or "") is None
    assert everything.path_of(str(tmp_path / "a.py")) == str(tmp_path / "a.py").lstrip(os.sep)


@pytest.mark.parametrize(
    ("source", "file", "own", "shown"),
    [
        ("agent", "agent.py", "tool.py", "tool.py"),
        ("pack.agent", "pack/agent.py", "pack/tool.py", "pack/tool.py"),
        ("pack.agent", "pack/agent.py", "beside/tool.py", "beside/tool.py"),
        ("pack.agent", "pack/agent/__init__.py", "pack/tool.py", "pack/tool.py"),
        ("pack", "pack/__init__.py", "pack/tool.py", "pack/tool.py"),
        ("pack.agent", "site-packages/pack/agent.py", "site-packages/pack/deep/tool.py", "pack/deep/tool.py"),
        ("pack.agent", "site-packages/pack/agent.py", "site-packages/other/tool.py", None),
        ("agent", "site-packages/agent.py", "site-packages/agent.py", "agent.py"),
        ("agent", "site-packages/agent.py", "site-packages/other.py", None),
        ("pack.agent", "elsewhere/under_another_name.py", "elsewhere/under_another_name.py", "under_another_name.py"),
    ],
)
def test_the_home_of_a_module_is_where_its_package_lies(
    tmp_path: Path, source: str, file: str, own: str, shown: str | None
) -> None:
    module = ModuleType(source)
    module.__file__ = str(tmp_path / file)
    home = home_of(source, module)
    assert home is not None
    assert home.path_of(str(tmp_path / own)) == shown


def test_a_module_without_a_file_has_no_home() -> None:
    assert home_of("sys", sys) is None


def test_a_file_that_is_a_link_is_at_home_where_it_leads(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/agent.py").touch()
    (tmp_path / "link.py").symlink_to("real/agent.py")
    home = home_of(str(tmp_path / "link.py"), None)
    assert home is not None
    assert home.path_of(str(tmp_path / "link.py")) == home.path_of(str(tmp_path / "real/agent.py")) == "agent.py"


def test_a_ring_of_causes_comes_to_an_end(tmp_path: Path) -> None:
    first, second = ValueError(), KeyError()
    first.__cause__, second.__cause__ = second, first
    assert raised_at(first, Home(str(tmp_path))) is None


def test_a_path_of_any_length_is_cut(tmp_path: Path) -> None:
    shown = Home(str(tmp_path)).path_of(str(tmp_path / ("a" * 150) / ("b" * 150)))
    assert shown is not None
    assert re.fullmatch(r"…a+/b{150}", shown)
    assert len(shown) == 201


async def test_an_agent_made_by_hand_has_no_home_and_its_words_no_place() -> None:
    class Agent:
        def get_reply_from_agent(self, message: str) -> str:
            raise KeyError("key")

    session = await open_session(Agent, AgentArguments("task"), 5)
    with pytest.raises(AgentError, match=r"^KeyError: 'key'$"):
        await session.reply("?", 5)
    await session.close()


def test_an_agent_in_viva_knows_its_home(file: Path) -> None:
    home = load_agent(f"{file}:Sync").home
    assert home is not None
    assert home.path_of(str(file)) == "agent_of_mine.py"
    assert load_agent("http://127.0.0.1:1/v1#m").home is None
