"""A case's pre_command runs in the agent's environment, alone, within a time limit, and holds nothing up."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import json
import signal
import sys
import time
import venv
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from tests.viva.real_suites import until
from tests.viva.viva_command import in_a_process, start
from viva.cases import Case, load_case
from viva.errors import SetupError
from viva.exam.pre_commands import run_pre_commands

SOUND = "task_description: x\nscoring_points: [{score_point: y, weight: 1}]\n"


def case_with(folder: Path, *commands: str) -> Case:
    folder.mkdir(exist_ok=True)
    (folder / "case.yaml").write_text(SOUND + f"pre_command: {json.dumps(commands)}\n")
    return load_case(folder)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


async def test_python_is_the_agents_own(tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    say = "import os, sys; print(sys.prefix, os.environ['VIRTUAL_ENV'])"
    await run_pre_commands(case_with(tmp_path / "exam", f'python -c "{say}" > said'), str(python))
    assert (tmp_path / "said").read_text().split() == [str(tmp_path / "env")] * 2


def test_python_is_vivas_where_the_agent_runs_in_vivas_process(desk: Desk) -> None:
    """Also where Viva's environment is not activated, and `python` is another or none."""
    case = desk.case(pre_command=["python -c 'import sys; print(sys.prefix)' > said"])
    arguments = ("--agent", desk.agent("def get_reply_from_agent(self, message): return 'x'"), "--allow-pre-command")
    done = in_a_process(
        "run", case, *arguments, "--sandbox", "process", cwd=desk.folder, environment={"PATH": "/usr/bin:/bin"}
    )
    assert done.returncode == 0, done.stderr
    assert (desk.folder / "said").read_text().strip() == sys.prefix


async def test_runs_of_one_case_wait_for_each_other(tmp_path: Path) -> None:
    command = "mkdir busy || exit 9; sleep 0.1; echo done >> log; rmdir busy"
    case = case_with(tmp_path / "exam", command, command)
    await asyncio.gather(*(run_pre_commands(case) for _ in range(3)))
    assert (tmp_path / "log").read_text().split() == ["done"] * 6


async def test_runs_of_one_case_wait_for_each_other_in_other_processes_too(tmp_path: Path) -> None:
    command = "mkdir busy || exit 9; sleep 0.3; echo done >> log; rmdir busy"
    case = case_with(tmp_path / "exam", command)
    program = (
        "import asyncio, pathlib, cases, viva.exam.pre_commands as p; "
        "asyncio.run(p.run_pre_commands(cases.load_case(pathlib.Path('exam'))))"
    )
    root = str(Path(__file__).parents[3])
    other = await asyncio.create_subprocess_exec(sys.executable, "-c", program, env={"PYTHONPATH": root})
    while other.returncode is None:
        await run_pre_commands(case)
        await asyncio.sleep(0)
    assert other.returncode == 0


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EBADF])
async def test_where_there_are_no_locks_commands_run_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "no locks")

    monkeypatch.setattr(fcntl, "flock", refuse)
    await run_pre_commands(case_with(tmp_path / "exam", "echo done >> log"))
    assert (tmp_path / "log").read_text() == "done\n"


async def test_a_command_that_takes_too_long_is_killed_with_all_it_started(tmp_path: Path) -> None:
    case = case_with(tmp_path / "exam", "echo so far; sleep 3600 & echo $! > pid; sleep 3600")
    with pytest.raises(SetupError, match=r"exceeded its time limit of 1\.5 s \(--pre-command-timeout\)") as caught:
        await run_pre_commands(case, seconds=1.5)
    assert "so far" in str(caught.value)
    async with asyncio.timeout(20):
        while _lives((tmp_path / "pid").read_text().strip()):  # noqa: ASYNC110 - another process
            await asyncio.sleep(0.01)


async def test_a_server_that_a_command_leaves_behind_holds_nothing_up(tmp_path: Path) -> None:
    case = case_with(tmp_path / "exam", "sleep 30 & echo $! > pid")
    await run_pre_commands(case, seconds=20)
    pid = (tmp_path / "pid").read_text().strip()
    assert Path(f"/proc/{pid}").exists()
    await (await asyncio.create_subprocess_exec("kill", pid)).wait()


async def test_a_command_that_prints_without_end_is_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.exam.pre_commands.MAX_OUTPUT", 1 << 16)
    with pytest.raises(SetupError, match="printed more than"):
        await run_pre_commands(case_with(tmp_path / "exam", "while :; do echo many words of nothing; done"))


async def test_what_a_command_prints_cannot_steer_the_terminal(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="was killed by signal 9") as caught:
        await run_pre_commands(case_with(tmp_path / "exam", r"printf '\033[31mred'; kill -9 $$"))
    assert "red" in str(caught.value)
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize("dots", [0, 290])
async def test_a_secret_that_a_command_prints_is_in_no_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dots: int
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-long-secret")
    command = f"printf '%s%{dots}s' $SOME_API_KEY . ; exit 3"
    with pytest.raises(SetupError, match="exited with code 3") as caught:
        await run_pre_commands(case_with(tmp_path / "exam", command))
    assert "-secret" not in str(caught.value)


async def test_what_a_server_prints_that_a_command_leaves_behind_fills_no_disk(tmp_path: Path) -> None:
    # It begins to print without end only afterwards: a command itself may print no more than 64 MiB.
    server = "(echo started; until [ -e left ]; do sleep 0.01; done; exec yes) & echo $! > pid"
    await run_pre_commands(case_with(tmp_path / "exam", server))
    (tmp_path / "left").touch()
    pid = (tmp_path / "pid").read_text().strip()
    try:
        output = Path(f"/proc/{pid}/fd/1")
        assert output.readlink().name.startswith("pipe:"), "not a file, of whatever name"
        before = _written(pid)
        never = time.monotonic() + 20
        while _written(pid) < before + (10 << 20):
            assert time.monotonic() < never, "nobody reads what it prints"
            await asyncio.sleep(0.01)
    finally:
        await (await asyncio.create_subprocess_exec("kill", pid)).wait()


def _written(pid: str) -> int:
    return int(Path(f"/proc/{pid}/io").read_text().partition("wchar: ")[2].split()[0])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_no_command_outlives_viva(desk: Desk, how: signal.Signals) -> None:
    case = desk.case(pre_command=["echo $$ > shell; (setsid sleep 3600 & echo $! > daemon); touch begun; sleep 3600"])
    process = start("run", case, "--allow-pre-command", "--sandbox", "process", cwd=desk.folder)
    until((desk.folder / "begun").exists, process)
    process.send_signal(how)
    process.communicate(timeout=60)
    never = time.monotonic() + 20
    while any(_lives((desk.folder / name).read_text().strip()) for name in ("shell", "daemon")):
        assert time.monotonic() < never
        time.sleep(0.01)


def _lives(pid: str) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
