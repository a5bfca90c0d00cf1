"""`viva label`: single keys, blind until the label is given, saved at once, taken back, resumed, at a real terminal."""

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.judged_journals import CASES
from tests.viva.conftest import Desk
from tests.viva.viva_command import VIVA, clean_environment, run_viva, start_viva
from viva.judge.calibration.label_files import HumanLabel, read_labels

POINTS = 4 * CASES


@pytest.fixture
def judged(judged_desk: Desk) -> Desk:
    return judged_desk


def _label(desk: Desk, keys: str, *options: str, rater: str = "ann") -> str:
    arguments = ("label", "runs/first", "--rater", rater, "--out", "ann.jsonl", *options)
    done = run_viva(
        *arguments, cwd=desk.folder, env=clean_environment(), input=keys, capture_output=True, encoding="utf-8"
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _labels(desk: Desk) -> list[HumanLabel]:
    return read_labels(desk.folder / "ann.jsonl")


def test_each_key_gives_a_label_that_is_saved_with_everything_that_a_calibration_needs(judged: Desk) -> None:
    shown = _label(judged, "hmu\nsq")
    found = _labels(judged)
    assert [each.label for each in found] == ["hit", "miss", "unsure"]
    assert all(each.rater == "ann" and each.case and each.statement and each.at.endswith("Z") for each in found)
    assert all(each.seconds is not None and each.seconds >= 0 for each in found)
    assert "3 labels (1 hit, 1 miss, 1 unsure) by ann in ann.jsonl; 21 points left" in shown
    assert "next: viva calibrate ann.jsonl runs/first" in shown
    judged.viva("calibrate", "ann.jsonl", "runs/first", expect=0)


def test_each_point_names_all_keys_and_its_weight_in_a_narrow_terminal(judged: Desk) -> None:
    shown = _label(judged, "q")
    prompt = "[h]it [m]iss [u]nsure [s]kip [b]ack [e]vidence [t]ext [n]ote [q]uit? "
    assert prompt in shown
    assert len(prompt + "unsure") < 80
    statement = "once more, the sum should be 1"
    assert f"{statement} (weight 1)" in " ".join(_label(judged, "h" * POINTS).split())


def test_a_key_without_a_meaning_is_named_and_a_question_mark_explains_those_that_have_one(judged: Desk) -> None:
    shown = " ".join(_label(judged, "x\t?q").split())
    assert "'x' is not one of the keys; ? explains them." in shown
    assert "'\\t' is not one of the keys" in shown
    assert shown.count("h hit, m miss, u unsure, s skip") == 2, "at the beginning, and where it was asked for"
    assert shown.count("[q]uit?") == 4, "it asks again"


def test_a_capital_letter_is_the_same_key(judged: Desk) -> None:
    _label(judged, "HQ")
    assert [each.label for each in _labels(judged)] == ["hit"]


def test_what_the_judge_said_is_not_shown_before_the_label(judged: Desk) -> None:
    shown = _label(judged, "eeq")
    assert "should be" in shown
    for words in ("gpt-4o", "code says", "The agent says", "The agent never says", "hit:", "miss:"):
        assert words not in shown
    assert re.search(r"(gpt-4o|code) says (hit|miss)", _label(judged, "h"))


def test_a_label_is_taken_back_and_given_again_with_a_note_that_it_is_not_blind(judged: Desk) -> None:
    shown = _label(judged, "hbm")
    assert "hit is taken back" in shown
    (found,) = _labels(judged)
    assert found.label == "miss"
    assert found.note == "given again after the verdict was shown"
    lines = [json.loads(line)["label"] for line in (judged.folder / "ann.jsonl").read_text().splitlines()]
    assert lines == ["hit", None, "miss"]
    assert "first point" in _label(judged, "b")


def test_a_sitting_is_resumed_where_it_stopped_by_each_rater(judged: Desk) -> None:
    _label(judged, "hh")
    assert f"3/{POINTS}  " in _label(judged, "m")
    assert "20 points left" in _label(judged, "s" + "h" * 1)
    _label(judged, "h" * POINTS)
    assert "all points are labelled" in _label(judged, "")
    assert len(_labels(judged)) == POINTS
    assert f"1/{POINTS}  " in _label(judged, "h", rater="bob")


def test_a_note_is_saved_with_the_label(judged: Desk) -> None:
    _label(judged, "nIt is só clear\u2026\nh")
    assert _labels(judged)[0].note == "It is só clear\u2026"


def test_passages_are_found_by_the_words_of_the_point(judged: Desk) -> None:
    shown = _label(judged, "eq")
    assert re.search(r"\[1 of \d\] round 1, (agent|examiner|step): ", shown) or "has none of its words" in shown


def test_a_sample_is_spread_over_the_cases_and_the_same_when_resumed(judged: Desk) -> None:
    shown = _label(judged, "h" * CASES, "--sample", str(CASES))
    assert "all points are labelled" in shown
    first = _labels(judged)
    assert len({each.case for each in first}) == CASES
    assert "all points are labelled" in _label(judged, "", "--sample", str(CASES))
    assert _labels(judged) == first


def test_mistakes_say_what_to_do(desk: Desk) -> None:
    desk.run("echo")
    assert "--rater is empty" in desk.viva("label", "journal", "--rater", " ", expect=2).stderr
    (desk.folder / "bad.jsonl").write_text("nonsense\n")
    assert "bad.jsonl, line 1: it is not JSON" in desk.viva("label", "journal", "--out", "bad.jsonl", expect=2).stderr
    assert desk.viva("label", "nowhere", expect=2).stderr.strip()


def test_a_closed_standard_input_ends_the_sitting(judged: Desk) -> None:
    command = f"{VIVA} label runs/first --rater ann <&-"
    done = subprocess.run(["sh", "-c", command], cwd=judged.folder, env=clean_environment(), capture_output=True)
    assert b"Traceback" not in done.stderr
    assert done.returncode == 0
    assert b"0 labels by ann" in done.stdout


def test_hostile_words_of_an_agent_cannot_write_to_the_terminal(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'sum \\x1b[2J\\u202e should \\x07be'")
    desk.case(scoring_points=[{"score_point": "The sum should be said.", "weight": 1, "eval_code": "assert 0, rounds"}])
    desk.run("exam", "--agent", agent, out="runs/first")
    shown = _label(desk, "eth")
    assert "[1 of" in shown
    assert not re.search("[\x07\x1b\u202e]", shown)


class Terminal:
    """A pseudo-terminal at which `viva label` runs."""

    def __init__(self, desk: Desk) -> None:
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        arguments = ("label", "runs/first", "--rater", "ann", "--out", "ann.jsonl")
        environment = {**clean_environment(), "TERM": "xterm", "COLUMNS": "100"}
        self.process = start_viva(
            *arguments,
            cwd=desk.folder,
            env=environment,
            stdin=self.slave,
            stdout=self.slave,
            stderr=self.slave,
            start_new_session=True,
        )
        self.text = ""

    def wait_for(self, words: str, seconds: float = 60) -> None:
        """Read until the terminal has shown words after what was waited for before."""
        end = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < end, f"{words!r} is not in {self.text!r}"
            if select.select([self.master], [], [], 0.1)[0]:
                self.text += os.read(self.master, 65536).decode("utf-8", "replace")
        self.text = self.text.partition(words)[2]

    def type(self, keys: str) -> None:
        os.write(self.master, keys.encode())


@pytest.fixture
def terminal(judged: Desk) -> Iterator[Terminal]:
    found = Terminal(judged)
    yield found
    with contextlib.suppress(ProcessLookupError):
        found.process.kill()
    found.process.wait()
    os.close(found.master)
    os.close(found.slave)


def test_at_a_terminal_a_key_needs_no_enter_and_the_mode_is_restored(terminal: Terminal, judged: Desk) -> None:
    terminal.wait_for("[q]uit?")
    terminal.type("h")
    terminal.wait_for("says")
    terminal.wait_for("[q]uit?")
    terminal.type("\x1b[A")  # an arrow does nothing
    terminal.type("n")
    terminal.wait_for("note: ")
    terminal.type("a notx\x7fe\n")  # a typing mistake can be corrected
    terminal.wait_for("[q]uit?")
    terminal.type("m")
    terminal.wait_for("says")
    terminal.wait_for("[q]uit?")
    terminal.type("q")
    terminal.wait_for("2 labels")
    assert terminal.process.wait(60) == 0
    assert termios.tcgetattr(terminal.slave) == terminal.before
    assert [(each.label, each.note) for each in _labels(judged)] == [("hit", ""), ("miss", "a note")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_sitting_keeps_its_labels_and_restores_the_terminal(
    terminal: Terminal, judged: Desk, number: int
) -> None:
    terminal.wait_for("[q]uit?")
    terminal.type("h")
    terminal.wait_for("says")
    terminal.wait_for("[q]uit?")
    terminal.process.send_signal(number)
    assert terminal.process.wait(60) == 130
    assert termios.tcgetattr(terminal.slave) == terminal.before
    assert [each.label for each in _labels(judged)] == ["hit"]


def test_twenty_points_take_a_few_bytes_of_typing(judged: Desk) -> None:
    shown = _label(judged, "h" * 20, "--sample", "20")
    assert "20 labels" in shown
    assert Path(judged.folder / "ann.jsonl").read_text().count("\n") == 20


def test_a_person_is_told_what_the_judge_knows_beside_the_conversation(desk: Desk) -> None:
    points = [{"score_point": "A poem is written.", "weight": 1, "eval_code": "assert rounds"}]
    case = desk.case(scoring_points=points, evidence=["files"], background="It is to be about gulls.")
    agent = desk.agent("""
        def __init__(self, task_description, app_dir=None, config_var=None, workspace=None):
            self.workspace = workspace

        def get_reply_from_agent(self, message):
            Path(self.workspace, "poem.txt").write_text("Grey gulls above the quay")
            return "Written."
    """)
    desk.viva("suite", case, "--agent", agent, "--sandbox", "process", "--out", "runs/first", expect=0)
    shown = "".join(_label(desk, "q").split())
    assert "background:Itistobeaboutgulls." in shown
    (poem,) = (desk.folder / "runs").rglob("poem.txt")
    assert f"filesoftheagent:{poem.parent.relative_to(desk.folder)}" in shown.replace(f"{desk.folder}/", "")
