"""Resuming with an agent that was changed says so: the results would be those of two agents."""

from __future__ import annotations

import pytest

from tests.model_server import ModelServer
from tests.viva.conftest import Desk
from viva.journal.reader import read_runs

SAYS = "has changed since finished runs were conducted"
GOOD = "def get_reply_from_agent(self, message): return 'GUTENBERG'"


@pytest.mark.parametrize("how", [(), ("--isolate",)])
@pytest.mark.parametrize("spec", ["agent.py:Agent", "agent:Agent"])
def test_a_changed_file_is_told_and_an_unchanged_one_is_not(desk: Desk, how: tuple[str, ...], spec: str) -> None:
    desk.agent(GOOD)
    desk.viva("suite", "echo", "--agent", spec, "--sandbox", "process", "--out", "journal", *how)
    assert {len(run.setting.agent_digest or "") for run in read_runs(desk.folder / "journal")} == {12}
    assert SAYS not in desk.viva("suite", "--resume", "journal", expect=0).stderr
    desk.agent(f"{GOOD}  # better")
    told = desk.viva("suite", "--resume", "journal", expect=0).stderr
    assert f"the file of the agent {spec} {SAYS}" in told
    again = desk.viva("suite", "--resume", "journal", "--fresh", expect=0).stderr
    assert SAYS not in again, "no run of the old agent is kept"


def test_an_agent_file_is_found_again_and_its_changes_are_told(desk: Desk) -> None:
    (desk.folder / "agents").mkdir()
    file = desk.folder / "agents" / "ours.yaml"
    with ModelServer({"agent": "GUTENBERG"}) as server:
        text = f"connector: http\nurl: {server.url}\nmodel: agent\n"
        file.write_text(text)
        arguments = ("suite", "echo", "--agent", "agents/ours.yaml", "--sandbox", "process", "--out", "journal")
        desk.viva(*arguments, expect=0)
        (run,) = read_runs(desk.folder / "journal")
        assert run.setting.agent == "agents/ours.yaml"
        assert run.transcript.participants["target"] == "ours"
        assert SAYS not in desk.viva("suite", "--resume", "journal", expect=0).stderr
        file.write_text(f"{text}name: other\n")
        told = desk.viva("suite", "--resume", "journal", expect=0).stderr
        assert f"the file of the agent agents/ours.yaml {SAYS}" in told


def test_a_resumed_replay_says_it_too(desk: Desk) -> None:
    agent = desk.agent(GOOD)
    desk.run("echo")
    arguments = ("replay", "journal", "--against", agent, "--sandbox", "process", "--out", "again")
    desk.viva(*arguments, expect=0, process=True)
    desk.agent(f"{GOOD}  # better")
    assert SAYS in desk.viva("replay", "--resume", "again", expect=0, process=True).stderr


def test_a_repaired_agent_of_which_no_run_is_kept_is_not_worth_a_word(desk: Desk) -> None:
    agent = desk.agent(f"def __init__(self, task_description): raise ValueError('no key')\n{GOOD}")
    arguments = ("suite", "echo", "--agent", agent, "--sandbox", "process", "--out", "journal")
    desk.viva(*arguments, expect=2, process=True)
    desk.agent(GOOD)
    done = desk.viva("suite", "--resume", "journal", process=True)
    assert (done.returncode, SAYS in done.stderr) == (0, False), done.stderr
