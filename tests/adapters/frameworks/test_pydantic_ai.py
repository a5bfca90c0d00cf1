"""What only Pydantic AI has: tools that require approval, dependencies, structured output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.adapters.frameworks.frameworks import opened, spec_of, tools_of
from tests.adapters.frameworks.played import DELETES, LOOKS, STRUCTURE
from viva.adapters.connectors.table import load_agent
from viva.errors import SetupError

pytestmark = pytest.mark.usefixtures("model")


@pytest.mark.parametrize(
    ("answer", "result", "error"),
    [("Yes, do it.", "a.txt is gone", None), ("No.", None, "The user answered: No.")],
)
async def test_a_tool_that_requires_approval_asks_the_user(
    answer: str, result: str | None, error: str | None, workspace: Path
) -> None:
    async with opened("pydantic_ai", "asking", workspace) as session:
        asked = await session.reply(DELETES.question, 30)
        assert "delete_file" in asked.text
        assert "a.txt" in asked.text
        assert tools_of(asked) == []
        reply = await session.reply(answer, 30)
    assert reply.text == "Done with a.txt."
    (step,) = tools_of(reply)
    assert (step.tool, step.result, step.error) == ("delete_file", result, error)


async def test_dependencies_are_made_of_the_workspace_and_config_var(workspace: Path) -> None:
    async with opened("pydantic_ai", "reading", workspace, colour="blue") as session:
        (step,) = tools_of(await session.reply(LOOKS.question, 30))
    assert step.result == f"{workspace} {{'colour': 'blue'}}"


def test_dependencies_that_cannot_be_made_are_a_mistake_found_before_the_exam() -> None:
    with pytest.raises(SetupError, match=r"impossible in .*Foreign\) require database"):
        load_agent(spec_of("pydantic_ai", "impossible"))


async def test_structured_output_is_the_reply_as_json_and_no_tool_call(workspace: Path) -> None:
    async with opened("pydantic_ai", "structured", workspace) as session:
        reply = await session.reply(STRUCTURE.question, 30)
    assert json.loads(reply.text) == {"name": "Rome", "degrees": 25}
    assert tools_of(reply) == []
