"""Measures what each connector adds to a round, and how long it takes to open an agent, all in one run.

Every agent answers at once with the same text. Servers and programs have Python's standard library alone, so their own
share is small; it is part of the figure.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from bench.stubs import TEXT
from bench.table import Figure
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.adapters.connectors.table import CONNECTORS, load_agent
from viva.adapters.session import AgentArguments, open_session

PASSES, ROUNDS, WARM_UP = 7, 100, 10
FIGURES = Path(__file__).parents[1] / "docs" / "benchmarks" / "connectors.json"

IN_PROCESS = f"""
from viva import VirtualUser

class Agent(VirtualUser):
    def get_reply_from_agent(self, message):
        return {TEXT!r}
"""
CANNOT_BE_FORKED = """
import threading
threading.Thread(target=threading.Event().wait, daemon=True).start()
"""
"""A module whose import leaves a thread: its process cannot be forked, so each run gets a new one."""
CHAT = f"""
import json, sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Handler(BaseHTTPRequestHandler):
    protocol_version, wbufsize = "HTTP/1.1", -1

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send(self.answer(asked))

    def answer(self, asked):
        message = {{"role": "assistant", "content": {TEXT!r}}}
        return {{"choices": [{{"message": message, "finish_reason": "stop"}}]}}

    def send(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    print(server.server_port, flush=True)
    server.serve_forever()
"""
A2A = f"""
from chat import Handler, ThreadingHTTPServer

class Agent(Handler):
    def do_GET(self):
        port = self.server.server_port
        modes = {{"defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"], "skills": []}}
        self.send({{"name": "bench", "description": "Answers.", "version": "1", "protocolVersion": "0.3.0",
                   "url": f"http://127.0.0.1:{{port}}/", "preferredTransport": "JSONRPC", "capabilities": {{}},
                   **modes}})

    def answer(self, asked):
        part = {{"kind": "text", "text": {TEXT!r}}}
        message = {{"kind": "message", "messageId": "m", "role": "agent", "contextId": "c", "parts": [part]}}
        return {{"jsonrpc": "2.0", "id": asked["id"], "result": message}}

server = ThreadingHTTPServer(("127.0.0.1", 0), Agent)
server.daemon_threads = True
print(server.server_port, flush=True)
server.serve_forever()
"""
JSON_LINES = f"""
import json, sys
for line in sys.stdin:
    print(json.dumps({{"id": json.loads(line)["id"], "text": {TEXT!r}}}), flush=True)
"""
ACP = f"""
import json, sys

def write(**message):
    print(json.dumps({{"jsonrpc": "2.0", **message}}), flush=True)

for line in sys.stdin:
    asked = json.loads(line)
    method = asked.get("method")
    if method == "initialize":
        version = asked["params"]["protocolVersion"]
        write(id=asked["id"], result={{"protocolVersion": version, "agentCapabilities": {{}}}})
    elif method == "session/new":
        write(id=asked["id"], result={{"sessionId": "s"}})
    elif method == "session/prompt":
        chunk = {{"sessionUpdate": "agent_message_chunk", "content": {{"type": "text", "text": {TEXT!r}}}}}
        write(method="session/update", params={{"sessionId": "s", "update": chunk}})
        write(id=asked["id"], result={{"stopReason": "end_turn"}})
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """The median figures of one connector."""

    name: str
    round_us: float
    open_ms: float
    close_ms: float


async def _pass(agent: LoadedAgent) -> tuple[float, float, float]:
    """Return the microseconds of a round, and the milliseconds of opening and of closing."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        session = await open_session(agent.factory, AgentArguments("task", workspace=Path(folder, "work")), 60)
        opened = time.perf_counter()
        for _ in range(WARM_UP):
            assert (await session.reply(TEXT, 60)).text == TEXT
        first = time.perf_counter()
        for _ in range(ROUNDS):
            await session.reply(TEXT, 60)
        last = time.perf_counter()
        await session.close()
        closed = time.perf_counter()
    return (last - first) / ROUNDS * 1e6, (opened - began) * 1e3, (closed - last) * 1e3


async def _measure(agents: Mapping[str, LoadedAgent]) -> list[Measured]:
    """Measure all connectors in turn, pass by pass, so that other load on the machine affects them alike."""
    passes: dict[str, list[tuple[float, float, float]]] = {name: [] for name in agents}
    for number in range(PASSES + 1):
        for name, agent in agents.items():
            found = await _pass(agent)
            if number:  # the first one fills caches, and has connectors start what they keep ready
                passes[name].append(found)
            await asyncio.sleep(0.05)
    return [
        Measured(name, *(statistics.median(column) for column in zip(*found, strict=True)))
        for name, found in passes.items()
    ]


@contextlib.contextmanager
def _server(file: Path) -> Iterator[int]:
    with subprocess.Popen([sys.executable, str(file)], stdout=subprocess.PIPE, text=True, cwd=file.parent) as server:
        assert server.stdout is not None
        try:
            yield int(server.stdout.readline())
        finally:
            server.kill()


def _loaded(folder: Path, servers: contextlib.ExitStack) -> dict[str, LoadedAgent]:
    """Return an agent behind each connector that this state of Viva has, and whose packages are installed."""
    sources = {"here": IN_PROCESS, "new": IN_PROCESS + CANNOT_BE_FORKED, "chat": CHAT, "a2a": A2A}
    sources |= {"lines": JSON_LINES, "acp": ACP}
    files = {name: folder / f"{name}.py" for name in sources}
    for name, source in sources.items():
        files[name].write_text(source)
    python = shlex.quote(sys.executable)
    agents = {"in-process": load_agent(f"{files['here']}:Agent")}
    agents["ready process" if _has_ready_processes() else "own process"] = load_agent(
        f"{files['here']}:Agent", isolate=True
    )
    agents["new process, started ahead"] = load_agent(f"{files['new']}:Agent", isolate=True)
    if "cmd" in CONNECTORS.builtin:
        agents["command"] = load_agent(f"cmd:{python} {shlex.quote(str(files['lines']))}")
    port = servers.enter_context(_server(files["chat"]))
    agents["HTTP"] = load_agent(f"http://127.0.0.1:{port}/v1#bench")
    if "acp" in CONNECTORS.builtin and find_spec("acp"):
        agents["ACP"] = load_agent(f"acp:{python} {shlex.quote(str(files['acp']))}")
    if "a2a" in CONNECTORS.builtin and find_spec("a2a"):
        port = servers.enter_context(_server(files["a2a"]))
        agents["A2A"] = load_agent(f"a2a:http://127.0.0.1:{port}")
    return agents


def _has_ready_processes() -> bool:
    return find_spec("viva.adapters.connectors.child.ready") is not None


def figures() -> list[Figure]:
    """Measure every connector; with `--write`, also write the figures into docs/benchmarks."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as servers:
        measured = asyncio.run(_measure(_loaded(Path(folder), servers)))
    least = measured[0].round_us
    if "--write" in sys.argv:
        rows = [
            {
                "connector": each.name,
                "round_us": round(each.round_us),
                "times_in_process": round(each.round_us / least, 1),
                "open_ms": round(each.open_ms, 2),
                "close_ms": round(each.close_ms, 2),
            }
            for each in measured
        ]
        FIGURES.write_text(json.dumps({"cores": os.cpu_count(), "rounds": ROUNDS, "rows": rows}, indent=2) + "\n")
    shown = []
    for each in measured:
        note = f"{each.round_us / least:.1f} x in-process"
        shown.append(Figure(f"{each.name}, a round", each.round_us, "us", note=note))
        shown.append(Figure("  opening", each.open_ms, "ms"))
        shown.append(Figure("  closing", each.close_ms, "ms"))
    return shown
