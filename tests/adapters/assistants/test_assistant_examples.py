"""The examples of the pages pass a bundled case, by the command, with the real programs and a scripted model."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.adapters.assistants.opened import EXAMPLES
from tests.adapters.assistants.taskweaver_projects import played, stand_in_for_litellm
from tests.adapters.assistants.two_files import JOKE, by_chat, by_messages
from tests.environments import folder_of, program_of
from tests.messages_server import MessagesServer
from tests.model_server import ModelServer
from tests.viva.viva_command import in_a_process

CASE = "same_number_in_two_files"


def examined(folder: Path, agent: str, **environment: str) -> list[dict[str, object]]:
    """Run the case by the command, check that it passed, and return its rounds."""
    shown = {**environment, "HOME": str(folder / "home")}
    options = ("--sandbox", "process", "--out", "j", "--quiet")
    done = in_a_process("run", CASE, "--agent", agent, *options, cwd=folder, environment=shown)
    assert done.returncode == 0, done.stderr
    assert f"{CASE} scored 1/1 = 1.00" in done.stdout
    events = [json.loads(line) for line in (folder / "j" / "journal.jsonl").read_text().splitlines()]
    return [event["data"] for event in events if event["event"] == "round"]


@pytest.mark.soak
def test_copilot_passes_with_its_example(tmp_path: Path) -> None:
    pytest.importorskip("copilot")
    program = str(program_of("copilot_cli", "copilot"))
    with ModelServer({"gpt-5": by_chat}) as server:
        keys = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "none", "COPILOT_CLI_PATH": program}
        rounds = examined(tmp_path, f"{EXAMPLES}/copilot/agent.py:session", **keys)
    assert [round_["agent"] for round_ in rounds] == ["Done.", JOKE, "Done."]
    assert [len(round_["steps"]) for round_ in rounds] == [3, 1, 3]  # type: ignore[arg-type]


def test_claude_passes_with_its_example(tmp_path: Path) -> None:
    environment = folder_of("claude_agent_sdk")
    with MessagesServer(by_messages) as server:
        keys = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": "none", "DISABLE_AUTOUPDATER": "1"}
        keys["CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC"] = "1"
        rounds = examined(tmp_path, f"{EXAMPLES}/claude_agent/agent.py:options@{environment}", **keys)
    assert [round_["agent"] for round_ in rounds] == ["Done.", JOKE, "Done."]
    assert [len(round_.get("steps", ())) for round_ in rounds] == [1, 0, 1]  # type: ignore[arg-type]


def test_taskweaver_passes_with_its_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = folder_of("taskweaver")
    stand_in_for_litellm(tmp_path / "stand-in", monkeypatch)
    shutil.copytree(EXAMPLES / "taskweaver" / "project", tmp_path / "project")
    with ModelServer({"gpt-4": played}) as server:
        keys = {"LLM_API_BASE": server.url, "LLM_API_KEY": "test"}
        rounds = examined(tmp_path, f"taskweaver:project@{environment}", **keys)
    assert [round_["agent"] for round_ in rounds] == ["Done.", "A joke.", "Done."]
    assert [len(round_["steps"]) for round_ in rounds] == [3, 1, 3]  # type: ignore[arg-type]
