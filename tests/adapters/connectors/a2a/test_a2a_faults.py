"""What goes wrong with agents that speak A2A: cards that lead elsewhere, broken answers, keys, cut streams."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

pytest.importorskip("a2a", reason="the package a2a-sdk is not installed")

from tests.adapters.connectors.http.plays import Play, playing
from tests.conftest import QUICK
from viva.adapters.connectors.a2a.client import A2aHttp
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError, SetupError

SECRET = "k3y-of-the-agent-0123456789"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_MODEL_ATTEMPTS", str(QUICK.attempts))
    monkeypatch.setenv("VIVA_MODEL_WAIT", "0.01")


def card(url: str = "http://127.0.0.1:PORT/", *, streaming: bool = False) -> Play:
    """A card; PORT stands for the server's own."""
    interface = {"protocolBinding": "JSONRPC", "protocolVersion": "1.0", "url": url}
    return Play(
        {
            "name": "Player",
            "description": "Plays.",
            "version": "1",
            "supportedInterfaces": [interface],
            "capabilities": {"streaming": streaming},
            "defaultInputModes": ["text/plain"],
            "defaultOutputModes": ["text/plain"],
            "skills": [],
        }
    )


def result(data: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": "1", "result": data}


def message(text: str) -> Play:
    said = {"messageId": "m1", "role": "ROLE_AGENT", "contextId": "c1", "parts": [{"text": text}]}
    return Play(result({"message": said}))


def task(state: str) -> dict[str, Any]:
    return {"id": "t1", "contextId": "c1", "status": {"state": state}}


@asynccontextmanager
async def talking(spec: str) -> AsyncIterator[AgentSession]:
    session = await open_session(load_agent(spec).factory, AgentArguments("task"), 10)
    try:
        yield session
    finally:
        assert await session.close() is None


def written(folder: Path, url: str, keys: Mapping[str, Any]) -> str:
    file = folder / "agent.yaml"
    file.write_text(yaml.safe_dump({"connector": "a2a", "url": url, **keys}))
    return str(file)


def own_port(play: Play, url: str) -> Play:
    port = url.rpartition(":")[2]
    return Play(play.content.replace(b"PORT", port.encode()))


@asynccontextmanager
async def served(*plays: Play, keys: Mapping[str, Any] | None = None, folder: Path | None = None) -> AsyncIterator[Any]:
    """A server with these plays, the first of which is the card; and a session with it."""
    changed = list(plays)
    with playing(*[Later(changed, index) for index in range(len(plays))]) as server:  # type: ignore[arg-type]
        changed[0] = own_port(plays[0], server.url)
        spec = f"a2a:{server.url}" if folder is None else written(folder, server.url, keys or {})
        async with talking(spec) as session:
            yield server, session


class Later:
    """A play that is known when the server's port is."""

    def __init__(self, plays: list[Play], index: int) -> None:
        self._plays, self._index = plays, index

    def __getattr__(self, name: str) -> Any:
        return getattr(self._plays[self._index], name)


async def test_the_key_is_sent_with_the_card_and_the_message_and_comes_out_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYER_KEY", SECRET)
    keys = {"key_env": "PLAYER_KEY", "headers": {"X-Also": "key ${PLAYER_KEY}"}}
    async with served(card(), message(f"Your key is {SECRET}."), keys=keys, folder=tmp_path) as (server, session):
        reply = await session.reply("Hello.", 10)
    assert SECRET not in reply.text
    assert [each.headers["authorization"] for each in server.asked] == [f"Bearer {SECRET}"] * 2
    assert [each.headers["x-also"] for each in server.asked] == [f"key {SECRET}"] * 2


async def test_a_card_that_leads_to_another_host_gets_neither_message_nor_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VIVA_AGENT_API_KEY", SECRET)
    with playing(message("mine")) as other:
        async with served(card(f"{other.url}/")) as (_, session):
            with pytest.raises(
                AgentError, match=r"leads to http://127.0.0.1:\d+/, and not to the host.*endpoint: ADDR"
            ):
                await session.reply("Hello.", 10)
        assert other.asked == []


async def test_a_trusted_address_takes_the_place_of_the_cards(tmp_path: Path) -> None:
    with playing(message("Hello.")) as other:
        keys = {"endpoint": f"{other.url}/a2a"}
        async with served(card("http://10.0.0.1/"), keys=keys, folder=tmp_path) as (_, session):
            assert (await session.reply("Hello.", 10)).text == "Hello."
        assert [each.path for each in other.asked] == ["/a2a"]


async def test_a_card_at_the_place_of_the_first_versions_is_found() -> None:
    with playing(Play(status=404), Play(status=404)) as server:
        async with talking(f"a2a:{server.url}") as session:
            with pytest.raises(AgentError, match="404"):
                await session.reply("Hello.", 10)
    assert [each.path for each in server.asked] == ["/.well-known/agent-card.json", "/.well-known/agent.json"]


@pytest.mark.parametrize(
    ("play", "told"),
    [
        (Play("<html>Sign in</html>", content_type="text/html"), "Sign in"),
        (Play({"jsonrpc": "2.0", "id": "1", "error": {"code": -32603, "message": "out of paper"}}), "out of paper"),
        (Play(result({})), "neither task nor message|neither a message nor a task"),
        (Play(result({"unexpected": "words"})), "it answered: .*unexpected.*words"),
        (Play('{"said": "Half of', cut=True), "had sent: .*Half of"),
        (Play("oh", status=500), "500.*it answered: oh"),
        (Play("who?", status=401), r"401.*it answered: who\?.*key_env"),
        (message(""), "the agent's reply is empty"),
        (Play(b"x", headers={"Content-Encoding": "br"}), "encoding 'br', which was not asked for"),
        (Play(status=307, headers={"Location": "http://127.0.0.2:9/"}), "redirects to other hosts are not followed"),
    ],
    ids=[
        "web-page",
        "rpc-error",
        "nothing",
        "another-protocol",
        "cut",
        "server-error",
        "unauthorized",
        "empty",
        "encoding",
        "redirect",
    ],
)
async def test_an_answer_that_is_wrong_is_the_agents_failure_in_words(play: Play, told: str) -> None:
    async with served(card(), play) as (_, session):
        with pytest.raises(AgentError, match=told):
            await session.reply("Hello.", 10)


async def test_a_message_that_was_not_taken_is_sent_again() -> None:
    async with served(card(), Play(status=503), Play(status=429), message("Hello.")) as (server, session):
        reply = await session.reply("Hello.", 10)
    assert (reply.text, reply.usage.retries, len(server.asked)) == ("Hello.", 2, 4)


async def test_a_task_whose_stream_was_cut_is_asked_for_until_it_ends() -> None:
    begun = f"data: {json.dumps(result({'task': task('TASK_STATE_WORKING')}))}\n\n"
    stream = Play(begun, content_type="text/event-stream")
    working = Play(result(task("TASK_STATE_WORKING")))
    done = task("TASK_STATE_COMPLETED")
    done["status"]["message"] = {"messageId": "m", "role": "ROLE_AGENT", "parts": [{"text": "At last."}]}
    async with served(card(streaming=True), stream, working, Play(result(done))) as (server, session):
        assert (await session.reply("Hello.", 10)).text == "At last."
    methods = [each.json["method"] for each in server.asked[1:]]
    assert methods == ["SendStreamingMessage", "GetTask", "GetTask"]


def test_without_the_sdk_the_command_that_installs_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "viva.adapters.connectors.a2a.agent", raising=False)
    monkeypatch.setitem(sys.modules, "a2a.client", None)
    with pytest.raises(SetupError, match=r"pip install 'vivavoce\[a2a\]'"):
        load_agent("a2a:http://127.0.0.1:9")


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("a2a:127.0.0.1:9", "names no host; write a2a:http://HOST"),
        ("a2a:http://me:pass@host", "must not contain a password"),
        ("a2a:http://host:99999", "host or port is invalid"),
    ],
)
def test_an_address_that_is_none_is_told(spec: str, told: str) -> None:
    with pytest.raises(SetupError, match=told):
        load_agent(spec)


async def test_lines_of_a_stream_end_only_where_events_say() -> None:
    text = "data: a\x85b\u2028c\x0cd\r\n\r\ndata: e\rdata: f\n\nrest"

    async def sent() -> AsyncIterator[bytes]:
        yield text.encode()

    kind = {"Content-Type": "text/event-stream; charset=utf-8"}
    transport = httpx.MockTransport(lambda request: httpx.Response(200, headers=kind, content=sent()))
    async with A2aHttp(transport=transport) as client:
        response = await client.send(client.build_request("GET", "http://agent.example"), stream=True)
        lines = [line async for line in response.aiter_lines()]
    assert lines == ["data: a\x85b\u2028c\x0cd", "", "data: e", "data: f", "", "rest"]
