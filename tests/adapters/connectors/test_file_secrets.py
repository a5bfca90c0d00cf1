"""Which values of environment variables are kept as secrets, and so are removed from errors and from replies."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.adapters.connectors.http.plays import Play, playing
from viva.adapters.connectors.file_secrets import expand, secret
from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, open_session
from viva.errors import AgentError
from viva.records import redact as redact_module
from viva.records.redact import Keys, redact

JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N"
BASE64 = "dGhpcy9pcyt0aGUva2V5/1234567890+abc=="
KEYS = (JWT, BASE64, f"/{BASE64}", "ab.cd.0123456789", "correct-horse-7")
NAMES = ("AGENT_JWT", "PLAYER_AUTH", "GITHUB_PAT", "AGENT_BEARER")


@pytest.fixture(autouse=True)
def _nothing_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redact_module, "_kept", set())
    monkeypatch.setattr(redact_module, "_credentials", set())
    monkeypatch.setattr(redact_module, "_last", None)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("key", KEYS)
def test_what_key_env_names_is_a_secret_whatever_its_name_and_form(
    name: str, key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, key)
    assert secret(name, "agent.yaml:3", credential=True) == key
    assert redact(f"sent {key}!") == "sent [secret]!"
    assert Keys().hide({"text": f"It is {key}."}) == {"text": "It is [secret]."}


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("Bearer ${AGENT_JWT}", ("headers", "Authorization")),
        ("${AGENT_JWT}", ("headers", "authorization")),
        ("${AGENT_JWT}", ("headers", "X-Api-Key")),
        ("session=${AGENT_JWT}", ("headers", "Cookie")),
        ("Bearer ${AGENT_JWT}", ("headers", "X-Also")),
        ("${AGENT_JWT}", ("request", "headers", "X-Auth")),
        ("http://host/chat?user=1&token=${AGENT_JWT}", ("url",)),
        ("http://host/chat?api_key=${AGENT_JWT}&user=1", ("url",)),
        ("${AGENT_JWT}", ("environment", "SERVICE_TOKEN")),
        ("${AGENT_JWT}", ("token",)),
    ],
)
@pytest.mark.parametrize("key", KEYS)
def test_what_carries_credentials_makes_a_value_a_secret(
    text: str, path: tuple[str, ...], key: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENT_JWT", key)
    assert key in expand(text, "agent.yaml:3", path)
    assert key not in redact(f"sent {key}!")
    assert key not in Keys().hide(f"It is {key}.")


def test_a_token_is_known_by_its_form_wherever_it_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISITOR", JWT)
    expand("${VISITOR}", "agent.yaml:3", ("headers", "X-Visitor"))
    assert redact(JWT) == "[secret]"


@pytest.mark.parametrize(
    ("text", "path", "value"),
    [
        ("http://${PLACE}:80", ("url",), "staging.example.org"),
        ("http://host:${PLACE}", ("url",), "8080801"),
        ("http://host/?region=${PLACE}", ("url",), "eu-central"),
        ("${PLACE}", ("headers", "X-Author"), "seed-user"),
        ("${PLACE}", ("headers", "Accept-Language"), "de-CH.utf-8"),
        ("${PLACE}/key.txt", ("environment", "API_KEY"), "/home/visitor"),
        ("${PLACE}", ("environment", "CACHE_FOLDER"), "/home/visitor"),
    ],
)
def test_a_host_a_port_or_a_folder_is_no_secret(
    text: str, path: tuple[str, ...], value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLACE", value)
    expand(text, "agent.yaml:3", path)
    assert redact(f"it is {value}.") == Keys().hide(f"it is {value}.") == f"it is {value}."


@pytest.mark.parametrize("key", [JWT, BASE64])
async def test_an_endpoint_that_echoes_its_key_leaves_it_neither_in_replies_nor_in_errors(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PLAYER_AUTH", key)
    monkeypatch.setenv("VIVA_MODEL_ATTEMPTS", "1")
    keys = {
        "connector": "http",
        "api": "json",
        "request": {"path": "/chat", "body": {"text": "{{ message }}"}},
        "reply": {"text": "answer"},
        "key_env": "PLAYER_AUTH",
    }
    with playing(Play({"answer": f"You sent {key}."}), Play(f"bad key {key}", status=403)) as server:
        file = tmp_path / "agent.yaml"
        file.write_text(yaml.safe_dump({**keys, "url": server.url}))
        session = await open_session(load_agent(str(file)).factory, AgentArguments("task"), 10)
        assert (await session.reply("Hello.", 10)).text == "You sent [secret]."
        with pytest.raises(AgentError, match=r"403: bad key \[secret\]"):
            await session.reply("Hello.", 10)
        assert await session.close() is None
    assert server.asked[0].headers["authorization"] == f"Bearer {key}"
