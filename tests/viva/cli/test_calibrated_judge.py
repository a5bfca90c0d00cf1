"""A judge is calibrated against people, and every report of its scores says so until its prompt or model changes."""

from __future__ import annotations

import html
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.journals import edit
from tests.judged_journals import CASES, judged_suite, labels_by
from tests.model_server import Request, verdict
from tests.viva.conftest import Desk
from viva.journal.reader import read_records
from viva.judge.calibration.store import FILE, Calibration, add_calibration, read_calibrations
from viva.records.codec import encode
from viva.records.verdict import error_insight
from viva.reports.reliability.calibration_words import calibration_words

REPORTS = ("console", "markdown", "html")


@pytest.fixture
def judged(judged_desk: Desk) -> Desk:
    """A judged suite, and labels of two people who find one undeserved hit and one undeserved miss."""
    desk, journal = judged_desk, judged_desk.folder / "runs" / "first"
    changed = {("case_1", 1): "miss", ("case_2", 3): "hit"}
    (desk.folder / "ann.jsonl").write_text(labels_by("ann", journal, changed), encoding="utf-8")
    (desk.folder / "bob.jsonl").write_text(
        labels_by("bob", journal, {**changed, ("case_3", 2): "miss"}), encoding="utf-8"
    )
    return desk


def _calibrate(desk: Desk, *journals: str) -> dict[str, dict[str, Any]]:
    told = json.loads(desk.viva("calibrate", "ann.jsonl", "bob.jsonl", *journals, "--json", expect=0).stdout)
    return {each["judge"]["name"]: each for each in told["judges"]}


def test_a_judge_and_the_code_are_compared_with_people(judged: Desk) -> None:
    found = _calibrate(judged, "runs/first")
    model, code = found["gpt-4o"], found["code"]
    assert model["accuracy"]["items"] == 3 * CASES - 1  # people are divided about one
    assert model["accuracy"]["right"] == 3 * CASES - 3
    assert model["undecided"] == 1
    assert model["cases"] == CASES
    assert model["confusion"] == {"hit": {"hit": 10, "miss": 1}, "miss": {"hit": 1, "miss": 5}}
    assert code["accuracy"]["share"] == 1
    short, long = model["kinds"]
    assert short["kind"].startswith("shorter than")
    assert short["accuracy"]["items"] + long["accuracy"]["items"] == 17


def test_the_undeserved_hit_is_the_worst_disagreement_with_its_run(judged: Desk) -> None:
    shown = judged.viva("calibrate", "ann.jsonl", "bob.jsonl", "runs/first", expect=0).stdout
    said = " ".join(shown.split())
    first = said.index(
        "the judge says hit, people say miss (ann miss, bob miss): the sum should be 1 (case_1, weight 3)"
    )
    assert first < said.index(
        "the judge says miss, people say hit (ann hit, bob hit): the sum should be 52 (case_2, weight 2)"
    )
    assert "viva replay 'runs/first#case_1" in said
    assert "People among themselves 24 items of 6 cases, 2 raters" in said


def test_reports_show_the_calibration_beside_the_scores_of_this_judge(judged: Desk) -> None:
    for kind in REPORTS:
        assert "gpt-4o: not calibrated" in _report(judged, "runs/first", kind)
    _calibrate(judged, "runs/first")
    (stored,) = read_calibrations(judged.folder / "runs" / FILE)
    assert (stored.model, stored.items, stored.cases, stored.people) == ("gpt-4o", 17, 6, 2)
    assert stored.confusion == {"hit": {"hit": 10, "miss": 1}, "miss": {"hit": 1, "miss": 5}}
    for kind in REPORTS:
        shown = _report(judged, "runs/first", kind)
        assert "gpt-4o: calibrated on 17 labels of 6 cases (labels of runs/first), kappa .74 [" in shown
    run = judged.viva("report", f"runs/first#{_first_run(judged)}", expect=0).stdout
    assert "calibrated on 17 labels of 6 cases" in run


def _report(desk: Desk, journal: str, kind: str) -> str:
    text = desk.viva("report", journal, "--format", kind, "--out", "-", expect=0).stdout
    return " ".join(html.unescape(text).split())


def _first_run(desk: Desk) -> str:
    run: str = json.loads((desk.folder / "ann.jsonl").read_text(encoding="utf-8").splitlines()[0])["run"]
    return run


def test_a_changed_prompt_and_a_changed_model_are_not_calibrated(judged: Desk) -> None:
    _calibrate(judged, "runs/first")
    (stored,) = read_calibrations(judged.folder / "runs" / FILE)
    edit(judged.folder / "runs/first", lambda line: line.replace(stored.prompts["judge"].encode(), b"0123456789ab"))
    assert "gpt-4o: not calibrated with these prompts" in _report(judged, "runs/first", "console")
    edit(judged.folder / "runs/first", lambda line: line.replace(b'"judge_model":"gpt-4o"', b'"judge_model":"gpt-5"'))
    assert "gpt-5: not calibrated" in _report(judged, "runs/first", "console")
    assert "with these prompts" not in _report(judged, "runs/first", "console")


def test_a_suite_that_only_code_judged_says_nothing_about_calibration(desk: Desk) -> None:
    desk.run("echo", out="runs/first")
    desk.run("echo", out="runs/second")
    for kind in REPORTS:
        assert "calibrated" not in _report(desk, "runs/first", kind)
    figures = json.loads(desk.viva("report", "runs/first", "--format", "json", expect=0).stdout)["figures"]
    assert "judges" not in figures


@pytest.mark.parametrize("as_before", [False, True])
def test_a_point_whose_requirement_is_unmet_is_no_verdict_of_the_code(desk: Desk, as_before: bool) -> None:
    points = [
        {"id": "first", "score_point": "It writes.", "weight": 1, "eval_code": "assert not rounds"},
        {"id": "second", "score_point": "It reads.", "weight": 1, "eval_code": "assert rounds", "require": "first"},
    ]
    desk.case("exam", scoring_points=points)
    desk.run("exam", out="runs/first")
    journal = desk.folder / "runs/first"
    if as_before:  # earlier versions wrote the code as the judge of it
        edit(journal, lambda line: line.replace(b'"by":"rule"', b'"by":"code"'))
    (record,) = read_records(journal)
    assert [each.by for each in record.insights[0].verdicts] == ["code", "code" if as_before else "rule"]
    lines = [
        json.dumps({"rater": "ann", "run": record.id, "criterion": each.criterion, "label": "miss"}) + "\n"
        for each in record.insights[0].verdicts
    ]
    (desk.folder / "ann.jsonl").write_text("".join(lines), encoding="utf-8")
    (code,) = json.loads(desk.viva("calibrate", "ann.jsonl", "runs/first", "--json", expect=0).stdout)["judges"]
    assert (code["judge"]["name"], code["accuracy"]["items"]) == ("code", 1)


def test_a_judge_that_always_says_hit_is_not_shown_to_be_better_than_chance(desk: Desk) -> None:
    def always(request: Request) -> str:
        return verdict("hit", "Yes.", {"round": 1, "quote": "It is"})

    journal = judged_suite(desk, play=always)
    (desk.folder / "ann.jsonl").write_text(labels_by("ann", journal), encoding="utf-8")
    (desk.folder / "bob.jsonl").write_text(labels_by("bob", journal), encoding="utf-8")
    model = _calibrate(desk, "runs/first")["gpt-4o"]
    assert model["agreement"]["kappa"] == pytest.approx(0)
    assert model["accuracy"]["share"] == pytest.approx(2 / 3)
    words = "not shown to be better than chance: label more points, of more cases"
    calibrated = desk.viva("calibrate", "ann.jsonl", "runs/first", expect=0).stdout
    for shown in (calibrated, *(_report(desk, "runs/first", kind) for kind in REPORTS)):
        assert words in " ".join(shown.split())


def test_a_gate_on_kappa_compares_the_low_end_of_the_model(judged: Desk) -> None:
    arguments = ("calibrate", "ann.jsonl", "bob.jsonl", "runs/first", "--min-kappa")
    assert "below" not in judged.viva(*arguments, "0.1", expect=0).stderr
    assert "below --min-kappa 0.7: kappa of gpt-4o is 0.742 [" in judged.viva(*arguments, "0.7", expect=1).stderr
    assert "below" in judged.viva(*arguments, "0.7", "--json", expect=1).stderr
    without = judged.viva("calibrate", "ann.jsonl", "bob.jsonl", "--min-kappa", "0.7", expect=2)
    assert "--min-kappa requires a journal, or --gold" in without.stderr


def test_labels_of_other_runs_and_options_for_tables_are_mistakes(judged: Desk) -> None:
    other = {"rater": "ann", "run": "elsewhere", "criterion": "x", "label": "hit"}
    (judged.folder / "other.jsonl").write_text(json.dumps(other), encoding="utf-8")
    assert "they are of the runs elsewhere" in judged.viva("calibrate", "other.jsonl", "runs/first", expect=2).stderr
    assert (
        "--gold cannot be given with a journal"
        in judged.viva("calibrate", "ann.jsonl", "runs/first", "--gold", "ann", expect=2).stderr
    )
    assert "viva label runs/first" in judged.viva("calibrate", "runs/first", expect=2).stderr
    assert not (judged.folder / "runs" / FILE).exists()


@pytest.mark.parametrize(
    ("people", "source", "journals", "left_out", "words"),
    [
        (1, "ann.jsonl", "runs/v3", 0, "19 labels of 12 cases (labels of runs/v3)"),
        (1, "ann.jsonl", "", 0, "19 labels of 12 cases (labels in ann.jsonl)"),
        (1, "ann.jsonl", "runs/v3", 2, "19 of 21 points of 12 cases (labels of runs/v3)"),
        (0, "builtin", "", 0, "19 labels (the built-in set)"),
        (0, "builtin", "", 4, "19 of 23 points (the built-in set)"),
        (0, "own.yaml", "", 0, "19 labels (the set own.yaml)"),
    ],
)
def test_a_calibration_says_what_its_labels_are_about(
    people: int, source: str, journals: str, left_out: int, words: str
) -> None:
    found = Calibration("m", {}, items=19, cases=12, people=people, source=source, journals=journals, left_out=left_out)
    assert calibration_words(found) == f"calibrated on {words}"


def test_the_newest_calibration_counts_and_damaged_lines_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / FILE
    for items in (5, 7):
        add_calibration(file, Calibration("m", {"judge": "a"}, items=items, cases=2, accuracy_interval=(0.1, 0.9)))
    with file.open("a", encoding="utf-8") as opened:
        opened.write(
            '{"model": "m", "prompts": \nnonsense\n{"v": 2, "model": "m", "prompts": {}, "items": 1, "cases": 1}\n'
        )
    found = read_calibrations(file)
    assert [each.items for each in found] == [5, 7]
    assert found[1].accuracy_interval == (0.1, 0.9)
    assert found[1].is_of("m", {"judge": "a", "examiner": "b"})
    assert not found[1].is_of("m", {"judge": "b"})
    assert not found[1].is_of("m", {"judge": "a", "scoring_point": "c"})
    assert read_calibrations(tmp_path / "none") == []


def test_one_vote_and_several_are_two_judges(judged: Desk) -> None:
    _calibrate(judged, "runs/first")
    three = judged.folder / "runs/three"
    shutil.copytree(judged.folder / "runs/first", three)
    edit(three, lambda line: line.replace(b'"judge_model":"gpt-4o"', b'"judge_model":"gpt-4o","judge_votes":3'))
    assert "judge gpt-4o with 3 votes: not calibrated with these votes" in _report(judged, "runs/three", "console")
    assert "judge gpt-4o: calibrated on 17 labels" in _report(judged, "runs/first", "console")
    (judged.folder / "runs" / FILE).unlink()
    shown = judged.viva("calibrate", "ann.jsonl", "bob.jsonl", "runs/three", expect=0).stdout
    assert "Judge gpt-4o with 3 votes: 17 labelled points" in shown
    assert "judge gpt-4o with 3 votes: calibrated on 17 labels" in _report(judged, "runs/three", "console")
    assert "judge gpt-4o: not calibrated with one vote" in _report(judged, "runs/first", "console")
    both = json.loads(
        judged.viva("calibrate", "ann.jsonl", "bob.jsonl", "runs/first", "runs/three", "--json", expect=0).stdout
    )
    assert sorted(each["judge"]["votes"] for each in both["judges"] if each["judge"]["name"] == "gpt-4o") == [1, 3]


def test_points_that_the_judge_could_not_judge_are_listed_with_the_reason(judged: Desk) -> None:
    def broken(line: bytes) -> bytes:
        return line.replace(b'"label":"miss"', b'"label":"error"') if b"case_1" in line and b"insight" in line else line

    edit(judged.folder / "runs/first", broken)
    shown = " ".join(judged.viva("calibrate", "ann.jsonl", "runs/first", expect=0).stdout.split())
    assert "left out: 1 point that it could not judge" in shown
    assert (
        "Points that it could not judge the judge gave no verdict, people say miss (ann miss): the sum should be 51"
        in shown
    )
    model = _calibrate(judged, "runs/first")["gpt-4o"]
    assert [each["said"] for each in model["faults"]] == ["error"]
    assert "error" not in [each["label"] for each in model["accuracy"]["labels"]]


def test_a_judge_does_not_leave_the_gate_on_kappa_by_giving_no_verdict(judged: Desk) -> None:
    arguments = ("calibrate", "ann.jsonl", "runs/first")
    gate = ("--min-kappa", "-1")
    judged.viva(*arguments, *gate, expect=0)

    def without_verdict(line: bytes) -> bytes:
        return line.replace(b'"label":"miss"', b'"label":"error"') if b"case_1" in line and b"insight" in line else line

    edit(judged.folder / "runs/first", without_verdict)
    judged.viva(*arguments, expect=0)
    for more in ((), ("--json",)):
        done = judged.viva(*arguments, *gate, *more, expect=3)
        words = "--min-kappa: gpt-4o gave no verdict on 1 labelled point, so the gate does not pass"
        assert words in done.stderr
    done = judged.viva(*arguments, "--min-kappa", "1", expect=1)
    assert "below --min-kappa 1" in done.stderr
    assert words in done.stderr


def test_a_judge_that_failed_for_a_whole_run_does_not_leave_the_gate_either(judged: Desk) -> None:
    def failed(line: bytes) -> bytes:
        event = json.loads(line)
        if event["event"] != "insight" or "case_1" not in event["run"]:
            return line
        broken = error_insight("scoring_points", event["run"], "it took too long")
        return json.dumps({**event, "data": json.loads(encode(broken))}).encode() + b"\n"

    edit(judged.folder / "runs/first", failed)
    done = judged.viva("calibrate", "ann.jsonl", "runs/first", "--min-kappa", "-1", expect=3)
    assert "--min-kappa: gpt-4o gave no verdict on 3 labelled points" in done.stderr
    assert "it took too long" in done.stdout
