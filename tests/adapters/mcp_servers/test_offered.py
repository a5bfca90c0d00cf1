"""The MCP servers of a case, reached by real clients: what passes is recorded, and what goes wrong stays in its run."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from mcp import Client, StdioServerParameters

from tests.mcp_rooms import SOURCE, server
from viva.adapters import environment
from viva.adapters.environment import EnvironmentLog
from viva.adapters.mcp_servers import upstream
from viva.adapters.mcp_servers.gateway import the_gateway
from viva.adapters.mcp_servers.offered import OfferedServers, servers_of
from viva.adapters.mcp_servers.upstream import Upstream
from viva.cases import Case, load_case
from viva.cases.mcp_servers.server import McpServer
from viva.errors import SetupError
from viva.processes import process_is_alive

PATIENCE = 120.0
"""Seconds for what takes a moment on a quiet machine."""


def case_with(folder: Path, *servers: dict[str, Any]) -> Case:
    folder.mkdir(exist_ok=True)
    (folder / "rooms.py").write_text(SOURCE)
    (folder / "seed.txt").write_text("seed")
    points = [{"score_point": "It speaks.", "weight": 1}]
    content = {"task_description": "t", "scoring_points": points, "mcp": list(servers) or [server()]}
    (folder / "case.yaml").write_text(yaml.safe_dump(content))
    return load_case(folder)


@asynccontextmanager
async def offered(folder: Path, *servers: dict[str, Any]) -> AsyncIterator[tuple[OfferedServers, EnvironmentLog]]:
    log = EnvironmentLog()
    async with servers_of(case_with(folder, *servers), log) as made:
        yield made, log


def text_of(result: Any) -> str:
    return "".join(part.text for part in result.content)


async def called(how: Any, tool: str, mode: str = "legacy", **arguments: Any) -> Any:
    async with Client(how, mode=mode) as client:
        return await client.call_tool(tool, arguments)


def ways(made: OfferedServers) -> list[Any]:
    (one,) = made.config
    return [one["url"], StdioServerParameters(command=one["command"], args=one["args"])]


async def gone(pid: int) -> bool:
    for _ in range(400):
        if not process_is_alive(pid):
            return True
        await asyncio.sleep(0.02)
    return False


async def test_real_clients_call_by_url_and_by_command_in_old_and_new_protocol(tmp_path: Path) -> None:
    async with offered(tmp_path / "case", server(args=["sdk"])) as (made, log):
        for mode in ("legacy", "auto"):
            for how in ways(made):
                result = await called(how, "book_room", mode, day="Monday")
                assert text_of(result).startswith("booked B")
        steps = await log.take()
        assert [(step.tool, step.tool_input) for step in steps] == [("book_room", {"day": "Monday"})] * 4
        assert [step.result for step in steps] == [f"booked B{number} on Monday" for number in range(1, 5)]
        assert all(
            step.from_environment and step.seconds and step.attributes["mcp_server"] == "rooms" for step in steps
        )
        async with Client(made.config[0]["url"]) as client:
            assert client.instructions == "Books rooms."
            assert {tool.name for tool in (await client.list_tools()).tools} == set(made.names["rooms"])
            assert "three rooms" in str(await client.read_resource("rooms://plan"))
        (step,) = await log.take()
        assert (step.tool, step.tool_input) == ("resources/read", {"uri": "rooms://plan"})
        assert "three rooms" in (step.result or "")
    assert made.notes == []


async def test_a_tools_error_is_recorded_as_the_agent_sees_it(tmp_path: Path) -> None:
    async with offered(tmp_path / "case", server(args=["sdk"])) as (made, log):
        assert (await called(made.config[0]["url"], "refuse")).is_error
        assert (await called(made.config[0]["url"], "no_such_tool")).is_error
        refused, unknown = await log.take()
    assert (refused.result, refused.error) == (None, "Error executing tool refuse: no room is free")
    assert "no_such_tool" in (unknown.error or "")
    assert unknown.result is None


async def test_runs_at_once_do_not_mix(tmp_path: Path) -> None:
    case, count = case_with(tmp_path / "case"), 12

    async def run(number: int) -> None:
        log = EnvironmentLog()
        async with servers_of(case, log) as made, Client(made.config[0]["url"]) as client:
            await asyncio.gather(*(client.call_tool("book_room", {"day": f"{number}-{each}"}) for each in range(4)))
            steps = await log.take()
        assert {step.tool_input["day"] for step in steps} == {f"{number}-{each}" for each in range(4)}
        assert {(step.result or "")[:9] for step in steps} == {f"booked B{each}" for each in range(1, 5)}

    await asyncio.gather(*(run(number) for number in range(count)))


async def test_each_run_has_a_fresh_folder_of_its_own_with_what_the_case_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ROOMS_KEY", "given")
    monkeypatch.setenv("OTHER_KEY", "not given")
    places = set()
    for name, seen in (("ROOMS_KEY", "given"), ("OTHER_KEY", "None")):
        async with offered(tmp_path / "case", server(files=["seed.txt"], env=["ROOMS_KEY"])) as (made, _):
            value, place, files = text_of(await called(made.config[0]["url"], "about", name=name)).split("\n")
        assert (value, files) == (seen, "['rooms.py', 'seed.txt']")
        assert not os.path.exists(place)
        places.add(place)
    assert len(places) == 2


async def test_while_files_are_copied_for_one_run_others_are_served_and_nothing_of_it_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy, stop, places, heeded, waited = upstream._copy, Upstream.stop, list[Path](), list[bool](), list[bool]()
    begun, stopping, go, copied = (threading.Event() for _ in range(4))

    def slow(its_server: McpServer, source: Path, place: Path) -> None:
        if source.name == "slow":
            places.append(place)
            begun.set()
            heeded.append(go.wait(PATIENCE))
        copy(its_server, source, place)
        if source.name == "slow":
            copied.set()

    async def seen_stop(self: Upstream) -> None:
        stopping.set()
        await stop(self)
        waited.append(copied.is_set())

    monkeypatch.setattr(upstream, "_copy", slow)
    monkeypatch.setattr(Upstream, "stop", seen_stop)

    async def run() -> None:
        async with offered(tmp_path / "slow"):
            raise AssertionError("it is stopped before")

    async with offered(tmp_path / "case") as (made, _):
        other = asyncio.ensure_future(run())
        assert await asyncio.to_thread(begun.wait, PATIENCE)
        assert text_of(await called(made.config[0]["url"], "book_room", day="Monday")).startswith("booked")
        other.cancel()
        # On the gateway's loop, the cancellation comes before it.
        assert await asyncio.to_thread(stopping.wait, PATIENCE)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await other
    (place,) = places
    assert heeded == [True], "the others had to wait until the files were copied"
    assert waited[0], "the run ended while its files were being copied"
    assert not place.parent.exists()


async def test_a_copy_that_fails_once_its_run_was_cancelled_leaves_no_error_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    begun, go = threading.Event(), threading.Event()

    def fail(*_: object) -> None:
        begun.set()
        go.wait(PATIENCE)
        raise OSError("no room")

    monkeypatch.setattr(upstream, "_copy", fail)
    cancelled = Upstream(McpServer(name="rooms", command="rooms"), tmp_path, tmp_path)
    starting = asyncio.ensure_future(cancelled.start())
    assert await asyncio.to_thread(begun.wait, PATIENCE)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    go.set()
    await cancelled.stop()
    del cancelled
    gc.collect()
    assert "no room" not in caplog.text


async def test_a_server_may_be_a_command(tmp_path: Path) -> None:
    own = {"name": "own", "command": "./rooms", "files": ["rooms"]}
    (tmp_path / "case").mkdir()
    script = tmp_path / "case" / "rooms"

    script.write_text(f"#!{sys.executable}\n{SOURCE}")
    script.chmod(0o755)
    named = {"name": "named", "command": sys.executable, "args": ["rooms.py"], "files": ["rooms.py"]}
    async with offered(tmp_path / "case", own, named) as (made, log):
        for each in made.config:
            await called(each["url"], "book_room", day="Monday")
        assert [step.attributes["mcp_server"] for step in await log.take()] == ["own", "named"]
    assert list(made.names) == ["own", "named"]


@pytest.mark.parametrize(
    ("word", "said"), [("die", "no rooms today"), ("hang", "did not answer within"), ("flood hang", "did not answer")]
)
async def test_a_server_that_does_not_start_is_no_fault_of_the_agent(
    word: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream, "START_SECONDS", 8.0 if word == "die" else 1.0)
    with pytest.raises(SetupError, match=said) as raised:
        async with offered(tmp_path / "case", server(args=word.split())):
            pytest.fail("it started")
    assert "'rooms'" in str(raised.value)
    assert len(str(raised.value)) < 1500


async def test_a_server_that_floods_stderr_serves_all_the_same(tmp_path: Path) -> None:
    async with offered(tmp_path / "case", server(args=["flood"])) as (made, _):
        assert text_of(await called(made.config[0]["url"], "book_room", day="Monday"))


async def test_a_crash_during_a_call_is_an_error_of_the_tool_and_a_note_and_no_way_out(tmp_path: Path) -> None:
    async with offered(tmp_path / "case") as (made, log):
        for tool in ("crash", "book_room"):
            arguments = {"day": "Monday"} if tool == "book_room" else {}
            result = await called(made.config[0]["url"], tool, **arguments)
            assert result.is_error
            assert "ended" in text_of(result)
        steps = await log.take()
    assert [step.tool for step in steps] == ["crash", "book_room"]
    assert all(step.error and step.result is None for step in steps)
    (note,) = made.notes
    assert "'rooms'" in note
    assert "the roof fell in" in note


def descendants_running(text: str) -> list[int]:
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                line = Path(f"/proc/{name}/cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if text in line:
                found.append(int(name))
    return found


async def test_a_server_that_is_killed_before_the_first_call_is_started_again(tmp_path: Path) -> None:
    async with offered(tmp_path / "case", server(args=[str(tmp_path)])) as (made, log):
        for _ in range(2):
            for pid in descendants_running(str(tmp_path)):
                os.kill(pid, signal.SIGKILL)
            async with Client(made.config[0]["url"]) as client:
                await client.list_tools()
        assert text_of(await called(made.config[0]["url"], "book_room", day="Monday")) == "booked B1 on Monday"
        assert len(await log.take()) == 1
    assert len(made.notes) == 2
    assert all("started again" in note for note in made.notes)


async def test_however_often_an_agent_kills_the_server_its_calls_get_errors_and_the_run_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upstream, "MOST_STARTS", 1)
    async with offered(tmp_path / "case", server(args=[str(tmp_path)])) as (made, log):
        for pid in descendants_running(str(tmp_path)):
            os.kill(pid, signal.SIGKILL)
        assert (await called(made.config[0]["url"], "book_room", day="Monday")).is_error
        (step,) = await log.take()
        assert "has ended" in (step.error or "")


async def test_a_call_that_takes_too_long_is_an_error_of_the_tool(tmp_path: Path) -> None:
    async with offered(tmp_path / "case", server(timeout=0.3)) as (made, log):
        result = await called(made.config[0]["url"], "wait", seconds=30)
        assert result.is_error
        (step,) = await log.take()
        assert step.error == "the call did not return within 0.3 s"
        assert not (await called(made.config[0]["url"], "book_room", day="Monday")).is_error


async def test_a_call_is_not_late_because_viva_stood_still(tmp_path: Path) -> None:
    async with offered(tmp_path / "case", server(timeout=2.0)) as (made, _):
        calling = asyncio.ensure_future(called(made.config[0]["url"], "wait", seconds=0.5))
        await asyncio.sleep(0.3)
        the_gateway().loop.call_soon_threadsafe(time.sleep, 3.0)
        assert not (await calling).is_error


async def test_a_call_that_goes_on_when_the_turn_ends_is_in_that_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(environment, "SETTLE_SECONDS", 0.2)
    async with offered(tmp_path / "case") as (made, log), Client(made.config[0]["url"]) as client:
        going = asyncio.create_task(client.call_tool("wait", {"seconds": 3.0}))
        await asyncio.sleep(0.3)
        (step,) = await log.take()
        assert (step.tool, step.error) == ("wait", environment.STILL_RUNNING)
        await going
        assert await log.take() == ()


async def test_a_call_that_the_agent_gives_up_is_recorded(tmp_path: Path) -> None:
    async with offered(tmp_path / "case") as (made, log):
        async with httpx.AsyncClient() as raw:
            session = await opened(raw, made.config[0]["url"])
            with pytest.raises(httpx.TimeoutException):
                await post(raw, made.config[0]["url"], call("wait", seconds=5.0), session, timeout=0.3)
        assert [step.tool for step in await log.take()] == ["wait"]


async def test_after_the_conversation_calls_are_refused_and_noted(tmp_path: Path) -> None:
    async with offered(tmp_path / "case") as (made, log), Client(made.config[0]["url"]) as client:
        await client.call_tool("book_room", {"day": "Monday"})
        await log.take()
        made.end()
        assert (await client.call_tool("book_room", {"day": "Tuesday"})).is_error
        assert await log.take() == ()
    assert "the MCP server 'rooms' refused 1 call:" in made.notes[0]
    with pytest.raises(httpx.HTTPStatusError):
        async with httpx.AsyncClient() as raw:
            (await post(raw, made.config[0]["url"], INITIALIZE)).raise_for_status()


async def test_without_room_in_the_log_nothing_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "MOST_STEPS", 3)
    async with offered(tmp_path / "case") as (made, log), Client(made.config[0]["url"]) as client:
        results = [await client.call_tool("book_room", {"day": str(number)}) for number in range(5)]
        assert [result.is_error for result in results] == [False, False, False, True, True]
        assert len(await log.take()) == 3
    assert "refused 2 calls" in made.notes[0]


async def test_long_results_reach_the_agent_whole_and_the_record_cut(tmp_path: Path) -> None:
    async with offered(tmp_path / "case") as (made, log):
        assert len(text_of(await called(made.config[0]["url"], "long", length=300_000))) == 300_000
        (step,) = await log.take()
        assert len(step.result or "") < environment.MOST_TEXT + 100


@pytest.mark.parametrize("deaf", [[], ["deaf"]])
async def test_nothing_of_a_server_outlives_its_run(deaf: list[str], tmp_path: Path) -> None:
    async with offered(tmp_path / "case", server(args=[*deaf, str(tmp_path)])) as (made, _):
        daemon = int(text_of(await called(made.config[0]["url"], "leave")))
        assert process_is_alive(daemon)
        assert descendants_running(str(tmp_path))
    assert await gone(daemon)
    assert not descendants_running(str(tmp_path))


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}},
}
ACCEPT = {"accept": "application/json, text/event-stream"}


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}


async def post(
    raw: httpx.AsyncClient, url: str, message: Any, headers: dict[str, str] | None = None, timeout: float = 20.0
) -> httpx.Response:
    return await raw.post(url, json=message, headers={**ACCEPT, **(headers or {})}, timeout=timeout)


async def opened(raw: httpx.AsyncClient, url: str) -> dict[str, str]:
    answer = await post(raw, url, INITIALIZE)
    session = {"mcp-session-id": answer.headers["mcp-session-id"]}
    await post(raw, url, {"jsonrpc": "2.0", "method": "notifications/initialized"}, session)
    return session


async def test_only_the_user_can_read_the_secret_address(tmp_path: Path) -> None:
    async with offered(tmp_path / "case") as (made, _):
        (one,) = made.config
        (file,) = [Path(word) for word in one["args"] if Path(word).suffix != ".py" and Path(word).is_file()]
        token = one["url"].split("/")[3]
        assert token not in " ".join([one["command"], *one["args"]])
        assert token in file.read_text()
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert not file.exists()


async def test_a_raw_client_calls_as_the_protocol_says(tmp_path: Path) -> None:
    async with offered(tmp_path / "case") as (made, log), httpx.AsyncClient() as raw:
        url = made.config[0]["url"]
        answer = await post(raw, url, call("book_room", day="Monday"), await opened(raw, url))
        assert "booked B1 on Monday" in answer.text
        assert len(await log.take()) == 1


async def test_other_paths_hosts_and_origins_are_refused(tmp_path: Path) -> None:
    async with offered(tmp_path / "case") as (made, log), httpx.AsyncClient() as raw:
        url = made.config[0]["url"]
        host, _, path = url.removeprefix("http://").partition("/")
        assert host.startswith("127.0.0.1:")
        assert len(path.split("/")[0]) >= 40
        for other in (f"http://{host}/", f"http://{host}/mcp", f"http://{host}/{'x' * 43}/mcp", f"{url}/more"):
            assert (await post(raw, other, INITIALIZE)).status_code == 404
        assert (await post(raw, url, INITIALIZE, {"host": "evil.example"})).status_code == 421
        assert (await post(raw, url, INITIALIZE, {"origin": "http://evil.example"})).status_code == 403
        assert await log.take() == ()


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": 5}}',
        json.dumps(call("book_room", day="x" * 5_000_000)).encode(),
        json.dumps({"jsonrpc": "2.0", "id": 1, "method": "no/such"}).encode(),
    ],
    ids=["empty", "words", "bytes", "deep", "types", "huge", "method"],
)
async def test_a_client_that_plays_badly_harms_nobody(body: bytes, tmp_path: Path) -> None:
    async with offered(tmp_path / "case") as (made, log), httpx.AsyncClient() as raw:
        url = made.config[0]["url"]
        headers = {**ACCEPT, "content-type": "application/json", **await opened(raw, url)}
        for sent in (headers, {key: value for key, value in headers.items() if key != "mcp-session-id"}):
            answer = await raw.post(url, content=body, headers=sent)
            assert "booked" not in answer.text
        assert await log.take() == ()
        assert text_of(await called(url, "book_room", day="Monday")) == "booked B1 on Monday"


async def test_clients_that_hang_up_in_the_middle_leave_the_server_to_others(tmp_path: Path) -> None:
    async with offered(tmp_path / "case") as (made, _):
        url = made.config[0]["url"]
        host, port = url.removeprefix("http://").partition("/")[0].split(":")
        for sent in (
            b"",
            b"POST /",
            f"POST {url} HTTP/1.1\r\nHost: {host}:{port}\r\nContent-Length: 90\r\n\r\n{{".encode(),
        ):
            _, writer = await asyncio.open_connection(host, int(port))
            writer.write(sent)
            await writer.drain()
            writer.close()
        assert text_of(await called(url, "book_room", day="Monday")) == "booked B1 on Monday"


async def test_a_run_that_is_stopped_ends_its_servers(tmp_path: Path) -> None:
    started = asyncio.Event()

    async def run() -> None:
        async with offered(tmp_path / "case", server(args=[str(tmp_path)])):
            started.set()
            await asyncio.sleep(600)

    task = asyncio.create_task(run())
    await asyncio.wait_for(started.wait(), 30)
    began = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert time.monotonic() - began < 30
    assert not descendants_running(str(tmp_path))


async def test_who_is_refused_while_still_sending_gets_the_answer(tmp_path: Path) -> None:
    async with offered(tmp_path / "case") as (made, _):
        address = httpx.URL(made.config[0]["url"])
    assert address.port
    reader, writer = await asyncio.open_connection(address.host, address.port)
    body = b"x" * 200_000
    head = f"POST {address.path} HTTP/1.1\r\nHost: {address.host}\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode())
    await asyncio.sleep(0.1)  # the server has all it needs to refuse
    writer.write(body)
    await writer.drain()
    assert (await reader.readline()).startswith(b"HTTP/1.1 404")
    assert b"or its run is over.\n" in await reader.read()
    writer.close()
    await writer.wait_closed()
