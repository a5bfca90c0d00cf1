"""An agent that speaks the Agent Client Protocol in plain JSON, and does what its messages say, for good or ill.

A message is a JSON list of actions, each a list of a name and its values; any other message is repeated. Options choose
how it begins: `--version N`, `--needs-login`, `--offers NAME…` (fork, load, list), `--usage-text`, `--stray`,
`--silent`, `--deaf`, `--early` (it requests something before it has a session), `--pid FILE`, `--sessions FOLDER`
(where sessions are kept), `--forks-in FOLDER` (whatever it is asked).
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

options = sys.argv[1:]


def given(name: str) -> str | None:
    return options[options.index(name) + 1] if name in options else None


OFFERS = (given("--offers") or "").split(",")
FOLDER = Path(given("--sessions") or ".")
number = 0
asked = 0
said: dict[str, list[str]] = {}
folders: dict[str, str] = {}
waiting: list[dict[str, Any]] = []
later: list[tuple[Any, ...]] = []
"""What to request once the message is answered: session, method, parameters, and a file to make at its answer."""


def write(message: Any) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def update(session: str, **what: Any) -> None:
    write({"method": "session/update", "params": {"sessionId": session, "update": what}})


def read() -> dict[str, Any]:
    if waiting:
        return waiting.pop(0)
    line = sys.stdin.readline()
    if not line:
        sys.exit()
    return json.loads(line)


def ask(session: str | None, method: str, params: dict[str, Any]) -> Any:
    """Request something of the client, and return its result or its error."""
    global asked
    asked += 1
    name = f"a{asked}"
    write({"id": name, "method": method, "params": {"sessionId": session, **params}})
    kept = []
    while True:
        message = read()
        if message.get("id") == name and "method" not in message:
            waiting.extend(kept)
            return message.get("result", message.get("error"))
        kept.append(message)


def say(session: str, text: Any, **more: Any) -> None:
    text = text if isinstance(text, str) else json.dumps(text)
    update(session, sessionUpdate="agent_message_chunk", content={"type": "text", "text": text}, **more)


def act(session: str, message: str) -> dict[str, Any]:
    try:
        actions = json.loads(message)
        assert isinstance(actions, list)
    except (ValueError, AssertionError):
        say(session, f"you said {message}")
        return {"stopReason": "end_turn"}
    answer: dict[str, Any] = {"stopReason": "end_turn"}
    results: list[Any] = []
    for name, *values in actions:
        if name == "say":
            say(session, values[0], **(values[1] if len(values) > 1 else {}))
        elif name == "update":
            update(session, **values[0])
        elif name == "ask":
            results.append(ask(session, values[0], json.loads(json.dumps(values[1]).replace("$T", last(results)))))
        elif name == "say results":
            say(session, results)
        elif name == "say what was said":
            say(session, said[session])
        elif name == "after":
            later.append((session, *values))
        elif name == "answer":
            answer = values[0]
        elif name == "print":
            print(values[0], flush=True)
        elif name == "print forever":
            while True:
                print(values[0], flush=True)
        elif name == "stderr":
            sys.stderr.write(values[0] * (values[1] if len(values) > 1 else 1))
            sys.stderr.flush()
        elif name == "bytes":
            sys.stdout.buffer.write(bytes.fromhex(values[0]))
            sys.stdout.flush()
        elif name == "big":
            say(session, "x" * values[0])
        elif name == "endless line":
            while True:
                sys.stdout.write("{" + "x" * 65536)
        elif name == "endless requests":
            for each in range(10**6):
                time.sleep(values[0])
                write({"id": f"e{each}", "method": "fs/read_text_file", "params": {"sessionId": session}})
        elif name == "read at once":
            for place in range(values[1]):
                write(
                    {
                        "id": f"r{place}",
                        "method": "fs/read_text_file",
                        "params": {"sessionId": session, "path": values[0]},
                    }
                )
            time.sleep(0.5)  # until the answers fill the pipe
            answers = sorted((read() for _ in range(values[1])), key=lambda message: message["id"])
            say(session, [len(message["result"]["content"]) for message in answers])
        elif name == "ask at once":  # and read nothing before all is asked, or for a while after that
            method, params, count, *pause = values
            for each in range(count):
                write({"id": f"o{each}", "method": method, "params": {"sessionId": session, **params}})
            time.sleep(pause[0] if pause else 0)
            found = [read() for _ in range(count)]
            results.append([len(each["result"]["content"]) for each in found])
        elif name == "ask all":  # the same, with all of each answer
            method, params, count = values
            for each in range(count):
                write({"id": f"o{each}", "method": method, "params": {"sessionId": session, **params}})
            found = [read() for _ in range(count)]
            results += [each.get("result", each.get("error")) for each in found]
        elif name == "request":  # without a look at the answers
            for each in range(values[2]):
                write({"id": f"n{each}", "method": values[0], "params": {"sessionId": session, **values[1]}})
        elif name == "endless text":
            while True:
                say(session, "y" * 65536)
        elif name == "sleep":
            time.sleep(values[0])
        elif name == "hang until cancelled":
            while read().get("method") != "session/cancel":
                pass
            Path("cancelled").write_text("yes")
            answer = {"stopReason": "cancelled"}
        elif name == "daemon":
            if os.fork() == 0:
                os.setsid()
                Path("daemon.pid").write_text(str(os.getpid()))
                time.sleep(600)
        elif name == "exit":
            os._exit(values[0])
        elif name == "kill":
            os.kill(os.getpid(), values[0])
        elif name == "close stdout":
            os.close(1)
            time.sleep(600)
        elif name == "environment":
            say(session, os.environ.get(values[0], ""))
        elif name == "folder":
            say(session, os.getcwd())
        else:
            raise ValueError(name)
    return answer


def last(results: list[Any]) -> str:
    found = results[-1] if results else None
    return str(found.get("terminalId")) if isinstance(found, dict) else ""


def keep(session: str) -> None:
    if "--sessions" in options:
        (FOLDER / session).write_text(json.dumps(said[session]))


def new_session(history: list[str]) -> str:
    global number
    number += 1
    session = f"s{os.getpid()}-{number}"
    said[session] = list(history)
    keep(session)
    return session


def stored(session: str) -> list[str]:
    return said[session] if session in said else json.loads((FOLDER / session).read_text())


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        capabilities: dict[str, Any] = {"loadSession": "load" in OFFERS, "mcpCapabilities": {"http": "http" in OFFERS}}
        capabilities["sessionCapabilities"] = {name: {} for name in ("fork", "list", "resume") if name in OFFERS}
        Path("capabilities.json").write_text(json.dumps(params["clientCapabilities"]))
        methods = (
            [{"id": "key", "name": "A key", "description": "Set SCRIPTED_KEY."}] if "--needs-login" in options else []
        )
        return {
            "protocolVersion": int(given("--version") or 1),
            "agentCapabilities": capabilities,
            "agentInfo": {"name": "scripted", "title": "Scripted agent", "version": "1.2.3"},
            "authMethods": methods,
        }
    if method == "authenticate":
        options.remove("--needs-login")
        return {}
    if "--early" in options and method in ("session/new", "session/load"):
        request = {"path": str(Path("early.txt").absolute()), "content": "early"}
        with open("early.jsonl", "a") as file:
            file.write(json.dumps(ask(None, "fs/write_text_file", request)) + "\n")
    if method == "session/new":
        Path("new_session.json").write_text(json.dumps(params))
        return {"sessionId": new_session([])}
    if method == "session/list":
        listed = [{"sessionId": each, "cwd": folder} for each, folder in folders.items()]
        if "resume" in OFFERS and "--timeless" not in options:
            for file in FOLDER.iterdir():
                changed = f"2026-01-01T00:00:{len(stored(file.name)):02}Z"
                listed.append({"sessionId": file.name, "cwd": given("--forks-in") or os.getcwd(), "updatedAt": changed})
        return {"sessions": listed}
    if method == "session/fork":
        folders[f"s{os.getpid()}-{number + 1}"] = given("--forks-in") or params["cwd"]
        return {"sessionId": new_session(stored(params["sessionId"]))}
    if method == "session/resume":
        said[params["sessionId"]] = stored(params["sessionId"])
        return {}
    if method == "session/load":
        session = params["sessionId"]
        said[session] = stored(session)
        for text in said[session]:
            update(session, sessionUpdate="user_message_chunk", content={"type": "text", "text": text})
            say(session, "an old reply")
        return {}
    if method in ("session/set_mode", "session/set_config_option"):
        with open("settings.jsonl", "a") as file:
            file.write(json.dumps(params) + "\n")
        return {}
    session, text = params["sessionId"], params["prompt"][0]["text"]
    said[session].append(text)
    keep(session)
    return act(session, text)


def main() -> None:
    if (file := given("--pid")) is not None:
        with open(file, "a") as pids:
            pids.write(f"{os.getpid()}\n")
    if "--usage-text" in options:
        print("usage: scripted [--help]\nThis is no agent.", flush=True)
        sys.stderr.write("unknown option acp\n")
        sys.exit(2)
    if "--stray" in options:
        print("Starting up, please wait.", flush=True)
    if "--deaf" in options:
        time.sleep(600)
    if "--silent" in options:
        print("Type your question:", flush=True)
        time.sleep(600)
    while True:
        message = read()
        if "id" not in message or "method" not in message:
            continue
        if "--needs-login" in options and message["method"] == "session/new":
            write({"id": message["id"], "error": {"code": -32000, "message": "Authentication required"}})
            continue
        write({"id": message["id"], "result": answer(message["method"], message.get("params") or {})})
        while later:
            *request, answered = (*later.pop(), None)[:4]
            ask(*request)
            if answered is not None:
                Path(answered).touch()


main()
