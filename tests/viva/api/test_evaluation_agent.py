"""`viva.EvaluationAgent`: UFO's class from Python, with Viva's evaluator behind it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

import viva
from tests.conftest import KEY
from tests.evaluation_logs import read_evaluations
from tests.judge.session.asked import captions, folder_of, pictures, said, sub
from tests.model_server import ModelServer
from tests.ufo_folders import REQUEST

YES = said("yes", sub("the message is sent", step="final", quote=""), reason="The final screenshot shows it.")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_of(tmp_path)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, one_certificate: Path) -> ModelServer:
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return ModelServer({"m": YES, "broken": "garbage"})


def test_it_judges_a_folder_as_ufos_does(folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        agent = viva.EvaluationAgent("eva_agent", True, "", "", model="openai:m", prices="2/8")
        result, cost = agent.evaluate(request=REQUEST, log_path=str(folder), eva_all_screenshots=True)
    assert result["complete"] == "yes"
    assert result["sub_scores"] == [{"name": "the message is sent", "evaluation": "yes"}]
    assert result["reason"] == "The final screenshot shows it."
    assert (result["request"], result["level"], result["type"]) == (REQUEST, "session", "evaluation_result")
    assert cost == result["cost"] > 0
    assert read_evaluations(folder / "evaluation.log").entries == (json.loads(json.dumps(result)),)
    assert len(pictures(server.requests[0].body)) == 4


def test_head_and_tail_and_no_vision(folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch) -> None:
    with server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("VIVA_MODEL", "openai:m")
        viva.EvaluationAgent("e", True, "", "").evaluate(REQUEST, folder, eva_all_screenshots=False)
        viva.EvaluationAgent("e", False, "", "").evaluate(REQUEST, folder)
    first, *others = [request.body for request in server.requests]
    assert captions(first) == [
        "[1 of 2] screenshot of step 1 (clean):",
        "[2 of 2] screenshot at the end, after the last step:",
    ]
    assert all(pictures(request) == [] for request in others)


def test_an_answer_that_cannot_be_used_is_unsure_with_an_error(
    folder: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        result, cost = viva.EvaluationAgent("e", model="openai:broken").evaluate("", folder)
    assert result["complete"] == "unsure"
    assert result["error"]
    assert cost is None, "the price of the model is not known, which is not 0"
    assert result["request"] == "Request 0", "an empty request is taken from the log"


def test_the_messages_can_be_constructed_without_a_model(folder: Path) -> None:
    system, user = viva.EvaluationAgent("e", True, "Be strict.\n{screenshots}", "").message_constructor(folder, REQUEST)
    assert system["content"].startswith("Be strict.\n4 screenshots follow")
    kinds = [part["type"] for part in user["content"]]
    assert kinds == ["text", *["text", "image_url"] * 4, "text"]
    assert user["content"][2]["image_url"]["url"].startswith("data:image/png;base64,")
    assert REQUEST in user["content"][0]["text"]


def test_what_is_printed_obeys_nothing_and_confirmation_does_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    agent = viva.EvaluationAgent("e")
    agent.print_response(
        {"complete": "yes", "reason": "\x1b[31m[bold]Done", "sub_scores": [{"name": "sent", "evaluation": "no"}, 3]}
    )
    out = capsys.readouterr().out
    assert "complete: yes" in out
    assert "no      sent" in out
    assert "\\x1b[31m[bold]Done" in out
    assert agent.process_confirmation() is None


def test_a_missing_model_folder_or_prompt_is_a_setup_error(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VIVA_MODEL", raising=False)
    with pytest.raises(viva.SetupError, match="requires a model"):
        viva.EvaluationAgent("e").evaluate(REQUEST, folder)
    with pytest.raises(viva.SetupError, match=r"response\.log: cannot be read"):
        viva.EvaluationAgent("e").evaluate(REQUEST, tmp_path)
    with pytest.raises(viva.SetupError, match="prompt file nowhere"):
        viva.EvaluationAgent("e", True, "nowhere.yaml", "")


def test_the_program_of_the_page_judges_a_folder(
    tmp_path: Path, server: ModelServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder_of(tmp_path).rename(tmp_path / "send_hello")
    (tmp_path / "logs").mkdir()
    (tmp_path / "send_hello").rename(tmp_path / "logs" / "send_hello")
    page = Path(__file__).resolve().parents[3] / "docs" / "desktop-sessions.md"
    (program,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    monkeypatch.chdir(tmp_path)
    with ModelServer({"gpt-4o": YES}) as answering:
        monkeypatch.setenv("OPENAI_BASE_URL", answering.url)
        exec(program, {})
    assert "complete: yes" in capsys.readouterr().out
    assert len(read_evaluations(tmp_path / "logs/send_hello/evaluation.log").entries) == 1


async def test_it_says_so_where_an_event_loop_runs(folder: Path) -> None:
    with pytest.raises(RuntimeError, match="await evaluate_async"):
        viva.EvaluationAgent("e").evaluate(REQUEST, folder)
