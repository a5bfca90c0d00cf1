"""A sandbox that is forked from a warm process is, to a check, the one that a fresh process would be."""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from typing import Any

import pytest

from tests.warm.boxes import fresh_boxes, warm_boxes
from tests.warm.processes import WarmServer, warm_processes_work
from viva.sandbox import RunView, SandboxLimits
from viva.sandbox.process import ProcessSandbox

LOOK = """
import os, sys
streams = [(each.encoding, each.errors, each.line_buffering) for each in (sys.stdin, sys.stdout, sys.stderr)]
status = open("/proc/self/status").read()
facts = [streams, sys.argv, sys.path, sys.flags, sorted(sys.modules), sorted(globals()), dict(os.environ), os.umask(0)]
named = ("SigBlk", "SigIgn", "SigCgt", "Cap", "Seccomp", "NoNew")
facts += [line for line in status.splitlines() if line.startswith(named)]
facts += [len(os.listdir("/proc/self/fd")), os.listdir(), os.path.exists("/proc/self/environ")]
print(facts)
assert False, "seen"
"""

pytestmark = pytest.mark.skipif(not warm_processes_work(), reason="this system has no warm processes")


async def seen(kind: AbstractContextManager[None], fresh: str) -> str:
    """Return what a check prints about itself and its process."""
    sandbox = ProcessSandbox(fresh=fresh)  # type: ignore[arg-type]
    with kind:
        session = await sandbox.open(None, RunView(chat_history=[("human", "Hello.")]))
        found = await session.check(LOOK, SandboxLimits(output_kb=64))
        await session.close()
        await sandbox.close()
    assert found.message == "seen", found
    return re.sub(r"viva-session-[0-9a-f]+", "FOLDER", found.output)


@pytest.mark.parametrize("fresh", ["world", "container"])
async def test_a_check_sees_what_it_sees_in_a_fresh_one(fresh: str) -> None:
    assert await seen(warm_boxes(), fresh) == await seen(fresh_boxes(), fresh)


async def test_what_is_to_be_warm_is_forked_and_what_is_to_be_fresh_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    forked: list[list[str]] = []
    fork = WarmServer.fork

    def noted(self: WarmServer, words: list[str], *more: Any) -> int:
        forked.append(words)
        return fork(self, words, *more)

    monkeypatch.setattr(WarmServer, "fork", noted)
    await seen(fresh_boxes(), "world")
    assert not forked
    await seen(warm_boxes(), "world")
    assert len(forked) == 1
