"""A small MCP server over streamable HTTP, with one tool: `price(of)`."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

PRICE = {
    "name": "price",
    "description": "Tells a price.",
    "inputSchema": {"type": "object", "properties": {"of": {"type": "string"}}, "required": ["of"]},
}


class _ShopHandler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    called: list[Any]

    def do_GET(self) -> None:
        self._send(405, b"")

    def do_DELETE(self) -> None:
        self._send(405, b"")

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)))
        if "id" not in asked:
            self._send(202, b"")
            return
        answer = {"jsonrpc": "2.0", "id": asked["id"], "result": self._result(asked)}
        self._send(200, json.dumps(answer).encode())

    def _result(self, asked: dict[str, Any]) -> dict[str, Any]:
        given = asked.get("params") or {}
        if asked["method"] == "initialize":
            about = {"serverInfo": {"name": "shop", "version": "1"}, "capabilities": {"tools": {}}}
            return {**about, "protocolVersion": given.get("protocolVersion", "2025-06-18")}
        if asked["method"] == "tools/list":
            return {"tools": [PRICE]}
        if asked["method"] == "tools/call":
            self.called.append({"name": given["name"], "arguments": given["arguments"]})
            return {"content": [{"type": "text", "text": f"{given['arguments']['of']} costs 3"}]}
        return {}

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


class ShopServer:
    """Serves until the block ends; `called` has the calls of the tool."""

    def __init__(self) -> None:
        self.called: list[Any] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/mcp"

    def __enter__(self) -> Self:
        handler = type("ShopHandler", (_ShopHandler,), {"called": self.called})
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()
