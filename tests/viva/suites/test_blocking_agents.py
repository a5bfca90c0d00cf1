"""An async agent that blocks Viva's event loop is cut off by name, costs its siblings nothing, and can be stopped."""

from __future__ import annotations

import json
import os
import signal
import time

import pytest

from tests.viva.conftest import Desk
from tests.viva.pytest_plugin.sessions import WITHOUT_OTHERS
from tests.viva.real_suites import until
from tests.viva.viva_command import run_pytest
from viva.journal.reader import read_records
from viva.records.run_record import Outcome
from viva.records.transcript import StopReason

BLOCKS = {
    "sleeps": "time.sleep(60)",
    "computes": "while time.monotonic() > 0: pass",
    "waits for a socket": "import socket; a, b = socket.socketpair(); a.recv(1)",
    "waits for a child": "import subprocess; subprocess.run(['sleep', '60'])",
    "catches what is raised": "try: time.sleep(60)\n        except Exception: time.sleep(60)",
    "in a task of its own": "import asyncio; await asyncio.create_task(self.deep())",
}

AGENT = """
    async def deep(self):
        time.sleep(61)
    async def get_reply_from_agent(self, message):
        Path('waiting').touch()
        {}
        Path('over').touch()
        return 'never'
"""


@pytest.mark.parametrize("how", list(BLOCKS))
def test_a_blocking_async_agent_ends_as_a_timeout_that_names_its_line(desk: Desk, how: str) -> None:
    agent = desk.agent(AGENT.format(BLOCKS[how]))
    options = ("--reply-timeout", "1", "--fail-under", "0.1")
    record = desk.run(desk.case(), "--agent", agent, *options, expect=1, process=True)
    assert not (desk.folder / "over").exists(), "it was waited for"
    assert (record["outcome"], record["stop"], record["low"]) == ("target_error", "timeout", 0.0)
    assert "agent.py:" in record["error"]
    assert "--isolate" in record["error"]


def test_a_constructor_that_blocks_the_loop_ends_as_a_timeout(desk: Desk) -> None:
    agent = desk.agent("""
        def __init__(self, task_description):
            time.sleep(60)
        async def get_reply_from_agent(self, message):
            return 'never'
    """)
    record = desk.run(desk.case(), "--agent", agent, "--reply-timeout", "1", process=True)
    assert (record["outcome"], record["stop"]) == ("target_error", "timeout")
    assert "agent.py:8" in record["error"]


def test_the_siblings_of_one_that_blocks_are_not_charged_for_it(desk: Desk) -> None:
    """Each sibling is half-way through a reply when the loop stands still for longer than its whole limit."""
    agent = desk.agent("""
        def __init__(self, config_var):
            self.blocks = config_var['blocks']
        async def get_reply_from_agent(self, message):
            import asyncio
            await asyncio.sleep(0.5)
            if self.blocks:
                time.sleep(60)
            await asyncio.sleep(1.5)
            return 'Hello.'
    """)
    (desk.folder / "cases").mkdir()
    for number in range(5):
        desk.case(f"cases/c{number}", config_var={"blocks": number == 3}, script=["Hello.", "And again."])
    desk.viva(
        "suite", "cases", "--agent", agent, "--concurrency", "5", "--reply-timeout", "5", "--sandbox", "process",
        "--out", "journal", expect=0, process=True,
    )  # fmt: skip
    found = {record.subject: record for record in read_records(desk.folder / "journal")}
    assert found.pop("c3").stop is StopReason.TIMEOUT
    assert {record.outcome for record in found.values()} == {Outcome.SCORED}


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("blocks", ["sleeps", "computes"])
def test_the_first_signal_ends_a_blocked_process_at_once(desk: Desk, how: signal.Signals, blocks: str) -> None:
    agent = desk.agent(AGENT.format(BLOCKS[blocks]))
    process = desk.start("run", desk.case(), "--agent", agent, "--sandbox", "process", "--out", "journal")
    until((desk.folder / "waiting").exists, process)
    os.kill(process.pid, how)
    _, errors = process.communicate(timeout=30)  # half of what it blocks for
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "stopped" in errors
    lines = (desk.folder / "journal" / "journal.jsonl").read_bytes().splitlines(keepends=True)
    assert all(json.loads(line) and line.endswith(b"\n") for line in lines)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_no_handler_has_noted_is_sent_again(desk: Desk, how: signal.Signals) -> None:
    """As one is that arrives just before a system call, which then is not interrupted."""
    agent = desk.agent(f"""
        def __init__(self, task_description):
            pass
        async def get_reply_from_agent(self, message):
            import signal
            handler = signal.getsignal({how.value})
            signal.signal({how.value}, lambda *_: signal.signal({how.value}, handler))
            Path('waiting').touch()
            time.sleep(60)
    """)
    process = desk.start("run", desk.case(), "--agent", agent, "--sandbox", "process", "--out", "journal")
    until((desk.folder / "waiting").exists, process)
    os.kill(process.pid, how)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "stopped" in errors


def test_a_reply_that_came_while_viva_was_stopped_is_read_before_the_time_is_up(desk: Desk) -> None:
    agent = desk.agent("""
        def get_reply_from_agent(self, message):
            Path('waiting').touch()
            time.sleep(1)
            return 'Hello.'
    """)
    process = desk.start(
        "run", desk.case(), "--agent", agent, "--isolate", "--reply-timeout", "3", "--sandbox", "process",
        "--timeout", "4", "--out", "journal", "--json",
    )  # fmt: skip
    until((desk.folder / "waiting").exists, process)
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(6)
    os.kill(process.pid, signal.SIGCONT)
    said, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert json.loads(said)["run"]["outcome"] == "scored"


def test_the_plugin_cuts_a_blocking_agent_off_too(desk: Desk) -> None:
    agent = desk.agent(AGENT.format(BLOCKS["sleeps"]))
    desk.case()
    options = ("-p", "no:cacheprovider", "--viva-agent", agent, "--viva-sandbox", "process")
    words = (*WITHOUT_OTHERS, *options, "--viva-reply-timeout", "1")
    done = run_pytest(*words, cwd=desk.folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "blocks the event loop" in done.stdout
