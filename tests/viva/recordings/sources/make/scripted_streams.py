"""A scripted model for coding agents, in the streams of Anthropic's Messages API and OpenAI's Responses API."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

LOOK, ANSWER = "I look.", "There is one file, a.py."
CALLS: dict[str, list[tuple[str, Any]]] = {
    "claude": [("Bash", {"command": "ls", "description": "List"}), ("Read", {"file_path": "/nowhere/b.py"})],
    "codex": [("exec_command", {"cmd": "ls"}), ("exec_command", {"cmd": "cat nowhere.py"})],
}
"""What the model asks for at first: the second call fails."""
Event = dict[str, Any]


class _StreamHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._send(json.dumps({"data": []}).encode(), "application/json")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
        if "/responses" in self.path:
            self._stream(_of_responses(body))
        elif "count_tokens" not in self.path and "/messages" in self.path:
            self._stream(_of_messages(body))
        else:
            self._send(json.dumps({"input_tokens": 10}).encode(), "application/json")

    def _stream(self, events: Sequence[Event]) -> None:
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        self._send(text.encode(), "text/event-stream")

    def _send(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


def _of_messages(body: Mapping[str, Any]) -> list[Event]:
    contents = [message["content"] for message in body["messages"] if isinstance(message["content"], list)]
    done = any(block.get("type") == "tool_result" for content in contents for block in content)
    blocks: list[Event] = [{"type": "text", "text": ANSWER if done or not body.get("tools") else LOOK}]
    if not done and body.get("tools"):
        blocks += [
            {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": given}
            for number, (name, given) in enumerate(CALLS["claude"])
        ]
    usage = {"input_tokens": 100, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    about = {"id": f"msg_{len(body['messages'])}", "type": "message", "role": "assistant", "model": body["model"]}
    message = {**about, "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
    events: list[Event] = [{"type": "message_start", "message": message}]
    for index, block in enumerate(blocks):
        if block["type"] == "text":
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            empty = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        events.append({"type": "content_block_start", "index": index, "content_block": empty})
        events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    stop = {"stop_reason": "tool_use" if len(blocks) > 1 else "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": stop, "usage": {"output_tokens": 10}})
    return [*events, {"type": "message_stop"}]


def _of_responses(body: Mapping[str, Any]) -> list[Event]:
    done = any(item.get("type") == "function_call_output" for item in body["input"])
    text = {"type": "output_text", "text": ANSWER if done else LOOK, "annotations": []}
    items: list[Event] = [{"type": "message", "id": f"m{len(body['input'])}", "role": "assistant", "content": [text]}]
    if not done:
        items += [
            {
                "type": "function_call",
                "id": f"f{n}",
                "call_id": f"call_{n}",
                "name": name,
                "arguments": json.dumps(given),
            }
            for n, (name, given) in enumerate(CALLS["codex"])
        ]
    tokens = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
    usage = {**tokens, "input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": f"resp_{len(body['input'])}", "object": "response", "model": body.get("model"), "usage": usage}
    events: list[Event] = [{"type": "response.created", "response": {**response, "output": []}}]
    for index, item in enumerate(items):
        events.append({"type": "response.output_item.added", "output_index": index, "item": item})
        events.append({"type": "response.output_item.done", "output_index": index, "item": item})
    return [*events, {"type": "response.completed", "response": {**response, "output": items, "status": "completed"}}]


def serve() -> str:
    """Start the server, and return its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _StreamHandler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_port}"
