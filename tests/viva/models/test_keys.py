"""A key that no provider gave is refused by its name before anything is sent; nothing of it is printed or stored."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.model_server import ModelServer
from tests.viva.conftest import Desk
from viva.adapters.connectors.table import load_agent
from viva.errors import SetupError
from viva.models.factory import make_model
from viva.recordings.spans.phoenix import make_client, split_source
from viva.sinks.webhook import WebhookSink

KEY = "sk-live-0123456789abcdef"
UNFIT = [
    f"{KEY}\n",
    f"\n{KEY}",
    f"{KEY}\r\n",
    f" {KEY}",
    f"{KEY}\t",
    f"sk-live-\n{KEY}",
    f"{KEY}\x00"[:-1] + "\x7f",
    f"{KEY}ü",
]


@pytest.mark.parametrize("value", UNFIT, ids=repr)
def test_a_key_that_cannot_be_sent_is_refused_by_its_name(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("OPENAI_API_KEY", value)
    with pytest.raises(SetupError, match=r"OPENAI_API_KEY (begins|contains)") as caught:
        make_model("openai:m")
    assert "0123456789" not in str(caught.value)
    monkeypatch.setenv("VIVA_AGENT_API_KEY", value)
    with pytest.raises(SetupError, match=r"VIVA_AGENT_API_KEY (begins|contains)") as caught:
        load_agent("http://127.0.0.1:9/v1#agent")
    assert "0123456789" not in str(caught.value)
    monkeypatch.setenv("VIVA_WEBHOOK_TOKEN", value)
    with pytest.raises(SetupError, match=r"VIVA_WEBHOOK_TOKEN (begins|contains)"):
        WebhookSink("http://127.0.0.1:9")
    monkeypatch.setenv("PHOENIX_API_KEY", value)
    with pytest.raises(SetupError, match=r"PHOENIX_API_KEY (begins|contains)"):
        make_client("http://127.0.0.1:9")


@pytest.mark.parametrize("value", UNFIT, ids=repr)
def test_a_key_in_a_models_file_is_refused_by_its_place(value: str, tmp_path: Path) -> None:
    file = tmp_path / "judge.json"
    config = {"model": "gpt-4o", "api_key": value}
    file.write_text(json.dumps({"provider": "autogen_ext.models.openai.OpenAIChatCompletionClient", "config": config}))
    with pytest.raises(SetupError, match=r"api_key in .*judge\.json (begins|contains)") as caught:
        make_model(str(file))
    assert "0123456789" not in str(caught.value)


def test_a_pasted_key_ends_the_command_before_the_first_request_and_leaves_nothing(desk: Desk) -> None:
    desk.case(scoring_points=[{"score_point": "It speaks.", "weight": 1}])
    with ModelServer() as server:
        environment = {"OPENAI_API_KEY": f"{KEY}\n", "OPENAI_BASE_URL": server.url}
        done = desk.viva(
            "run", "exam", "--model", "openai:judge", "--out", "journal", expect=2, environment=environment
        )
        assert "OPENAI_API_KEY begins or ends with white space" in done.stderr
        environment = {"VIVA_AGENT_API_KEY": f"{KEY}\n"}
        agent = f"{server.url}#agent"
        done = desk.viva("run", "echo", "--agent", agent, "--out", "journal", expect=2, environment=environment)
        assert "VIVA_AGENT_API_KEY begins or ends with white space" in done.stderr
        assert not server.requests
    assert "0123456789" not in done.stdout + done.stderr
    assert not (desk.folder / "journal").exists()


@pytest.mark.parametrize("address", ["http://me:hunter2@host:6006#p", "http://ghp_token@host#p", "http://:pw@host"])
def test_a_password_in_a_phoenix_address_is_refused_because_sources_are_stored(address: str) -> None:
    with pytest.raises(SetupError, match="must not contain a password or key: set PHOENIX_API_KEY") as caught:
        split_source(address)
    assert "hunter2" not in str(caught.value)


def stored(folder: Path) -> str:
    """All that a run has left."""
    return "\n".join(file.read_text(errors="replace") for file in folder.rglob("*") if file.is_file())


@pytest.mark.parametrize("options", [(), ("--isolate",)], ids=["here", "in a process of its own"])
def test_a_key_that_an_agent_repeats_is_stored_nowhere(options: tuple[str, ...], desk: Desk) -> None:
    agent = desk.agent(
        """
        def __init__(self, task_description): pass
        def get_reply_from_agent(self, message):
            from viva import Reply, Step
            key = os.environ["VIVA_AGENT_API_KEY"]
            print("the key is", key)
            step = Step("s", tool="look", tool_input={"key": [key]}, result=f"Bearer {key}", attributes={key: key})
            return Reply(f"I was sent {key}.", (step,))
        def close(self): pass
        """
    )
    check = "assert rounds[0]['agent'] == 'I was sent [VIVA_AGENT_API_KEY].'"
    desk.case(scoring_points=[{"score_point": "It speaks.", "weight": 1, "eval_code": check}])
    to = ("--sandbox", "process", "--out", "journal")
    environment = {"VIVA_AGENT_API_KEY": KEY}
    done = desk.viva("suite", "exam", "--agent", agent, *to, *options, expect=0, environment=environment, process=True)
    assert "1.00" in done.stdout, "the check saw the same"
    found = stored(desk.folder / "journal")
    found += "".join(desk.viva("report", "journal", "--format", kind).stdout for kind in ("junit", "json", "markdown"))
    desk.viva("report", "journal", "--out", "page.html")
    found += (desk.folder / "page.html").read_text()
    assert "I was sent [VIVA_AGENT_API_KEY]." in found
    assert "0123456789" not in found
