"""A session is continued in another run from where it was saved, if it can be forked, or loaded or resumed as then."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.connectors.acp.scripted_sessions import do, session
from viva.adapters.agent_state import load_state, save_state


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path, str]:
    """Two workspaces, and where the agent keeps its sessions."""
    for name in ("first", "second", "sessions"):
        (tmp_path / name).mkdir()
    return tmp_path / "first", tmp_path / "second", str(tmp_path / "sessions")


@pytest.mark.parametrize("offers", ["fork", "fork,list"])
async def test_a_forked_session_continues_from_where_it_was_saved(folders: tuple[Path, Path, str], offers: str) -> None:
    first, second, sessions = folders
    options = ("--offers", offers, "--sessions", sessions)
    async with session(first, *options) as original:
        await original.reply("one", 30)
        state = await save_state(original)
        await original.reply("two", 30)
    assert state is not None
    for _ in range(2):  # what is continued once can be continued again
        async with session(second, *options) as forked:
            assert await load_state(forked, json.loads(state))
            assert (await forked.reply("other", 30)).text == "you said other"
            said = (await do(forked, ["say what was said"])).text
        assert json.loads(said)[:2] == ["one", "other"]
        assert "two" not in said


async def test_a_fork_that_stays_in_the_folder_of_the_original_is_not_used(folders: tuple[Path, Path, str]) -> None:
    first, second, sessions = folders
    options = ("--offers", "fork,list", "--sessions", sessions, "--forks-in", str(first))
    async with session(first, *options) as original:
        await original.reply("one", 30)
        state = await save_state(original)
    assert state is not None
    async with session(second, *options) as other:
        assert not await load_state(other, json.loads(state))
        assert json.loads((await do(other, ["say what was said"])).text) == ['[["say what was said"]]'], "a new session"


async def test_a_session_that_is_loaded_says_nothing_of_its_history(folders: tuple[Path, Path, str]) -> None:
    first, second, sessions = folders
    options = ("--offers", "load", "--sessions", sessions)
    async with session(first, *options) as original:
        await original.reply("one", 30)
        state = await save_state(original)
    assert state is not None
    async with session(second, *options) as loaded:
        assert await load_state(loaded, json.loads(state))
        reply = await do(loaded, ["say what was said"])
    assert reply.text.startswith('["one", ')
    assert "old reply" not in reply.text


async def test_a_session_in_which_more_was_said_is_not_loaded(folders: tuple[Path, Path, str]) -> None:
    first, second, sessions = folders
    options = ("--offers", "load", "--sessions", sessions)
    async with session(first, *options) as original:
        await original.reply("one", 30)
        state = await save_state(original)
        await original.reply("two", 30)
    assert state is not None
    async with session(second, *options) as loaded:
        assert not await load_state(loaded, json.loads(state))
        assert (await loaded.reply("fresh", 30)).text == "you said fresh"
        assert "one" not in (await do(loaded, ["say what was said"])).text


async def test_a_session_is_resumed_where_it_cannot_be_loaded(folders: tuple[Path, Path, str]) -> None:
    first, second, sessions = folders
    options = ("--offers", "resume,list", "--sessions", sessions)
    async with session(first, *options) as original:
        await original.reply("one", 30)
        state = await save_state(original)
    assert state is not None
    async with session(second, *options) as resumed:
        assert await load_state(resumed, json.loads(state))
        assert (await do(resumed, ["say what was said"])).text.startswith('["one", ')


@pytest.mark.parametrize("elsewhere", [True, False])
async def test_a_session_that_changed_or_stays_in_its_folder_is_not_resumed(
    folders: tuple[Path, Path, str], elsewhere: bool
) -> None:
    first, second, sessions = folders
    options = ["--offers", "resume,list", "--sessions", sessions]
    async with session(first, *options) as original:
        await original.reply("one", 30)
        state = await save_state(original)
        if not elsewhere:
            await original.reply("two", 30)
    assert state is not None
    options += ["--forks-in", str(first)] if elsewhere else []
    async with session(second, *options) as other:
        assert not await load_state(other, json.loads(state))
        assert (await other.reply("fresh", 30)).text == "you said fresh"
        assert "one" not in (await do(other, ["say what was said"])).text


@pytest.mark.parametrize("further", [("--offers", "resume"), ("--offers", "resume,list", "--timeless")])
async def test_a_session_of_which_nobody_knows_when_it_changed_has_no_state(
    folders: tuple[Path, Path, str], further: tuple[str, ...]
) -> None:
    first, _, sessions = folders
    async with session(first, "--sessions", sessions, *further) as original:
        await original.reply("one", 30)
        assert await save_state(original) is None


async def test_an_agent_without_either_offers_no_state(workspace: Path) -> None:
    async with session(workspace) as opened:
        await opened.reply("one", 30)
        assert await save_state(opened) is None
        assert not await load_state(opened, {"session": "s1", "prompts": 1})
