"""Steps that a framework told before it failed or hung are kept with the failure, in both kinds of process."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.adapters.frameworks.frameworks import AGENTS, FRAMEWORKS, opened, tools_of
from tests.adapters.frameworks.played import played
from tests.environments import folder_of
from tests.model_server import Answer, Fault, ModelServer, Request, ServerError, Stall
from tests.viva.conftest import Desk
from tests.viva.recordings.frameworks.make.script import PLAIN
from viva.errors import AgentError, AgentTimeout
from viva.journal.reader import read_runs
from viva.records.transcript import Reply, Step

FAILS = ServerError(400)


def then(fault: Fault, request: Request) -> Answer | Fault:
    """Play the script, but fail once a tool was called."""
    return fault if request["messages"][-1]["role"] == "tool" else played(request)


def tools_before(error: AgentError) -> list[Step]:
    assert isinstance(error.so_far, Reply)
    return tools_of(error.so_far)


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_steps_before_a_failure_are_kept(framework: str, model: ModelServer, workspace: Path) -> None:
    model.parts["scripted"] = lambda request: then(FAILS, request)
    async with opened(framework, "made", workspace) as session:
        with pytest.raises(AgentError) as caught:
            await session.reply(PLAIN.question, 60)
    (step,) = tools_before(caught.value)
    assert (step.tool, step.tool_input) == ("get_weather", {"city": "Rome"})
    assert "25" in str(step.result)


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_steps_before_a_time_out_are_kept(framework: str, model: ModelServer, workspace: Path) -> None:
    model.parts["scripted"] = lambda request: then(Stall(600), request)
    async with opened(framework, "made", workspace) as session:
        await session.reply("Hello.", 60)
        with pytest.raises(AgentTimeout) as caught:
            await session.reply(PLAIN.question, 3)
    assert [step.tool for step in tools_before(caught.value)] == ["get_weather"]


def test_they_are_kept_in_vivas_own_process(model: ModelServer, tmp_path: Path) -> None:
    model.parts["scripted"] = lambda request: then(FAILS, request)
    (packages,) = folder_of("langgraph").glob("lib/python3.*/site-packages")
    file = tmp_path / "in_here.py"
    file.write_text(f"import sys\nsys.path += [{str(AGENTS)!r}, {str(packages)!r}]\nfrom with_langgraph import made\n")
    case = tmp_path / "weather.yaml"
    case.write_text(
        f"task_description: Ask for the weather.\nscript: ['{PLAIN.question}']\n"
        "scoring_points: [{score_point: It tells the weather., weight: 1, eval_code: 'assert False'}]\n"
    )
    environment = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "none"}
    Desk(tmp_path).run(str(case), "--agent", f"{file}:made", environment=environment, process=True)
    (stored,) = read_runs(tmp_path / "journal")
    (failed,) = stored.transcript.rounds
    assert "the server had an error" in str(failed.error)
    assert [step.tool for step in failed.steps if step.tool] == ["get_weather"]
