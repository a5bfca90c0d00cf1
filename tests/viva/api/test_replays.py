"""`viva.replay`: another agent is asked stored questions, or continues a stored conversation."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import viva
from tests.viva.api.conftest import CaseMaker, Parrot

PROGRAM = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"id": json.loads(line)["id"], "text": "hello"}), flush=True)
"""


class Remembers(viva.VirtualUser):
    """Counts its rounds, and offers the count as its state."""

    rounds = 0

    def get_reply_from_agent(self, message: str) -> str:
        self.rounds += 1
        return f"{self.rounds}: {message}"

    def save_state(self) -> int:
        return self.rounds

    def load_state(self, state: int) -> None:
        self.rounds = state


@pytest.fixture(autouse=True)
def journals_in_a_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_another_agent_is_asked_the_stored_questions(write_case: CaseMaker) -> None:
    first = viva.examine(write_case(), Parrot, sandbox="process")
    again = viva.replay(first, Remembers, sandbox="process")
    assert (again.ended, again.left_out) == (1, 0)
    (run,) = again.runs()
    assert run.setting.agent != first.setting.agent
    assert [each.examiner for each in run.transcript.rounds] == [each.examiner for each in first.transcript.rounds]


async def test_a_conversation_is_forked_and_resumed_in_async_code() -> None:
    first = await viva.examine_async("sum_1_to_50", Remembers, sandbox="process", max_rounds=4)
    forked = await viva.replay_async(first, Remembers, fork_at=2, sandbox="process", out="forked", max_rounds=4)
    (run,) = forked.runs()
    assert run.setting.forked_from["round"] == "2"
    assert (run.transcript.rounds[2].agent or "").startswith("3: ")
    again = await viva.replay_async(
        first, Remembers, fork_at=2, sandbox="process", out="forked", max_rounds=4, resume=True
    )
    assert again.ended == 0


@pytest.mark.parametrize("options", [{"fork_by": "state"}, {"examiner": "model"}])
def test_what_only_a_fork_has_is_refused_without_one(options: dict[str, str]) -> None:
    run = viva.examine("echo", Remembers, sandbox="process")
    with pytest.raises(viva.SetupError, match=f"{next(iter(options))} requires fork_at"):
        viva.replay(run, Remembers, **options)  # type: ignore[arg-type]


def test_an_agent_file_is_an_agent_also_here(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(PROGRAM)
    file = tmp_path / "agent.yaml"
    file.write_text(f"connector: cmd\ncommand: {sys.executable} agent.py\n")
    run = viva.examine("echo", str(file), sandbox="process")
    assert run.transcript.rounds[0].agent == "hello", run.transcript.stop_detail


async def test_a_message_for_a_round_that_never_comes_is_a_mistake() -> None:
    first = await viva.examine_async("sum_1_to_50", Remembers, sandbox="process", max_rounds=2)
    with pytest.raises(viva.SetupError, match=r"the edited message cannot be asked: .* has at most 2 rounds"):
        await viva.replay_async(first, Remembers, fork_at=2, message="Well?", sandbox="process", max_rounds=2)
    longer = await viva.replay_async(first, Remembers, fork_at=2, message="Well?", sandbox="process", max_rounds=3)
    assert [run.transcript.rounds[2].examiner for run in longer.runs()] == ["Well?"]


class Fails(viva.VirtualUser):
    """Fails when it is asked to."""

    def get_reply_from_agent(self, message: str) -> str:
        if "fail" in message:
            raise RuntimeError("no")
        return "Yes."


def test_conversations_that_broke_off_are_counted_as_left_out(write_case: CaseMaker) -> None:
    cases = [write_case("whole"), write_case("broken", script=["Hello.", "Now fail.", "Goodbye."])]
    first = viva.run_suite(cases, Fails, sandbox="process")
    again = viva.replay(first, Remembers, sandbox="process")
    assert (again.ended, again.left_out) == (1, 1)
    assert again.reason == "1 conversation broke off before every question was asked"
