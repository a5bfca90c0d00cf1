"""Labels count for the conversation that was read, and by how it was chosen; files that tore are read and continued."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk
from tests.viva.reports.made import write_run
from tests.viva.viva_command import clean_environment, run_viva
from viva.journal.writer import Journal
from viva.judge.calibration.label_files import NAMED, RANDOM, SAMPLE, HumanLabel, read_labels

CASES = 25
AGENT = "agents.py:One"
GATE = ("--corrected", "--fail-under", "0.2")


@pytest.fixture
def two(desk: Desk) -> Desk:
    """Two journals of the same cases and agent, so with the same run ids, whose conversations differ."""
    for name, said in (("first", "Yes."), ("second", "No.")):
        made(desk.folder / name, said)
    return desk


def made(where: Path, said: str, hits: Sequence[bool] = (True, True)) -> None:
    with Journal(where) as written:
        for case in range(CASES):
            write_run(written, f"case {case}", AGENT, said=(f"{said} {case}",), hits=hits)


def label(desk: Desk, journal: str, keys: str, *arguments: str) -> str:
    command = ["label", journal, "--rater", "ann", "--out", "ann.jsonl", *arguments]
    environment = clean_environment()
    done = run_viva(*command, cwd=desk.folder, env=environment, input=keys, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def labels(desk: Desk) -> list[HumanLabel]:
    return read_labels(desk.folder / "ann.jsonl")


def rewrite(desk: Desk, **changed: Any) -> None:
    """Change fields of all lines of the label file; None removes one."""
    lines = []
    for line in (desk.folder / "ann.jsonl").read_text(encoding="utf-8").splitlines():
        plain = {**json.loads(line), **changed}
        lines.append(json.dumps({name: value for name, value in plain.items() if value is not None}) + "\n")
    (desk.folder / "ann.jsonl").write_text("".join(lines), encoding="utf-8")


def test_labels_of_another_suite_with_the_same_run_ids_are_used_nowhere(two: Desk) -> None:
    label(two, "first", "h" * CASES * 2)
    assert len({each.conversation for each in labels(two)}) == CASES
    words = "50 labels are about other conversations with the same run id: not used"
    assert words in two.viva("calibrate", "ann.jsonl", "second", expect=2).stderr
    shown = " ".join(two.viva("report", "second", "--labels", "ann.jsonl", expect=0).stdout.split())
    assert words in shown
    assert "no corrected score: labels of 0 cases" in shown
    assert words in two.viva("report", "second", "--labels", "ann.jsonl", *GATE, expect=3).stderr
    two.viva("report", "first", "--labels", "ann.jsonl", *GATE, expect=0)
    two.viva("calibrate", "ann.jsonl", "first", expect=0)
    model = ("--judge-model", "openai:none")
    assert words in two.viva("calibrate", "ann.jsonl", "second", *model, expect=2).stderr
    measured = ("--labels", "ann.jsonl", "--labelled", "second", *GATE)
    told = two.viva("suite", two.case(), "--agent", "agent.py:Agent", *measured, "--out", "x", expect=2).stderr
    assert "--corrected: labels of 0 cases" in told


def test_one_file_holds_the_labels_of_two_suites(two: Desk) -> None:
    label(two, "first", "h" * CASES * 2)
    shown = label(two, "second", "m" * CASES * 2)
    assert "note: 50 labels in ann.jsonl are about other conversations" in shown
    assert f"{CASES * 2} miss" in shown
    told = json.loads(two.viva("calibrate", "ann.jsonl", "second", "--json", expect=0).stdout)
    assert told["judges"][0]["confusion"] == {"miss": {"hit": CASES * 2}}
    both = json.loads(two.viva("calibrate", "ann.jsonl", "first", "second", "--json", expect=0).stdout)
    assert both["judges"][0]["confusion"] == {"hit": {"hit": CASES * 2}, "miss": {"hit": CASES * 2}}
    assert both["notes"] == []


def test_labels_that_can_be_joined_by_nothing_are_refused_by_a_gate_and_noted_elsewhere(two: Desk) -> None:
    label(two, "first", "h" * CASES * 2)
    rewrite(two, conversation=None)
    by_time = two.viva("report", "first", "--labels", "ann.jsonl", *GATE, expect=0).stdout
    words = "50 labels without a digest of the conversation: joined by run id and time"
    assert words in " ".join(by_time.split())
    assert words in two.viva("calibrate", "ann.jsonl", "first", expect=0).stderr
    for at in (None, "yesterday", "2999-01-01T00:00:00Z"):
        rewrite(two, at=at)
        assert "nothing tells which conversation 50 labels (the first" in (
            two.viva("report", "first", "--labels", "ann.jsonl", *GATE, expect=2).stderr
        )
        two.viva("report", "first", "--labels", "ann.jsonl", expect=0)


def test_each_label_says_how_its_point_was_chosen_and_hard_ones_correct_nothing(two: Desk) -> None:
    label(two, "first", "h" * 20, "--sample", "20")
    one = labels(two)[0].run
    label(two, f"first#{one}", "hh")
    assert {each.chosen for each in labels(two)} == {SAMPLE, NAMED}
    told = two.viva("report", "first", "--labels", "ann.jsonl", *GATE, expect=3).stderr
    assert "labels of 0 cases chosen at random; a corrected score requires 20 (viva label without --sample)" in told
    shown = " ".join(two.viva("calibrate", "ann.jsonl", "first", expect=0).stdout.split())
    assert "chosen as hard: 20 of them; the figures are about points that are hard to judge" in shown


def test_what_a_sample_chose_becomes_random_when_the_random_order_reaches_it(two: Desk) -> None:
    label(two, "first", "m" * 10, "--sample", "10")
    before = labels(two)
    label(two, "first", "h" * 11)
    found = labels(two)
    drawn = [each for each in found if each.chosen == RANDOM]
    taken = [each for each in drawn if each.label == "miss"]
    assert len(drawn) == 11 + len(taken)
    assert {each.at for each in taken} <= {each.at for each in before}
    label(two, "first", "h" * CASES * 2)
    assert {each.chosen for each in labels(two)} == {RANDOM}
    assert sum(each.label == "miss" for each in labels(two)) == 10


def test_a_torn_file_is_read_with_a_note_and_continued_on_a_new_line(two: Desk) -> None:
    label(two, "first", "hhh")
    file = two.folder / "ann.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    note = "note: ann.jsonl: 1 torn line skipped (line 3): a writer was killed"
    assert note in label(two, "first", "m")
    assert [each.label for each in labels(two)] == ["hit", "hit", "miss"]
    assert note in two.viva("calibrate", "ann.jsonl", "first", expect=0).stderr
    assert note in two.viva("calibrate", "ann.jsonl", expect=0).stderr
    assert note in two.viva("report", "first", "--labels", "ann.jsonl", expect=0).stderr


def test_where_nothing_was_labelled_nothing_is_said_to_be_stored_and_no_file_is_left(two: Desk) -> None:
    shown = label(two, "first", "q")
    assert "0 labels by ann; 50 points left" in shown
    assert not (two.folder / "ann.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("calibrate", "ann.jsonl", "frist"), "there is neither a label file nor a journal frist. Did you mean first?"),
        (("calibrate", "first", "an.jsonl"), "neither a label file nor a journal an.jsonl. Did you mean ann.jsonl?"),
        (("report", "first", "--labels", "an.jsonl"), "there is no label file an.jsonl. Did you mean ann.jsonl?"),
        (("calibrate", "empty.jsonl", "first"), "there are no labels in empty.jsonl"),
        (("label", "first#nope"), "first holds no run 'nope'. It has: "),
        (("label", "first", "--out", "-"), "it cannot be standard output"),
        (("label", "first", "--out", "/dev/null"), "/dev/null is not a regular file"),
        (("calibrate", "ann.jsonl", "--raters", "anne"), "there is no rater 'anne'. Did you mean 'ann'?"),
        (("calibrate", "ann.jsonl", "--gold", "anne"), "there is no rater 'anne'. Did you mean 'ann'?"),
    ],
)
def test_mistakes_name_what_was_looked_for_and_what_may_be_meant(
    two: Desk, arguments: tuple[str, ...], words: str
) -> None:
    line = {"rater": "ann", "run": "r", "criterion": "p", "label": "hit"}
    (two.folder / "ann.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    (two.folder / "empty.jsonl").touch()
    assert words in two.viva(*arguments, expect=2).stderr


def test_an_empty_label_file_corrects_nothing_and_is_said_to_be_empty(two: Desk) -> None:
    (two.folder / "empty.jsonl").touch()
    assert "the label file holds no labels" in two.viva("report", "first", "--labels", "empty.jsonl", expect=0).stdout
    two.viva("report", "first", "--labels", "empty.jsonl", *GATE, expect=3)
