"""Agents behind JSON APIs of their own, which an agent file describes, over real HTTP."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.adapters.connectors.http.plays import Play, events, paths, playing
from tests.conftest import QUICK
from tests.ports import free_port
from tests.viva.conftest import Desk
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session
from viva.errors import AgentError, AgentTimeout, SetupError

EXAMPLES = Path(__file__).resolve().parents[4] / "examples" / "agents" / "http"
ECHO = {"request": {"path": "/chat", "body": {"text": "{{ message }}"}}, "reply": {"text": "answer"}}
SECRET = "k3y-of-the-agent-0123456789"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_MODEL_ATTEMPTS", str(QUICK.attempts))
    monkeypatch.setenv("VIVA_MODEL_WAIT", "0.01")


def written(folder: Path, url: str, keys: Mapping[str, Any]) -> str:
    file = folder / "agent.yaml"
    file.write_text(yaml.safe_dump({"connector": "http", "api": "json", "url": url, **keys}, sort_keys=False))
    return str(file)


@asynccontextmanager
async def talking(
    folder: Path, url: str, keys: Mapping[str, Any], arguments: AgentArguments | None = None
) -> AsyncIterator[AgentSession]:
    loaded = load_agent(written(folder, url, keys))
    session = await open_session(loaded.factory, arguments or AgentArguments("Sell shoes."), 10)
    try:
        yield session
    finally:
        assert await session.close() is None


async def test_a_session_is_opened_used_and_closed(tmp_path: Path) -> None:
    keys = {
        "open": {"path": "/start", "body": {"task": "{{ task_description }}"}, "session_id": "s.id"},
        "request": {"path": "/s/{{ session_id }}/say", "body": {"text": "{{ message }}", "n": "{{ round }}"}},
        "reply": {"text": "answer"},
        "close": {"method": "DELETE", "path": "/s/{{ session_id }}"},
    }
    with playing(Play({"s": {"id": "a/b 7"}}), Play({"answer": "one"}), Play({"answer": "two"}), Play({})) as server:
        async with talking(tmp_path, server.url, keys) as session:
            assert [(await session.reply(text, 10)).text for text in ("Hello.", "More.")] == ["one", "two"]
    assert paths(server.asked) == [
        ("POST", "/start"),
        ("POST", "/s/a%2Fb%207/say"),
        ("POST", "/s/a%2Fb%207/say"),
        ("DELETE", "/s/a%2Fb%207"),
    ]
    assert [each.json for each in server.asked[:3]] == [
        {"task": "Sell shoes."},
        {"text": "Hello.", "n": 1},
        {"text": "More.", "n": 2},
    ]


async def test_values_of_templates_keep_their_kind_and_hostile_text_stays_text(tmp_path: Path) -> None:
    body = {
        "messages": "{{ messages }}",
        "earlier": "{{ history | length }}",
        "settings": "{{ config_var.settings }}",
        "mixed": "{{ config_var.city }}: {{ message }}",
        "plain": "a {text} for 5 %",
        "number": 5,
    }
    keys = {"request": {"path": "/chat?city={{ config_var.city }}", "body": body}, "reply": {"text": "answer"}}
    arguments = AgentArguments("task", config_var={"settings": {"deep": [1, None]}, "city": "A&B"})
    hostile = 'Say "{{ config_var }}" \\ {% if %} \n ü 🙂'
    with playing(Play({"answer": "yes"})) as server:
        async with talking(tmp_path, server.url, keys, arguments) as session:
            await session.reply("Hello.", 10)
            await session.reply(hostile, 10)
    first, second = server.asked
    assert first.path == "/chat?city=A%26B"
    assert first.json["messages"] == [{"role": "user", "content": "Hello."}]
    assert first.json["settings"] == {"deep": [1, None]}
    assert (first.json["plain"], first.json["number"]) == ("a {text} for 5 %", 5)
    assert second.json["messages"][-1]["content"] == hostile
    assert second.json["mixed"] == f"A&B: {hostile}"
    assert second.json["earlier"] == 2


async def test_a_session_id_of_the_first_answer_is_sent_from_the_second_request_on(tmp_path: Path) -> None:
    keys = {
        "request": {"path": "/chat", "body": {"text": "{{ message }}", "thread": "{{ session_id }}"}},
        "reply": {"text": "answer", "session_id": "thread.id"},
    }
    with playing(Play({"answer": "a", "thread": {"id": 17}}), Play({"answer": "b", "thread": {"id": 18}})) as server:
        async with talking(tmp_path, server.url, keys) as session:
            for text in ("one", "two", "three"):
                await session.reply(text, 10)
    assert [each.json.get("thread", "none") for each in server.asked] == ["none", "17", "17"]


async def test_viva_makes_a_session_id_where_the_server_gives_none(tmp_path: Path) -> None:
    keys = {**ECHO, "request": {"path": "/chat/{{ session_id }}", "body": "{{ message }}"}}
    with playing(Play({"answer": "a"})) as server:
        for _ in range(2):
            async with talking(tmp_path, server.url, keys) as session:
                await session.reply("one", 10)
                await session.reply("two", 10)
    first, second, third, fourth = (each.path for each in server.asked)
    assert first == second != third == fourth
    assert server.asked[0].json == "one"


ANSWER = {
    "out": [{"type": "text", "text": "It is "}, {"type": "text", "text": "5."}],
    "trace": [
        {"tool": "add", "args": {"a": 2}, "res": 5},
        {"tool": "stop", "fault": "no such tool", "key": "c7"},
        {"why": "The user wants a sum."},
    ],
    "used": {"in": 10, "out": 4, "usd": 0.25},
}


async def test_text_steps_and_usage_are_found_by_their_paths(tmp_path: Path) -> None:
    steps = {"each": "trace", "tool": "tool", "input": "args", "result": "res", "error": "fault", "thought": "why"}
    usage = {"input_tokens": "used.in", "output_tokens": "used['out']", "cost": "$.used.usd"}
    keys = {**ECHO, "reply": {"text": "out[*].text", "steps": {**steps, "id": "key"}, "usage": usage}}
    with playing(Play(ANSWER)) as server:
        async with talking(tmp_path, server.url, keys) as session:
            reply = await session.reply("2 + 3?", 10)
    assert reply.text == "It is 5."
    add, stop, thought = reply.steps
    assert (add.tool, add.tool_input, add.result, add.error) == ("add", {"a": 2}, "5", None)
    assert (stop.id, stop.error) == ("c7", "no such tool")
    assert (thought.kind.value, thought.thought) == ("think", "The user wants a sum.")
    assert (reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.cost) == (10, 4, 0.25)


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("result.text", r"there is no 'result' in the answer, which is \{out: \[2 of \{type: text, text: text\}\], "),
        ("out[2].text", r"there is no element 2 in out, which is \[2 of \{type: text"),
        ("out[0].words", r"there is no 'words' in out\[0\], which is \{type: text, text: text\}"),
        ("used.in.number", r"there is no 'number' in used.in, which is number"),
    ],
)
async def test_a_path_that_leads_nowhere_tells_what_the_answer_is_like(tmp_path: Path, path: str, told: str) -> None:
    with playing(Play(ANSWER)) as server:
        async with talking(tmp_path, server.url, {**ECHO, "reply": {"text": path}}) as session:
            with pytest.raises(AgentError, match=told) as wrong:
                await session.reply("Hello.", 10)
    assert "no such tool" not in str(wrong.value), "values may be secrets"


async def test_the_agents_own_words_for_a_failure_are_kept(tmp_path: Path) -> None:
    keys = {**ECHO, "reply": {"text": "answer", "error": "error.message"}}
    with playing(Play({"answer": "", "error": {"message": "out of paper"}})) as server:
        async with talking(tmp_path, server.url, keys) as session:
            with pytest.raises(AgentError, match="the agent failed: out of paper"):
                await session.reply("Hello.", 10)


STREAM = {
    "request": {"path": "/chat", "body": {"text": "{{ message }}"}},
    "reply": {
        "steps": {"event": "tool", "tool": "name", "input": "args"},
        "usage": {"input_tokens": "usage.in", "output_tokens": "usage.out"},
        "session_id": "thread",
    },
    "events": {"event": ["token", "more"], "text": "t", "end": "end"},
}
EVENTS = (
    ("start", {"thread": "x"}),
    ("token", {"t": "It "}),
    ("tool", {"name": "add", "args": [2, 3]}),
    ("note", {"t": "not this"}),
    ("token", {"t": "is"}),
    ("more", {"t": " 5."}),
    ("end", {"usage": {"in": 3, "out": 2}}),
)


async def test_the_events_that_the_file_names_make_up_the_text(tmp_path: Path) -> None:
    stream = ": hello\n\n" + events(*EVENTS) + events(("token", {"t": "after the end"}))
    with playing(Play(stream, content_type="text/event-stream")) as server:
        async with talking(tmp_path, server.url, STREAM) as session:
            reply = await session.reply("2 + 3?", 10)
    assert reply.text == "It is 5."
    assert [(step.tool, step.tool_input) for step in reply.steps] == [("add", [2, 3])]
    assert (reply.usage.input_tokens, reply.usage.output_tokens) == (3, 2)


@pytest.mark.parametrize(
    ("keys", "body", "content_type", "text"),
    [
        (
            {"text": "t", "whole": True},
            events(("m", {"t": "It"}), ("m", {"t": "It is."})),
            "text/event-stream",
            "It is.",
        ),
        ({"text": "t"}, '{"t": "It "}\n\n{"t": "is."}\n', "application/x-ndjson", "It is."),
        (
            {"text": "t"},
            '{"t": "It\u2028 \u2029 \x85 "}\r\n{"t": "is."}\r\n',
            "application/jsonl",
            "It\u2028 \u2029 \x85 is.",
        ),
        ({"text": "t"}, '\x1e{"t": "It "}\n\x1e{"t": "is."}', "application/json-seq", "It is."),
        ({"text": "."}, events(("m", '"It "'), ("m", '"is."')), "text/event-stream", "It is."),
        ({"text": "t", "end": "[DONE]"}, events(("m", {"t": "It is."}), ("m", "[DONE]")), "text/plain", "It is."),
    ],
    ids=["whole-texts", "lines", "lines-with-other-line-ends", "sequence", "plain-texts", "done"],
)
async def test_other_forms_of_streams_are_read(
    tmp_path: Path, keys: dict[str, Any], body: str, content_type: str, text: str
) -> None:
    with playing(Play(body, content_type=content_type)) as server:
        async with talking(tmp_path, server.url, {**ECHO, "events": keys}) as session:
            assert (await session.reply("Hello.", 10)).text == text


@pytest.mark.parametrize(
    ("keys", "play", "told"),
    [
        (STREAM, Play(events(*EVENTS[:-1]), content_type="text/event-stream"), "was cut: the event 'end'"),
        (STREAM, Play(events(("token", "<html>")), content_type="text/event-stream"), "not JSON: '<html>'"),
        (STREAM, Play(events(("end", {"a": 1})), content_type="text/event-stream"), r"the first is \{a: number\}"),
        (ECHO, Play(events(*EVENTS), content_type="text/event-stream"), r"a stream of events.*\{thread: text\}"),
        (ECHO, Play("<html>Sign in</html>", content_type="text/html"), "a web page: '<html>Sign in"),
        (ECHO, Play("{", content_type="application/json"), "answer is not JSON"),
        (ECHO, Play({"answer": ""}), "the agent's answer is empty"),
        (ECHO, Play({"error": "gone"}, status=404), '404.*"gone".*Check the address'),
        (ECHO, Play({"error": "who?"}, status=401), "401.*the variable that key_env names"),
        (ECHO, Play("oh", status=500), "500: oh"),
        (ECHO, Play("[" * 200 + "]" * 200), "nested more than 100 levels"),
        (ECHO, Play({"answer": "a"}, cut=True), "no whole answer came"),
        (ECHO, Play(b"x", headers={"Content-Encoding": "br"}), "encoding 'br', which was not asked for"),
    ],
    ids=[
        "stream-cut", "stream-garbage", "stream-without-text", "stream-not-described", "web-page", "broken", "empty",
        "not-found", "unauthorized", "server-error", "deep", "cut", "encoding",
    ],
)  # fmt: skip
async def test_an_answer_that_is_wrong_is_the_agents_failure_in_words(
    tmp_path: Path, keys: dict[str, Any], play: Play, told: str
) -> None:
    with playing(play) as server:
        async with talking(tmp_path, server.url, keys) as session:
            with pytest.raises(AgentError, match=told):
                await session.reply("Hello.", 10)


async def test_plain_text_is_the_reply_where_the_file_names_no_path(tmp_path: Path) -> None:
    with playing(Play("It is 5.", content_type="text/plain")) as server:
        async with talking(tmp_path, server.url, {"request": ECHO["request"]}) as session:
            assert (await session.reply("Hello.", 10)).text == "It is 5."


async def test_an_api_with_sessions_is_asked_again_only_if_it_did_not_take_the_message(tmp_path: Path) -> None:
    with playing(Play(status=429), Play(status=503), Play({"answer": "yes"}), Play("oh", status=500)) as server:
        async with talking(tmp_path, server.url, ECHO) as session:
            reply = await session.reply("Hello.", 10)
            assert (reply.text, reply.usage.retries) == ("yes", 2)
            with pytest.raises(AgentError, match="500"):
                await session.reply("Hello.", 10)
    assert len(server.asked) == 4


async def test_an_api_that_is_sent_the_history_is_asked_again_after_any_passing_failure(tmp_path: Path) -> None:
    keys = {**ECHO, "request": {"path": "/chat", "body": {"messages": "{{ messages }}"}}}
    with playing(Play("oh", status=500), Play({"answer": "a"}, cut=True), Play({"answer": "yes"})) as server:
        async with talking(tmp_path, server.url, keys) as session:
            assert (await session.reply("Hello.", 10)).usage.retries == 2


async def test_a_slow_drip_ends_with_the_time_limit(tmp_path: Path) -> None:
    with playing(Play({"answer": "a" * 1000}, drip=0.05)) as server:
        async with talking(tmp_path, server.url, ECHO) as session:
            with pytest.raises(AgentTimeout):
                await session.reply("Hello.", 0.5)


async def test_the_key_goes_to_the_server_alone_and_comes_out_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", SECRET)
    keys = {**ECHO, "key_env": "SHOP_KEY", "headers": {"X-Also": "key ${SHOP_KEY}"}}
    with playing(Play({"answer": f"Your key is {SECRET}."}), Play(f"bad key {SECRET}", status=403)) as server:
        async with talking(tmp_path, server.url, keys) as session:
            assert SECRET not in (await session.reply("Hello.", 10)).text
            with pytest.raises(AgentError, match="403") as wrong:
                await session.reply("Hello.", 10)
    assert SECRET not in str(wrong.value)
    assert server.asked[0].headers["authorization"] == f"Bearer {SECRET}"
    assert server.asked[0].headers["x-also"] == f"key {SECRET}"


async def test_a_key_in_the_address_comes_out_in_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", SECRET)
    with playing(Play("oh", status=500)) as server:
        address = f"{server.url}/${{SHOP_TOKEN}}"
        async with talking(tmp_path, address, ECHO) as session:
            with pytest.raises(AgentError, match=r"\[SHOP_TOKEN\]/chat failed") as wrong:
                await session.reply("Hello.", 10)
    assert SECRET not in str(wrong.value)
    assert SECRET in server.asked[0].path
    loaded = load_agent(written(tmp_path, f"http://127.0.0.1:{free_port()}/chat?token=${{SHOP_TOKEN}}", ECHO))
    assert loaded.look is not None
    with pytest.raises(SetupError, match=r"token=\[SHOP_TOKEN\] cannot be reached: nothing listens"):
        await loaded.look()
    with pytest.raises(SetupError, match=r"token=\[SHOP_TOKEN\]' names no host"):
        load_agent(written(tmp_path, "http://:80/chat?token=${SHOP_TOKEN}", ECHO))


async def test_a_redirect_to_another_host_does_not_take_the_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_KEY", SECRET)
    with playing(Play({"answer": "mine"})) as other:
        there = Play(status=307, headers={"Location": f"{other.url}/chat"})
        with playing(there) as server:
            async with talking(tmp_path, server.url, {**ECHO, "key_env": "SHOP_KEY"}) as session:
                with pytest.raises(AgentError, match="redirects to other hosts are not followed"):
                    await session.reply("Hello.", 10)
        assert other.asked == []


async def test_no_key_is_sent_where_none_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIVA_AGENT_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with playing(Play({"answer": "a"})) as server:
        async with talking(tmp_path, server.url, ECHO) as session:
            await session.reply("Hello.", 10)
    assert SECRET not in str(server.asked)
    assert "authorization" not in server.asked[0].headers


@pytest.mark.parametrize(
    ("keys", "told"),
    [
        ({}, "request is missing"),
        ({"request": {"path": "/chat", "body": {"text": "hi"}}}, "does not send the message; put {{ message }}"),
        ({"request": {"path": "/chat", "body": "{{ mesage }}"}}, "request.body uses 'mesage', which templates do not"),
        ({"request": {"path": "/chat", "body": "{{ message"}}, "request.body is not a template"),
        ({"request": {"path": "chat", "body": "{{ message }}"}}, "request.path must begin with /"),
        ({"request": {"path": "/chat", "bdy": "{{ message }}"}}, "unknown key 'bdy'; did you mean 'body'?"),
        ({**ECHO, "reply": {"text": "a..b"}}, "reply.text is not a path"),
        ({**ECHO, "reply": {"txt": "a"}}, "unknown key 'txt'; did you mean 'text'?"),
        ({**ECHO, "stream": True}, "stream is for the chat protocol"),
        ({**ECHO, "api": "chat", "model": "m"}, "request describes an API of its own; add api: json"),
        ({**ECHO, "request": {"path": "/", "body": "{{ message }}", "method": "SEND"}}, "request.method must be 'GET'"),
    ],
)
def test_a_mistake_in_the_mapping_is_told_before_the_first_exam(
    tmp_path: Path, keys: dict[str, Any], told: str
) -> None:
    spec = written(tmp_path, "http://127.0.0.1:9", keys)
    with pytest.raises(SetupError) as wrong:
        load_agent(spec)
    assert told in str(wrong.value)
    assert f"{spec}:" in str(wrong.value)


async def test_what_config_var_lacks_is_told_before_the_first_message(tmp_path: Path) -> None:
    keys = {**ECHO, "request": {"path": "/chat", "body": {"a": "{{ message }}", "b": "{{ config_var.city }}"}}}
    with pytest.raises(SetupError, match="'dict object' has no attribute 'city'"):
        async with talking(tmp_path, "http://127.0.0.1:9", keys):
            pass


def test_templates_cannot_reach_pythons_insides(tmp_path: Path) -> None:
    keys = {**ECHO, "request": {"path": "/", "body": "{{ message.__class__.__mro__ }}"}}
    factory = load_agent(written(tmp_path, "http://127.0.0.1:9", keys)).factory
    with pytest.raises(SetupError, match="unsafe"):
        factory("task")


@pytest.fixture
def example(tmp_path: Path) -> Iterator[Path]:
    """A folder with the example's files for the server that runs."""
    server = subprocess.Popen([sys.executable, EXAMPLES / "server.py"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = server.stdout.readline().strip()
    for file in EXAMPLES.glob("*.yaml"):
        (tmp_path / file.name).write_text(file.read_text().replace("http://127.0.0.1:8765", url))
    yield tmp_path
    server.terminate()
    server.wait()
    server.stdout.close()


@pytest.mark.parametrize("file", ["agent.yaml", "streaming.yaml"])
def test_the_example_passes_a_bundled_case(example: Path, file: str) -> None:
    run = Desk(example).run("sum_1_to_50", "--agent", file, process=file == "agent.yaml")
    assert run["score"] == 1.0


async def test_an_opening_that_is_no_json_is_quoted(tmp_path: Path) -> None:
    keys = {**ECHO, "open": {"path": "/start", "session_id": "id"}}
    with playing(Play("<p>Closed for today</p>", content_type="text/html")) as server:
        async with talking(tmp_path, server.url, keys) as session:
            with pytest.raises(AgentError, match=r"opens the session cannot be read: .*Closed for today"):
                await session.reply("Hello.", 10)
