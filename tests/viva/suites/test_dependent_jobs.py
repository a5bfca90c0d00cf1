"""Adaptive suites and bisections, whose next jobs depend on earlier results: killed, paused, limited and requeued."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import viva
from tests.viva.conftest import Desk
from viva.api.suites import run_suite_async
from viva.journal.writer import scan
from viva.statistics.bisection.plan import read_bisection
from viva.suites.adaptive.batches import planned_number, read_batches
from viva.suites.at_work import pausing
from viva.suites.at_work.pausing import pause, resume

AGENTS = '''
import asyncio, hashlib, re
from pathlib import Path
from viva import VirtualUser
from viva.records.transcript import Reply, Usage

HERE = Path(__file__).parent
SHARES = {"always": 1.0, "mostly": 0.9, "half": 0.5}


async def asked():
    """Note that a reply was asked for; from a certain number of them on, hang until the process is killed."""
    number = len(list(HERE.glob("asked-*"))) + 1
    (HERE / f"asked-{number}").touch()
    if (HERE / "hang").exists() and number >= int((HERE / "hang").read_text()):
        (HERE / "hanging").touch()
        await asyncio.Event().wait()


class Drawn(VirtualUser):
    """Its reply depends on the run alone."""

    more = 0.0

    async def get_reply_from_agent(self, message):
        await asked()
        if (HERE / "broken").exists() and message == "half":
            raise RuntimeError("the server is down")
        name = Path(self.workspace).name
        draw = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") / 2**32
        return Reply("yes" if draw < SHARES[message] + self.more else "no", (), Usage(8, 2, cost=0.25))


class Varied(Drawn):
    def __init__(self, task_description, app_dir=None, config_var=None, more=0.0):
        super().__init__(task_description, app_dir, config_var)
        self.more = float(more)


class Sums(VirtualUser):
    total = 0
    slips = False

    async def get_reply_from_agent(self, message):
        await asked()
        number = int(re.findall(r"add (\\d+)", message)[0])
        self.total += number - (self.slips and number == 4)
        return Reply(f"The sum is {self.total}.", (), Usage(8, 2, cost=0.25))

    def save_state(self):
        return self.total

    def load_state(self, state):
        self.total = state


class Slips(Sums):
    slips = True
'''
CASES = ("always", "mostly", "half")
START = ("suite", *CASES, "--agent", "agents.py:Drawn", "--concurrency", "2", "--json")
CI = ("--until", "ci=0.1")
COMPARE = ("--until", "compare", "--margin", "0.2", "--agent", "agents.py:Varied[more=0.5]")
GATE = ("--until", "gate=0.5", "--margin", "0.2")
SUITE = (*START, *CI)
BISECT = ("bisect", "failed", "--agent", "agents.py:Sums", "--concurrency", "2", "--json")
FIRST = 24
"""Runs of the first batch of the suite."""


@pytest.fixture
def place(desk: Desk) -> Desk:
    """A folder with the agents, the cases of a suite, and a conversation that failed in its fourth round of six."""
    (desk.folder / "agents.py").write_text(AGENTS)
    for name in CASES:
        point = {"score_point": "It says yes.", "weight": 1, "check": {"contains": "yes"}}
        desk.case(name, script=[name], scoring_points=[point])
    point = {"score_point": "The sum is 21.", "weight": 1, "check": {"contains": "is 21."}}
    desk.case("sums", script=[f"Please add {number}." for number in range(1, 7)], scoring_points=[point])
    return desk


def told(place: Desk, *words: str, expect: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(place.viva(*words, expect=expect).stdout)
    return found


def fail(place: Desk) -> None:
    place.viva("run", "sums", "--agent", "agents.py:Slips", "--out", "failed", "--quiet", expect=0)
    for file in place.folder.glob("asked-*"):
        file.unlink()


def ended(place: Desk, out: str) -> Counter[str]:
    return Counter(event.run for event in scan(place.folder / out) if event.kind == "run")


def kill_after(place: Desk, replies: int, words: Iterable[str], out: str) -> set[str]:
    """Start a command, kill its process when so many replies were asked for, and return the runs that have ended."""
    (place.folder / "hang").write_text(str(replies))
    (place.folder / "hanging").unlink(missing_ok=True)
    with place.start(*words) as process:
        end = time.monotonic() + 60
        while not (place.folder / "hanging").exists():
            assert process.poll() is None, process.communicate()
            assert time.monotonic() < end
            time.sleep(0.02)
        status = told(place, "status", out, "--json")
        os.kill(status["process"], signal.SIGKILL)
        process.wait(30)
    (place.folder / "hang").unlink()
    return set(ended(place, out))


OFTEN = (3, FIRST, FIRST + 1, FIRST + 9, FIRST + 20)


@pytest.mark.parametrize(
    ("aim", "kills"),
    [
        (CI, (FIRST + 9,)),
        pytest.param(CI, OFTEN, marks=pytest.mark.soak),
        pytest.param(COMPARE, (3, 2 * FIRST - 1), marks=pytest.mark.soak),
        pytest.param(GATE, (3, FIRST - 1), marks=pytest.mark.soak),
    ],
)
def test_a_killed_adaptive_suite_decides_the_same_and_repeats_no_finished_run(
    place: Desk, aim: tuple[str, ...], kills: tuple[int, ...]
) -> None:
    suite = (*START, *aim)
    whole = told(place, *suite, "--out", "whole")
    for file in place.folder.glob("asked-*"):
        file.unlink()
    words: tuple[str, ...] = (*suite, "--out", "killed")
    for replies in kills:
        finished = kill_after(place, replies, words, "killed")
        words = ("suite", "--resume", "killed", "--json")
    assert 0 < len(finished) < whole["ended"]
    assert told(place, *words)["decisions"] == whole["decisions"]
    assert read_batches(place.folder / "killed") == read_batches(place.folder / "whole")
    assert set(ended(place, "killed").values()) == {1}
    assert ended(place, "killed") == ended(place, "whole")


@pytest.mark.parametrize("kills", [(21,), pytest.param((1, 18, 30, 38), marks=pytest.mark.soak)])
def test_a_killed_bisection_decides_the_same_and_repeats_no_finished_fork(place: Desk, kills: tuple[int, ...]) -> None:
    fail(place)
    whole = told(place, *BISECT, "--out", "whole")
    assert whole["round"] == 4
    for file in place.folder.glob("asked-*"):
        file.unlink()
    words: tuple[str, ...] = (*BISECT, "--out", "killed")
    for replies in kills:
        finished = kill_after(place, replies, words, "killed")
        words = ("bisect", "--resume", "killed", "--json")
    assert 0 < len(finished) < whole["runs"]
    again = told(place, *words)
    for key in ("finding", "round", "probability", "forks", "runs"):
        assert again[key] == whole[key]
    assert set(ended(place, "killed").values()) == {1}
    assert ended(place, "killed") == ended(place, "whole")


class PausesAfter:
    """Pauses the work when so many runs have ended, and counts those that begin."""

    def __init__(self, folder: Path, runs: int) -> None:
        self.folder, self.left = folder, runs
        self.begun = 0
        self.paused = asyncio.Event()

    async def on_start(self, *_: object) -> None:
        self.begun += 1

    async def on_end(self, *_: object) -> None:
        self.left -= 1
        if self.left == 0:
            pause(self.folder)
            self.paused.set()


@pytest.mark.parametrize("command", ["suite", "bisect"])
async def test_a_pause_while_a_batch_is_waited_for_begins_no_further_run(
    place: Desk, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    monkeypatch.chdir(place.folder)
    monkeypatch.setattr(pausing, "POLL_SECONDS", 0.01)
    out = place.folder / "j"
    batch = FIRST if command == "suite" else 3
    pauses = PausesAfter(out, batch)
    if command == "suite":
        work = asyncio.ensure_future(
            run_suite_async(CASES, "agents.py:Drawn", until="ci=0.1", out=out, subscribers=pauses, concurrency=3)
        )
    else:
        await viva.examine_async("sums", "agents.py:Slips", out="failed")
        work = asyncio.ensure_future(viva.bisect_async("failed", "agents.py:Sums", out=out, subscribers=pauses))
    await pauses.paused.wait()
    await asyncio.sleep(0.3)  # in which the next batch was planned
    assert pauses.begun == batch
    assert resume(out)
    await work
    assert pauses.begun > batch


@pytest.mark.parametrize(
    ("limit", "words"),
    [(("--max-cost", "7.5"), "--max-cost of $7.5 is used up"), (("--max-tokens", "300"), "--max-tokens of 300")],
)
def test_a_budget_that_ends_an_adaptive_suite_in_a_batch_is_told_and_the_rest_resumed(
    place: Desk, limit: tuple[str, ...], words: str
) -> None:
    done = place.viva(*SUITE, *limit, "--out", "j", expect=3)
    cut = json.loads(done.stdout)
    assert f"left out: {cut['left_out']} runs, {words}" in done.stderr
    assert "To resume: viva suite --resume j" in done.stderr
    assert cut["decisions"][0]["answer"] == "undecided"
    assert cut["ended"] > FIRST
    assert cut["ended"] + cut["left_out"] == planned_number(place.folder / "j")
    # A number of runs that ends within the same batch.
    done = place.viva("suite", "--resume", "j", "--json", "--max-runs", str(cut["ended"] + 2), expect=3)
    assert "--max-runs is reached" in done.stderr
    assert json.loads(done.stdout)["ended"] == 2
    whole = told(place, *SUITE, "--out", "whole")
    assert told(place, "suite", "--resume", "j", "--json")["decisions"] == whole["decisions"]
    assert set(ended(place, "j").values()) == {1}


def test_a_limit_between_two_batches_says_how_to_go_on(place: Desk) -> None:
    done = place.viva(*SUITE, "--max-runs", str(FIRST), "--out", "j", expect=3)
    assert f"--max-runs of {FIRST} leaves no further batch. To resume with a higher limit: viva suite" in done.stderr


def test_a_budget_that_ends_a_bisection_in_a_batch_is_told_and_the_rest_resumed(place: Desk) -> None:
    fail(place)
    whole = told(place, *BISECT, "--out", "whole")
    for number, (limit, words) in enumerate(
        (
            (("--max-cost", "5"), "--max-cost of $5 is used up"),
            (("--max-tokens", "200"), "--max-tokens of 200 is used up"),
            (("--max-runs", "4"), "--max-runs of 4 is used up"),
        )
    ):
        done = place.viva(*BISECT, *limit, "--out", f"j{number}", expect=3)
        assert words in done.stderr
        assert f"viva bisect --resume j{number}" in done.stderr
        cut = json.loads(done.stdout)
        assert (cut["finding"], words in cut["stopped"]) == ("not_decided", True)
        assert cut["runs"] > 3 or len(ended(place, f"j{number}")) > 3
        again = told(place, "bisect", "--resume", f"j{number}", "--json", "--max-runs", "120")
        for key in ("finding", "round", "probability", "forks", "runs"):
            assert again[key] == whole[key]
        assert set(ended(place, f"j{number}").values()) == {1}
        found = read_bisection(place.folder / f"j{number}")
        assert found is not None
        assert found.round == 4


def test_each_varied_combination_is_decided_and_a_comparison_of_more_than_two_names_them(place: Desk) -> None:
    base = ("suite", "half", "--agent", "agents.py:Varied", "--json", "--until")
    found = told(place, *base, "ci=0.2", "--vary", "more=0,0.5", "--out", "each")
    assert [each["agents"] for each in found["decisions"]] == [
        ["agents.py:Varied[more=0]"],
        ["agents.py:Varied[more=0.5]"],
    ]
    assert [each["answer"] for each in found["decisions"]] == ["precise"] * 2
    assert found["decisions"][0]["estimate"] < found["decisions"][1]["estimate"] == 1.0
    both = told(place, *base, "compare", "--margin", "0.2", "--vary", "more=0,0.5", "--out", "both")
    (decision,) = both["decisions"]
    assert (decision["answer"], decision["agents"][1]) == ("second", "agents.py:Varied[more=0.5]")
    refused = place.viva(*base, "compare", "--vary", "more=0,0.25,0.5", "--out", "no", expect=2).stderr
    assert "requires two agents, and 3 are given: Varied[more=0], Varied[more=0.25], Varied[more=0.5]." in refused
    assert "Each combination of --vary is an agent" in refused
    assert not (place.folder / "no").exists()


def test_a_requeued_run_of_an_adaptive_suite_counts_once_and_a_gate_does_not_pass_over_it(place: Desk) -> None:
    (place.folder / "broken").touch()
    gate = ("suite", *CASES, "--agent", "agents.py:Drawn", "--until", "gate=0.3", "--margin", "0.2", "--json")
    broken = told(place, *gate, "--out", "j")["decisions"][0]
    (place.folder / "broken").unlink()
    place.viva("requeue", "j", "--outcome", "target_error", expect=0)
    done = place.viva("suite", "--resume", "j", "--json", expect=3)
    assert "counted, before the user requeued them; no gate passes over that" in done.stderr
    after = json.loads(done.stdout)["decisions"][0]
    assert (after["answer"], after["runs"], after["batches"]) == ("above", broken["runs"], broken["batches"])
    assert after["estimate"] > broken["estimate"]
