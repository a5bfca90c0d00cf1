"""What commands over stored conversations leave out is said, in words and in JSON, and is never a success."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from tests.model_server import ModelServer, ServerError, sequence
from tests.viva.conftest import Desk
from viva.journal.reader import read_records
from viva.records.run_record import Outcome
from viva.suites.engine import SuiteEnd

COMMON = ("--sandbox", "process", "--judge", "code")
GOOD = "agent.py:Agent"


@pytest.fixture
def desk(desk: Desk) -> Desk:
    """Seven cases and an agent that passes them."""
    (desk.folder / "cases").mkdir()
    for number in range(7):
        desk.case(f"cases/c{number}", tags=["odd" if number % 2 else "even"])
    desk.agent("def get_reply_from_agent(self, message): return 'Hello.'")
    return desk


def test_a_replay_whose_endpoint_dies_says_what_it_left_out_and_is_resumed(desk: Desk) -> None:
    desk.viva("suite", "cases", "--agent", GOOD, *COMMON, "--out", "first", expect=0)
    words = ("--concurrency", "1", "--sandbox", "process")
    with ModelServer({"m": sequence("Hello.", "Hello.", then=ServerError(403))}) as server:
        agent = f"{server.url}#m"
        done = desk.viva("replay", "first", "--against", agent, *words, "--out", "again", "--json", expect=3)
        found = json.loads(done.stdout)
        assert (found["ended"], found["left_out"]) == (5, 2)
        assert "could not be reached in 3 runs in a row" in found["reason"]
        assert "left out: 2 runs, " in done.stderr
        assert "To resume: viva replay --resume " in done.stderr
        gated = desk.viva("report", "again", "--fail-under", "0", expect=3)
        assert "2 planned runs did not begin" in gated.stderr
        server.parts["m"] = "Hello."
        done = desk.viva("replay", "--resume", "again", "--json", expect=0)
    assert (json.loads(done.stdout)["left_out"], json.loads(done.stdout)["reason"]) == (0, None)
    outcomes = [record.outcome for record in read_records(desk.folder / "again")]
    assert sorted(outcomes) == [Outcome.SCORED] * 4 + [Outcome.TARGET_ERROR] * 3


def test_a_replay_without_the_conversations_that_broke_off_is_no_success_and_passes_no_later_gate(desk: Desk) -> None:
    failing = desk.agent(
        """
        def __init__(self, task_description, workspace=None): self.rounds = 0
        def get_reply_from_agent(self, message):
            if "fail" in message: raise RuntimeError("no")
            return "Hello."
        """,
        "failing",
    )
    desk.case("cases/long", script=["Hello.", "fail", "Goodbye."])
    desk.viva("suite", "cases", "--agent", failing, *COMMON, "--out", "first", expect=0)
    done = desk.viva("replay", "first", "--against", GOOD, "--sandbox", "process", "--out", "again", "--json", expect=3)
    found = json.loads(done.stdout)
    assert (found["ended"], found["left_out"]) == (7, 1)
    assert found["reason"] == "1 conversation broke off before every question was asked"
    gated = desk.viva("report", "again", "--fail-under", "1", expect=3)
    assert "1 conversation broke off before every question was asked" in gated.stderr
    shown = desk.viva("replay", "first", "--against", GOOD, "--sandbox", "process", "--out", "shown", expect=3)
    assert "left out: 1 conversation that broke off" in shown.stderr
    # Who leaves it out on purpose leaves out nothing more.
    chosen = ("--where", "not outcome=target_error", "--sandbox", "process", "--out", "chosen")
    desk.viva("replay", "first", "--against", GOOD, *chosen, expect=0)
    desk.viva("report", "chosen", "--fail-under", "1", expect=0)


Conduct = Callable[..., Coroutine[Any, Any, SuiteEnd]]


@pytest.mark.parametrize("command", ["trace", "judge"])
def test_what_was_imported_or_stored_and_is_not_judged_is_said(
    desk: Desk, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from viva.suites import judging, tracing

    def stopping(conduct: Conduct) -> Conduct:
        async def stop(*arguments: Any, **more: Any) -> SuiteEnd:
            end = await conduct(*arguments, **more)
            end.left_out, end.reason = 2, "the cluster is gone"
            return end

        return stop

    for module in (judging, tracing):
        monkeypatch.setattr(module, "conduct", stopping(module.conduct))
    talk = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]
    (desk.folder / "talks.jsonl").write_text(json.dumps({"messages": talk}) + "\n")
    source = "chat:talks.jsonl" if command == "trace" else "first"
    if command == "judge":
        desk.viva("run", "cases/c0", "--agent", GOOD, *COMMON, "--out", "first", expect=0)
    words = ("--evaluators", "loops") if command == "trace" else ("--sandbox", "process")
    done = desk.viva(command, source, *words, "--out", "j", "--json", expect=3)
    assert "left out: 2 runs, the cluster is gone. To resume: viva " in done.stderr
    if command == "trace":
        assert (json.loads(done.stdout)["left_out"], json.loads(done.stdout)["reason"]) == (2, "the cluster is gone")
    assert Path(desk.folder / "j").is_dir()
