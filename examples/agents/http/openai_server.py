"""A small agent behind OpenAI's chat and Responses APIs, in the standard library: it adds up the numbers it was told.

Run it: `python openai_server.py` prints its address and serves until Ctrl-C; `python openai_server.py 8000` uses that
port. Then `viva run sum_1_to_50 --agent http://127.0.0.1:8000/v1#adder`, or `…/v1/responses#adder`.
"""

from __future__ import annotations

import contextlib
import json
import re
import sys
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SUMS: dict[str, int] = {}
"""The sum after each response, by its id; the chat protocol sends the whole conversation instead."""


def total(message: str) -> int:
    """Return the sum of the numbers that a message says to add."""
    return sum(int(number) for number in re.findall(r"add (-?\d+)", message))


def chat(asked: dict[str, Any]) -> dict[str, Any]:
    """Answer a whole conversation, as `POST /v1/chat/completions` does."""
    said = [each["content"] for each in asked["messages"] if each["role"] == "user"]
    answer = {"role": "assistant", "content": f"The sum is {sum(map(total, said))}."}
    usage = {"prompt_tokens": sum(map(len, said)) // 4, "completion_tokens": 5}
    return {"choices": [{"index": 0, "message": answer, "finish_reason": "stop"}], "usage": usage}


def respond(asked: dict[str, Any]) -> dict[str, Any]:
    """Answer a message after the response that it refers to, or a whole conversation, as `POST /v1/responses` does."""
    items = [{"role": "user", "content": asked["input"]}] if isinstance(asked["input"], str) else asked["input"]
    said = [str(each["content"]) for each in items if each["role"] == "user"]
    name = f"resp_{uuid.uuid4().hex}"
    SUMS[name] = SUMS.get(asked.get("previous_response_id") or "", 0) + sum(map(total, said))
    content = [{"type": "output_text", "text": f"The sum is {SUMS[name]}.", "annotations": []}]
    message = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    tokens = sum(map(len, said)) // 4
    usage = {"input_tokens": tokens, "output_tokens": 5, "total_tokens": tokens + 5}
    return {"id": name, "object": "response", "status": "completed", "output": [message], "usage": usage}


class Handler(BaseHTTPRequestHandler):
    """Both APIs."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Answer a request."""
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        body = json.dumps(respond(asked) if self.path.endswith("/responses") else chat(asked)).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

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
