"""`viva calibrate` on labels that exist: what agrees, what does not, and which published figures are not those."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.recordings import DATA, shared_file
from tests.viva.conftest import Desk
from tests.viva.viva_command import run_viva


@pytest.fixture
def labels(desk: Desk) -> Desk:
    """A judge whose coding begins at 0, an honest one, and people, in a file with columns of the test's own."""
    lines = ["task,topic,truth,zero_based,honest"]
    for number in range(60):
        truth = 1 + number % 2
        wrong = number % 10 == 0
        said = 3 - truth if wrong else truth
        lines.append(f"{number},{number // 5},{truth},{said - 1},{said}")
    (desk.folder / "labels.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return desk


COLUMNS = ("--item", "task", "--case", "topic", "--gold", "truth")


def test_a_coding_that_is_shifted_is_reported_with_what_kappa_would_be(labels: Desk) -> None:
    shown = labels.viva("calibrate", "labels.csv", *COLUMNS, expect=0).stdout
    said = " ".join(shown.split())
    assert "the labels of zero_based look shifted by 1 (0 is 1, 1 is 2) against those of truth" in said
    assert "would be 0.800" in said
    assert "better than chance" not in said, "which is not known before the coding is mended"
    assert "honest look" not in said
    assert "honest against truth: right in 54 of 60" in said
    assert "60 items of 12 cases" in said


def test_a_gate_on_kappa_compares_the_low_end_of_each_rater(labels: Desk) -> None:
    arguments = ("calibrate", "labels.csv", *COLUMNS, "--min-kappa")
    done = labels.viva(*arguments, "0.4", expect=1)
    assert "below --min-kappa 0.4: kappa of zero_based is -0.286 [" in done.stderr
    assert "honest" not in done.stderr
    labels.viva(*arguments, "-1", expect=0)


def test_json_holds_every_figure(labels: Desk) -> None:
    told = json.loads(labels.viva("calibrate", "labels.csv", *COLUMNS, "--json", expect=0).stdout)
    (figures,) = told["figures"]
    assert figures["raters"] == ["truth", "zero_based", "honest"]
    honest = figures["judged"][1]
    assert honest["accuracy"]["share"] == 0.9
    assert honest["confusion"]["1"] == {"1": 24, "2": 6}
    assert figures["pairs"][0]["recoding"]["names"] == {"0": "1", "1": "2"}


def test_a_published_figure_that_is_not_that_of_the_labels_ends_with_1_and_its_likely_cause(labels: Desk) -> None:
    both = (*COLUMNS, "--raters", "honest", "--published")
    done = labels.viva("calibrate", "labels.csv", *both, "kappa=.9", expect=1)
    said = " ".join(done.stdout.split())
    assert "published: kappa of truth and honest = 0.9, but by these labels it is 0.800" in said
    assert "0.9 comes out if it is the agreement, not the kappa" in said
    assert "confirmed" in labels.viva("calibrate", "labels.csv", *both, "kappa=.80", expect=0).stdout
    assert "confirmed" in labels.viva("calibrate", "labels.csv", *both, "recall/1=.8", expect=0).stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--gold", "trth"), "Did you mean 'truth'?"),
        (("--item", "taks"), "--item: labels.csv has no column 'taks'. Did you mean 'task'?"),
        (("--published", "kapa=.2"), "kappa, agreement, accuracy, precision, recall"),
        (("--published", "kappa=much"), "write NAME=VALUE"),
        (("--published", "kappa=.2"), "kappa:FIRST,SECOND=VALUE"),
        (("--published", "kappa:truth,honst=.2"), "Did you mean 'honest'?"),
        (("--published", "recall:truth,honest=.2"), "precision and recall are of one label"),
        (("--order", "1,2"), "these labels have no place in the order: 0"),
    ],
)
def test_mistakes_name_what_was_meant(labels: Desk, arguments: tuple[str, ...], words: str) -> None:
    columns = () if "--item" in arguments else ("--item", "task")
    done = labels.viva("calibrate", "labels.csv", *columns, "--raters", "truth,zero_based,honest", *arguments, expect=2)
    assert words in done.stderr
    assert done.stdout == ""


def test_grades_in_words_need_their_order(desk: Desk) -> None:
    rows = "".join(f"{n},{'low' if n % 3 else 'high'},{'low' if n % 4 else 'mid'}\n" for n in range(30))
    (desk.folder / "grades.csv").write_text(f"item,a,b\n{rows}", encoding="utf-8")
    assert "--order LOW,…,HIGH" in desk.viva("calibrate", "grades.csv", "--ordinal", expect=2).stderr
    shown = desk.viva("calibrate", "grades.csv", "--order", "low,mid,high", expect=0).stdout
    assert "Krippendorff's alpha (ordinal)" in shown


def test_label_files_of_several_people_are_compared(desk: Desk) -> None:
    for rater, flips in (("ann", 0), ("bob", 7)):
        lines = [
            json.dumps(
                {
                    "rater": rater,
                    "run": f"r{n // 5}",
                    "criterion": str(n % 5),
                    "label": "miss" if flips and n % flips == 0 else "hit",
                }
            )
            for n in range(40)
        ]
        (desk.folder / f"{rater}.jsonl").write_text("\n".join(lines), encoding="utf-8")
    told = json.loads(desk.viva("calibrate", "ann.jsonl", "bob.jsonl", "--json", expect=0).stdout)
    (figures,) = told["figures"]
    assert (figures["items"], figures["clusters"], figures["raters"]) == (40, 8, ["ann", "bob"])
    assert figures["pairs"][0]["agreement"]["same"] == 34
    (desk.folder / "other.csv").write_text("item,a\n1,2\n", encoding="utf-8")
    assert "only label files of Viva" in desk.viva("calibrate", "ann.jsonl", "other.csv", expect=2).stderr


def test_labels_can_come_through_a_pipe(labels: Desk) -> None:
    text = (labels.folder / "labels.csv").read_bytes()
    done = run_viva(*("calibrate", "/dev/stdin", "--item", "task", "--json"), input=text, capture_output=True)
    assert done.returncode == 0
    assert json.loads(done.stdout)["figures"][0]["items"] == 60


def test_without_the_extra_everything_but_alpha_is_shown(labels: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.cli.commands.calibrate.is_available", lambda: False)
    shown = labels.viva("calibrate", "labels.csv", *COLUMNS, expect=0).stdout
    assert "vivavoce[stats]" in shown
    assert "Krippendorff's alpha (" not in shown
    assert "kappa (95 %)" in shown


def _public(name: str) -> Path:
    return shared_file(DATA / "labels" / name)


def test_the_miscoded_kappa_of_a_public_file_is_reported(desk: Desk) -> None:
    arguments = ("--gold", "gold", "--raters", "judge", "--published", "kappa=.268", "--json")
    told = json.loads(desk.viva("calibrate", _public("llmbar_natural_gpt4.csv"), *arguments, expect=1).stdout)
    (check,) = told["published"]
    assert round(check["value"], 3) == 0.898
    assert check["causes"]


def test_public_labels_of_other_forms_are_read_by_the_same_command(desk: Desk) -> None:
    crowd = json.loads(desk.viva("calibrate", _public("dices_350_crowd.csv"), "--json", expect=0).stdout)
    assert crowd["figures"][0]["alpha"]["alpha"] == pytest.approx(0.160860, abs=5e-7)
    assert len(crowd["figures"][0]["raters"]) == 123
    arguments = ("--by", "metric", "--ordinal", "--json")
    graded = json.loads(desk.viva("calibrate", _public("newsroom_graded.csv"), *arguments, expect=0).stdout)
    found = {each["kind"]: round(each["alpha"]["alpha"], 6) for each in graded["figures"]}
    expected = {"Informativeness": 0.284873, "Relevance": 0.115121, "Fluency": -0.015808, "Coherence": 0.064972}
    assert {kind: found[kind] for kind in expected} == expected


@pytest.mark.parametrize(
    ("rows", "words"),
    [(12, "coin: not shown to be better than chance: label more points"), (600, "coin: no better than chance")],
)
def test_a_rater_at_chance_against_the_true_labels_is_told_by_the_rule_of_judges(
    desk: Desk, rows: int, words: str
) -> None:
    lines = [
        f"{n},{'yes' if n % 2 else 'no'},{'yes' if n // 2 % 2 else 'no'},{'yes' if n % 2 else 'no'}"
        for n in range(rows)
    ]
    (desk.folder / "r.csv").write_text("item,truth,coin,good\n" + "\n".join(lines))
    shown = " ".join(desk.viva("calibrate", "r.csv", "--gold", "truth", expect=0).stdout.split())
    assert words in shown
    assert "good: n" not in shown
