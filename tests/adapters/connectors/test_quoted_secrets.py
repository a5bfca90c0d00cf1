"""What a server or a program said is quoted in errors, and a key in it is removed before the quote is cut."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from viva.adapters.connectors.command.lines import quoted
from viva.adapters.connectors.http.endpoint import beginning_of
from viva.adapters.connectors.http.event_streams import ServerEvent, error_in
from viva.adapters.connectors.http.json_answers import read_answer
from viva.adapters.connectors.http.json_keys import ReplyKeys
from viva.adapters.connectors.http.responses_output import read_response_body
from viva.errors import AgentError, ModelAnswerError, ProtocolError
from viva.models.chat_protocol import read_response
from viva.models.retry import explain

KEY = "sk-quoted-0123456789abcdef0123456789abcdef"


class RefusedError(Exception):
    """An error as the SDK raises it for a body that is not JSON."""

    status_code = 400

    def __init__(self, body: str) -> None:
        super().__init__("Error code: 400")
        self.response = type("Response", (), {"content": body.encode()})


def _raised(call: Callable[[], object]) -> str:
    with pytest.raises((ProtocolError, AgentError, ModelAnswerError)) as caught:
        call()
    return str(caught.value)


SAID: dict[str, Callable[[str], str]] = {
    "an error's body": lambda said: beginning_of(said.encode()),
    "an event": lambda said: _raised(ServerEvent("message", said).json),
    "an error in a stream": lambda said: error_in({"error": {"message": said}}) or "",
    "a page instead of JSON": lambda said: _raised(
        lambda: read_answer(said.encode(), "text/html", ReplyKeys(text="x"), None, 1)
    ),
    "an error in JSON": lambda said: _raised(
        lambda: read_answer(
            json.dumps({"error": said}).encode(), "application/json", ReplyKeys(text="x", error="error"), None, 1
        )
    ),
    "an answer of the Responses API": lambda said: _raised(
        lambda: read_response_body(said.encode(), "application/json", "m", 1)
    ),
    "a program's line": lambda said: quoted(said.encode()),
    "a provider's error": lambda said: explain(RefusedError(said)),
}


@pytest.mark.parametrize("what", SAID)
def test_no_part_of_a_key_is_left_in_a_quote(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVA_AGENT_API_KEY", KEY)
    for offset in (*range(40, 100, 7), *range(160, 320, 7), *range(960, 1_220, 7)):
        shown = SAID[what](f"{'n' * (offset - 1)} {KEY} {'n' * 3_000}")
        assert KEY[:10] not in shown, (offset, shown)
        spaced = SAID[what](f"wrong{' ' * offset}{KEY}{' ' * 3_000}n")
        assert KEY[:10] not in spaced, (offset, spaced)


@pytest.mark.parametrize("wrap", [lambda said: said, lambda said: json.dumps({"error": {"message": said}})])
async def test_no_part_of_a_key_is_left_in_the_words_of_a_models_server(
    wrap: Callable[[str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    for offset in (*range(40, 100, 7), *range(160, 220, 7), *range(760, 820, 7)):
        with pytest.raises(ProtocolError) as caught:
            await read_response(wrap(f"{'n' * (offset - 1)} {KEY} {'n' * 3_000}").encode())
        assert KEY[:10] not in str(caught.value), offset
