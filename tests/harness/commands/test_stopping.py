"""Ctrl-C is not a low score: whatever a command was about, it ends with the exit code that shells know."""

from __future__ import annotations

import os
import signal
import subprocess

from tests.harness.conftest import VIVA, Desk, clean_environment


def test_ctrl_c_while_a_conversation_is_printed_ends_with_130_and_a_word(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'word ' * 200")
    desk.run("echo", "--agent", agent)
    process = subprocess.Popen(
        [VIVA, "replay", "journal", "--pace"],
        cwd=desk.folder,
        env=clean_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    first = os.read(process.stdout.fileno(), 10)
    assert first
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "viva: stopped.\n"
