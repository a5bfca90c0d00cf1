"""Checks made at random, in many workspaces: a run leaves the averages only where the check can never pass."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.fuzz.generated_checks import WORLDS, Generated, World, checks, plain_endings
from tests.sandbox.test_conformance import QUICK
from viva.cases import Case, ScoringPoint
from viva.judge.scoring_points.by_code import read_result
from viva.records.verdict import Label
from viva.sandbox import CheckResult, Ending, Sandbox

pytestmark = [
    pytest.mark.asyncio(loop_scope="session"),
    pytest.mark.parametrize("kind", ["process"], indirect=True, scope="session"),
]


async def run_all(box: Sandbox, folder: Path, world: World, every: list[Generated]) -> list[CheckResult]:
    folder.mkdir()
    session = await box.open(world.lay_out(folder), world.view, run_id=folder.name)
    try:
        return [await session.check(one.code, QUICK) for one in every]
    finally:
        await session.close()


async def fuzz(box: Sandbox, tmp_path: Path, seed: int, count: int, worlds: list[World]) -> Counter[str]:
    """Hold each check in each of these worlds against what it does, by plain Python, in all that there are."""
    every = checks(seed, count)
    (tmp_path / "plain").mkdir()
    plain = plain_endings(tmp_path / "plain", [one.code for one in every])
    can_pass = [any(ended[index] == "" for ended in plain) for index in range(count)]
    seen: Counter[str] = Counter()
    for number, world in enumerate(worlds):
        results = await run_all(box, tmp_path / f"world{number}", world, every)
        for index, (one, result) in enumerate(zip(every, results, strict=True)):
            plainly = plain[WORLDS.index(world)][index]
            where = f"{world.files} {world.reply!r}\n{one.code}\n{plainly!r} {result}"
            point = ScoringPoint("p", "It is.", 1, one.code)
            case = Case("c", Path("c"), "0" * 64, "Write the package shop.", (point,))
            verdict = read_result(result, point, case, "run")
            seen[verdict.label] += 1
            assert (result.ending is Ending.PASSED) == (plainly == ""), where
            if verdict.label == Label.ERROR:
                assert not can_pass[index], f"it can pass, and is called broken\n{where}"
                assert result.exception == plainly, where
            elif one.is_proven and result.line == one.code.count("\n"):
                assert result.exception != plainly or result.ending is not Ending.FAILED, f"its own fault\n{where}"
    return seen


async def test_only_a_check_that_can_never_pass_leaves_the_averages(box: Sandbox, tmp_path: Path) -> None:
    seen = await fuzz(box, tmp_path, 7, 40, WORLDS[:: len(WORLDS) // 8][:8])
    assert all(seen[ending] for ending in ("hit", "miss", "error")), seen


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(10))
async def test_only_checks_that_can_never_pass_leave_the_averages(box: Sandbox, tmp_path: Path, seed: int) -> None:
    """All together, 500 checks in 20 workspaces each."""
    seen = await fuzz(box, tmp_path, 1000 + seed, 50, WORLDS[::3])
    assert sum(seen.values()) == 50 * 20
    print(dict(seen))
