"""Faults that cannot change are not tried again, on any call; a server that may come back is."""

from __future__ import annotations

import asyncio
import errno
import json
import socket
import ssl

import pytest

from tests.conftest import QUICK, ModelAt
from tests.model_server import FLAGGED, TOO_LARGE, Answer, ModelServer, Raw
from viva.errors import ModelError, SetupError
from viva.models.model import ModelMessage
from viva.models.retry import cannot_change, is_for_content, is_key_refused, is_transient

ASK = [ModelMessage("user", "Say something.")]


def no_host(code: int) -> socket.gaierror:
    return socket.gaierror(code, "the name server's words")


async def test_a_host_that_does_not_exist_is_asked_once(
    model_at: ModelAt, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    model, looked = model_at("http://models.invalid/v1"), []

    def unknown(*_: object, **__: object) -> None:
        looked.append(1)
        raise no_host(socket.EAI_NONAME)

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(SetupError, match=r"the model m cannot be used.*OPENAI_BASE_URL"):
        await model.ask(ASK)
    assert (len(looked), waits) == (1, [])


async def test_a_host_that_is_lost_in_the_middle_is_asked_once_too(
    model_at: ModelAt, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer({"m": "Hello."}) as server:
        model = model_at(server.url.replace("127.0.0.1", "localhost"))
        await model.ask(ASK)

    def unknown(*_: object, **__: object) -> None:
        raise no_host(socket.EAI_NONAME)

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(ModelError):
        await model.ask(ASK)
    assert waits == []


async def test_a_server_that_goes_down_in_the_middle_is_waited_for(model_at: ModelAt, waits: list[float]) -> None:
    with ModelServer({"m": "Hello."}) as server:
        model = model_at(server.url)
        await model.ask(ASK)
    with pytest.raises(ModelError, match="cannot be reached"):
        await model.ask(ASK)
    assert len(waits) == QUICK.attempts - 1


@pytest.mark.parametrize("status", [400, 404, 500, 503])
async def test_a_model_that_a_server_says_it_does_not_have_is_asked_for_once(
    model_at: ModelAt, waits: list[float], status: int
) -> None:
    said = b'{"error": {"message": "no channel for m", "type": "x", "param": null, "code": "model_not_found"}}'
    with ModelServer({"m": Raw(said, status)}) as server:
        with pytest.raises(SetupError, match="the model m cannot be used"):
            await model_at(server.url).ask(ASK)
        assert len(server.requests) == 1
    assert waits == []


async def test_a_request_that_is_larger_than_the_rate_limit_is_made_once(model_at: ModelAt, waits: list[float]) -> None:
    with ModelServer({"m": TOO_LARGE}) as server:
        with pytest.raises(ModelError, match=r"larger than the provider's rate limit \(429\).*Limit 30000") as caught:
            await model_at(server.url).ask(ASK)
        assert len(server.requests) == 1
    assert is_for_content(caught.value)
    assert waits == []


@pytest.mark.parametrize(
    "said",
    [
        "Rate limit reached for m on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Try again in 2s.",
        "This request would exceed your rate limit. Please reduce the prompt length, or try again later.",
        "You exceeded your current quota.",
    ],
)
async def test_a_rate_limit_that_others_may_have_used_up_is_no_fault_of_the_request(
    said: str, model_at: ModelAt, waits: list[float]
) -> None:
    body = json.dumps({"error": {"message": said, "code": "rate_limit_exceeded"}}).encode()
    with ModelServer({"m": Raw(body, 429)}) as server, pytest.raises(ModelError) as caught:
        await model_at(server.url).ask(ASK)
    assert not is_for_content(caught.value)
    assert len(waits) == QUICK.attempts - 1


@pytest.mark.parametrize(
    ("fault", "lasting"),
    [
        (no_host(socket.EAI_NONAME), True),
        (no_host(socket.EAI_FAIL), True),
        (no_host(socket.EAI_AGAIN), False),
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), False),
        (ConnectionResetError(errno.ECONNRESET, "reset"), False),
        (ssl.SSLCertVerificationError(1, "[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed"), True),
        (ssl.SSLEOFError(8, "EOF occurred in violation of protocol"), False),
    ],
)
def test_what_is_behind_a_connection_error_decides(fault: OSError, lasting: bool) -> None:
    outer = type("APIConnectionError", (Exception,), {})("Connection error.")
    outer.__cause__ = type("ConnectError", (Exception,), {})("All connection attempts failed")
    outer.__cause__.__cause__ = fault
    assert cannot_change(outer) == lasting
    assert is_transient(outer, QUICK) == (not lasting)


@pytest.mark.parametrize("body", [b"[]", b"{}", b'{"data": 7}', b'{"data": [7, {"id": []}]}', b"<html>", b"\xff"])
async def test_an_odd_list_of_models_says_nothing(model_at: ModelAt, body: bytes) -> None:
    """Whatever a server sends for it, the first question shows whether it has the model."""
    with ModelServer({"m": Answer("Hello.")}, lists=body) as server:
        await model_at(server.url).look()
        assert len(server.looks) == 1


async def test_a_server_that_never_sends_its_list_says_nothing(
    model_at: ModelAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    from viva.models.autogen import openai_clients

    monkeypatch.setattr(openai_clients, "LOOK_SECONDS", 0.2)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        await model_at(f"http://127.0.0.1:{port}/v1").look()


class Refused(Exception):
    status_code = 403


@pytest.mark.parametrize(
    "words",
    [
        "Your account has been flagged for suspicious activity. Contact support.",
        "Request denied: API key flagged",
        "You must accept our content policy before using this key",
        "moderator access required for this model",
        "rate moderately exceeded",
        "no",
    ],
)
def test_an_account_or_a_key_that_is_refused_is_not_taken_for_refused_words(words: str) -> None:
    assert is_key_refused(Refused(f"Error code: 403 - {words}"))


@pytest.mark.parametrize(
    "words",
    [
        FLAGGED.message,
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        "{'code': 'content_filter'}",
        "{'code': 'content_policy_violation'}",
        "Content violates usage guidelines.",
    ],
)
def test_words_that_a_filter_refuses_are_not_taken_for_a_refused_key(words: str) -> None:
    assert not is_key_refused(Refused(f"Error code: 403 - {words}"))
