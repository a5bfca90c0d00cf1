"""How each command ends as a process: the exit codes that scripts and shells go by, and its words where they belong."""

from __future__ import annotations

import os
import signal

import pytest

from tests.viva.conftest import Desk
from viva.cli.group import COMMANDS
from viva.cli.process import report_user_errors
from viva.errors import SetupError

MISTAKES = {
    "run": ("no_such_case",),
    "suite": ("no_such_case",),
    "replay": ("nowhere",),
    "judge": ("nowhere",),
    "bisect": ("nowhere",),
    "trace": ("no_such_reader:x",),
    "report": ("nowhere",),
    "view": ("nowhere", "--no-open"),
    "compare": ("nowhere", "nowhere"),
    "history": ("nowhere",),
    "analyze": ("nowhere",),
    "label": ("nowhere",),
    "calibrate": ("nowhere",),
    "cases": ("check", "nowhere"),
    "sandbox": ("no_such_command",),
    "docs": ("nowhere",),
    "doctor": ("--no-such-option",),
    "init": ("no_such_kind",),
    "status": ("nowhere",),
    "pause": ("nowhere",),
    "resume": ("nowhere",),
    "requeue": ("nowhere",),
    "import": ("nowhere", "--out", "cases"),
    "export": ("nowhere", "--to", "rows", "--out", "rows.jsonl"),
    "trust": ("nowhere",),
    "mcp": ("--folder", "nowhere"),
}
DONE = {
    "run": ("echo", "--sandbox", "process", "--quiet"),
    "suite": ("echo", "--sandbox", "process", "--quiet"),
    "replay": ("journal",),
    "judge": ("journal", "--sandbox", "process", "--quiet"),
    "report": ("journal",),
    "history": ("journal",),
    "cases": (),
    "docs": (),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_mistake_ends_with_2_and_words_on_standard_error_alone(desk: Desk, command: str) -> None:
    done = desk.viva(command, *MISTAKES[command], expect=2, process=True)
    assert done.stdout == ""
    assert done.stderr.strip()


@pytest.mark.parametrize("command", DONE)
def test_what_is_done_ends_with_0_and_its_report_on_standard_output(desk: Desk, command: str) -> None:
    desk.run("echo")
    assert desk.viva(command, *DONE[command], expect=0, process=True).stdout.strip()


def test_a_low_score_ends_with_1_and_what_cannot_be_scored_with_3(desk: Desk) -> None:
    arguments = ("run", "echo", "--sandbox", "process", "--quiet", "--agent", "example:failing")
    desk.viva(*arguments, "--fail-under", "1", expect=1, process=True)
    broken = desk.case(scoring_points=[{"score_point": "It is broken.", "weight": 1, "eval_code": "no_such_name"}])
    desk.viva("run", broken, "--sandbox", "process", expect=3, process=True)


def test_ctrl_c_while_a_conversation_is_printed_ends_with_130_and_a_word(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'word ' * 200")
    desk.run("echo", "--agent", agent)
    process = desk.start("replay", "journal", "--pace")
    assert process.stdout is not None
    first = os.read(process.stdout.fileno(), 10)
    assert first
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == "viva: stopped.\n"


def test_an_error_is_printed_without_secrets(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MY_TOKEN", "t0ken-of-the-user-0123456789")

    @report_user_errors
    def command() -> None:
        raise SetupError("http://host/chat?token=t0ken-of-the-user-0123456789 is not there.")

    with pytest.raises(SystemExit):
        command()
    assert capsys.readouterr().err == "viva: http://host/chat?token=[MY_TOKEN] is not there.\n"
