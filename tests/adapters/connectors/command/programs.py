"""Programs that do what their messages say, and how the tests talk to them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import yaml

from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, AgentSession, open_session

PROGRAM = r"""
import json, os, signal, subprocess, sys, time

def note(*pids):
    with open("pids", "a") as file:
        print(*pids, file=file)

def say(**fields):
    sys.stdout.write(json.dumps(fields) + "\n")
    sys.stdout.flush()

def raw(content):
    os.write(1, content)

note(os.getpid(), os.getppid())
for line in sys.stdin:
    asked = json.loads(line)
    n, message = asked["id"], asked["message"]
    if message == "about":
        say(id=n, text=json.dumps([asked, os.getcwd(), os.environ.get("VIVA_WORKSPACE")]))
    elif message == "steps":
        say(id=n, progress="looking")
        say(id=n, step={"kind": "think", "thought": "hm"})
        say(id=n, step={"id": "own", "tool": "look", "tool_input": {"at": "ä"}, "result": "seen", "seconds": 0.5})
        say(id=n, text="done", steps=[{"tool": "write", "error": "no room", "usage": {"input_tokens": 1, "calls": 1}}],
            usage={"input_tokens": 7, "output_tokens": 2, "calls": 1, "cost": 0.25}, images=["a.png"])
    elif message == "usage":
        say(id=n, text="", usage={"input_tokens": 7})
    elif message == "error":
        say(id=n, error="the model is away")
    elif message.startswith("fields "):
        say(id=n, **json.loads(message[7:]))
    elif message.startswith("line "):
        raw(message[5:].encode() + b"\n")
    elif message == "bytes":
        raw(b'{"id": 1, "text": "caf\xe9"}\n')
    elif message == "nul":
        raw(b'{"id": 1, "text": "\0"}\n')
    elif message == "half":
        raw(b'{"id": 1, "te')
        sys.exit(3)
    elif message == "half and hang":
        raw(b'{"id": 1, "te')
        time.sleep(1000)
    elif message == "twice":
        say(id=n, text="first")
        say(id=n, text="second")
    elif message == "ahead":
        say(id=n + 1, text="of the next message")
    elif message == "twice later":
        say(id=n, text="first")
        while not os.path.exists("go"):
            time.sleep(0.01)
        say(id=n, text="second")
    elif message.startswith("large "):
        say(id=n, text="x" * int(message[6:]))
    elif message.startswith("length"):
        say(id=n, text=str(len(message)))
    elif message == "endless":
        while True:
            raw(b"x" * 65536)
    elif message == "progress without end":
        while True:
            raw(json.dumps({"id": n, "progress": "still here"}).encode() + b"\n")
            time.sleep(0.001)  # else a fast machine reaches the maximum number of lines first
    elif message == "flood":
        for _ in range(200):
            os.write(2, b"e" * 65536)
        os.write(2, b"the end of stderr")
        say(id=n, text="flooded")
    elif message == "hang":
        say(id=n, progress="I am thinking")
        time.sleep(1000)
    elif message == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        say(id=n, text="I stay")
        sys.stdin.read()
        time.sleep(1000)
    elif message == "on TERM":
        def leave(*_):
            open("terminated", "w").close()
            sys.exit(0)
        signal.signal(signal.SIGTERM, leave)
        say(id=n, text="I wait")
        sys.stdin.read()
        open("input ended", "w").close()
        time.sleep(1000)
    elif message == "on end":
        say(id=n, text="goodbye is near")
        sys.stdin.read()
        open("input ended", "w").close()
        sys.exit(0)
    elif message == "leave daemon":
        for command in (["sleep", "1000"], ["setsid", "sleep", "1000"]):
            note(subprocess.Popen(command).pid)
        say(id=n, text="left")
    elif message == "die":
        print("giving up", file=sys.stderr)
        os._exit(7)
    elif message == "answer and die":
        say(id=n, text="the last")
        os._exit(0)
    elif message == "segfault":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif message == "close stdout":
        os.close(1)
        time.sleep(1000)
    elif message == "close stdin":
        os.close(0)
        say(id=n, text="deaf")
        time.sleep(1000)
    else:
        say(id=n, text=message.upper())
"""


def python(file: Path) -> str:
    return f"cmd:{shlex.quote(sys.executable)} {shlex.quote(str(file))}"


def write_program(folder: Path, text: str, name: str = "program.py") -> Path:
    file = folder / name
    file.write_text(text)
    return file


def agent_file(folder: Path, /, **keys: Any) -> str:
    file = folder / "agent.yaml"
    file.write_text(yaml.safe_dump({"connector": "cmd", **keys}))
    return str(file)


async def opened(spec: str, workspace: Path, *, seconds: float = 60.0, **options: Any) -> AgentSession:
    agent = load_agent(spec, **options)
    arguments = AgentArguments("the task", "the/app", {"llm.model": "m"}, workspace)
    return await open_session(agent.factory, arguments, seconds, agent.home)
