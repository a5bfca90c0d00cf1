"""What a run leaves when it is stopped or killed in the middle: every round that took place."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import textwrap

import pytest

from tests.viva.conftest import Desk
from tests.viva.real_suites import until
from viva.journal.reader import read_runs
from viva.journal.writer import scan

ROUND = 23
WAITS = f"""
    count = 0
    def get_reply_from_agent(self, message):
        self.count += 1
        if self.count == {ROUND} and not Path("waiting").exists():
            Path("waiting").touch()
            time.sleep(3600)
        return f"Reply {{self.count}}."
"""


def _stop(desk: Desk, how: signal.Signals) -> subprocess.Popen[str]:
    """Start an exam of 50 rounds and send the signal while round 23 is under way."""
    agent = desk.agent(WAITS)
    process = desk.start("run", "sum_1_to_50", "--agent", agent, "--sandbox", "process", "--out", "journal")
    until((desk.folder / "waiting").exists, process)
    os.kill(process.pid, how)
    return process


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_rounds_so_far_outlive_the_run(desk: Desk, how: signal.Signals) -> None:
    process = _stop(desk, how)
    said, errors = process.communicate(timeout=60)
    if how is signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 130
        assert "viva replay journal" in errors
        assert "Traceback" not in errors
    assert said == ""

    shown = desk.viva("replay", "journal", expect=0).stdout
    rounds = shown.count(" examiner ")
    assert rounds == ROUND - 1
    assert f"Reply {rounds}." in shown
    assert "did not end" in shown or "cancelled" in shown

    judged = desk.viva("judge", "journal", "--sandbox", "process", expect=3)
    assert "the conversation did not end" in judged.stdout
    judged = desk.viva("judge", "journal", "--sandbox", "process", "--json", expect=3)
    assert json.loads(judged.stdout)["runs"] == []
    assert "the conversation did not end" in judged.stderr

    before = (desk.folder / "journal" / "journal.jsonl").read_bytes()
    record = desk.run("sum_1_to_50", "--agent", "agent.py:Agent")
    assert (record["attempt"], record["rounds"]) == (2, 50)
    assert (desk.folder / "journal" / "journal.jsonl").read_bytes().startswith(before), "nothing is lost"
    events = list(scan(desk.folder / "journal"))
    assert sum(event.kind == "round" and event.attempt == 1 for event in events) == rounds
    (stored,) = read_runs(desk.folder / "journal")
    assert (stored.attempt, len(stored.transcript.rounds), stored.ended) == (2, 50, True)
    assert desk.viva("replay", "journal", expect=0).stdout.count(" examiner ") == 50


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_agent_that_is_stopped_is_closed_once(desk: Desk, how: signal.Signals) -> None:
    agent = desk.agent(
        """
        def get_reply_from_agent(self, message):
            Path("talking").touch()
            time.sleep(3600)
        def close(self):
            with Path("closed").open("a") as file:
                file.write("x")
        """
    )
    process = desk.start("run", "echo", "--agent", agent, "--sandbox", "process", "--out", "journal")
    until((desk.folder / "talking").exists, process)
    os.kill(process.pid, how)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert (desk.folder / "closed").read_text() == "x"


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_that_arrives_while_an_agent_on_vivas_loop_computes_stops_as_any_other(desk: Desk, how: str) -> None:
    agent = desk.agent(
        f"""
        async def get_reply_from_agent(self, message):
            import asyncio, signal
            os.kill(os.getpid(), signal.{how})
            await asyncio.sleep(3600)
        """
    )
    arguments = ("suite", "echo", "--agent", agent, "--sandbox", "process", "--out", "journal", "--quiet")
    done = desk.viva(*arguments, expect=130, process=True)
    assert done.stderr.endswith("viva: stopped. Finished runs are kept; to resume: viva suite --resume journal\n")


def test_a_run_that_is_killed_while_it_is_judged_only_needs_judging(desk: Desk) -> None:
    check = textwrap.dedent(f"""
        import pathlib, time
        try:
            pathlib.Path(r'{desk.folder}/judging').touch(exist_ok=False)
        except FileExistsError:
            pass  # it is judged again
        else:
            time.sleep(3600)
    """)
    case = desk.case(scoring_points=[{"score_point": "It is slow.", "weight": 1, "eval_code": check}])
    agent = desk.agent("def get_reply_from_agent(self, message): return 'Hello.'")
    process = desk.start("run", case, "--agent", agent, "--sandbox", "process", "--out", "journal")
    until((desk.folder / "judging").exists, process)
    process.kill()
    process.communicate(timeout=60)
    assert desk.kinds() == ["setting", "round", "transcript"]
    judged = desk.viva("judge", "journal", "--sandbox", "process", "--quiet", expect=0).stdout
    assert "scored 1/1 = 1.00" in judged
