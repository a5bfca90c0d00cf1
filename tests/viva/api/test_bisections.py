"""`viva.bisect`: the decisive round of a failed conversation, in Python."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import viva


class Sums(viva.VirtualUser):
    """Adds up, and offers its sum as its state."""

    total = 0
    slips = False

    def get_reply_from_agent(self, message: str) -> str:
        number = sum(int(each) for each in re.findall(r"add (\d+)", message))
        self.total += number + (self.slips and number == 3)
        return f"The sum is {self.total}."

    def save_state(self) -> int:
        return self.total

    def load_state(self, state: int) -> None:
        self.total = state


class SumsThatSlip(Sums):
    slips = True


CASE = viva.Case(
    "sums",
    script=[f"Please add {number}." for number in range(1, 7)],
    scoring_points=[{"score_point": "The sum is 21.", "eval_code": "assert ' 21.' in rounds[-1]['agent']"}],
)


async def test_the_round_is_found_and_a_repeated_call_makes_no_further_fork(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    failed = await viva.examine_async(CASE, SumsThatSlip, sandbox="process")
    found = await viva.bisect_async(failed, Sums, sandbox="process", out="forks")
    assert (found.finding, found.round, found.credible) == ("round", 3, (3,))
    assert (found.last_good, found.first_bad) == ("The sum is 3.", "The sum is 7.")
    assert found.words.startswith("round 3 of 6 decided")
    written = (found.folder / "journal.jsonl").read_bytes()
    again = await viva.bisect_async(failed, Sums, sandbox="process", out="forks", resume=True)
    assert (again.round, again.probability) == (found.round, found.probability)
    assert (found.folder / "journal.jsonl").read_bytes() == written


async def test_an_edited_reply_and_an_edited_message_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Told(viva.VirtualUser):
        """Repeats the history it was given, and what it is asked."""

        said = ""

        def load_conversation(self, messages: list[dict[str, str]]) -> None:
            self.said = " | ".join(each["content"] for each in messages)

        def get_reply_from_agent(self, message: str) -> str:
            return f"{self.said} > {message}"

    monkeypatch.chdir(tmp_path)
    failed = await viva.examine_async(CASE, SumsThatSlip, sandbox="process")
    forked = await viva.replay_async(failed, Told, fork_at=3, reply="The sum is 6.", sandbox="process")
    (run,) = forked.runs()
    assert [each.agent for each in run.transcript.rounds[:3]] == ["The sum is 1.", "The sum is 3.", "The sum is 6."]
    assert run.transcript.rounds[3].agent is not None
    assert run.transcript.rounds[3].agent.endswith("Please add 3. | The sum is 6. > Please add 4.")
    assert run.setting.forked_from["edited"] == "reply"
    forked = await viva.replay_async(failed, Sums, fork_at=3, message="Please add 100.", sandbox="process")
    (run,) = forked.runs()
    assert [each.examiner for each in run.transcript.rounds[3:]] == [
        "Please add 100.",
        "Please add 5.",
        "Please add 6.",
    ]
    assert run.transcript.rounds[3].agent == "The sum is 107."
    with pytest.raises(viva.SetupError, match="load_conversation"):
        await viva.replay_async(failed, Sums, fork_at=3, reply="The sum is 6.", sandbox="process")
