"""`viva init adapter --url` understands the documents of servers, and survives whatever answers."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.viva.viva_command import in_this_process
from viva.cli.init.openapi import agent_file
from viva.cli.init.surroundings import FoundAddress, look_at
from viva.errors import SetupError

TEXT = {"type": "string"}
REPLY = {"type": "object", "properties": {"reply": TEXT}}


def document(body: object, answer: object = None, **further: Any) -> dict[str, Any]:
    """Return an OpenAPI document with one operation."""
    post = {
        "requestBody": {"content": {"application/json": {"schema": body}}},
        "responses": {"200": {"content": {"application/json": {"schema": REPLY if answer is None else answer}}}},
    }
    return {"openapi": "3.1.0", "paths": {"/chat": {"post": post}}, **further}


def derived(body: object, answer: object = None) -> dict[str, Any]:
    """Return the agent file that is made from an operation."""
    found = FoundAddress("openapi", "http://127.0.0.1:1", document(body, answer))
    text: dict[str, Any] = yaml.safe_load(agent_file(found, None))
    return text


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"message": {"type": ["string", "null"]}}},
        {"properties": {"message": {"anyOf": [{"type": "null"}, TEXT]}}},
        {"allOf": [{"properties": {"message": TEXT}}, {"properties": {"other": TEXT}}]},
        {"properties": {"message": TEXT, "other": TEXT}, "required": 5},
    ],
)
def test_the_message_is_found_however_its_field_is_declared(schema: dict[str, Any]) -> None:
    assert derived(schema)["request"]["body"] == {"message": "{{ message }}"}


@pytest.mark.parametrize(
    ("answer", "path"),
    [
        ({"properties": {"reply": {"type": ["string", "null"]}}}, "reply"),
        ({"allOf": [{"properties": {"id": TEXT}}, REPLY]}, "reply"),
        ({"properties": {"data": {"oneOf": [REPLY, {"type": "null"}]}}}, "data.reply"),
        (TEXT, "."),
        ({"type": "array", "items": REPLY}, "[-1].reply"),
    ],
)
def test_the_reply_is_found_however_the_answer_is_declared(answer: dict[str, Any], path: str) -> None:
    assert derived({"properties": {"message": TEXT}}, answer)["reply"]["text"] == path


def test_an_operation_that_takes_all_messages_gets_them() -> None:
    body = derived({"properties": {"messages": {"type": "array"}, "model": {**TEXT, "default": "m"}}})["request"][
        "body"
    ]
    assert body == {"messages": "{{ messages }}"}


@pytest.mark.parametrize(
    "broken",
    [
        {"properties": {"message": TEXT, "b": {"enum": 5}}, "required": ["b"]},
        {"properties": {"message": TEXT, "b": 5}, "required": ["b", 5]},
        {"properties": {"message": TEXT}, "allOf": 5, "anyOf": [5]},
    ],
)
def test_a_schema_that_is_none_is_read_as_far_as_it_goes(broken: dict[str, Any]) -> None:
    assert derived(broken)["request"]["body"]["message"] == "{{ message }}"


def test_responses_that_are_no_mapping_leave_the_reply_to_the_user() -> None:
    found = document({"properties": {"message": TEXT}})
    found["paths"]["/chat"]["post"]["responses"] = [1]
    assert agent_file(FoundAddress("openapi", "http://127.0.0.1:1", found), None).startswith("# The document does not")


@pytest.mark.parametrize(
    "url",
    [
        "http://[::1",
        "http://127.0.0.1:port/",
        "http://127.0.0.1:99999/",
        "http://127.0.0.1:1/a b",
        "http://:80",
        "http:/a",
    ],
)
def test_what_is_no_address_is_a_usage_error(url: str, tmp_path: Path) -> None:
    done = in_this_process("init", "adapter", "--name", "A", "--url", url, cwd=tmp_path)
    assert done.returncode == 2
    assert "the address in --url" in done.stderr
    assert "Traceback" not in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_address_with_a_password_is_refused_and_not_printed(tmp_path: Path) -> None:
    url = "http://me:open-sesame@127.0.0.1:1"
    done = in_this_process("init", "adapter", "--name", "A", "--url", url, cwd=tmp_path)
    assert done.returncode == 2
    assert "VIVA_AGENT_API_KEY" in done.stderr
    assert "sesame" not in done.stdout + done.stderr


MODELS = b'{"object": "list", "data": [{"id": "coder"}]}'


@contextlib.contextmanager
def serving(answer: Callable[[BaseHTTPRequestHandler], tuple[int, dict[str, str], bytes]]) -> Iterator[str]:
    """Serve what a function answers."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            code, headers, body = answer(self)
            self.send_response(code)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_server_that_requires_a_key_gets_that_of_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(asked: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        knows = asked.headers["Authorization"] == "Bearer open-sesame"
        return (200, {}, MODELS) if knows else (401, {}, b"{}")

    with serving(answer) as url:
        monkeypatch.delenv("VIVA_AGENT_API_KEY", raising=False)
        with pytest.raises(SetupError, match="If it requires a key, set VIVA_AGENT_API_KEY"):
            look_at(f"{url}/v1")
        monkeypatch.setenv("VIVA_AGENT_API_KEY", "open-sesame")
        assert look_at(f"{url}/v1").kind == "models"


def test_the_key_does_not_follow_a_redirect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_AGENT_API_KEY", "open-sesame")
    keys: list[str | None] = []

    def other(asked: BaseHTTPRequestHandler) -> tuple[int, dict[str, str], bytes]:
        keys.append(asked.headers["Authorization"])
        return 200, {}, MODELS

    with serving(other) as there, serving(lambda _: (302, {"Location": there}, b"")) as url:
        look_at(url)
    assert keys == [None]


@pytest.fixture
def answering(request: pytest.FixtureRequest) -> Iterator[str]:
    """Yield the address of a server that answers each connection with the same bytes."""
    answer: bytes = request.param
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(
    ("answering", "words"),
    [
        (b"SSH-2.0-OpenSSH_9\r\n", "no answer in HTTP"),
        (b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + b'{"a":' * 100_000, "no JSON"),
    ],
    indirect=["answering"],
)
def test_a_server_that_says_nothing_usable_is_a_usage_error(answering: str, words: str) -> None:
    with pytest.raises(SetupError, match=words):
        look_at(answering)


@pytest.mark.parametrize(
    ("server", "base"),
    [
        ({"url": "https://{host}/v1", "variables": {"host": {"default": "a.example"}}}, "https://a.example/v1"),
        ({"url": "https://{host}/v1"}, "http://127.0.0.1:8"),
        ({"url": "http://[::1"}, "http://127.0.0.1:8"),
        ({"url": "/v2"}, "http://127.0.0.1:8/v2"),
    ],
)
def test_the_address_of_the_operations_is_one_that_can_be_reached(
    server: dict[str, Any], base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = document({"properties": {"message": TEXT}}, servers=[server])
    monkeypatch.setattr("viva.cli.init.surroundings._read", lambda url, tried: found)
    assert look_at("http://127.0.0.1:8/openapi.json").base == base
