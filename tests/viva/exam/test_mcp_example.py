"""The example of an agent that uses the MCP server of its exam passes its case, with a scripted model."""

from __future__ import annotations

import json
from pathlib import Path

from tests.model_server import Answer, ModelServer, ToolCall, sequence
from tests.viva.conftest import Desk
from viva.journal.reader import read_runs

EXAMPLE = Path(__file__).parents[3] / "examples" / "agents" / "mcp"


def tool_call(name: str, **arguments: object) -> Answer:
    return Answer(None, (ToolCall(name, json.dumps(arguments)),))


def test_the_example_passes_its_case_and_every_call_is_recorded(desk: Desk) -> None:
    model = sequence(
        tool_call("list_orders", customer="Ines"),
        tool_call("cancel_order", number=1042),
        "Your order 1042 is cancelled, and you get back 58.50 euros.",
        tool_call("list_orders", customer="Ines"),
        then="One order is open: the kettle.",
    )
    with ModelServer({"gpt-4.1-mini": model}) as server:
        environment = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "unused"}
        arguments = ("--agent", f"{EXAMPLE / 'agent.py'}:DeskAgent", "--allow-pre-command")
        record = desk.run(str(EXAMPLE / "order_desk"), *arguments, environment=environment, process=True)
    assert (record["outcome"], record["score"]) == ("scored", 1.0)
    (stored,) = read_runs(desk.folder / "journal")
    calls = [[step.tool for step in round_.steps] for round_ in stored.transcript.rounds]
    assert calls == [["list_orders", "cancel_order"], ["list_orders"]]
    assert "58.50" in (stored.transcript.rounds[0].steps[1].result or "")
