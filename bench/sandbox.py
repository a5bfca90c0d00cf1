"""Measures a check: warm, cold and from the pool, compared with `docker run` and `docker exec` in the same run.

The floor of a figure is what the kernel takes for its physical part, measured in a check in the same sandbox: a fork
of the process that runs the same code, and a copy of the workspace that is written and removed again.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from bench.table import Figure
from viva.sandbox import Ending, RunView, Sandbox, SandboxError, SandboxSession
from viva.sandbox.choice import choose

CODE = "import json, os\nassert len(os.listdir()) >= 1\nassert json.loads('[1]') == [1]"
VIEW = RunView(chat_history=[("system", "be fair"), ("human", "begin"), ("ai", "2 + 2?"), ("human", "4")])
WARM = {"1 MB": 2.2, "10 MB": 5.0, "1,000 files of 1 kB": 8.0}
"""Budgets of a warm check in a locked container, in milliseconds, by workspace."""
FLOOR = """
import json, os, statistics, time
code = {code!r}

def fork():
    child = os.fork()
    if child == 0:
        exec(compile(code, "<check>", "exec"), {{}})
        os._exit(0)
    os.waitpid(child, 0)

found = {{name: open(name, "rb").read() for name in os.listdir()}}

def copy():
    os.mkdir("copy")
    for name, content in found.items():
        file = os.open("copy/" + name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.write(file, content)
        os.close(file)
    for name in found:
        os.unlink("copy/" + name)
    os.rmdir("copy")

def median(act):
    times = []
    for _ in range(50):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000

print(json.dumps([median(fork), median(copy)]))
"""
"""The check that measures the floor, and prints it: milliseconds of a fork, and of a copy of the workspace."""
CONVERSATION_SECONDS = 2.0
"""Duration of the conversation before the first check: longer than starting a container."""


def figures() -> list[Figure]:
    """Measure all available backends, and compare Docker with `docker run` and `docker exec`."""
    found: list[Figure] = []
    for kind in ("docker", "bwrap", "process"):
        try:
            found += asyncio.run(_of(kind))
        except SandboxError as error:
            found.append(Figure(f"{kind}: not available", 0, "", note=str(error)[:80]))
    return found


async def _of(kind: str) -> list[Figure]:
    sandbox = (await choose(kind, concurrency=8)).sandbox
    try:
        with tempfile.TemporaryDirectory() as folder:
            small, mega = workspace_of(folder, "small", 3, 1000), workspace_of(folder, "mega", 20, 50_000)
            warm = await _warm(sandbox, mega, 400)
            found = [
                Figure(f"{kind}: warm check p50, workspace of 1 MB", percentile(warm, 50), "ms", _budget(kind, "1 MB")),
                Figure(f"{kind}: warm check p95, workspace of 1 MB", percentile(warm, 95), "ms", reference=True),
                Figure(
                    f"{kind}: warm check p50, workspace of 3 kB",
                    percentile(await _warm(sandbox, small, 400), 50),
                    "ms",
                ),
            ]
            found += await _floor(sandbox, f"{kind}: floor", mega, "1 MB")
            for name, files, size in (
                ("10 MB", 20, 500_000),
                ("50 MB", 20, 2_500_000),
                ("1,000 files of 1 kB", 1000, 1000),
            ):
                workspace = workspace_of(folder, name, files, size)
                times = await _warm(sandbox, workspace, 15)
                label = f"{kind}: warm check p50, workspace of {name}"
                found.append(Figure(label, percentile(times, 50), "ms", _budget(kind, name)))
                found += await _floor(sandbox, f"{kind}: floor", workspace, name)
            found += await _first(sandbox, kind, mega)
            found += await _many(sandbox, kind, mega)
        if kind == "docker":
            found += _peers(sandbox, found[0].value)
    finally:
        await sandbox.close()
    return found


def _budget(kind: str, workspace: str) -> float | None:
    """Return the budget of a warm check in milliseconds; it is that of the strongest sandbox."""
    return WARM.get(workspace) if kind == "docker" else None


def workspace_of(folder: str, name: str, files: int, size: int) -> Path:
    """Make a workspace of random files, and return its path."""
    path = Path(folder) / name
    path.mkdir()
    for number in range(files):
        (path / f"file{number}").write_bytes(os.urandom(size))
    return path


def percentile(times: list[float], which: int) -> float:
    """Return a percentile in milliseconds."""
    return statistics.quantiles(times, n=100, method="inclusive")[which - 1] * 1000


async def _timed(session: SandboxSession) -> float:
    began = time.perf_counter()
    result = await session.check(CODE)
    seconds = time.perf_counter() - began
    assert result.ending is Ending.PASSED, result
    return seconds


async def _warm(sandbox: Sandbox, workspace: Path, number: int) -> list[float]:
    session = await sandbox.open(workspace, VIEW, run_id="bench")
    await _timed(session)
    times = [await _timed(session) for _ in range(number)]
    await session.close()
    return times


async def _floor(sandbox: Sandbox, label: str, workspace: Path, name: str) -> list[Figure]:
    """Measure what the kernel takes in the same sandbox: for a fork, and for a copy of the workspace."""
    session = await sandbox.open(workspace, VIEW, run_id="bench")
    result = await session.check(FLOOR.format(code=CODE))
    await session.close()
    assert result.ending is Ending.PASSED, result
    fork, copy = json.loads(result.output)
    found = [Figure(f"{label}: a copy of {name}, written and removed, p50", copy, "ms", reference=True)]
    if name == "1 MB":
        found.append(Figure(f"{label}: a fork that runs the same code, p50", fork, "ms", reference=True))
    return found


async def _first(sandbox: Sandbox, kind: str, workspace: Path) -> list[Figure]:
    """Measure the first check of a run, cold, and with a server that was started during the conversation."""
    cold, pooled, beyond = [], [], []
    for _ in range(5):
        began = time.perf_counter()
        session = await sandbox.open(workspace, VIEW)
        await _timed(session)
        cold.append(time.perf_counter() - began)
        await session.close()
        await sandbox.prepare()
        await asyncio.sleep(CONVERSATION_SECONDS)
        began = time.perf_counter()
        session = await sandbox.open(workspace, VIEW)
        await _timed(session)
        pooled.append(time.perf_counter() - began)
        results = [await session.check(CODE) for _ in range(4)]
        beyond.append(time.perf_counter() - began - sum(result.seconds for result in results))
        await session.close()
    return [
        Figure(f"{kind}: first check, cold", statistics.median(cold) * 1000, "ms"),
        Figure(f"{kind}: first check, server from the pool", statistics.median(pooled) * 1000, "ms"),
        Figure(f"{kind}: five checks from the pool, overhead", statistics.median(beyond) * 1000, "ms", 100),
    ]


async def _many(sandbox: Sandbox, kind: str, workspace: Path) -> list[Figure]:
    """Measure 1,000 checks in 8 concurrent sessions."""
    sessions = await asyncio.gather(*(sandbox.open(workspace, VIEW) for _ in range(8)))

    async def work(session: SandboxSession) -> list[float]:
        return [await _timed(session) for _ in range(125)]

    began = time.perf_counter()
    times = [one for some in await asyncio.gather(*(work(session) for session in sessions)) for one in some]
    wall = time.perf_counter() - began
    await asyncio.gather(*(session.close() for session in sessions))
    name = f"{kind}: 1,000 checks in 8 concurrent sessions"
    return [
        Figure(f"{name}, per check", wall, "ms"),  # for 1,000 checks, total seconds equal milliseconds per check
        Figure(f"{name}, p95 of one", percentile(times, 95), "ms", reference=True),
    ]


def _peers(sandbox: Sandbox, warm: float) -> list[Figure]:
    """Measure the same check with `docker run` and `docker exec` on the command line."""
    program = shutil.which("docker")
    if program is None:
        return [Figure("docker run, docker exec: docker command not found", 0, "")]
    image = sandbox.images.base_name  # type: ignore[attr-defined]
    python = ["python3", "-c", "import json; assert json.loads('[1]') == [1]"]
    locked = ["--network", "none", "--cap-drop", "ALL", "--read-only", "--security-opt", "no-new-privileges"]
    run = _median(lambda: _call([program, "run", "--rm", *locked, image, *python]), 12)
    with _running(program, [*locked, image]) as name:
        each = _median(lambda: _call([program, "exec", name, *python]), 20)
    return [
        Figure("peer: docker run per check, p50", run, "ms", reference=True),
        Figure("peer: docker exec per check, p50", each, "ms", reference=True),
        Figure(
            "a warm check is faster than docker run per check by",
            run / warm,
            "times",
            50,
            at_least=True,
            reference=True,
        ),
        Figure("a warm check is faster than docker exec per check by", each / warm, "times", reference=True),
    ]


def _call(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _median(act: Callable[[], None], number: int) -> float:
    """Return the median duration in milliseconds."""
    times = []
    for _ in range(number):
        began = time.perf_counter()
        act()
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


@contextlib.contextmanager
def _running(program: str, words: list[str]) -> Iterator[str]:
    name = f"viva-bench-{os.getpid()}"
    _call([program, "run", "-d", "--rm", "--name", name, *words, "sleep", "300"])
    try:
        yield name
    finally:
        _call([program, "rm", "-f", name])
