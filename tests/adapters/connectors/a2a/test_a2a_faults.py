"""What goes wrong with agents that speak A2A: cards that lead elsewhere, broken answers, keys, cut streams."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import sys
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

pytest.importorskip("a2a", reason="the package a2a-sdk is not installed")

from tests.adapters.connectors.http.plays import Play, playing
from tests.conftest import QUICK
from tests.ports import free_port
from viva.adapters.connectors.a2a import client as a2a_client
from viva.adapters.connectors.a2a.client import A2aHttp
from viva.adapters.connectors.a2a.parts import Artifacts
from viva.adapters.connectors.http import event_streams
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
async def talking(spec: str, workspace: Path | None = None) -> AsyncIterator[AgentSession]:
    session = await open_session(load_agent(spec).factory, AgentArguments("task", workspace=workspace), 10)
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
async def served(
    *plays: Play, keys: Mapping[str, Any] | None = None, folder: Path | None = None, workspace: Path | None = None
) -> AsyncIterator[Any]:
    """A server with these plays, the first of which is the card; and a session with it."""
    changed = list(plays)
    with playing(*[Later(changed, index) for index in range(len(plays))]) as server:  # type: ignore[arg-type]
        changed[0] = own_port(plays[0], server.url)
        spec = f"a2a:{server.url}" if folder is None else written(folder, server.url, keys or {})
        async with talking(spec, workspace) as session:
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


async def test_a_key_in_the_address_comes_out_in_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYER_TOKEN", SECRET)
    with playing(Play(f"who is {SECRET}?", status=500)) as server:
        async with talking(written(tmp_path, f"{server.url}/${{PLAYER_TOKEN}}", {})) as session:
            with pytest.raises(AgentError, match=r"at http.*\[PLAYER_TOKEN\] failed") as wrong:
                await session.reply("Hello.", 10)
    assert SECRET not in str(wrong.value)
    loaded = load_agent(written(tmp_path, f"http://127.0.0.1:{free_port()}/?token=${{PLAYER_TOKEN}}", {}))
    assert loaded.look is not None
    with pytest.raises(SetupError, match=r"token=\[PLAYER_TOKEN\] cannot be reached: nothing listens"):
        await loaded.look()


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


MANY = f'{{"jsonrpc": "2.0", "id": "1", "result": [{"{}," * 200_000}{{}}]}}'
DEEP = f'{{"jsonrpc": "2.0", "id": "1", "result": {"[" * 5_000}{"]" * 5_000}}}'
STREAM = "text/event-stream"


@pytest.mark.parametrize(
    ("play", "told"),
    [
        (
            Play(gzip.compress(MANY.encode()), headers={"Content-Encoding": "gzip"}),
            "more than 100,000 values: .*jsonrpc",
        ),
        (Play(DEEP), "nested more than 100 levels deep: .*jsonrpc"),
        (Play(MANY.encode("utf-16-le")), "it is not JSON in UTF-8"),
        (Play(f"data: {MANY}\n\n", content_type=STREAM), "more than 100,000 values: .*jsonrpc"),
        (Play(f"data: {DEEP}\n\n", content_type=STREAM), "nested more than 100 levels deep"),
        (Play(f"data: [\ndata: {'1,' * 99_990}\ndata: {'1,' * 99}1]\n\n", content_type=STREAM), "100,000 values"),
        (Play(MANY, status=500), "500"),
        (Play(f"data: {MANY}\n\n", status=500, content_type=STREAM), "500"),
    ],
    ids=["gzip", "deep", "utf-16", "event", "deep-event", "event-in-parts", "error", "stream-of-an-error"],
)
@pytest.mark.parametrize("streaming", [True, False])
async def test_an_answer_with_too_many_values_is_refused_before_it_is_parsed(
    play: Play, told: str, streaming: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = json.loads

    def loaded(text: str | bytes, **options: Any) -> Any:
        assert len(text) < 100_000, "it was parsed"
        return loads(text, **options)

    async with served(card(streaming=streaming), play) as (_, session):
        monkeypatch.setattr(json, "loads", loaded)
        with pytest.raises(AgentError, match=told):
            await session.reply("Hello.", 20)


async def test_a_whole_answer_is_checked_whole_although_it_says_that_it_is_a_stream() -> None:
    async with served(card(), Play(MANY, content_type=STREAM)) as (_, session):
        with pytest.raises(AgentError, match="more than 100,000 values"):
            await session.reply("Hello.", 20)


@pytest.mark.parametrize("play", [Play(MANY), Play(DEEP)])
async def test_a_card_with_too_many_values_is_refused(play: Play) -> None:
    with playing(play) as server:
        async with talking(f"a2a:{server.url}") as session:
            with pytest.raises(AgentError, match=r"more than 100,000 values|nested more than 100 levels"):
                await session.reply("Hello.", 20)


async def test_a_long_text_with_many_commas_is_a_reply() -> None:
    text = "a, [b], {c}, " * 40_000
    async with served(card(), message(text)) as (_, session):
        assert (await session.reply("Hello.", 20)).text == text


def appended(number: int, state: str = "TASK_STATE_COMPLETED") -> str:
    """A stream with this many pieces of one artifact."""
    part = {"taskId": "t1", "contextId": "c1", "append": True}
    piece = {**part, "artifact": {"artifactId": "a1", "parts": [{"text": "x"}]}}
    data = [{"task": task("TASK_STATE_WORKING")}, *[{"artifactUpdate": piece}] * number]
    data.append({"statusUpdate": {"taskId": "t1", "contextId": "c1", "status": {"state": state}}})
    return "".join(f"data: {json.dumps(result(each))}\n\n" for each in data)


async def test_a_stream_of_too_many_events_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(a2a_client, "MOST_EVENTS", 1_000)
    async with served(card(streaming=True), Play(appended(998), content_type=STREAM)) as (_, session):
        assert (await session.reply("Hello.", 20)).text == "x" * 998
    async with served(card(streaming=True), Play(appended(999), content_type=STREAM)) as (_, session):
        with pytest.raises(AgentError, match="the stream has more than 1,000 events"):
            await session.reply("Hello.", 20)


@pytest.mark.parametrize(("lines", "refused"), [(975, False), (1_000, True)])
async def test_a_stream_of_too_many_lines_is_refused_although_it_has_few_events(
    lines: int, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_streams, "MOST_LINES", 1_000)
    async with served(card(streaming=True), Play(":\n" * lines + appended(10), content_type=STREAM)) as (_, session):
        with pytest.raises(AgentError, match="than 1,000 lines") if refused else nullcontext():
            assert (await session.reply("Hello.", 20)).text == "x" * 10


@pytest.mark.parametrize("charset", ["punycode", "zlib", "utf-16", "latin-1", "none-such"])
async def test_a_stream_is_utf_8_whatever_its_server_says(charset: str) -> None:
    play = Play(appended(1).replace('"x"', '"\ufeffé\u2028"'), content_type=f"{STREAM}; charset={charset}")
    async with served(card(streaming=True), play) as (_, session):
        assert (await session.reply("Hello.", 20)).text == "\ufeffé\u2028"


@pytest.mark.parametrize(
    ("stream", "checked", "least_turns"),
    [(appended(2_000), 2_002, 2_000), (":\n" * 2_000, 0, 200), ("data: 1\n" * 2_000 + "\n", 1, 200)],
    ids=["events", "comments", "one-event"],
)
async def test_others_have_their_turn_while_a_stream_is_read(
    stream: str, checked: int, least_turns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(a2a_client, "MOST_AT_ONCE", 10)
    monkeypatch.setattr(a2a_client, "LARGE", 1_000)
    on_the_loop: list[bool] = []
    check = a2a_client.check_limits

    def noted(body: bytes) -> None:
        on_the_loop.append(threading.current_thread() is threading.main_thread())
        check(body)

    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with A2aHttp(transport=stream_of(stream)) as client:
        monkeypatch.setattr(a2a_client, "check_limits", noted)
        response = await client.send(client.build_request("GET", "http://agent.example"), stream=True)
        beside = asyncio.create_task(other())
        assert [line async for line in response.aiter_lines()] == stream.split("\n")[:-1]
        beside.cancel()
    assert turns >= least_turns
    assert len(on_the_loop) == checked
    assert not any(on_the_loop)


def stream_of(text: str) -> httpx.MockTransport:
    """A server that sends this event stream."""

    async def sent() -> AsyncIterator[bytes]:
        yield text.encode()

    kind = {"Content-Type": f"{STREAM}; charset=utf-8"}
    return httpx.MockTransport(lambda request: httpx.Response(200, headers=kind, content=sent()))


def test_the_pieces_of_a_text_are_joined_in_one_pass() -> None:
    copies = 0

    class Piece:
        def __init__(self) -> None:
            self.text = "xy"

        def WhichOneof(self, _: str) -> str:  # noqa: N802
            return "text"

        def CopyFrom(self, other: Piece) -> None:  # noqa: N802
            nonlocal copies
            copies += 1
            self.text = other.text

    class Artifact:
        artifact_id = "a1"
        parts = [Piece() for _ in range(5_000)]  # noqa: RUF012

    artifacts = Artifacts()
    artifacts.add(Artifact(), append=True)
    ((joined,),) = artifacts.take()
    assert joined.text == "xy" * 5_000
    assert copies == 1
    assert artifacts.take() == []


def with_doc(state: str, *parts: Mapping[str, str]) -> Play:
    return Play(result({"task": {**task(state), "artifacts": [{"artifactId": "doc", "parts": list(parts)}]}}))


A, B, C = {"text": "Draft A."}, {"text": "More of it."}, {"text": "Draft C."}
V1, V2 = ({"raw": base64.b64encode(text).decode(), "filename": "a.txt"} for text in (b"version 1", b"version 2"))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([A], [C], "Draft C."),
        ([A, B], [C], "Draft C."),
        ([A, B], [A], "Draft A."),
        ([A, V1], [A, V2], "Draft A.\n[file a.txt]"),
        ([A], [A, B], "More of it."),
    ],
    ids=["replaced", "by fewer parts", "by its beginning", "file", "continued"],
)
async def test_an_artifact_that_is_replaced_in_a_continued_task_is_in_the_next_reply(
    before: list[dict[str, str]], after: list[dict[str, str]], told: str, tmp_path: Path
) -> None:
    plays = with_doc("TASK_STATE_INPUT_REQUIRED", *before), with_doc("TASK_STATE_COMPLETED", *after)
    async with served(card(), *plays, workspace=tmp_path) as (_, session):
        await session.reply("Write.", 10)
        assert (await session.reply("Again.", 10)).text == told
    assert {file.read_bytes() for file in tmp_path.iterdir()} == ({b"version 2"} if V2 in after else set())


@pytest.mark.parametrize("same", [[A, B], [{"text": "Draft A.More of it."}]], ids=["as it was", "joined"])
async def test_an_artifact_that_is_told_again_is_in_no_second_reply(same: list[dict[str, str]]) -> None:
    plays = with_doc("TASK_STATE_INPUT_REQUIRED", A, B), with_doc("TASK_STATE_COMPLETED", *same)
    async with served(card(), *plays) as (_, session):
        assert (await session.reply("Write.", 10)).text == "Draft A.More of it."
        with pytest.raises(AgentError, match="the agent's reply is empty"):
            await session.reply("Again.", 10)


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
    async with A2aHttp(transport=stream_of(text)) as client:
        response = await client.send(client.build_request("GET", "http://agent.example"), stream=True)
        lines = [line async for line in response.aiter_lines()]
    assert lines == ["data: a\x85b\u2028c\x0cd", "", "data: e", "data: f", "", "rest"]
