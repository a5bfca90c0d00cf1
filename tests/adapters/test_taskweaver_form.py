"""A class written for TaskWeaver's `auto_eval` runs with only its import line changed."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from viva.adapters.connectors.table import load_agent
from viva.adapters.session import AgentArguments, open_session
from viva.errors import AgentError

# As published in TaskWeaver's "How to evaluate a LLM agent?"; there the third line reads
# `from virtual_user import VirtualUser`.
PUBLISHED = """
from typing import Optional
from viva import VirtualUser
from taskweaver.app.app import TaskWeaverApp


class TaskWeaverVirtualUser(VirtualUser):
    def __init__(self, task_description: str, app_dir: str, config_var: Optional[dict] = None):
        super().__init__(task_description)

        self.app = TaskWeaverApp(app_dir=app_dir, config=config_var)
        self.session = self.app.get_session()
        self.session_id = self.session.session_id

    def get_reply_from_agent(self, message: str) -> str:
        response_round = self.session.send_message(
            message,
            event_handler=None,
        )
        assert response_round.state != "failed", "Failed to get response from agent."
        return response_round.post_list[-1].message

    def close(self):
        self.app.stop()
"""


class App:
    """Stands in for TaskWeaver's own application; it is an agent, and none of Viva's parts."""

    stopped = 0

    def __init__(self, app_dir: str, config: dict[str, object]) -> None:
        self.app_dir, self.config = app_dir, config

    def get_session(self) -> App:
        self.session_id = "s1"
        return self

    def send_message(self, message: str, event_handler: object) -> types.SimpleNamespace:
        said = types.SimpleNamespace(message=f"{self.app_dir} {self.config['llm.model']}: {message}")
        return types.SimpleNamespace(state="failed" if message == "fail" else "ok", post_list=[said])

    def stop(self) -> None:
        App.stopped += 1


async def test_the_published_class_runs_with_only_its_import_line_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("taskweaver", "taskweaver.app", "taskweaver.app.app"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    sys.modules["taskweaver.app.app"].TaskWeaverApp = App  # type: ignore[attr-defined]
    file = tmp_path / "taskweaver_eval.py"
    file.write_text(PUBLISHED)
    agent = load_agent(f"{file}:TaskWeaverVirtualUser")
    arguments = AgentArguments("task", "project", {"llm.model": "gpt-4"}, tmp_path)
    session = await open_session(agent.factory, arguments, 10)
    assert (await session.reply("Hello", 10)).text == "project gpt-4: Hello"
    with pytest.raises(AgentError, match=r"AssertionError: Failed to get response from agent\."):
        await session.reply("fail", 10)
    assert await session.close() is None
    assert App.stopped == 1
