"""Agents of TaskWeaver: the real one, with its kernels, and a scripted model."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.assistants.opened import AGENTS, opened, processes_with
from tests.adapters.assistants.taskweaver_projects import PLAN, make_project, played, stand_in_for_litellm
from tests.environments import folder_of
from tests.model_server import ModelServer, Unauthorized
from viva.adapters import StepKind
from viva.adapters.connectors.table import load_agent
from viva.errors import AgentError, SetupError


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder_of("taskweaver")
    stand_in_for_litellm(tmp_path / "stand-in", monkeypatch)
    with ModelServer({"gpt-4": played, "refused": Unauthorized()}) as server:
        yield make_project(tmp_path / "project", server.url)


def spec_of(project: Path) -> str:
    return f"taskweaver:{project}@{folder_of('taskweaver')}"


def class_spec(name: str) -> str:
    return f"{AGENTS}/with_taskweaver.py:{name}@{folder_of('taskweaver')}"


Test = Callable[..., Coroutine[Any, Any, None]]


def again_if_a_kernel_was_not_heard(test: Test) -> Test:
    """Hold a test once more if TaskWeaver took the end of an earlier request to its kernel for that of the present one.

    It reads one stream of messages for all requests, and on a busy machine it then finds no result ("No text
    returned").
    """

    @wraps(test)
    async def held(*arguments: Any, **named: Any) -> None:
        try:
            await test(*arguments, **named)
        except AgentError as error:
            if "No text returned" not in str(error):
                raise
            await test(*arguments, **named)

    return held


@again_if_a_kernel_was_not_heard
async def test_posts_and_their_attachments_are_steps(project: Path, workspace: Path) -> None:
    async with opened(spec_of(project), workspace) as session:
        reply = await session.reply("Write a.txt", 120)
        assert session.workspace is not None
        assert session.workspace.parent.parent == project / "workspace" / "sessions"
        assert (session.workspace / "a.txt").read_text() == "4711"
        failed = await session.reply("Please fail", 120)
    assert reply.text == "Done."
    plans, acts, ends = reply.steps
    assert [step.agent for step in reply.steps] == ["Planner", "CodeInterpreter", "Planner"]
    assert (plans.kind, plans.thought, plans.result) == (StepKind.THINK, PLAN["plan_reasoning"], "please a.txt")
    assert plans.plan == "init_plan:\n1. do it\n\nplan:\n1. do it\n\ncurrent_plan_step:\n1. do it"
    assert (plans.attributes["send_to"], plans.attributes["stop"]) == ("CodeInterpreter", "InProcess")
    assert (acts.kind, acts.tool, acts.thought, acts.error) == (StepKind.ACTION, "python", "I write code.", None)
    assert acts.tool_input == "number = 4711\nopen('a.txt', 'w').write(str(number))"
    assert "has succeeded" in str(acts.result)
    assert acts.attributes["execution_status"] == "SUCCESS"
    assert (ends.result, ends.attributes["stop"]) == ("Done.", "Completed")
    assert not reply.usage.reported
    errors = [step for step in failed.steps if step.error]
    assert errors
    assert not [step.error for step in errors if "raise ValueError('lost')" not in str(step.error)]
    ids = [step.id for each in (reply, failed) for step in each.steps]
    assert len(set(ids)) == len(ids)


@again_if_a_kernel_was_not_heard
async def test_runs_at_the_same_time_have_sessions_and_kernels_of_their_own(project: Path, tmp_path: Path) -> None:
    async def talk(number: int) -> str:
        async with opened(spec_of(project), tmp_path / f"workspace{number}") as session:
            await session.reply(f"Please remember {number}", 120)
            await session.reply("Please recall", 120)
            assert session.workspace is not None
            return (session.workspace / "number.txt").read_text()

    assert await asyncio.gather(*map(talk, range(3))) == ["0", "1", "2"]
    assert not processes_with(str(project))


@again_if_a_kernel_was_not_heard
async def test_the_published_class_has_the_sessions_folder_without_a_line_for_it(
    project: Path, workspace: Path
) -> None:
    async with opened(class_spec("TaskWeaverVirtualUser"), workspace, str(project)) as session:
        assert (await session.reply("Write a.txt", 120)).text == "Done."
        assert session.workspace is not None
        assert (session.workspace / "a.txt").read_text() == "4711"


async def test_a_function_may_make_the_application_and_config_var_is_its_configuration(
    project: Path, workspace: Path
) -> None:
    config = {"llm.model": "refused"}
    async with opened(class_spec("made"), workspace, str(project), **config) as session:
        with pytest.raises(AgentError, match=r"TaskWeaver failed: .*(401|API key)"):
            await session.reply("Write a.txt", 120)


@again_if_a_kernel_was_not_heard
async def test_an_agent_file_names_project_environment_and_settings(project: Path, workspace: Path) -> None:
    file = project.parent / "agent.yaml"
    file.write_text(f"""connector: taskweaver
project: {project.name}
python: {folder_of("taskweaver")}
config:
  llm.model: refused
""")
    async with opened(str(file), workspace) as session:
        with pytest.raises(AgentError, match=r"TaskWeaver failed: .*(401|API key)"):
            await session.reply("Write a.txt", 120)
    async with opened(str(file), workspace, **{"llm.model": "gpt-4"}) as session:
        assert (await session.reply("Write a.txt", 120)).text == "Done."
    file.write_text("connector: taskweaver\nproject: nowhere\n")
    with pytest.raises(SetupError, match=r"agent\.yaml:2: 'nowhere' is not the folder of a TaskWeaver project"):
        load_agent(str(file))


def test_a_folder_that_is_no_project_is_told_how_to_become_one(tmp_path: Path) -> None:
    message = f"{re.escape(repr(str(tmp_path)))} is not the folder of a TaskWeaver project.*taskweaver init"
    with pytest.raises(SetupError, match=message):
        load_agent(f"taskweaver:{tmp_path}")


def test_an_environment_without_taskweaver_is_named(project: Path) -> None:
    with pytest.raises(SetupError, match=r"No module named 'taskweaver'.*Install it into the agent's environment"):
        load_agent(f"taskweaver:{project}")
