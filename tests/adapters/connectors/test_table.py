"""One place finds the connector of a SPEC: built in, by import string, or of an installed distribution."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from tests.distributions import install
from tests.viva.viva_command import run_viva
from viva.adapters.connectors.spec import agent_label
from viva.adapters.connectors.table import connectors, load_agent
from viva.adapters.session import AgentArguments, open_session
from viva.errors import SetupError

ROOMS = """
from viva import VirtualUser
from viva.adapters.connectors.loaded_agent import LoadedAgent

class Rooms:
    def load(self, spec, *, isolate, memory_mb):
        room = spec.rpartition(":")[2]
        if not room:
            raise ValueError("which room?")
        class Room(VirtualUser):
            def get_reply_from_agent(self, message):
                return f"{room}: {message.upper()} GUTENBERG"
        return LoadedAgent("whatever", room, Room, "3.1")

class Wrong:
    def load(self, spec, *, isolate, memory_mb):
        return "an agent"

class NoConnector:
    pass
"""


@pytest.fixture(autouse=True)
def _path_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def site(tmp_path: Path) -> Path:
    points = {"viva.connectors": {"rooms": "our_rooms:Rooms", "broken": "our_rooms:Brok", "wrong": "our_rooms:Wrong"}}
    return install(tmp_path / "site", "our-rooms", "1.2", {"our_rooms": ROOMS}, points)


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(site))
    return site


async def test_a_connector_of_an_installed_distribution_is_used_by_its_name(installed: Path) -> None:
    agent = load_agent("rooms:room-7")
    # Records find a run again by the SPEC as it was given.
    assert (agent.spec, agent.kind, agent.name, agent.version) == ("rooms:room-7", "rooms", "room-7", "3.1")
    assert agent.label == "room-7"
    session = await open_session(agent.factory, AgentArguments("task"), 10)
    assert (await session.reply("hello", 10)).text == "room-7: HELLO GUTENBERG"
    await session.close()


def test_a_connector_by_import_string_needs_no_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "rooms_of_mine.py").write_text(ROOMS)
    monkeypatch.chdir(tmp_path)
    for spec in (
        "rooms_of_mine.py:Rooms:room-7",
        f"{tmp_path}/rooms_of_mine.py:Rooms:room-7",
        "rooms_of_mine:Rooms:room-7",
    ):
        agent = load_agent(spec)
        assert (agent.spec, agent.kind, agent.name) == (spec, spec.removesuffix(":room-7"), "room-7")
    sys.modules.pop("rooms_of_mine")


@pytest.mark.parametrize("spec", ["rooms:room-7", "rooms_of_mine.py:Rooms:room-7"])
def test_the_command_examines_through_a_connector_from_elsewhere(spec: str, site: Path, tmp_path: Path) -> None:
    (tmp_path / "rooms_of_mine.py").write_text(ROOMS)
    words = ("suite", "echo", "--agent", spec, "--sandbox", "process", "--out", "journal", "--quiet")
    done = run_viva(
        *words,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert f'"agent":"{spec}"' in (tmp_path / "journal" / "journal.jsonl").read_text()


async def test_the_connector_in_the_documentation_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[3] / "docs/write-an-adapter.md").read_text()
    (source,) = re.findall(r"^```py\n(# rooms\.py\n.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "rooms.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    agent = load_agent("rooms.py:Rooms:lobby")
    session = await open_session(agent.factory, AgentArguments("task"), 10)
    assert (await session.reply("hello", 10)).text == "lobby says: hello"
    with pytest.raises(SetupError, match="say which room"):
        load_agent("rooms.py:Rooms:")


MISTAKES = {
    "broken:room": r"connector 'broken' of our-rooms 1.2 cannot be imported",
    "rooms:": r"connector rooms failed to load 'rooms:': our_rooms\.py:9: ValueError: which room\?",
    "wrong:room": r"connector wrong returned str, not a LoadedAgent",
    "our_rooms.py:NoConnector:room": r"our_rooms.py:NoConnector is not a connector: it has no load",
    "our_rooms.py:Roms:room": r"our_rooms.py has no 'Roms'. Did you mean our_rooms.py:Rooms\?",
}


@pytest.mark.parametrize("spec", MISTAKES)
def test_a_connector_that_cannot_be_used_says_why(spec: str, installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(installed)
    with pytest.raises(SetupError, match=MISTAKES[spec]):
        load_agent(spec)


def test_a_module_keeps_its_name_where_no_distribution_announces_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`python` and `child` are connectors, too, but no words of a SPEC: they could be a user's modules."""
    source = "class A:\n    def get_reply_from_agent(self, message): return message\n"
    (tmp_path / "child.py").write_text(source)
    monkeypatch.chdir(tmp_path)
    assert load_agent("child:A").kind == "python"
    sys.modules.pop("child")


def test_all_connectors_are_listed_with_where_they_come_from(installed: Path) -> None:
    found = {each.name: each.where for each in connectors()}
    assert {"python", "child", "http", "https", "replay", "example"} <= {
        name for name, where in found.items() if where == "built-in"
    }
    assert found["rooms"] == "our-rooms 1.2"


@pytest.mark.parametrize(
    ("spec", "kind", "model"),
    [
        ("http://127.0.0.1:1/v1#helper-2", "http", "helper-2"),
        ("https://agents.example/v1#org/helper", "http", "org/helper"),
        ("example:careful", "example", None),
    ],
)
def test_a_loaded_agent_says_of_what_kind_it_is(spec: str, kind: str, model: str | None) -> None:
    agent = load_agent(spec)
    assert (agent.spec, agent.kind, agent.model, agent.notices) == (spec, kind, model, ())
    assert load_agent(spec, isolate=True).kind == kind


def test_an_isolated_agent_is_of_the_kind_child(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("class A:\n    def get_reply_from_agent(self, message): return message\n")
    assert load_agent(f"{tmp_path}/a.py:A").kind == "python"
    assert load_agent(f"{tmp_path}/a.py:A", isolate=True).kind == "child"
    assert load_agent(f"{tmp_path}/a.py:A@{sys.executable}").kind == "child"


@pytest.mark.parametrize(
    ("spec", "label"),
    [
        ("path/to/my_agent.py:MyAgent", "MyAgent"),
        ("pack.module:MyAgent", "MyAgent"),
        ("my_agent.py:MyAgent@/path/to/venv", "MyAgent"),
        ("/home/me@work/my_agent.py:MyAgent", "MyAgent"),
        ("/home/me@work/my_agent.py:MyAgent@/home/me@work/venv", "MyAgent"),
        ("http://127.0.0.1:8000/v1#my-model", "my-model"),
        ("https://host/v1#org/model:latest", "org/model:latest"),
        ("http://127.0.0.1:8000/v1", "127.0.0.1:8000/v1"),
        ("example:careful", "careful"),
        ("replay:runs/monday", "replay:monday"),
        ("replay:runs/monday#echo-1a2b", "replay:echo-1a2b"),
        ("rooms:room-7", "room-7"),
        ("gpt-4o", "gpt-4o"),
        ("", ""),
        ("a.py:" + "Long" * 20, "LongLongLongLongLongLon…"),
        ("a.py:\x1b[31mRed", "\\x1b[31mRed"),
    ],
)
def test_the_label_of_a_spec_fits_a_column_and_is_harmless(spec: str, label: str) -> None:
    assert agent_label(spec) == label


@pytest.mark.parametrize("permissions", ["allow", "deny", "ask-case"])
def test_a_policy_for_an_agent_that_never_asks_is_a_notice(permissions: str) -> None:
    assert load_agent("example:careful").notices == ()
    (notice,) = load_agent("example:careful", permissions=permissions).notices
    assert notice.startswith(f"--permissions {permissions} has no effect")


@pytest.mark.parametrize(
    ("spec", "isolate", "words"),
    [
        ("example:careful", False, ["--agent-memory has no effect on an agent in Viva's process; --isolate"]),
        ("example:careful", True, []),
        ("http://127.0.0.1:1/v1#m", True, ["--agent-memory has no effect on an agent whose process Viva does not"]),
        ("cmd:cat", False, []),
    ],
)
def test_a_memory_limit_without_a_process_is_a_notice(spec: str, isolate: bool, words: list[str]) -> None:
    notices = load_agent(spec, isolate=isolate, memory_mb=512).notices
    assert [notice[: len(start)] for notice, start in zip(notices, words, strict=True)] == words
