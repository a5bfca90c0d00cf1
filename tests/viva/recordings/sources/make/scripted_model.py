"""A model that answers in OpenAI's protocol from a script; shared by the scripts beside it."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUESTIONS = ("How warm is Rome?", "How warm are Oslo and Atlantis?")
CITIES = (("Rome",), ("Oslo", "Atlantis"))
ANSWERS = ("It is 25 degrees in Rome.", "Oslo has 25 degrees; Atlantis does not exist.")


def answer(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Look up the cities first; answer when the tool has."""
    question = next(message["content"] for message in messages if message["role"] == "user")
    story = QUESTIONS.index(question)
    if any(message["role"] == "tool" for message in messages):
        return {"role": "assistant", "content": ANSWERS[story]}
    calls = [
        {"id": city, "type": "function", "function": {"name": "get_weather", "arguments": json.dumps({"city": city})}}
        for city in CITIES[story]
    ]
    return {"role": "assistant", "content": "I look it up.", "tool_calls": calls}


POSTED: list[tuple[str, str, Any]] = []


class _Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "/chat/completions" not in self.path:
            POSTED.append((self.command, self.path, body))
            self._send({})
            return
        message = answer(body["messages"])
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if "tool_calls" in message else "stop"}
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        made = {"id": "c-1", "object": "chat.completion", "created": 1, "model": body["model"]}
        self._send({**made, "choices": [choice], "usage": usage})

    def do_PATCH(self) -> None:
        self.do_POST()

    def do_GET(self) -> None:
        self._send({})

    def _send(self, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def serve() -> tuple[str, list[tuple[str, str, Any]]]:
    """Start the server; return its address and the list of what else was sent to it: method, path, body."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}", POSTED
