"""Limits of checks as a user sets them: in the case, on the command line, and when a conversation is judged again."""

from __future__ import annotations

import json
from typing import Any

from tests.viva.conftest import Desk, point

LARGE = "block = bytearray(160 * 1024 * 1024)\nblock[::4096] = b'x' * len(block[::4096])"
SLOW = "import time\ntime.sleep(3)"
HELLO = "def get_reply_from_agent(self, message): return 'Hello.'"


def verdict(record: dict[str, Any]) -> tuple[str, str]:
    (found,) = record["insights"][0]["verdicts"]
    return found["label"], found["reason"]


def test_a_check_has_the_memory_of_its_case_and_the_command_line_goes_before_it(desk: Desk) -> None:
    small = desk.case("small", scoring_points=[point(LARGE)], check_limits={"memory_mb": 96})
    large = desk.case("large", scoring_points=[point(LARGE)], check_limits={"memory_mb": 300})
    agent = ("--agent", desk.agent(HELLO))
    label, reason = verdict(desk.run(small, *agent, out="small-run"))
    assert (label, "memory" in reason) == ("miss", True)
    assert verdict(desk.run(small, *agent, "--check-memory", "300", out=None))[0] == "hit"
    assert verdict(desk.run(large, *agent, out="large-run"))[0] == "hit"
    assert verdict(desk.run(large, *agent, "--check-memory", "96", out=None))[0] == "miss"
    judge = ("judge", "small-run", "--sandbox", "process", "--json")
    again = desk.viva(*judge, "--check-memory", "300", "--out", "again", expect=0)
    assert verdict(json.loads(again.stdout)["runs"][0])[0] == "hit"
    judge = ("judge", "small-run", "--sandbox", "process", "--json")
    stored = desk.viva(*judge, "--out", "stored", expect=0)
    assert verdict(json.loads(stored.stdout)["runs"][0])[0] == "miss", "the journal keeps the case's limits"


def test_a_check_has_the_time_that_was_asked_for(desk: Desk) -> None:
    case = desk.case(scoring_points=[point(SLOW)], check_limits={"seconds": 60})
    agent = ("--agent", desk.agent(HELLO))
    label, reason = verdict(desk.run(case, *agent, "--check-timeout", "0.5", out=None))
    assert (label, "still running after 0.5 seconds" in reason) == ("miss", True)
    assert verdict(desk.run(case, *agent, out=None))[0] == "hit"


def test_a_case_that_asks_for_the_whole_machine_is_a_usage_error(desk: Desk) -> None:
    case = desk.case(check_limits={"memory_mb": 1_000_000})
    done = desk.viva("run", case, "--sandbox", "process", expect=2)
    assert "memory_mb must be a whole number from 32 to 2048, not 1000000" in done.stderr


def test_the_limits_that_were_asked_for_are_in_the_record_and_no_others(desk: Desk) -> None:
    case = desk.case(check_limits={"memory_mb": 256})
    asked = ("--check-timeout", "12.5", "--check-memory", "300")
    plain = desk.run(case)["setting"]
    assert (plain["check_seconds"], plain["check_memory_mb"]) == (None, None)
    said = desk.run(case, *asked, out="said")["setting"]
    assert (said["check_seconds"], said["check_memory_mb"]) == (12.5, 300)
    judge = ("judge", "said", "--sandbox", "process", "--json", "--out", "again", "--check-timeout", "9")
    again = json.loads(desk.viva(*judge, expect=0).stdout)["runs"][0]["setting"]
    assert (again["check_seconds"], again["check_memory_mb"]) == (9.0, None)


def test_what_separated_the_checks_from_others_is_in_the_record_of_each_run(desk: Desk) -> None:
    case = desk.case()
    assert isolation(desk.run(case)) == [
        {"host": "nothing but limits and filters", "runs": "a process and a folder of its own"}
    ]
    own = {"host": "nothing but limits and filters", "runs": "an interpreter and a folder of its own"}
    assert isolation(desk.run(case, "--sandbox-fresh", "container", out="own")) == [own]
    judge = ("judge", "own", "--sandbox", "process", "--json", "--out", "again")
    again = json.loads(desk.viva(*judge, expect=0).stdout)["runs"][0]
    assert isolation(again)[0]["runs"] == "a process and a folder of its own", "each judging says what it had"


def isolation(record: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = record["insights"][0]["isolation"]
    return found
