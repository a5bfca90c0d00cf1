"""What code in Viva's process can do to its end: it chooses neither the exit code nor how long the process lives."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from tests.viva.real_suites import until
from tests.viva.viva_command import run_python, start

SUPERVISED = "before Viva had ended its work"
CAN_DO_THAT = "in the same process can do that"


AGENT = """
import asyncio, atexit, concurrent.futures, ctypes, os, signal, subprocess, sys, threading, time

class Agent:
    def __init__(self, task_description): pass
    {kind} get_reply_from_agent(self, message):
{body}
        return "GUTENBERG"
"""


def run(desk: Desk, body: str, *more: str, kind: str = "def", command: str = "run") -> subprocess.CompletedProcess[str]:
    """Examine an agent with this body, as a process."""
    text = AGENT.format(kind=kind, body=textwrap.indent(textwrap.dedent(body).strip(), 8 * " "))
    (desk.folder / "agent.py").write_text(text)
    arguments = (command, "echo", "--agent", "agent.py:Agent", "--sandbox", "process", "--quiet", *more)
    return desk.viva(*arguments, process=True)


@pytest.mark.parametrize("code", [0, 1, 2, 130])
@pytest.mark.parametrize("gate", [(), ("--fail-under", "0.5")])
def test_an_agent_that_leaves_viva_chooses_no_exit_code(desk: Desk, code: int, gate: tuple[str, ...]) -> None:
    assert run(desk, f"os._exit({code})", *gate).returncode == 3


@pytest.mark.parametrize(
    "how",
    [
        "ctypes.CDLL(None)._exit(0)",
        "ctypes.CDLL(None).exit(0)",
        "import posix; posix._exit(0)",
        "ctypes.CDLL(None).execv(b'/bin/true', (ctypes.c_char_p * 2)(b'true', None))",
        "os.closerange(3, 1000); ctypes.CDLL(None)._exit(0)",
        "os.kill(os.getpid(), signal.SIGKILL)",
        "ctypes.string_at(0)",
    ],
)
def test_whatever_ends_the_process_is_no_end_of_the_work(desk: Desk, how: str) -> None:
    done = run(desk, how, "--fail-under", "0.5", command="suite")
    assert done.returncode == 3
    assert CAN_DO_THAT in done.stderr
    if "closerange" not in how:  # Viva itself may notice that before its process ends
        assert SUPERVISED in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("body", ["os.closerange(3, 1000); time.sleep(60)", "os.closerange(3, 1000)"])
def test_an_agent_that_closes_the_files_of_viva_is_named(desk: Desk, body: str) -> None:
    done = run(desk, body, "--fail-under", "0.5", command="suite")
    assert done.returncode == 3
    assert CAN_DO_THAT in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("how", ["os.execv('/bin/true', ['true'])", "os.execlp('true', 'true')"])
def test_an_agent_cannot_replace_viva_by_another_program(desk: Desk, how: str) -> None:
    done = run(desk, how, "--fail-under", "0.5")
    assert done.returncode == 1
    assert "target_error" in done.stdout


def test_a_process_that_an_agent_forks_may_run_another_program(desk: Desk) -> None:
    body = "subprocess.run(['true'], check=True); os.fork() or os.execv('/bin/true', ['true']); os.wait()"
    assert "scored" in run(desk, body).stdout


@pytest.mark.parametrize(
    "how",
    [
        "threading.Thread(target=time.sleep, args=(3600,)).start()",
        "concurrent.futures.ThreadPoolExecutor(2).submit(time.sleep, 3600)",
        "atexit.register(time.sleep, 3600)",
    ],
)
def test_what_an_agent_leaves_running_does_not_keep_viva_from_ending(desk: Desk, how: str) -> None:
    done = run(desk, how, "--fail-under", "0.5")
    assert (done.returncode, done.stdout) == (0, "echo scored 2/2 = 1.00\n")
    assert done.stderr == ""


@pytest.mark.parametrize(
    "how",
    [
        "asyncio.get_running_loop().run_in_executor(None, time.sleep, 3600)",
        "asyncio.create_task(asyncio.sleep(3600))",
        "asyncio.get_running_loop().stop()",
        "asyncio.get_running_loop().call_soon(sys.exit, 0); await asyncio.sleep(0.01)",
        "asyncio.get_running_loop().call_soon(exec, 'raise KeyboardInterrupt'); await asyncio.sleep(0.01)",
    ],
)
def test_an_agent_on_vivas_loop_neither_ends_nor_holds_it(desk: Desk, how: str) -> None:
    done = run(desk, how, "--fail-under", "0.5", kind="async def")
    assert (done.returncode, done.stdout) == (0, "echo scored 2/2 = 1.00\n"), done.stderr


def test_an_agent_that_cancels_every_task_ends_its_own_run_and_is_no_ctrl_c(desk: Desk) -> None:
    done = run(desk, "[task.cancel() for task in asyncio.all_tasks()]; await asyncio.sleep(0)", kind="async def")
    assert (done.returncode, done.stdout) == (0, "echo target_error 0/2 = 0.00\n"), done.stderr
    assert "stopped" not in done.stderr


def test_an_agent_that_ignores_its_cancellation_does_not_hold_viva(desk: Desk) -> None:
    body = """
        async def stay():
            while True:
                try:
                    await asyncio.sleep(3600)
                except asyncio.CancelledError:
                    pass
        asyncio.create_task(stay())
        await asyncio.sleep(0)
    """
    done = run(desk, body, kind="async def")
    assert (done.returncode, done.stdout) == (0, "echo scored 2/2 = 1.00\n"), done.stderr


IMPORTS = "import signal, time\nfrom pathlib import Path\n"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "slow",
    [
        "time.sleep(60)",
        "try:\n    time.sleep(60)\nexcept BaseException:\n    time.sleep(60)",
        "class Deaf:\n    def __del__(self): time.sleep(60)\nDeaf()",
        "try:\n    time.sleep(60)\nexcept BaseException as error:\n    raise ImportError from error",
    ],
)
def test_a_signal_during_set_up_ends_with_130_and_without_a_traceback(
    desk: Desk, how: signal.Signals, slow: str
) -> None:
    (desk.folder / "slow.py").write_text(f"{IMPORTS}Path('importing').touch()\n{slow}\n")
    process = desk.start("suite", "echo", "--agent", "slow.py:Agent", "--sandbox", "process", "--fail-under", "0.5")
    until((desk.folder / "importing").exists, process)
    os.kill(process.pid, how)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    assert out == ""


AT_THE_IMPORT = """
import os, sys, time
viva = os.getpid()
class Signals:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(Signals)
            os.kill(viva, {how})
            if os.getpid() != viva:
                time.sleep(60)  # until the signal has been passed on
sys.meta_path.insert(0, Signals)
from viva.cli.main import main
sys.argv = ["viva", *{command!r}]
main()
"""
STARTING = [
    "viva.cli.main",
    "viva.cli.supervision",
    "viva.cli.group",
    "viva.cli.commands.suite",
    "viva.suites.suite",
    "viva.sandbox.connection",
]
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
AT_THE_START = [
    # Each moment, and each signal at one of them; all signals at all moments are half a second each.
    pytest.param(
        module, how, marks=[pytest.mark.soak] * (how != signal.SIGTERM and module != "viva.cli.commands.suite")
    )
    for module in STARTING
    for how in SIGNALS
]


@pytest.mark.parametrize(("module", "how"), AT_THE_START)
def test_a_signal_at_any_moment_of_the_start_is_130_or_the_signal_itself(
    desk: Desk, module: str, how: signal.Signals
) -> None:
    command = ("suite", "echo", "--agent", "example:careful", "--sandbox", "process", "--fail-under", "0.5")
    script = AT_THE_IMPORT.format(module=module, how=int(how), command=command)
    done = subprocess.run([sys.executable, "-c", script], cwd=desk.folder, capture_output=True, text=True, timeout=60)
    # Before Viva's first line, Python ends as any program does. Never is it 1, which is for a low score.
    assert done.returncode in (130, -how), done.stderr
    assert "Traceback" not in done.stderr or done.returncode == -how


AT_THE_MOMENT = """
import os, signal, sys
import viva.cli.main as command, viva.cli.supervision as supervision
owner, name, when = {owner}, {name!r}, {when!r}
function = getattr(owner, name)
def signalled(*arguments):
    if when == "before":
        os.kill(os.getpid(), {how})
    result = function(*arguments)
    if when == "after":
        os.kill(os.getpid(), {how})
    return result
setattr(owner, name, signalled)
sys.argv = ["viva", *{command!r}]
command.main()
"""
MOMENTS = [
    ("supervision", "heard_stops"),  # before and after the fork, and when the work has ended
    ("os", "fork"),
    ("supervision", "_die_with"),
    ("command", "run"),
    ("supervision", "end_work"),
    ("command", "_supervised_run"),
]


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", [("suite", "echo", "--agent", "example:careful", "--trials", "2"), ("cases",)])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("owner", "name"), MOMENTS)
def test_a_signal_between_the_steps_of_the_start_and_the_end_leaves_no_traceback(
    desk: Desk, owner: str, name: str, when: str, command: tuple[str, ...], how: signal.Signals
) -> None:
    more = ("--sandbox", "process", "--quiet") if command[0] == "suite" else ()
    script = AT_THE_MOMENT.format(owner=owner, name=name, when=when, how=int(how), command=(*command, *more))
    done = run_python("-c", script, cwd=desk.folder, capture_output=True, text=True, timeout=60)
    # 0 where the signal found the work ended, or where this command does not come by this moment.
    assert done.returncode in (0, 130), done.stderr
    assert "Traceback" not in done.stderr


def test_a_signal_to_the_whole_group_counts_once(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): Path('talking').touch(); time.sleep(3600)")
    arguments = ("run", "echo", "--agent", agent, "--sandbox", "process", "--out", "my journal")
    process = start(*arguments, cwd=desk.folder, start_new_session=True)
    until((desk.folder / "talking").exists, process)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    words = "to print them: viva replay 'my journal'; to take the exam again there, repeat the command with"
    assert f"viva: stopped. The rounds so far are kept; {words} --out 'my journal'" in " ".join(errors.split())


def test_killing_viva_kills_the_process_that_does_its_work(desk: Desk) -> None:
    agent = desk.agent(
        "def get_reply_from_agent(self, message): Path('talking').write_text(str(os.getpid())); time.sleep(3600)"
    )
    process = desk.start("run", "echo", "--agent", agent, "--sandbox", "process")
    until(lambda: (desk.folder / "talking").is_file() and (desk.folder / "talking").read_text() != "", process)
    process.kill()
    process.communicate(timeout=60)  # until nobody holds its output any more, which a process lets go before it ends
    never = time.monotonic() + 60
    while is_running(int((desk.folder / "talking").read_text())):
        assert time.monotonic() < never, "it outlived Viva"
        time.sleep(0.01)


def is_running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False
