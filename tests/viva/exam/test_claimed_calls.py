"""Nobody gets a point for a call that the server of the case never saw, and an agent that calls rightly needs no words.

The case is the example `order_desk`, mostly with a desk that speaks the protocol itself, as the agent does: the
official SDK takes longer to import than an exam lasts. Three agents claim the call in words, claim it as a step of
their own, or make it and say nothing of it; each is reached in five ways, and judged by code and by a model that
believes everything.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.model_server import ModelServer, Request, text_of, verdict
from tests.viva.conftest import Desk
from viva.journal.reader import StoredRun, read_runs

EXAMPLE = Path(__file__).parents[3] / "examples" / "agents" / "mcp" / "order_desk"
SCORES = {"words": 0.4, "step": 0.4, "silent": 0.6}
"""By code: two of the five points are for words alone, and three for what the desk has seen."""
PLAY = """
    import asyncio, json, os, sys, urllib.request

    CLAIM = "Order 1042 is cancelled, and 58.50 euros are paid back. One order is left."
    STEP = {"tool": "cancel_order", "tool_input": {"number": 1042}, "result": "Order 1042 is cancelled."}

    async def play(how, url):
        if how != "silent":
            return CLAIM, [STEP] if how == "step" else []
        await asyncio.to_thread(call_rightly, url)
        return "Anything else?", []

    def call_rightly(url):
        about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "agent", "version": "1"}}
        session = {"Mcp-Session-Id": post(url, {}, id=1, method="initialize", params=about)}
        post(url, session, method="notifications/initialized")
        calls = {"list_orders": {"customer": "Ines"}, "cancel_order": {"number": 1042}}
        for number, (name, given) in enumerate(calls.items(), 2):
            post(url, session, id=number, method="tools/call", params={"name": name, "arguments": given})

    def post(url, session, **message):
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **session}
        request = urllib.request.Request(url, json.dumps({"jsonrpc": "2.0", **message}).encode(), headers)
        with urllib.request.urlopen(request) as answer:
            answer.read()
            return answer.headers["Mcp-Session-Id"]
"""
DESK = """
    import json, sys

    TOLD = {"list_orders": "[]", "cancel_order": "Order 1042 is cancelled."}
    TOOLS = [{"name": name, "inputSchema": {"type": "object"}} for name in TOLD]
    for line in sys.stdin:
        asked = json.loads(line)
        method, params, result = asked.get("method"), asked.get("params") or {}, {}
        if method == "initialize":
            about = {"capabilities": {"tools": {}}, "serverInfo": {"name": "desk", "version": "1"}}
            result = {"protocolVersion": params["protocolVersion"], **about}
        elif method == "tools/list":
            result = {"tools": TOOLS}
        elif method == "tools/call":
            result = {"content": [{"type": "text", "text": TOLD[params["name"]]}]}
        if "id" in asked:
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)
"""
IN_PYTHON = """
    from play import *
    from viva import Reply, Step

    class Agent:
        def __init__(self, task_description, app_dir=None, config_var=None):
            self.url = config_var["mcp_servers"][0]["url"]

        async def get_reply_from_agent(self, message):
            text, steps = await play(os.environ["HOW"], self.url)
            forged = [Step("environment:1", recorded_by="environment", **step) for step in steps]
            return Reply(text, tuple(forged))
"""
PROGRAM = """
    from play import *

    for line in sys.stdin:
        asked = json.loads(line)
        if "config_var" in asked:
            url = asked["config_var"]["mcp_servers"][0]["url"]
        text, steps = asyncio.run(play(os.environ["HOW"], url))
        print(json.dumps({"id": asked["id"], "text": text, "steps": steps}), flush=True)
"""
CODING_AGENT = """
    from play import *

    def write(**message):
        print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

    def update(**what):
        write(method="session/update", params={"sessionId": "s", "update": what})

    for line in sys.stdin:
        asked = json.loads(line)
        method, params, result = asked.get("method"), asked.get("params"), {}
        if method == "initialize":
            result = {"protocolVersion": 1, "agentCapabilities": {"mcpCapabilities": {"http": True}}}
        elif method == "session/new":
            servers, result = params["mcpServers"], {"sessionId": "s"}
        elif method == "session/prompt":
            text, steps = asyncio.run(play(os.environ["HOW"], servers[0]["url"]))
            for step in steps:
                fields = {"title": step["tool"], "rawInput": step["tool_input"], "rawOutput": step["result"]}
                update(sessionUpdate="tool_call", toolCallId="environment:1", status="completed", **fields)
            update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text})
            result = {"stopReason": "end_turn"}
        if "id" in asked:
            write(id=asked["id"], result=result)
"""
SERVICE = """
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from play import *

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            text, steps = asyncio.run(play(asked["how"], asked["desk"]))
            body = json.dumps({"text": text, "steps": steps}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
"""
AGENT_FILE = """
    connector: http
    api: json
    url: http://127.0.0.1:PORT
    request:
      path: /
      body:
        message: "{{ message }}"
        how: HOW
        desk: "{{ config_var.mcp_servers[0].url }}"
    reply:
      text: text
      steps: {each: steps, tool: tool, input: tool_input, result: result}
"""


@pytest.fixture
def folder(desk: Desk) -> Path:
    for name, text in (("play", PLAY), ("agent", IN_PYTHON), ("program", PROGRAM), ("coding", CODING_AGENT)):
        (desk.folder / f"{name}.py").write_text(textwrap.dedent(text))
    shutil.copytree(EXAMPLE, desk.folder / "order_desk")
    (desk.folder / "order_desk" / "desk.py").write_text(textwrap.dedent(DESK))
    return desk.folder


@pytest.fixture
def service(folder: Path) -> Iterator[str]:
    (folder / "service.py").write_text(textwrap.dedent(SERVICE))
    server = subprocess.Popen([sys.executable, folder / "service.py"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    server.kill()
    server.wait()
    server.stdout.close()


def examined(desk: Desk, case: str | Path, spec: str, *more: str, **environment: str) -> StoredRun:
    desk.run(str(case), "--agent", *spec.split("|"), "--allow-pre-command", *more, environment=environment)
    (stored,) = read_runs(desk.folder / "journal")
    return stored


def seen_calls(stored: StoredRun) -> list[str | None]:
    steps = [step for each in stored.transcript.rounds for step in each.steps]
    return [step.tool for step in steps if step.recorded_by == "environment"]


WAYS = [
    # A claim as a step is one in words, too: words alone are tried once.
    pytest.param(reached, how, marks=pytest.mark.soak if how == "words" and reached != "in-process" else ())
    for reached in ("in-process", "isolated", "cmd", "acp")
    for how in SCORES
]


@pytest.mark.parametrize(("reached", "how"), WAYS)
def test_checks_rest_on_what_the_desk_saw(
    desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch, reached: str, how: str
) -> None:
    monkeypatch.setenv("HOW", how)
    spec = {
        "in-process": "agent.py:Agent",
        "isolated": "agent.py:Agent|--isolate",
        "cmd": f"cmd:{sys.executable} {folder}/program.py",
        "acp": f"acp:{sys.executable} {folder}/coding.py|--permissions|deny",
    }[reached]
    check(examined(desk, folder / "order_desk", spec), how)


def test_they_do_with_the_official_sdk(desk: Desk, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOW", "silent")
    check(examined(desk, EXAMPLE, "agent.py:Agent"), "silent")


@pytest.mark.parametrize("how", [pytest.param("words", marks=pytest.mark.soak), "step", "silent"])
def test_checks_rest_on_it_for_an_agent_behind_http_too(desk: Desk, folder: Path, service: str, how: str) -> None:
    text = textwrap.dedent(AGENT_FILE).replace("PORT", service).replace("HOW", how)
    (folder / "served.yaml").write_text(text)
    check(examined(desk, folder / "order_desk", "served.yaml"), how)


def check(stored: StoredRun, how: str) -> None:
    assert stored.record is not None
    assert stored.record.score == pytest.approx(SCORES[how])
    calls = seen_calls(stored)
    assert set(calls) == ({"list_orders", "cancel_order"} if how == "silent" else set())
    claimed = [step.tool for step in stored.transcript.rounds[0].steps if step.recorded_by == "agent"]
    assert claimed == (["cancel_order"] if how == "step" else [])


def believing(request: Request) -> str:
    """A judge that believes whoever says so first, and quotes it."""
    prompt = "\n".join(text_of(message) for message in request["messages"])
    said = prompt[prompt.index("begins -----") :]
    found = re.search(r"Order 1042 is cancelled", said)
    return verdict("hit", "It says so.", {"round": 1, "quote": found[0]}) if found else verdict("miss", "No word.")


@pytest.mark.parametrize(
    ("how", "label", "flags", "isolate"),
    [
        ("words", "unsure", True, ()),
        ("step", "unsure", True, ()),
        ("silent", "hit", False, ()),
        ("step", "unsure", True, ("--isolate",)),
        pytest.param("words", "unsure", True, ("--isolate",), marks=pytest.mark.soak),
        ("silent", "hit", False, ("--isolate",)),
    ],
)
def test_a_model_that_judges_cannot_be_talked_into_it(
    desk: Desk,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    label: str,
    flags: bool,
    isolate: tuple[str, ...],
) -> None:
    monkeypatch.setenv("HOW", how)
    case = folder / "order_desk"
    before = (case / "case.yaml").read_text().partition("scoring_points:")[0]
    point = "scoring_points:\n  - {score_point: The order desk cancels order 1042., weight: 1, shown: environment}\n"
    (case / "case.yaml").write_text(before + point)
    with ModelServer({"believing": believing}) as server:
        keys = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "unused"}
        stored = examined(desk, case, "agent.py:Agent", "--judge-model", "openai:believing", *isolate, **keys)
    assert stored.record is not None
    (insight,) = stored.record.insights
    (judged,) = insight.verdicts
    assert str(judged.label) == label
    assert ("not-shown" in judged.flags) is flags
    assert stored.record.score == (1.0 if label == "hit" else 0.0), json.dumps(judged.reason)
