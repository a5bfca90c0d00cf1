"""What an agent calls after its last reply, while the examiner ends the exam, counts like any other call."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.mcp_rooms import SOURCE, server
from tests.model_server import STOP_KEYWORD, ModelServer, Play, Request, ServerError, said_by, system_text
from tests.viva.conftest import Desk
from viva.journal.reader import read_runs
from viva.journal.writer import FILE

NOTHING = {"tool_called": {"name": "book_room", "times": 0, "recorded_by": "environment"}}
AGENT = """
def __init__(self, task_description, app_dir=None, config_var=None):
    self.server = config_var["mcp_servers"][0]

async def book(self):
    from mcp import Client
    async with Client(self.server["url"]) as client:
        await client.call_tool("book_room", {{"day": "Monday"}})

def later(self):
    import asyncio
    while not Path({folder!r}, "asked").exists():
        time.sleep(0.01)
    asyncio.run(self.book())
    Path({folder!r}, "called").touch()

def get_reply_from_agent(self, message):
    import threading
    threading.Thread(target=self.later, daemon=True).start()
    return "Done: I booked nothing."
"""


def examiner(folder: Path, end: Play) -> Play:
    """An examiner that has one message, and takes its time until the agent has called the tool."""

    def play(request: Request) -> Any:
        if not said_by("assistant", request):
            return "Please book nothing."
        (folder / "asked").touch()
        until = time.monotonic() + 60
        while not (folder / "called").exists() and time.monotonic() < until:
            time.sleep(0.01)
        return end(request) if callable(end) else end

    return play


def keyword(request: Request) -> str:
    found = STOP_KEYWORD.search(system_text(request))
    assert found is not None
    return found[1]


def run(desk: Desk, end: Play, rounds: int) -> dict[str, Any]:
    case = desk.case(
        data={"rooms.py": SOURCE},
        mcp=[server()],
        task_description="Ask the agent to book nothing.",
        scoring_points=[{"check": NOTHING}, {"check": {"not": {"tool_called": "book_room"}}}],
        script=None,
        max_rounds=rounds,
    )
    agent = desk.agent(AGENT.format(folder=str(desk.folder)))
    with ModelServer({"examiner": examiner(desk.folder, end)}) as model:
        settings = {"OPENAI_API_KEY": "unused", "OPENAI_BASE_URL": model.url, "VIVA_MODEL_ATTEMPTS": "1"}
        words = ("--agent", agent, "--allow-pre-command", "--examiner-model", "openai:examiner", "--judge", "code")
        return desk.run(case, *words, environment=settings)


ENDS: list[tuple[str, Play, int, str]] = [
    ("the stop keyword", keyword, 5, "finished"),
    ("the maximum of rounds", "And what else?", 1, "max_rounds"),
    ("the examiner's model fails at the maximum", ServerError(), 1, "max_rounds"),
]


@pytest.mark.parametrize(("end", "rounds", "stop"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS])
def test_a_call_after_the_last_reply_belongs_to_the_last_round(desk: Desk, end: Play, rounds: int, stop: str) -> None:
    record = run(desk, end, rounds)
    assert (record["outcome"], record["score"], record["stop"]) == ("scored", 0.0, stop)
    assert record["metrics"]["tool_calls"] == {"book_room": 1}
    (stored,) = read_runs(desk.folder / "journal")
    (last,) = stored.transcript.rounds
    assert [(step.tool, step.recorded_by) for step in last.steps] == [("book_room", "environment")]
    assert last.agent == "Done: I booked nothing."
    judged = json.loads(desk.viva("judge", "journal", "--sandbox", "process", "--json", expect=0).stdout)
    assert '"score": 0.0' in json.dumps(judged), "a later judgement sees it, too"
    assert "book_room" in desk.viva("replay", "journal", expect=0).stdout


def test_until_the_end_of_the_conversation_is_written_nothing_is_judged(desk: Desk) -> None:
    run(desk, keyword, 5)
    file = desk.folder / "journal" / FILE
    lines = file.read_bytes().splitlines(keepends=True)
    (place,) = [number for number, line in enumerate(lines) if b'"event":"transcript"' in line]
    assert b"book_room" in lines[place]
    assert not any(b"book_room" in line for line in lines if b'"event":"round"' in line)
    for left in (lines[:place], [*lines[:place], lines[place][: len(lines[place]) // 2]]):
        file.write_bytes(b"".join(left))
        (stored,) = read_runs(desk.folder / "journal")
        assert not stored.ended
