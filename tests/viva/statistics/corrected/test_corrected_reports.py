"""What reports and gates promise of corrected scores: one or two lines beneath the raw ones, a gate that holds."""

from __future__ import annotations

import html
import io
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.viva.conftest import Desk
from tests.viva.reports.conftest import WRITERS
from tests.viva.reports.made import write_run
from viva.cli.commands.report import command
from viva.cli.label_options import labels_from
from viva.journal.reader import read_runs
from viva.journal.writer import Journal, run_id
from viva.judge.calibration.conversations import conversation_digest
from viva.records.run_record import Outcome
from viva.reports.journals import joined

AGENT = "agents.py:One"
AT = "2026-11-22T23:30:00Z"
HELLO = "def get_reply_from_agent(self, message): return 'Hello.'"


def journal(folder: Path, cases: int = 30, hits: tuple[bool, ...] = (True, True)) -> Path:
    with Journal(folder / "journal") as written:
        for case in range(cases):
            write_run(written, f"case {case}", AGENT, hits=hits)
    return folder / "journal"


def labels(folder: Path, cases: int = 25, label: str = "miss") -> Path:
    path = folder / "labels.jsonl"
    lines = [
        {"rater": "ann", "run": run_id(f"case {case}", AGENT, 1), "criterion": f"p{point}", "label": given, "at": AT}
        for case in range(cases)
        for point, given in ((0, label), (1, "hit"))
    ]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return path


def viva_report(*arguments: str | Path) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments])


@pytest.mark.parametrize("kind", ["console", "markdown", "html"])
def test_every_report_shows_the_corrected_score_beneath_the_raw_one(tmp_path: Path, kind: str) -> None:
    out = io.StringIO()
    WRITERS[kind](joined([str(journal(tmp_path))], labels=labels_from([labels(tmp_path)], gated=False)), out)
    told = " ".join(html.unescape(out.getvalue()).split())
    assert "0.50 (95 %: 0.31-0.69), as judged 1.00; 50 labelled points in 25 of 30 cases" in told
    assert (
        "recognizes 100% of 25 hits and 0% of 25 misses; it is not shown to be better than chance: label more points"
        in told
    )


def test_the_json_report_has_the_figures_and_without_labels_it_is_as_before(tmp_path: Path) -> None:
    folder = journal(tmp_path)
    with_labels = json.loads(viva_report(folder, "--format", "json", "--labels", labels(tmp_path)).stdout)
    (found,) = with_labels["figures"].pop("corrected")
    assert (found["value"], found["raw"], found["labelled_cases"], found["refused"]) == (0.5, 1.0, 25, "")
    without = json.loads(viva_report(folder, "--format", "json").stdout)
    assert without["figures"] == with_labels["figures"]


def test_too_few_labels_are_refused_in_words(tmp_path: Path) -> None:
    told = viva_report(journal(tmp_path), "--labels", labels(tmp_path, 12))
    assert "no corrected score: labels of 12 cases; a corrected score requires 20" in " ".join(told.stdout.split())
    assert told.exit_code == 0


@pytest.mark.parametrize(
    ("cases", "label", "floor", "code", "why"),
    [
        (25, "hit", "0.8", 0, ""),
        (25, "miss", "0.8", 1, "the corrected mean score (low end of its interval) is 0.3"),
        (12, "hit", "0.8", 3, "no corrected score: labels of 12 cases"),
    ],
)
def test_the_gate_compares_the_low_end_of_the_corrected_score(
    tmp_path: Path, cases: int, label: str, floor: str, code: int, why: str
) -> None:
    folder, file = journal(tmp_path), labels(tmp_path, cases, label)
    found = viva_report(folder, "--labels", file, "--fail-under", floor, "--corrected")
    assert found.exit_code == code
    assert why in found.stderr
    assert viva_report(folder, "--labels", file, "--fail-under", floor).exit_code == 0, "the raw score is 1"


def test_an_agent_that_earned_its_points_and_crashed_misses_the_gate_on_the_corrected_score(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as written:
        for case in range(30):
            outcome = Outcome.SCORED if case < 25 else Outcome.TARGET_ERROR
            write_run(written, f"case {case}", AGENT, hits=(True, True), outcome=outcome)
    gate = ("--labels", labels(tmp_path, 25, "hit"), "--fail-under", "0.8", "--corrected")
    found = viva_report(tmp_path / "journal", *gate)
    assert found.exit_code == 1
    assert "(the agent failed in 5 runs, which count as 0)" in found.stderr
    assert "as judged 0.83; 50 labelled points in 25 of 30 cases (the agent failed in 5 runs" in " ".join(
        found.stdout.split()
    )


def test_the_gate_on_corrected_scores_passes_over_no_run_that_had_counted_and_was_repeated(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as written:
        for case in range(30):
            requeued = ("target_error",) if case == 3 else ("infra_error",) if case == 4 else ()
            write_run(written, f"case {case}", AGENT, hits=(True, True), requeued=requeued)
    gate = ("--labels", labels(tmp_path, 25, "hit"), "--fail-under", "0.8", "--corrected")
    found = viva_report(tmp_path / "journal", *gate)
    assert found.exit_code == 3
    assert "1 run ended as target_error and counted, before the user requeued them; no gate passes over" in found.stderr


@pytest.mark.parametrize("given", [("--corrected",), ("--corrected", "--fail-under", "0.5")])
def test_a_gate_on_corrected_scores_requires_labels(tmp_path: Path, given: tuple[str, ...]) -> None:
    found = viva_report(journal(tmp_path), *given)
    assert found.exit_code == 2
    assert "--corrected requires --labels FILE and --fail-under SCORE" in found.stderr


def test_a_broken_label_file_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "labels.jsonl").write_text('{"rater": "ann"}\n')
    found = viva_report(journal(tmp_path), "--labels", tmp_path / "labels.jsonl")
    assert found.exit_code == 2
    assert "labels.jsonl, line 1: 'run' is missing" in found.stderr


def test_judging_again_can_be_gated_by_labels(desk: Desk) -> None:
    record = desk.run("same_number_in_two_files")
    criterion = record["insights"][0]["verdicts"][0]["criterion"]
    now = datetime.now(UTC).isoformat()
    line = {"rater": "ann", "run": record["id"], "criterion": criterion, "label": "hit", "at": now}
    (desk.folder / "labels.jsonl").write_text(json.dumps(line))
    again = ("--sandbox", "process", "--labels", "labels.jsonl")
    told = desk.viva("judge", "journal", *again, "--out", "a", "--fail-under", "0.5", "--corrected", expect=3)
    assert "no corrected score: labels of 1 case;" in told.stderr
    plain = json.loads(desk.viva("judge", "journal", *again, "--out", "b", "--json", expect=0).stdout)
    assert [each["labels"] for each in plain["corrected"]] == [1]
    (stored,) = read_runs(desk.folder / "journal")
    for digest, used in ((conversation_digest(stored.transcript), 1), ("0" * 16, 0)):
        (desk.folder / "labels.jsonl").write_text(json.dumps({**line, "at": "", "conversation": digest}))
        told = desk.viva("judge", "journal", *again, "--out", f"c{used}", "--json", expect=0).stdout
        assert [each["labels"] for each in json.loads(told)["corrected"]] == [used]


def test_a_suite_is_gated_by_the_judges_accuracy_on_an_earlier_labelled_journal(desk: Desk) -> None:
    with Journal(desk.folder / "old") as written:
        for case in range(25):
            write_run(written, f"case {case}", AGENT, hits=(True, False))
    lines = [
        {"rater": "ann", "run": run_id(f"case {case}", AGENT, 1), "criterion": f"p{point}", "label": given, "at": AT}
        for case in range(25)
        for point, given in ((0, "hit"), (1, "miss"))
    ]
    (desk.folder / "labels.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    cases = [desk.case(f"new{number}") for number in range(5)]
    suite = ("suite", *cases, "--agent", desk.agent(HELLO), "--sandbox", "process")
    by = ("--labels", "labels.jsonl", "--labelled", "old", "--fail-under")
    passed = desk.viva(*suite, *by, "0", "--corrected", "--out", "new", "--json", expect=0)
    (found,) = json.loads(passed.stdout)["figures"]["corrected"]
    assert (found["measured_in"], found["sensitivity"], found["specificity"], found["refused"]) == ("old", 1, 1, "")
    assert found["value"] == found["raw"]
    assert found["low"] < 0.6 < found["high"], "five cases that score alike do not tell the score of all"
    told = desk.viva(*suite, *by, "0.99", "--corrected", "--out", "perfect", expect=1).stderr
    assert "the corrected mean score (low end of its interval) is" in told
    one = ("suite", cases[0], *suite[6:])
    told = desk.viva(*one, *by, "0", "--corrected", "--out", "one", expect=3).stderr
    assert "no corrected score: only 1 case has a score; a corrected score requires 5" in told
    desk.viva(*one[:2], "--agent", "agent.py:Agent", *by[:2], "--out", "x", expect=2)
    (desk.folder / "labels.jsonl").write_text(json.dumps(lines[0]))
    told = desk.viva(*suite, *by, "0.5", "--corrected", "--out", "x", expect=2)
    assert "--corrected: labels of 1 case; a corrected score requires 20" in told.stderr
    kept = [line for line in lines if line["label"] == "hit"] + [lines[1]]
    (desk.folder / "labels.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in kept))
    told = desk.viva(*suite, *by, "0.5", "--corrected", "--out", "x", expect=2)
    assert (
        "--corrected: people found misses in only 1 case; at least 5 are needed to tell how the judge treats misses"
        in told.stderr
    )
    assert not (desk.folder / "x").exists(), "told before the first run"
