"""A local server of Anthropic's Messages API for tests, played by a script: streamed messages, and errors.

https://docs.anthropic.com/en/api/messages-streaming
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias

Request: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Says:
    """One message of the model: texts, thoughts and calls of tools."""

    text: str = ""
    calls: tuple[tuple[str, str, dict[str, Any]], ...] = ()
    """(id, name, input) of each."""
    thinking: str = ""
    usage: tuple[int, int] = (100, 10)
    """Tokens of the prompt and of the answer."""


@dataclass(frozen=True)
class Refused:
    """An error of the endpoint."""

    status: int
    kind: str = "authentication_error"
    message: str = "invalid x-api-key"


class Hangs:
    """No answer until the server is closed."""


Play: TypeAlias = Says | Refused | Hangs
Part: TypeAlias = Callable[[Request], Play]


def said(request: Request, role: str = "user") -> list[str]:
    """The texts of one side, without what the program adds of its own (`<system-reminder>`)."""
    texts = []
    for message in request["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        if message["role"] == role:
            texts += [block["text"] for block in blocks if block["type"] == "text"]
    return [text for text in texts if not text.lstrip().startswith("<system-reminder>")]


def results(request: Request) -> list[dict[str, Any]]:
    """The results of tools in a request, in their order."""
    contents = [message["content"] for message in request["messages"] if isinstance(message["content"], list)]
    return [block for content in contents for block in content if block["type"] == "tool_result"]


class _MessagesHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _MessagesHttp

    def do_GET(self) -> None:
        self._send(200, "application/json", b'{"data": []}')

    def do_HEAD(self) -> None:
        self._send(200, "application/json", b"")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if "count_tokens" in self.path or "/messages" not in self.path:
            self._send(200, "application/json", b'{"input_tokens": 10}')
            return
        owner = self.server.owner
        owner.requests.append(body)
        try:
            play = owner.part(body)
        except Exception as error:  # a mistake in the test: raised again where the server is closed
            owner.mistakes.append(error)
            play = Refused(400, "invalid_request_error", repr(error))
        if isinstance(play, Hangs):
            self.server.closing.wait()
            self.close_connection = True
        elif isinstance(play, Refused):
            error = {"type": "error", "error": {"type": play.kind, "message": play.message}}
            self._send(play.status, "application/json", json.dumps(error).encode())
        elif body.get("stream"):
            text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(body, play))
            self._send(200, "text/event-stream", text.encode())
        else:
            self._send(200, "application/json", json.dumps({**_head(body, play), "content": _blocks(play)}).encode())

    def _send(self, status: int, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Keep the tests' output clean."""


def _blocks(play: Says) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if play.thinking:
        blocks.append({"type": "thinking", "thinking": play.thinking, "signature": "c2lnbmVk"})
    if play.text:
        blocks.append({"type": "text", "text": play.text})
    calls = ({"type": "tool_use", "id": call, "name": name, "input": given} for call, name, given in play.calls)
    return [*blocks, *calls]


def _head(body: Request, play: Says) -> dict[str, Any]:
    usage = {"input_tokens": play.usage[0], "output_tokens": play.usage[1]}
    usage |= {"cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    stop = "tool_use" if play.calls else "end_turn"
    about = {"id": f"msg_{id(play):x}_{len(body['messages'])}", "type": "message", "role": "assistant"}
    return {**about, "model": body["model"], "stop_reason": stop, "stop_sequence": None, "usage": usage}


def _events(body: Request, play: Says) -> list[dict[str, Any]]:
    head = _head(body, play)
    begun = {**head, "content": [], "stop_reason": None, "usage": {**head["usage"], "output_tokens": 1}}
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(_blocks(play)):
        deltas: list[dict[str, Any]]
        if block["type"] == "text":
            empty, deltas = {**block, "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        elif block["type"] == "thinking":
            empty = {**block, "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        else:
            empty = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": head["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": play.usage[1]}})
    return [*events, {"type": "message_stop"}]


class _MessagesHttp(ThreadingHTTPServer):
    request_queue_size = 256

    def __init__(self, owner: MessagesServer) -> None:
        self.owner = owner
        self.closing = threading.Event()
        super().__init__(("127.0.0.1", 0), _MessagesHandler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a client that went away."""


class MessagesServer:
    """Serves one part. Its `url` is what `ANTHROPIC_BASE_URL` is set to."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.requests: list[Request] = []
        self.mistakes: list[Exception] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"

    def __enter__(self) -> Self:
        self._http = _MessagesHttp(self)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._http.closing.set()
        self._http.shutdown()
        self._http.server_close()
        if self.mistakes and error is None:
            raise self.mistakes[0]
