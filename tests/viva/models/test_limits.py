"""What a provider may send, and for how long: every limit ends in words, and what is broken is asked for again."""

from __future__ import annotations

import asyncio
import gzip
import json
import tracemalloc

import pytest

from tests.conftest import QUICK, MeteredAt, ModelAt
from tests.model_server import Drip, ModelServer, RateLimited, Raw, Stall, sequence
from viva.errors import ModelAnswerError, ModelError
from viva.models import bounded_answers
from viva.models.model import CallLimits, ModelMessage

ASK = [ModelMessage("user", "Say something.")]
MIB = 1024 * 1024


# Time


async def test_a_server_that_drips_bytes_is_cut_off_and_asked_again(
    model_at: ModelAt, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte arrives in time, and the answer never does."""
    monkeypatch.setenv("VIVA_MODEL_SECONDS", "0.5")
    with ModelServer({"m": sequence(Drip(), then="At last.")}) as server:
        assert (await model_at(server.url).ask(ASK)).text == "At last."
    with ModelServer({"m": Drip()}) as server:
        with pytest.raises(ModelError, match="did not answer in time"):
            await model_at(server.url).ask(ASK)
        assert len(server.requests) == QUICK.attempts


async def test_the_limit_of_a_call_holds_for_all_its_attempts(model_at: ModelAt) -> None:
    with ModelServer({"m": sequence(RateLimited(0), then=Stall(60))}) as server:
        with pytest.raises(ModelError, match=r"the model m did not answer within 0\.5 s"):
            await model_at(server.url).ask(ASK, limits=CallLimits(seconds=0.5))
        assert len(server.requests) == 2


async def test_a_call_that_is_cancelled_keeps_the_count_of_its_attempts(metered_at: MeteredAt) -> None:
    with ModelServer({"m": sequence(RateLimited(0), then=Stall(60))}) as server:
        model = metered_at(server.url)
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(1):
                await model.ask(ASK)
        assert len(server.requests) == 2
    assert (model.usage.retries, model.usage.calls) == (1, 0)


async def test_the_tokens_of_an_answer_can_be_limited(model_at: ModelAt) -> None:
    with ModelServer({"m": "Short."}) as server:
        await model_at(server.url).ask(ASK, limits=CallLimits(output_tokens=7))
    assert server.requests[0].body["max_tokens"] == 7


# Size


def bomb(size: int) -> bytes:
    return gzip.compress(b" " * size)


async def test_a_small_response_that_unpacks_to_a_large_one_takes_no_memory(
    model_at: ModelAt, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_answers, "LONGEST_RESPONSE", MIB)
    with ModelServer({"m": Raw(bomb(200 * MIB), encoding="gzip")}) as server:
        model = model_at(server.url)
        tracemalloc.start()
        try:
            with pytest.raises(ModelAnswerError, match="longer than 1,048,576 bytes"):
                await model.ask(ASK)
            assert tracemalloc.get_traced_memory()[1] < 20 * MIB
        finally:
            tracemalloc.stop()
    assert len(server.requests) == 1, "the next one would be as long"


@pytest.mark.parametrize("encoding", ["gzip, gzip", "br", "zstd", "gzip,deflate"])
async def test_an_encoding_that_was_not_asked_for_is_not_unpacked(
    encoding: str, model_at: ModelAt, waits: list[float]
) -> None:
    """Each layer multiplies the size by up to a thousand."""
    with ModelServer({"m": Raw(gzip.compress(bomb(MIB)), encoding=encoding)}) as server:
        with pytest.raises(ModelError, match="which was not asked for"):
            await model_at(server.url).ask(ASK)
        assert server.requests[0].headers["accept-encoding"] == "gzip"


@pytest.mark.parametrize("status", [400, 500])
async def test_the_words_of_an_error_are_limited_too(
    status: int, model_at: ModelAt, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bounded_answers, "LONGEST_RESPONSE", MIB)
    with (
        ModelServer({"m": Raw(bomb(20 * MIB), status, "gzip")}) as server,
        pytest.raises(ModelAnswerError, match="longer than"),
    ):
        await model_at(server.url).ask(ASK)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "identity", None])
async def test_an_answer_in_any_usual_encoding_is_read(encoding: str | None, model_at: ModelAt) -> None:
    import zlib

    packed = {"gzip": gzip.compress, "deflate": zlib.compress}.get(encoding or "", bytes)(body("Hello, Zoë."))
    with ModelServer({"m": Raw(packed, encoding=encoding)}) as server:
        assert (await model_at(server.url).ask(ASK)).text == "Hello, Zoë."


# Broken responses with status 200


def body(content: str, **fields: object) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    whole = {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], **fields}
    return json.dumps(whole, ensure_ascii=False).encode()


BROKEN = {
    "null choices": (body("", choices=None), "has no message"),
    "empty choices": (body("", choices=[]), "has no message"),
    "choices without a message": (body("", choices=[{}]), "has no message"),
    "a null message": (body("", choices=[{"message": None}]), "has no message"),
    "an error object": (json.dumps({"error": {"message": "The model is overloaded."}}).encode(), "model is overloaded"),
    "an error text": (json.dumps({"error": "out of memory"}).encode(), "out of memory"),
    "an error beside null choices": (body("", choices=None, error={"code": "oom", "message": "GPU lost"}), "GPU lost"),
    "no UTF-8": (body("Zoë").decode().encode("latin-1"), "does not follow the protocol"),
    "UTF-16": (body("Hello").decode().encode("utf-16"), "does not follow the protocol"),
    "broken gzip": (b"no gzip at all", "it is not gzip"),
}


@pytest.mark.parametrize("name", BROKEN)
async def test_a_broken_response_is_asked_for_again_and_the_providers_words_are_kept(
    name: str, metered_at: MeteredAt, waits: list[float]
) -> None:
    sent, words = BROKEN[name]
    broken = Raw(sent, encoding="gzip" if "gzip" in name else None)
    with ModelServer({"m": sequence(broken, broken, then="At last.")}) as server:
        model = metered_at(server.url)
        assert (await model.ask(ASK)).text == "At last."
    assert (model.usage.retries, len(server.requests)) == (2, 3)
    with ModelServer({"m": broken}) as server, pytest.raises(ModelError, match=words) as caught:
        await metered_at(server.url).ask(ASK)
    assert len(server.requests) == QUICK.attempts
    assert len(str(caught.value)) < 500
