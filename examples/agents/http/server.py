"""A small agent behind a JSON API of its own, in the standard library: it keeps a sum for each session.

Run it: `python server.py` prints its address and serves until Ctrl-C; `python server.py 8765` uses that port.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SESSIONS: dict[str, int] = {}
"""The sum of each open session."""


def answer(session: str, message: str) -> dict[str, Any]:
    """Return the reply to a message, with the tool call that it took and what it used."""
    numbers = [int(number) for number in re.findall(r"add (-?\d+)", message)]
    before = SESSIONS[session]
    SESSIONS[session] = before + sum(numbers)
    call = {"name": "add", "arguments": {"sum": before, "numbers": numbers}, "output": str(SESSIONS[session])}
    text = f"The sum is {SESSIONS[session]}."
    return {"data": {"text": text, "calls": [call]}, "tokens": {"in": len(message) // 4, "out": len(text) // 4}}


class Handler(BaseHTTPRequestHandler):
    """`POST /sessions`, `POST /sessions/ID/messages` and `DELETE /sessions/ID`."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Open a session, or answer a message."""
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
        parts = self.path.strip("/").split("/")
        if parts == ["sessions"]:
            session = str(uuid.uuid4())
            SESSIONS[session] = int(asked.get("start", 0))
            self.send({"session": {"id": session}})
        elif len(parts) == 3 and parts[2] == "messages" and parts[1] in SESSIONS:
            found = answer(parts[1], asked["message"])
            if asked.get("stream"):
                self.stream(found)
            else:
                self.send(found)
        else:
            self.send({"error": "there is no such session"}, 404)

    def do_DELETE(self) -> None:
        """Close a session."""
        SESSIONS.pop(self.path.rpartition("/")[2], None)
        self.send({"open": len(SESSIONS)})

    def send(self, data: object, status: int = 200) -> None:
        """Send JSON."""
        body = json.dumps(data).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def stream(self, found: dict[str, Any]) -> None:
        """Send server-sent events: the tool call, the text word by word, and the usage."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        events = [("call", call) for call in found["data"]["calls"]]
        events += [("word", {"text": word}) for word in re.findall(r"\S+\s*", found["data"]["text"])]
        events.append(("end", {"tokens": found["tokens"]}))
        for name, data in events:
            self.wfile.write(f"event: {name}\ndata: {json.dumps(data)}\n\n".encode())
            self.wfile.flush()
        self.close_connection = True

    def log_message(self, *arguments: object) -> None:
        """Print nothing for each request."""


def serve(port: int) -> None:
    """Serve until Ctrl-C."""
    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        serve(int(sys.argv[1]) if len(sys.argv) > 1 else 0)
