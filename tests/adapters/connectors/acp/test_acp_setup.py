"""Mistakes in an agent's command or file are found before the first exam, and say what to do."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest

from tests.adapters.connectors.acp.scripted_sessions import AGENT, do, session, spec
from viva.adapters.connectors.acp import connection
from viva.adapters.connectors.table import load_agent
from viva.errors import SetupError


def mistake(of: str) -> str:
    with pytest.raises(SetupError) as caught:
        load_agent(of)
    return str(caught.value)


@pytest.mark.parametrize(
    ("of", "words"),
    [
        ("acp:", "names no program"),
        ("acp:no-such-agent-anywhere acp", "there is no program 'no-such-agent-anywhere'"),
        ("acp:'unclosed", "cannot be split"),
        ("acp:./missing.sh", "there is no program ./missing.sh"),
        ("acpp:opencode acp", "Did you mean acp:"),
    ],
)
def test_a_command_that_cannot_be_run_is_a_mistake(of: str, words: str) -> None:
    assert words in mistake(of)


def test_a_program_that_is_no_agent_is_quoted() -> None:
    words = mistake(spec("--usage-text"))
    assert "ended with code 2" in words
    assert "unknown option acp" in words
    assert "it printed: usage: scripted [--help]; This is no agent." in words


async def test_the_file_sets_variables_and_its_paths_are_relative_to_it(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLOUR", "blue")
    (tmp_path / "own.json").write_text("{}")
    variables = {"OWN_CONFIG": "own.json", "SKY": "${COLOUR} sky"}
    file = tmp_path / "agent.yaml"
    file.write_text(json.dumps({"connector": "acp", "command": [sys.executable, str(AGENT)], "environment": variables}))
    async with session(workspace, agent=str(file)) as opened:
        assert (await do(opened, ["environment", "OWN_CONFIG"])).text == str(tmp_path / "own.json")
        assert (await do(opened, ["environment", "SKY"])).text == "blue sky"
    file.write_text(json.dumps({"connector": "acp", "command": sys.executable, "environment": {"A": "${NOT_SET}"}}))
    assert "NOT_SET" in mistake(str(file))


def test_a_program_that_asks_a_person_is_no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "STRAY_SECONDS", 0.5)
    words = mistake(spec("--silent"))
    assert "does not answer in the protocol; it printed: Type your question:" in words


def test_another_version_of_the_protocol_is_named() -> None:
    assert "it speaks version 7 of the Agent Client Protocol, and Viva version 1" in mistake(spec("--version", "7"))


def test_an_agent_that_requires_authentication_says_how() -> None:
    words = mistake(spec("--needs-login"))
    assert "Authentication required" in words
    assert "authenticate and one of its methods (key: Set SCRIPTED_KEY.)" in words


def test_a_missing_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'vivavoce[acp]'" in mistake(spec())


def agent_file(folder: Path, **keys: object) -> str:
    file = folder / "agent.yaml"
    file.write_text(json.dumps({"connector": "acp", "command": [sys.executable, str(AGENT)], **keys}))
    return str(file)


async def test_an_agent_file_sets_the_method_the_mode_and_options(tmp_path: Path, workspace: Path) -> None:
    command = [sys.executable, str(AGENT), "--needs-login"]
    options = {"model": "small", "fast": True}
    file = agent_file(tmp_path, command=command, authenticate="key", mode="plan", options=options, name="Mine")
    assert load_agent(file).name == "Mine"
    async with session(workspace, agent=file) as opened:
        assert (await opened.reply("hello", 30)).text == "you said hello"
    mode, model, fast = map(json.loads, (workspace / "settings.jsonl").read_text().splitlines())
    assert mode["modeId"] == "plan"
    assert (model["configId"], model["value"]) == ("model", "small")
    assert (fast["configId"], fast["value"], fast["type"]) == ("fast", True, "boolean")


async def test_the_command_line_overrides_the_permissions_of_an_agent_file(tmp_path: Path, workspace: Path) -> None:
    file = agent_file(tmp_path, permissions="deny")
    async with session(workspace, agent=file):
        denied = json.loads((workspace / "capabilities.json").read_text())
    async with session(workspace, agent=file, permissions="allow"):
        allowed = json.loads((workspace / "capabilities.json").read_text())
    assert (denied["terminal"], allowed["terminal"]) == (False, True)


def test_only_who_has_not_decided_about_permissions_is_told(tmp_path: Path) -> None:
    assert "--permissions" in load_agent(spec()).notices[0]
    assert load_agent(spec(), permissions="allow").notices == ()
    assert load_agent(agent_file(tmp_path, permissions="deny")).notices == ()


def test_mistakes_in_an_agent_file_have_their_line(tmp_path: Path) -> None:
    file = tmp_path / "agent.yaml"
    file.write_text("connector: acp\ncommand: no-such-agent-anywhere acp\n")
    assert f"{file}:2: there is no program" in mistake(str(file))
    file.write_text("connector: acp\ncommand: x\npermission: deny\n")
    assert "did you mean 'permissions'" in mistake(str(file))
    file.write_text("connector: acp\ncommand: x\npermissions: maybe\n")
    assert ":3: permissions must be" in mistake(str(file))


async def test_a_script_beside_the_user_is_found_from_the_workspace(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine.py").write_bytes(AGENT.read_bytes())
    monkeypatch.chdir(tmp_path)
    loaded = load_agent(f"acp:{shlex.quote(sys.executable)} mine.py")
    assert loaded.digest is not None
    async with session(workspace, agent=f"acp:{shlex.quote(sys.executable)} mine.py") as opened:
        assert (await opened.reply("hello", 30)).text == "you said hello"
