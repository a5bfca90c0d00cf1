"""Measures what a run of its own costs: a world in a warm container, beside a container for each run, in the same pass.

`python -m bench worlds` takes all backends that work here. The figures of a machine that others use say little.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import viva
from bench.sandbox import CODE, VIEW, percentile, workspace_of
from bench.table import Figure
from viva.journal.reader import read_records
from viva.records.evaluator import Context
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Label, Verdict
from viva.sandbox import Ending, Sandbox, SandboxError, SandboxSession
from viva.sandbox.choice import choose
from viva.sandbox.interface import Fresh

AT_ONCE = 4
AS_MANY = {"docker": 15, "bwrap": 6, "process": 6}
"""Budgets: how many times as many runs as with a container for each run (a bwrap, an interpreter), as many as were
reached. A container for each run has become faster, too, which lowers the ratio although both are faster."""
PASSES = 3
"""Passes in which both ways are measured by turns, so that a moment in which the machine is slower changes neither the
rates nor their ratio: each is a median."""
RUNS: dict[Fresh, int] = {"world": 400, "container": 40}
"""Number of runs in each way and pass; the slower way has fewer, which take a few seconds."""
STORED_FOR: dict[Fresh, int] = {"world": 5000, "container": 40}
"""Number of stored conversations that are judged again in each way."""
CASE = """
task_description: Have the agent say four.
scoring_points:
  - score_point: The agent says four.
    weight: 1
    eval_code: |-
      assert chat_history[-1].content.strip() == "4"
script:
  - What is 2 + 2?
"""


def figures() -> list[Figure]:
    """Measure all available backends, then judging again in the strongest of them."""
    found: list[Figure] = []
    for kind in ("docker", "bwrap", "process"):
        try:
            found += asyncio.run(_of(kind))
        except SandboxError as error:
            found.append(Figure(f"{kind}: not available", 0, "", note=str(error)[:80]))
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        found += _judged_again(Path(folder))
    return found


async def _of(kind: str) -> list[Figure]:
    with tempfile.TemporaryDirectory() as folder:
        workspace = workspace_of(folder, "small", 3, 1000)
        async with contextlib.AsyncExitStack() as closing:
            ways: dict[Fresh, Sandbox] = {}
            for fresh in RUNS:
                ways[fresh] = (await choose(kind, concurrency=AT_ONCE, fresh=fresh)).sandbox
                closing.push_async_callback(ways[fresh].close)
            found = await _openings(ways["world"], kind, workspace)
            for sandbox in ways.values():
                await asyncio.gather(*(sandbox.prepare() for _ in range(AT_ONCE)))
            rates: list[dict[Fresh, float]] = [
                {fresh: await _throughput(sandbox, workspace, RUNS[fresh]) for fresh, sandbox in ways.items()}
                for _ in range(PASSES)
            ]
    slow, quick = (statistics.median(rate[fresh] for rate in rates) for fresh in ("container", "world"))
    times = statistics.median(rate["world"] / rate["container"] for rate in rates)
    return [
        *found,
        Figure(f"{kind}: runs with one check each, container each", slow, "runs/s"),
        Figure(
            f"{kind}: runs with one check each, world each", quick, "runs/s", 250 if kind == "docker" else None, True
        ),
        Figure(f"{kind}: worlds serve more runs by", times, "times", AS_MANY[kind], True, reference=True),
    ]


async def _openings(sandbox: Sandbox, kind: str, workspace: Path) -> list[Figure]:
    """Measure how long a run waits for its world, one run after the other."""
    opened, checked = [], []
    for number in range(210):
        began = time.perf_counter()
        session = await sandbox.open(workspace, VIEW, run_id=f"open-{number}")
        between = time.perf_counter()
        await _one_check(session)
        ended = time.perf_counter()
        await session.close()
        if number >= 10:  # the first waits for a container
            opened.append(between - began)
            checked.append(ended - began)
    note = session.isolation.note  # type: ignore[attr-defined]
    return [
        Figure(f"{kind}: opening a world p50", percentile(opened, 50), "ms", 3.5, note=note),
        Figure(f"{kind}: opening a world p95", percentile(opened, 95), "ms", 10, reference=True),
        Figure(f"{kind}: a world opened and one check in it p50", percentile(checked, 50), "ms"),
    ]


async def _one_check(session: SandboxSession) -> None:
    """Check as the judge does, which says how many checks come."""
    session.expect(1)  # type: ignore[attr-defined]
    assert (await session.check(CODE)).ending is Ending.PASSED


async def _throughput(sandbox: Sandbox, workspace: Path, runs: int) -> float:
    """Return how many runs with one check each are served in a second, several at once."""
    left = iter(range(runs))

    async def work() -> None:
        for number in left:
            session = await sandbox.open(workspace, VIEW, run_id=f"many-{number}")
            await _one_check(session)
            await session.close()

    began = time.perf_counter()
    await asyncio.gather(*(work() for _ in range(AT_ONCE)))
    return runs / (time.perf_counter() - began)


class Four(viva.VirtualUser):
    """Answers at once."""

    def get_reply_from_agent(self, message: str) -> str:
        return "4"


class Nothing:
    """An evaluator that needs no sandbox: the conversations are only to be stored."""

    name = "nothing"

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Return a hit."""
        verdict = Verdict(context.subject, "p-all", Label.HIT, 1.0, reason="stored")
        return Insight(self.name, context.subject, Label.HIT, 1.0, verdicts=(verdict,))


def _judged_again(folder: Path) -> list[Figure]:
    """Measure judging stored conversations again, each with one check, in the strongest sandbox there is."""
    (folder / "four").mkdir()
    (folder / "four" / "case.yaml").write_text(CASE)
    viva.run_suite(folder / "four", Four, trials=STORED_FOR["world"], evaluators=[Nothing()], out=folder / "stored")
    found = []
    for fresh, number in STORED_FOR.items():
        source: Any = folder / "stored"
        if fresh == "container":
            viva.run_suite(folder / "four", Four, trials=number, evaluators=[Nothing()], out=folder / "few")
            source = folder / "few"
        began = time.perf_counter()
        result = viva.judge(
            source, evaluators="scoring_points", out=folder / fresh, sandbox_fresh=fresh, concurrency=AT_ONCE
        )
        rate = number / (time.perf_counter() - began)
        assert result.ended == number
        records = list(read_records(folder / fresh))
        assert all(record.score == 1.0 for record in records)
        name = f"{records[0].setting.sandbox}: conversations judged again, one check each, {fresh} each"
        found.append(Figure(name, rate, "runs/s", 150 if fresh == "world" else None, True))
    return found
