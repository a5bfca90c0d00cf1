"""Runs that are done again: only after an error, never without a trace, and by whoever is at work."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from viva.errors import SetupError
from viva.exam.stored_runs import REQUEUE, read_run_states
from viva.journal.writer import Journal, run_id
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.suites.at_work.requeueing import requeue
from viva.suites.resuming.next_step import ResumeStep, next_step

AGENT = """
async def get_reply_from_agent(self, message):
    if Path("broken").exists():
        raise RuntimeError("the server is down")
    return "Hi."
"""


@pytest.fixture
def suite(desk: Desk) -> Desk:
    """Two runs that ended as target_error, because the agent's server was down."""
    for name in ("one", "two"):
        desk.case(name)
    desk.agent(AGENT)
    (desk.folder / "broken").touch()
    words = ("--agent", "agent.py:Agent", "--sandbox", "process", "--judge", "code")
    desk.viva("suite", "one", "two", *words, "--out", "journal", expect=0)
    (desk.folder / "broken").unlink()
    return desk


def test_a_run_is_done_again_and_journal_record_and_reports_keep_how_it_ended_first(suite: Desk) -> None:
    name = run_id("one", "agent.py:Agent")
    done = suite.viva("requeue", "journal", "--outcome", "target_error", "--run", name, expect=0)
    assert "1 run to be repeated" in done.stdout
    assert "viva suite --resume journal" in done.stdout
    assert read_run_states(suite.folder / "journal")[name].again
    # Until it is done, the first outcome counts.
    before = json.loads(suite.viva("report", "journal", "--format", "json").stdout)
    assert [run["outcome"] for run in before["runs"]] == ["target_error"] * 2
    assert "requeued" not in before["figures"]

    suite.viva("suite", "--resume", "journal", expect=0)
    report = json.loads(suite.viva("report", "journal", "--format", "json").stdout)
    runs = {run["subject"]: run for run in report["runs"]}
    assert (runs["one"]["outcome"], runs["one"]["attempt"]) == ("scored", 2)
    assert runs["one"]["setting"]["requeued"] == ["target_error"]
    assert runs["two"]["outcome"] == "target_error"
    assert runs["two"]["attempt"] == 1
    assert report["figures"]["requeued"] == [{"outcome": "target_error", "run": name, "runs": 1}]
    lines = (suite.folder / "journal" / "journal.jsonl").read_text().splitlines()
    kept = [json.loads(line) for line in lines if f'"event":"run","run":"{name}"' in line]
    assert [line["data"]["outcome"] for line in kept] == ["target_error", "scored"]
    for kind in ("console", "markdown", "html"):
        out = suite.folder / "page.html"
        shown = suite.viva("report", "journal", "--format", kind, *(("--out", out) if kind == "html" else ())).stdout
        shown = out.read_text() if kind == "html" else shown
        assert "first ended as target_error" in " ".join(shown.split())
    assert "it ended as target_error before" in suite.viva("report", f"journal#{name}").stdout


def test_no_gate_passes_over_runs_that_counted_and_were_done_again_also_after_judging_again(suite: Desk) -> None:
    suite.viva("requeue", "journal", "--outcome", "target_error", expect=0)
    suite.viva("suite", "--resume", "journal", expect=0)
    done = suite.viva("report", "journal", "--fail-under", "0.5", expect=3)
    assert "no gate passes over that" in done.stderr
    suite.viva("report", "journal", expect=0)
    suite.viva("judge", "journal", "--sandbox", "process", "--out", "judged", "--fail-under", "0.5", expect=3)
    suite.viva("judge", "journal", "--sandbox", "process", "--out", "again", expect=0)


def test_neither_the_gate_on_corrected_scores_nor_that_on_the_examiner_passes_over_them(suite: Desk) -> None:
    now = datetime.now(UTC).isoformat()
    labels = [
        {"rater": "ann", "run": run_id(name, "agent.py:Agent"), "criterion": "p1", "label": "hit", "at": now}
        for name in ("one", "two")
    ]
    (suite.folder / "labels.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in labels))
    suite.viva("requeue", "journal", "--outcome", "target_error", expect=0)
    suite.viva("suite", "--resume", "journal", expect=0)
    for gate in (
        ("--labels", "labels.jsonl", "--fail-under", "0", "--corrected"),
        ("--max-examiner-faults", "1"),
    ):
        done = suite.viva("report", "journal", *gate, expect=3)
        assert "no gate passes over that" in done.stderr


def test_a_run_that_is_done_again_can_be_interrupted_and_resumed(suite: Desk) -> None:
    name = run_id("one", "agent.py:Agent")
    suite.viva("requeue", "journal", "--outcome", "target_error", "--run", name, expect=0)
    with Journal(suite.folder / "journal") as journal:  # a second attempt that was killed
        journal.append("setting", name, 2, Setting(case="one", agent="agent.py:Agent", requeued=("target_error",)))
    state = read_run_states(suite.folder / "journal")[name]
    assert (state.attempt, state.again, state.requeued) == (2, False, ("target_error",))
    suite.viva("suite", "--resume", "journal", expect=0)
    report = json.loads(suite.viva("report", f"journal#{name}", "--format", "json").stdout)
    assert report["runs"][0]["attempt"] == 3
    assert report["runs"][0]["setting"]["requeued"] == ["target_error"]


def test_what_was_scored_cannot_be_done_again(suite: Desk) -> None:
    suite.viva("requeue", "journal", "--outcome", "target_error", expect=0)
    suite.viva("suite", "--resume", "journal", expect=0)
    name = run_id("one", "agent.py:Agent")
    done = suite.viva("requeue", "journal", "--outcome", "target_error", "--run", name, expect=2)
    assert "ended as scored, which cannot be requeued" in done.stderr
    assert "no run in journal ended as infra_error" in suite.viva("requeue", "journal", expect=2).stderr
    # Nor by a line that says so.
    with Journal(suite.folder / "journal") as journal:
        journal.append(REQUEUE, name, 2, {"outcome": "target_error", "at": 1.0})
    state = read_run_states(suite.folder / "journal")[name]
    assert not state.again
    assert next_step(state).step is ResumeStep.SKIP


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--run", "one-nope"), "holds no run 'one-nope'"),
        (("--run", run_id("one", "agent.py:Agent")), "add --outcome target_error"),
        (("--outcome", "target_error", "--where", "case=three"), "no run matches"),
        (("--outcome", "infra_error", "--where", "case=one"), "none of 1 chosen run ended as infra_error"),
        (("--where", "case=one", "--run", "x"), "give only one of them"),
    ],
)
def test_a_mistake_in_what_is_to_be_done_again_is_a_usage_error(suite: Desk, words: tuple[str, ...], told: str) -> None:
    before = (suite.folder / "journal" / "journal.jsonl").read_bytes()
    assert told in suite.viva("requeue", "journal", *words, expect=2).stderr
    assert (suite.folder / "journal" / "journal.jsonl").read_bytes() == before


def test_only_runs_of_suites_are_done_again(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        record = RunRecord("a", "a", "x", Outcome.INFRA_ERROR, None)
        journal.append("run", "a", 1, record)
    with pytest.raises(SetupError, match="only its runs can be requeued"):
        requeue(tmp_path, [Outcome.INFRA_ERROR])
