"""The webhook sink against a real server: what is posted, what is tried again, what is never told."""

from __future__ import annotations

import json

import pytest

from tests.viva.conftest import Desk
from tests.webhooks import NOT_HTTP, Hook, answering
from viva.errors import SetupError
from viva.records.codec import decode
from viva.records.run_record import Outcome, RunRecord
from viva.records.transcript import Transcript
from viva.sinks import make_sink, make_sinks
from viva.sinks.webhook import WebhookSink

RECORD = RunRecord("r-1", "shop", "clerk", Outcome.SCORED, 0.5)


def test_each_completed_run_is_posted(desk: Desk, hook: Hook) -> None:
    desk.case()
    record = desk.run("exam", "--sink", f"webhook:{hook.address}")
    ((path, headers, body),) = hook.requests
    assert path == "/hooks/s3cret-path"
    assert headers["Content-Type"] == "application/json"
    assert json.loads(body)["id"] == record["id"]
    assert decode(RunRecord, json.loads(body)).outcome is Outcome.SCORED


async def test_a_busy_server_is_asked_again_with_the_same_key(hook: Hook) -> None:
    hook.answers = [503, 429]
    await WebhookSink(hook.address, wait_seconds=0.001).write(RECORD, Transcript())
    assert len(hook.requests) == 3
    assert len({headers["Idempotency-Key"] for _, headers, _ in hook.requests}) == 1


@pytest.mark.parametrize(("answers", "calls"), [([404], 1), ([302], 1), ([500, 500, 500], 3)])
async def test_a_refusal_is_an_error_and_no_redirect_is_followed(hook: Hook, answers: list[int], calls: int) -> None:
    hook.answers = list(answers)
    with pytest.raises(RuntimeError, match=f"the server answered {answers[0]}"):
        await WebhookSink(hook.address, wait_seconds=0.001).write(RECORD, Transcript())
    assert len(hook.requests) == calls


async def test_credentials_come_from_environment_or_address(hook: Hook, monkeypatch: pytest.MonkeyPatch) -> None:
    await WebhookSink(hook.address.replace("://", "://ann:p%40ss@")).write(RECORD, Transcript())
    monkeypatch.setenv("VIVA_WEBHOOK_TOKEN", "t0ken-123")
    await WebhookSink(hook.address).write(RECORD, Transcript())
    assert [headers["Authorization"] for _, headers, _ in hook.requests] == ["Basic YW5uOnBAc3M=", "Bearer t0ken-123"]


def test_messages_name_the_host_and_never_the_rest_of_the_address(desk: Desk, hook: Hook) -> None:
    hook.answers = [404]
    desk.case()
    done = desk.viva("run", "exam", "--sandbox", "process", "--sink", f"webhook:{hook.address}", expect=0)
    told = " ".join(done.stderr.split())
    assert "the sink webhook:http://127.0.0.1 failed: WebhookRefused: the server answered 404" in told
    assert "s3cret" not in done.stderr + done.stdout
    ((name, _),) = make_sinks(["webhook:https://ann:pw@example.org/x?key=1"])
    assert name == "webhook:https://example.org"


@pytest.mark.parametrize(
    "spec",
    [
        "webhook",
        "webhook:ftp://host/x",
        "webhook:file:///etc/passwd",
        "webhook:http://",
        "webhook:http://host:port/",
        "webhook:http://[::1/",
    ],
)
def test_what_is_no_address_is_refused(spec: str) -> None:
    with pytest.raises(SetupError, match="requires an address"):
        make_sink(spec)
    with pytest.raises(SetupError, match="requires an address"):
        make_sinks([spec])


@pytest.mark.parametrize("answer", NOT_HTTP.values(), ids=NOT_HTTP)
async def test_an_answer_that_is_not_http_is_an_error_without_the_address(answer: bytes) -> None:
    with answering(answer) as address, pytest.raises(RuntimeError, match="the server cannot be reached") as caught:
        await WebhookSink(address, wait_seconds=0.001).write(RECORD, Transcript())
    assert "s3cret" not in str(caught.value)


@pytest.mark.parametrize("path", ["s3cret blank", "s3cret-ü", "s3cret\x7f"])
async def test_an_address_that_cannot_be_asked_is_an_error_that_does_not_tell_it(path: str) -> None:
    with pytest.raises(RuntimeError, match="the address") as caught:
        await WebhookSink(f"http://127.0.0.1:9/{path}", wait_seconds=0.001).write(RECORD, Transcript())
    assert "s3cret" not in str(caught.value)
