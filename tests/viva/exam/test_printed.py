"""What an agent prints is stored with its run and shown with it, in Viva's process and in one of its own."""

from __future__ import annotations

from unittest import mock

import pytest

from tests.viva.conftest import Desk
from tests.viva.viva_command import in_a_process
from viva.journal.reader import read_runs
from viva.reports.progress import reporter

AGENT = """
import sys
class Agent:
    def __init__(self, task_description): print("made")
    def get_reply_from_agent(self, message):
        print("searching \\x1b[31m[bold]<b>" + "x" * {times})
        print("careful", file=sys.stderr)
        return "GUTENBERG"
    def close(self): print("closed")
"""


@pytest.mark.parametrize("how", [(), ("--isolate",)])
def test_it_is_stored_and_shown(desk: Desk, how: tuple[str, ...]) -> None:
    (desk.folder / "agent.py").write_text(AGENT.format(times=0))
    arguments = ("run", "echo", "--agent", "agent.py:Agent", "--sandbox", "process", "--out", "journal", *how)
    assert in_a_process(*arguments, cwd=desk.folder).returncode == 0
    [stored] = read_runs(desk.folder / "journal")
    assert stored.transcript.printed == {
        "stdout": "made\nsearching \x1b[31m[bold]<b>\nclosed\n",
        "stderr": "careful\n",
    }
    shown = desk.viva("replay", "journal", expect=0).stdout
    assert "its stdout    made\n" in shown
    assert "searching \\x1b[31m[bold]<b>" in shown
    assert "its stderr    careful\n" in shown
    desk.viva("report", "journal", "--format", "html", "--out", "page.html", expect=0)
    page = (desk.folder / "page.html").read_text()
    assert "searching \\\\x1b[31m[bold]\\u003cb\\u003e" in page


@pytest.mark.parametrize("how", [(), ("--isolate",)])
def test_it_is_limited(desk: Desk, how: tuple[str, ...]) -> None:
    (desk.folder / "agent.py").write_text(AGENT.format(times=200_000))
    arguments = ("run", "echo", "--agent", "agent.py:Agent", "--sandbox", "process", "--out", "journal", *how)
    assert in_a_process(*arguments, cwd=desk.folder).returncode == 0
    [stored] = read_runs(desk.folder / "journal")
    text = stored.transcript.printed["stdout"]
    assert text.startswith("[… the beginning is left out]\nxxx")
    assert text.endswith("x\nclosed\n")
    assert len(text) < 33_000


NOTING = """
from viva.adapters.contract import ConnectedAgent

class Agent(ConnectedAgent):
    notes = ("what the agent wrote meanwhile is in no reply: 'News.'",)
    def __init__(self, task_description): pass
    async def open(self, seconds): pass
    async def get_reply_from_agent(self, message): return "GUTENBERG"
"""


def test_what_a_connector_notes_is_a_note_of_the_run_and_no_failure_to_close(desk: Desk) -> None:
    (desk.folder / "agent.py").write_text(NOTING)
    desk.viva("run", "echo", "--agent", "agent.py:Agent", "--sandbox", "process", "--out", "journal", expect=0)
    [stored] = read_runs(desk.folder / "journal")
    assert stored.transcript.notes == ("what the agent wrote meanwhile is in no reply: 'News.'",)


def test_a_silent_agent_adds_nothing_to_the_journal(desk: Desk) -> None:
    desk.run("echo")
    assert '"printed"' not in (desk.folder / "journal" / "journal.jsonl").read_text()


def test_vivas_progress_is_not_stored_as_the_agents_words(desk: Desk) -> None:
    agent = desk.agent("""
        def get_reply_from_agent(self, message):
            print("mine", file=sys.stderr)
            return "GUTENBERG"
    """)
    folder = desk.folder / "journal"
    with mock.patch.object(reporter, "PLAIN_SECONDS", 0.0):
        done = desk.viva("run", "echo", "--agent", agent, "--sandbox", "process", "--out", "journal", expect=0)
    assert "round 1 of at most" in done.stderr
    [stored] = read_runs(folder)
    assert stored.transcript.printed == {"stderr": "mine\n"}
