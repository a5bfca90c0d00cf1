"""Bubblewrap as an ordinary user, and on machines that forbid what it needs."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.sandbox.conftest import missing
from viva.sandbox import SandboxLimits, SandboxUnavailable
from viva.sandbox.bwrap import Launch, Room, arguments, counts_processes, find_launch

ROOT = Path(__file__).parents[2]
SYSTEM_PYTHON = "/usr/bin/python3"
ORDINARY = """
import asyncio, os
from sandbox import Ending, SandboxLimits, RunView
from viva.sandbox.choice import choose

async def main():
    assert os.getuid() == 12345
    sandbox = (await choose("bwrap")).sandbox
    session = await sandbox.open(None, RunView())
    assert (await session.check("assert True")).ending is Ending.PASSED
    assert (await session.check("open('/etc/passwd')")).ending is Ending.FAILED
    bomb = await session.check("import os\\nwhile True: os.fork()", SandboxLimits(seconds=30))
    assert bomb.message.startswith("processes"), bomb
    assert (await session.check("assert True")).ending is Ending.PASSED
    await sandbox.close()
    print("done")

asyncio.run(main())
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="the other bwrap tests are those of an ordinary user then")
def test_an_ordinary_user_has_the_same_sandbox() -> None:
    try:
        find_launch()
    except SandboxUnavailable as error:
        missing("bwrap", str(error))
    able = "import sys; sys.path.insert(0, sys.argv[1]); import viva.sandbox.choice; assert sys.version_info >= (3, 11)"
    who: dict[str, object] = {"user": 12345, "group": 12345, "extra_groups": []}
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    common: dict[str, object] = {"env": environment, "cwd": "/", "capture_output": True, "text": True, **who}
    if subprocess.run([SYSTEM_PYTHON, "-c", able, str(ROOT)], **common).returncode:  # type: ignore[call-overload]
        pytest.skip("the system's Python is too old, or an ordinary user cannot read this checkout")
    done = subprocess.run([SYSTEM_PYTHON, "-c", ORDINARY], timeout=60, **common)  # type: ignore[call-overload]
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr


def test_where_namespaces_are_off_the_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As bubblewrap itself says it there."""
    said = "bwrap: No permissions to create new namespace, likely because the kernel does not allow it."
    program = tmp_path / "bwrap"
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\nexit 1\n")
    program.chmod(0o755)
    tmp_path.chmod(0o755)
    monkeypatch.setattr("shutil.which", lambda name: str(program))
    with pytest.raises(SandboxUnavailable) as caught:
        find_launch()
    assert "No permissions" in caught.value.reason or "Permission denied" in caught.value.reason
    assert "sysctl" in caught.value.remedy


def test_of_a_python_in_somebodys_home_only_the_python_is_shared(tmp_path: Path) -> None:
    """`./configure --prefix=$HOME` makes the home its installation."""
    for name in ("bin", "lib", ".ssh"):
        (tmp_path / name).mkdir()
    words = arguments(Launch("bwrap", str(tmp_path / "bin" / "python3"), 20_001), Room(SandboxLimits(), 1, None))
    assert [word for word in words if word.startswith(str(tmp_path))] == [
        str(tmp_path / name) for name in ("bin", "bin", "lib", "lib")
    ]


@pytest.mark.parametrize(("release", "ordinary"), [("5.10.0-30-amd64", False), ("5.14.0", True), ("6.1", True)])
def test_processes_are_counted_only_where_they_are_the_sessions_own(
    release: str, ordinary: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Linux 5.14 the limit would count all that the user runs: a desktop's user could start nothing."""
    monkeypatch.setattr("platform.release", lambda: release)
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert counts_processes(Launch("bwrap", SYSTEM_PYTHON, None)) is ordinary
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert counts_processes(Launch("bwrap", SYSTEM_PYTHON, 20_001))
    assert not counts_processes(Launch("bwrap", SYSTEM_PYTHON, None))


def test_the_command_line_shares_nothing_but_what_it_names() -> None:
    words = arguments(Launch("bwrap", SYSTEM_PYTHON, 20_001), Room(SandboxLimits(), 1, None))
    assert "--unshare-all" in words
    assert "--share-net" not in words
    assert "--bind" not in words
    assert "--dev-bind" not in words
    shared = [words[at + 1] for at, word in enumerate(words) if word.startswith("--ro-bind")]
    shared.remove("/proc/sys")  # the same settings as in its own /proc, but read-only
    assert all(
        path.startswith(("/usr/", "/lib", "/bin", "/etc/ld.so", "/etc/alt", "/etc/localtime")) for path in shared
    )
