"""The limits of checks: where each comes from, and that a check really gets what its case asked for, and no more."""

from __future__ import annotations

import math
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.conftest import KINDS, sandbox_of
from viva.cases import Case, CheckLimits
from viva.cases.check_limits import ALLOWED
from viva.records.codec import decode
from viva.sandbox import Ending, RunView, SandboxLimits
from viva.sandbox.bwrap import Launch, Room, arguments
from viva.sandbox.docker.backend import ContainerSpec, container_settings
from viva.sandbox.limits import DEFAULTS, largest, limits_for

PAGES = Path(__file__).parents[2] / "docs"


def test_the_command_line_goes_before_the_case_and_the_case_before_the_default() -> None:
    case = CheckLimits(seconds=60, memory_mb=1024)
    assert limits_for(CheckLimits()) == DEFAULTS
    assert limits_for(case) == SandboxLimits(seconds=60, cpu_seconds=60, memory_mb=1024)
    both = limits_for(case, CheckLimits(memory_mb=256))
    assert both == SandboxLimits(seconds=60, cpu_seconds=60, memory_mb=256)


def test_a_check_that_only_computes_gets_all_the_time_it_was_given() -> None:
    assert limits_for(CheckLimits(), CheckLimits(seconds=120)).cpu_seconds == 120


def test_a_case_from_a_strangers_journal_gets_no_more_than_a_case_file_could_ask_for() -> None:
    """It did not go through the loader."""
    numbers = {field.name: 10**12 for field in fields(CheckLimits)}
    stored = {"name": "x", "file": "x", "hash": "0", "task_description": "x", "scoring_points": [], "new": 1}
    case = decode(Case, {**stored, "check_limits": {**numbers, "cpu_seconds": 10**9, "unknown": 1}})
    limits = limits_for(case.check_limits)
    for field in fields(CheckLimits):
        assert getattr(limits, field.name) == field.metadata[ALLOWED].maximum, field.name
    assert limits.cpu_seconds == limits.seconds
    case = decode(Case, {**stored, "check_limits": dict.fromkeys(numbers, -5)})
    assert limits_for(case.check_limits).memory_mb == 32
    assert limits_for(CheckLimits(seconds=math.nan)) == DEFAULTS
    assert limits_for(CheckLimits(seconds=math.inf)).seconds == 600


def test_what_the_user_asks_for_has_no_maximum() -> None:
    assert limits_for(CheckLimits(), CheckLimits(seconds=7200, memory_mb=100_000)).memory_mb == 100_000


def test_every_limit_of_a_case_is_one_of_the_sandbox_with_its_default_in_range() -> None:
    for field in fields(CheckLimits):
        assert field.metadata[ALLOWED].holds(getattr(DEFAULTS, field.name)), field.name
    assert {field.name for field in fields(SandboxLimits)} - {field.name for field in fields(CheckLimits)} == {
        "cpu_seconds"
    }


def test_every_limit_is_on_the_page_with_its_default_and_its_maximum() -> None:
    page = (PAGES / "write-a-case.md").read_text()
    for field in fields(CheckLimits):
        row = next(line for line in page.splitlines() if line.startswith(f"| `{field.name}` |"))
        cells = [cell.strip() for cell in row.split("|")]
        allowed = field.metadata[ALLOWED]
        assert cells[3:6] == [f"{getattr(DEFAULTS, field.name):g}", str(allowed.minimum), str(allowed.maximum)]


def test_walls_hold_the_largest_limits_of_all_cases() -> None:
    small, wide = SandboxLimits(memory_mb=1024, processes=8), SandboxLimits(disk_mb=512, processes=100)
    assert largest([small, wide]) == SandboxLimits(memory_mb=1024, disk_mb=512, processes=100)
    assert largest([]) == DEFAULTS


class Api:
    """Stands in for the client of a daemon, which only makes a dictionary here."""

    def create_host_config(self, **settings: Any) -> dict[str, Any]:
        return settings


def test_a_containers_walls_follow_from_its_limits() -> None:
    def walls(limits: SandboxLimits) -> dict[str, Any]:
        settings = container_settings(Api(), ContainerSpec("image", limits, 100, None, ""))
        host: dict[str, Any] = settings["host_config"]
        return host

    usual, wide = walls(DEFAULTS), walls(SandboxLimits(memory_mb=1024, disk_mb=500, processes=200))
    assert wide["mem_limit"] - usual["mem_limit"] == (1024 - 512 + 2 * (500 - 256)) * 1024 * 1024
    assert wide["memswap_limit"] == wide["mem_limit"]
    assert wide["pids_limit"] - usual["pids_limit"] == 200 - 64
    assert wide["tmpfs"]["/box"].endswith("size=600m")
    assert wide["tmpfs"]["/tmp"].endswith("size=500m")


def test_the_file_systems_of_bubblewrap_follow_from_the_limits() -> None:
    words = arguments(Launch("bwrap", "/usr/bin/python3", 20_001), Room(SandboxLimits(disk_mb=500), 100, None))
    sizes = {words[at + 3]: int(words[at + 1]) // 1024 // 1024 for at, word in enumerate(words) if word == "--size"}
    assert (sizes["/box"], sizes["/tmp"]) == (600, 500)


ALLOCATE = "block = bytearray(700 * 1024 * 1024)\nblock[::4096] = b'x' * len(block[::4096])"
WRITE = """\
for number in range(8):
    with open(f'part{number}', 'wb') as file:
        file.write(bytes(50 * 1024 * 1024))
"""
FORK = """\
import os, time
for number in range(90):
    if os.fork() == 0:
        time.sleep(600)
        os._exit(0)
time.sleep(0.5)
"""
GREEDY = {
    "memory": (ALLOCATE, CheckLimits(memory_mb=1024)),
    "disk": (WRITE, CheckLimits(disk_mb=600)),
    "processes": (FORK, CheckLimits(processes=100)),
}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_check_gets_what_its_case_asks_for_and_without_that_it_is_refused(kind: str) -> None:
    """700 MiB of memory, 400 MiB of files, 90 processes: each more than the default."""
    limits = {name: limits_for(asked) for name, (_, asked) in GREEDY.items()}
    usual, wide = await sandbox_of(kind), await sandbox_of(kind, limits=largest(limits.values()))
    try:
        refusing, allowing = await usual.open(None, RunView()), await wide.open(None, RunView())
        for name, (code, _) in GREEDY.items():
            refused = await refusing.check(code)
            assert (refused.ending, refused.message.partition(":")[0]) == (
                Ending.LIMIT,
                {"disk": "disk space"}.get(name, name),
            ), name
            allowed = await allowing.check(code, limits[name])
            assert allowed.ending is Ending.PASSED, (name, allowed)
            assert (await refusing.check("assert True")).ending is Ending.PASSED
    finally:
        await usual.close()
        await wide.close()


@pytest.mark.parametrize("kind", KINDS)
async def test_wide_walls_for_one_case_do_not_widen_the_limits_of_another(kind: str) -> None:
    sandbox = await sandbox_of(kind, limits=limits_for(CheckLimits(memory_mb=1024)))
    try:
        session = await sandbox.open(None, RunView())
        assert (await session.check(ALLOCATE, DEFAULTS)).ending is Ending.LIMIT
        assert (await session.check(ALLOCATE, limits_for(CheckLimits(memory_mb=1024)))).ending is Ending.PASSED
    finally:
        await sandbox.close()
