"""An agent that offers its state continues from it, in whatever process it runs; what goes wrong is its fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from viva.adapters.agent_state import load_state, read_state, save_state
from viva.adapters.connectors.table import load_agent
from viva.adapters.inside.states import MOST_LEVELS, STATE_LIMIT
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError, AgentTimeout

AGENTS = """
import threading, time
from viva import VirtualUser

class Plain(VirtualUser):
    def __init__(self, task_description):
        self.seen, self.kind = [], "usual"
    def get_reply_from_agent(self, message):
        if message.startswith("be "):
            self.kind = message[3:]
            return "yes"
        self.seen.append(message)
        return " ".join(self.seen)
    def save_state(self):
        if self.kind == "raises":
            raise ValueError("the store is gone")
        if self.kind == "slow":
            time.sleep(60)
        loop = []
        loop.append(loop)
        many = [0] * 1000
        many = [many] * 1000
        many = [many] * 1000
        deep = []
        for _ in range(200):
            deep = [deep]
        return {
            "usual": {"seen": self.seen}, "none": None, "object": {"a": object()}, "keys": {1: "one"},
            "nan": float("nan"),
            "loop": loop, "deep": deep, "many": many,
            "large": "x" * 5_000_000, "tuple": {"seen": ("a", "gr\\u00f6\\ud800")},
        }[self.kind]
    def load_state(self, state):
        if state == "odd":
            raise KeyError("seen")
        if state == "not offered":
            raise NotImplementedError("no")
        self.seen = list(state["seen"])

class Async(Plain):
    async def get_reply_from_agent(self, message):
        return Plain.get_reply_from_agent(self, message)
    async def save_state(self):
        if self.kind == "slow":
            import asyncio
            await asyncio.sleep(60)
        return Plain.save_state(self)
    async def load_state(self, state):
        return Plain.load_state(self, state)

class Mixed(Plain):
    async def get_reply_from_agent(self, message):
        return Plain.get_reply_from_agent(self, message)

class Without(VirtualUser):
    def get_reply_from_agent(self, message):
        return message
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "stateful.py"
    path.write_text(AGENTS)
    return path


async def opened(file: Path, connector: tuple[str, bool], name: str) -> AgentSession:
    agent = load_agent(f"{file}:{name}{connector[0]}", isolate=connector[1])
    return await open_session(agent.factory, AgentArguments("the task"), 30, agent.home)


@pytest.mark.parametrize("name", ["Plain", "Async", "Mixed"])
async def test_a_new_agent_continues_from_the_state_of_another(
    file: Path, connector: tuple[str, bool], name: str
) -> None:
    first, second = await opened(file, connector, name), await opened(file, connector, name)
    await first.reply("one", 20)
    state = await save_state(first)
    await first.reply("two", 20)
    assert state is not None
    assert await load_state(second, read_state(state))
    assert (await second.reply("three", 20)).text == "one three"
    assert (await first.reply("four", 20)).text == "one two four", "saving disturbs nothing"
    assert await first.close() is None
    assert await second.close() is None


async def test_an_agent_without_the_methods_offers_no_state(file: Path, connector: tuple[str, bool]) -> None:
    session = await opened(file, connector, "Without")
    assert await save_state(session) is None
    assert not await load_state(session, {"seen": []})
    assert (await session.reply("Hi", 20)).text == "Hi"
    assert await session.close() is None


@pytest.mark.parametrize("name", ["Plain", "Async"])
async def test_none_and_not_implemented_mean_that_no_state_is_offered(
    file: Path, connector: tuple[str, bool], name: str
) -> None:
    session = await opened(file, connector, name)
    assert not await load_state(session, "not offered")
    await session.reply("be none", 20)
    assert await save_state(session) is None
    assert await session.close() is None


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("raises", "ValueError: the store is gone"),
        ("object", "save_state returned something that is not JSON"),
        ("keys", "save_state returned an object with a key that is not text: 1"),
        ("nan", "save_state returned something that is not JSON"),
        ("loop", f"save_state returned something that is nested more than {MOST_LEVELS} levels deep"),
        ("deep", f"save_state returned something that is nested more than {MOST_LEVELS} levels deep"),
        ("many", "save_state returned more than 100,000 values"),
        ("large", f"save_state returned 5,000,002 bytes of JSON, beyond the limit of {STATE_LIMIT:,}"),
    ],
)
@pytest.mark.parametrize("name", ["Plain", "Async"])
async def test_a_state_that_cannot_be_stored_is_the_agents_fault(
    file: Path, connector: tuple[str, bool], name: str, kind: str, words: str
) -> None:
    session = await opened(file, connector, name)
    await session.reply(f"be {kind}", 20)
    with pytest.raises(AgentError, match=words):
        await save_state(session)
    assert (await session.reply("still here", 20)).text == "still here"
    assert await session.close() is None


async def test_a_state_that_an_agent_cannot_load_is_its_fault(file: Path, connector: tuple[str, bool]) -> None:
    session = await opened(file, connector, "Plain")
    with pytest.raises(AgentError, match=r"load_state\(\) failed: .*stateful.py:\d+: KeyError: 'seen'"):
        await load_state(session, "odd")
    assert await session.close() is None


@pytest.mark.parametrize("name", ["Plain", "Async"])
async def test_saving_that_does_not_end_is_cut_off(file: Path, connector: tuple[str, bool], name: str) -> None:
    session = await opened(file, connector, name)
    await session.reply("be slow", 20)
    with pytest.raises(AgentTimeout, match=r"save_state\(\) did not end within 0.2 s"):
        await save_state(session, 0.2)
    await session.close()


async def test_text_of_any_kind_survives(file: Path, connector: tuple[str, bool]) -> None:
    session = await opened(file, connector, "Plain")
    await session.reply("be tuple", 20)
    state = await save_state(session)
    assert state is not None
    assert read_state(state) == {"seen": ["a", "grö\ud800"]}
    assert await session.close() is None


async def test_a_known_key_is_in_no_state(
    file: Path, connector: tuple[str, bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-that-is-secret-0123456789")
    session = await opened(file, connector, "Plain")
    await session.reply("my key is sk-a-key-that-is-secret-0123456789", 20)
    state = await save_state(session)
    assert state is not None
    assert b"sk-a-key" not in state
    assert await session.close() is None


def test_a_damaged_state_is_told() -> None:
    for content in (b"", b"{", b"\xff", b'{"a": 1, "a": 2}'):
        with pytest.raises(ValueError, match=r"it is not JSON|it has a duplicate key"):
            read_state(content)
