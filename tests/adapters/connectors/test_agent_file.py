"""Agent files: their keys are checked before the first exam, and they contain no secrets."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.distributions import install
from tests.model_server import ModelServer, Unauthorized
from viva.adapters.connectors.agent_file import MOST_BYTES
from viva.adapters.connectors.spec import agent_label
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, open_session
from viva.errors import AgentError, SetupError

SECRET = "k3y-of-the-agent-0123456789"
ROOMS = """
from pathlib import Path
from typing import Literal
from viva import VirtualUser
from viva.adapters.connectors.agent_file import AgentFile, ConnectorKeys, KeyGroup
from viva.adapters.connectors.loaded_agent import LoadedAgent

class Walls(KeyGroup):
    colour: str = "white"

class RoomKeys(ConnectorKeys):
    room: str
    seats: int = 1
    walls: Walls = Walls()
    doors: list[Walls] = []
    mood: Literal["calm", "loud"] = "calm"
    greeting: Path | None = None

class Rooms:
    keys = RoomKeys

    def load(self, spec, *, isolate, memory_mb):
        return self.load_file(AgentFile.of_spec(spec, RoomKeys(room=spec.rpartition(":")[2])), isolate=isolate,
                              memory_mb=memory_mb)

    def load_file(self, file, *, isolate, memory_mb):
        if file.keys.room == "closed":
            raise file.mistake("this room is closed", "room")
        said = (file.folder / file.keys.greeting).read_text() if file.keys.greeting else file.keys.room
        class Room(VirtualUser):
            def get_reply_from_agent(self, message):
                return f"{said}: {message}"
        return LoadedAgent(file.spec, file.keys.room, Room, "3.1")

class Bare:
    def load(self, spec, *, isolate, memory_mb):
        raise AssertionError
"""


@pytest.fixture(autouse=True)
def _path_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def rooms(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = {"viva.connectors": {"rooms": "our_halls:Rooms", "bare": "our_halls:Bare"}}
    monkeypatch.syspath_prepend(str(install(tmp_path / "site", "our-halls", "1.2", {"our_halls": ROOMS}, points)))


def written(folder: Path, text: str, name: str = "agent.yaml") -> str:
    (folder / name).write_text(text)
    return str(folder / name)


async def said(spec: str, message: str = "hello") -> str:
    session = await open_session(load_agent(spec).factory, AgentArguments("task"), 10)
    try:
        return (await session.reply(message, 10)).text
    finally:
        await session.close()


async def test_a_plugins_connector_gets_its_keys_and_the_files_folder(rooms: None, tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("Welcome")
    spec = written(tmp_path, "connector: rooms\nroom: lobby\ngreeting: words.txt\n")
    assert await said(spec) == "Welcome: hello"
    assert await said("rooms:lobby") == "lobby: hello"


def test_the_record_keeps_the_spec_the_files_digest_and_the_names_that_it_gives(rooms: None, tmp_path: Path) -> None:
    spec = written(tmp_path, "connector: rooms\nroom: lobby\n", "front_desk.yml")
    plain = load_agent(spec)
    assert (plain.spec, plain.kind, plain.name, plain.version) == (spec, "rooms", "front_desk", "3.1")
    assert agent_label(spec) == "front_desk"
    written(tmp_path, "connector: rooms\nroom: lobby\nname: concierge\nversion: 2.5\n", "front_desk.yml")
    named = load_agent(spec)
    assert (named.name, named.version) == ("concierge", "2.5")
    assert plain.digest is not None
    assert (len(plain.digest), plain.digest != named.digest) == (12, True)


async def test_a_connector_in_a_file_is_named_from_the_agent_file(tmp_path: Path) -> None:
    (tmp_path / "my_rooms.py").write_text(ROOMS)
    spec = written(tmp_path, "connector: my_rooms.py:Rooms\nroom: attic\n")
    assert Path.cwd() != tmp_path
    assert await said(spec) == "attic: hello"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("connector: rooms\nrom: lobby\n", ["2: unknown key 'rom'; did you mean 'room'?", "room is missing"]),
        ("connector: rooms\nroom: 5\n", ["2: room must be text, not 5; put it in quotes"]),
        ("connector: rooms\nroom: a\nseats: many\n", ["3: seats must be a whole number, not 'many'"]),
        ("connector: rooms\nroom: a\nmood: sad\n", ["3: mood must be 'calm' or 'loud', not 'sad'"]),
        ("connector: rooms\nroom: a\nwalls:\n  color: red\n", ["4: unknown key 'color'; did you mean 'colour'?"]),
        ("connector: rooms\nroom: a\ndoors:\n- colour: red\n- colr: x\n", ["5: unknown key 'colr'", "'colour'"]),
        ("connector: rooms\nroom: a\nwalls: red\n", ["3: walls must be a mapping, not 'red'"]),
        ("connector: rooms\nroom: a\nroom: b\n", ["3: 'room' is a duplicate key"]),
        ("connector: rooms\nroom: closed\n", ["2: this room is closed"]),
        ("connector: roms\n", ["1: there is no connector 'roms'", "rooms"]),
        ("connector: replay\n", ["1: the connector replay takes no agent file", "http"]),
        ("connector: bare\n", ["1: the connector bare takes no agent file"]),
        ("room: lobby\n", ["1: connector is missing"]),
        ("- connector\n", ["is not a mapping of keys"]),
        ("connector: [\n", ["is not valid YAML"]),
        ("connector: !!python/object/apply:os.system [true]\n", ["is not valid YAML"]),
        ("connector: &a rooms\nroom: *a\n", ["uses a YAML alias"]),
        ("connector: rooms\nroom: " + "x" * MOST_BYTES, [f"longer than {MOST_BYTES:,} bytes, which no agent file"]),
    ],
)
def test_a_mistake_is_told_with_its_line_before_the_first_exam(
    rooms: None, tmp_path: Path, text: str, told: list[str]
) -> None:
    spec = written(tmp_path, text)
    with pytest.raises(SetupError) as wrong:
        load_agent(spec)
    assert str(wrong.value).startswith(spec)
    for words in told:
        assert words in str(wrong.value)


def test_every_mistake_of_a_file_is_told_at_once(rooms: None, tmp_path: Path) -> None:
    with pytest.raises(SetupError) as wrong:
        load_agent(written(tmp_path, "connector: rooms\nrom: lobby\nseats: many\nmood: sad\n"))
    assert len(str(wrong.value).splitlines()) == 4


def test_a_file_that_does_not_exist_is_named() -> None:
    with pytest.raises(SetupError, match=r"there is no agent file nowhere/agent\.yaml"):
        load_agent("nowhere/agent.yaml")


HTTP = "connector: http\nurl: http://127.0.0.1:9/v1\nmodel: agent\n"


@pytest.mark.parametrize(
    "line",
    [
        f"key_env: sk-proj-{'a1' * 12}",
        f"headers: {{Authorization: Bearer {SECRET}}}",
        f"headers: {{X-Api-Key: {SECRET}}}",
        f"headers: {{Cookie: {SECRET}}}",
        f"headers: {{X-Other: ghp_{'a1' * 15}}}",
    ],
)
def test_a_key_in_a_file_is_refused_and_not_repeated(tmp_path: Path, line: str) -> None:
    with pytest.raises(SetupError) as wrong:
        load_agent(written(tmp_path, f"{HTTP}{line}\n"))
    assert ":4: " in str(wrong.value)
    assert "environment variable" in str(wrong.value)
    assert SECRET not in str(wrong.value)
    assert "a1a1a1" not in str(wrong.value)


def test_a_password_in_an_address_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SetupError) as wrong:
        load_agent(written(tmp_path, "connector: http\nurl: http://me:hunter2@host/v1\nmodel: agent\n"))
    assert "2: url contains a password" in str(wrong.value)
    assert "hunter2" not in str(wrong.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("key_env: NO_SUCH_KEY", "4: the environment variable NO_SUCH_KEY is not set"),
        ("headers: {X-Team: '${NO_SUCH_TEAM}'}", "4: the environment variable NO_SUCH_TEAM is not set"),
        ("headers: {X-Team: '${not a name}'}", "4: this is not the name of an environment variable"),
    ],
)
def test_a_missing_variable_is_told_with_its_line(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(SetupError) as wrong:
        load_agent(written(tmp_path, f"{HTTP}{line}\n"))
    assert told in str(wrong.value)


async def test_the_key_and_the_headers_of_an_agent_file_are_sent_and_hidden(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_AGENT_KEY", SECRET)
    monkeypatch.setenv("MY_TEAM", "blue")
    monkeypatch.setenv("VIVA_AGENT_API_KEY", "another-key-99")
    with ModelServer({"agent": lambda request: f"My key is {SECRET}."}) as server:
        text = f"connector: http\nurl: {server.url}\nmodel: agent\nkey_env: MY_AGENT_KEY\n"
        reply = await said(written(tmp_path, f"{text}headers:\n  X-Team: team ${{MY_TEAM}}\n"))
        sent = server.requests[-1].headers
    assert sent["authorization"] == f"Bearer {SECRET}"
    assert sent["x-team"] == "team blue"
    assert SECRET not in reply


async def test_a_refused_key_names_the_variable_of_the_agent_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_AGENT_KEY", SECRET)
    with ModelServer({"agent": Unauthorized()}) as server:
        spec = written(tmp_path, f"connector: http\nurl: {server.url}\nmodel: agent\nkey_env: MY_AGENT_KEY\n")
        with pytest.raises(AgentError, match="Set MY_AGENT_KEY to a key that it accepts"):
            await said(spec)
