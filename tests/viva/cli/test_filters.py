"""Filters of runs on the command line: what is left out is in no figure, and nobody can take the rest for the whole."""

from __future__ import annotations

import html
import json
import subprocess
from pathlib import Path

import pytest

import viva
from tests.viva.conftest import Desk
from viva.journal.writer import Journal, run_id
from viva.records.run_record import Outcome, RunRecord, Setting
from viva.records.verdict import Insight, Label, Verdict

SCORES = {("ask", "a.py:A"): 1.0, ("ask", "b.py:B"): 0.0, ("pay", "a.py:A"): 1.0, ("pay", "b.py:B"): 1.0}


def write(folder: Path, scores: dict[tuple[str, str], float | None], digest: str = "0" * 64) -> Path:
    """Write a journal with one run for each case and agent; a score of None makes it an infra_error."""
    with Journal(folder) as journal:
        for (case, agent), score in scores.items():
            name = run_id(case, agent)
            setting = Setting(
                case=case, case_hash=digest, agent=agent, evaluators=("scoring_points",), agent_digest="d"
            )
            label = Label.HIT if score else Label.MISS
            verdict = Verdict(name, "p-1", label, score or 0.0, statement="It pays.")
            insight = Insight(
                "scoring_points", name, label=label, score=score, low=score, high=score, verdicts=(verdict,)
            )
            journal.append("setting", name, 1, setting)
            outcome = Outcome.INFRA_ERROR if score is None else Outcome.SCORED
            record = RunRecord(
                name, case, agent, outcome, score, low=score, high=score,
                points=score, max_points=1.0, tags=("money",) if case == "pay" else (), setting=setting,
                insights=() if score is None else (insight,), error="the disk was full" if score is None else None,
            )  # fmt: skip
            journal.append("run", name, 1, record)
        journal.append("setting", "open-1", 1, Setting(case="open", case_hash=digest, agent="a.py:A"))
    return folder


@pytest.fixture
def journal(desk: Desk) -> Path:
    return write(desk.folder / "journal", dict(SCORES))


@pytest.mark.parametrize(
    ("where", "cases"),
    [
        ("score<1", ["ask b.py:B"]),
        ("tag=money", ["pay a.py:A", "pay b.py:B"]),
        ("agent~A.PY and not tag=money", ["ask a.py:A"]),
        ("status=unfinished", []),
    ],
)
def test_a_report_has_the_runs_that_match_and_says_how_many_there_are(
    desk: Desk, journal: Path, where: str, cases: list[str]
) -> None:
    done = desk.viva("report", journal, "--where", where, "--format", "json", expect=0)
    report = json.loads(done.stdout)
    assert [f"{run['subject']} {run['agent']}" for run in report["runs"]] == cases
    open_runs = 1 if where in ("status=unfinished", "agent~A.PY and not tag=money") else 0
    assert len(report["unfinished"]) == open_runs
    assert report["filtered"] == {"by": f"--where '{where}'", "chosen": len(cases) + open_runs, "among": 5}
    assert report["figures"]["suite"]["runs"] == len(cases)


@pytest.mark.parametrize("kind", ["console", "markdown", "html", "junit", "csv", "training_reward", "atif"])
def test_a_filtered_report_never_looks_like_the_whole(desk: Desk, journal: Path, kind: str) -> None:
    out = desk.folder / "report.txt"
    where = ("--out", out) if kind == "html" else ()
    done = desk.viva("report", journal, "--where", "tag=money", "--format", kind, *where, expect=0)
    shown = out.read_text() if kind == "html" else done.stdout
    rows_alone = kind in ("csv", "training_reward", "atif")
    shown = done.stderr if rows_alone else html.unescape(shown)
    assert "2 of 5 runs" in shown
    assert "tag=money" in shown


def test_a_report_without_filters_says_nothing_of_them(desk: Desk, journal: Path) -> None:
    done = desk.viva("report", journal, expect=0)
    assert "filtered" not in done.stdout + done.stderr
    assert "filtered" not in json.loads(desk.viva("report", journal, "--format", "json").stdout)


@pytest.mark.parametrize(
    "filters",
    [("--where", "score=1"), ("--where", "not tag=x and passed"), ("--failed-in", "journal"), ("--where", "rounds<9")],
)
def test_no_gate_is_over_runs_that_were_chosen_by_their_own_results(
    desk: Desk, journal: Path, filters: tuple[str, str]
) -> None:
    for gate in (("--fail-under", "1"), ("--max-examiner-faults", "0")):
        done = desk.viva("report", journal, *filters, *gate, expect=2)
        assert "cannot be over runs that were chosen by their own results" in done.stderr
    assert desk.viva("report", journal, *filters, expect=0).stdout


def test_a_gate_over_what_was_known_before_the_runs_counts_these_alone(desk: Desk, journal: Path) -> None:
    desk.viva("report", journal, "--where", "tag=money", "--fail-under", "1", expect=0)
    desk.viva("report", journal, "--where", "case=ask", "--fail-under", "1", expect=1)
    desk.viva("report", journal, "--fail-under", "1", expect=1)


def test_a_gate_over_nothing_does_not_pass(desk: Desk, journal: Path) -> None:
    done = desk.viva("report", journal, "--where", "tag=absent", "--fail-under", "0", expect=3)
    assert "nothing was scored" in done.stderr
    assert "0 of 5 runs" in done.stdout


def test_a_mistake_is_a_usage_error_with_its_column(desk: Desk, journal: Path) -> None:
    for command in ("report", "judge", "replay", "label"):
        done = desk.viva(command, journal, "--where", "scor<1", expect=2)
        assert "--where, column 1: there is no field 'scor'; did you mean score?" in done.stderr


def test_failed_in_chooses_cases_by_agent_and_by_any_agent_if_this_one_was_not_there(desk: Desk, journal: Path) -> None:
    old = write(desk.folder / "old", {("pay", "b.py:B"): 0.0, ("ask", "b.py:B"): None})
    report = json.loads(desk.viva("report", journal, "--failed-in", old, "--format", "json", expect=0).stdout)
    # a.py:A was not examined there, so its run of the case that failed with another agent is chosen, too.
    assert [f"{run['subject']} {run['agent']}" for run in report["runs"]] == ["pay a.py:A", "pay b.py:B"]


def test_changed_since_chooses_runs_whose_case_or_agent_was_not_there(desk: Desk, journal: Path) -> None:
    old = write(desk.folder / "old", {key: 1.0 for key in SCORES if key != ("pay", "b.py:B")})
    same = json.loads(desk.viva("report", journal, "--changed-since", old, "--format", "json", expect=0).stdout)
    assert [run["subject"] for run in same["runs"]] == []
    other = write(desk.folder / "other", {("ask", "a.py:A"): 1.0, ("ask", "b.py:B"): 1.0})
    found = json.loads(desk.viva("report", journal, "--changed-since", other, "--format", "json", expect=0).stdout)
    assert [run["subject"] for run in found["runs"]] == ["pay", "pay"]


def test_replay_prints_the_conversations_that_match(desk: Desk, journal: Path) -> None:
    done = desk.viva("replay", journal, "--where", "missed=p-1", "--json", expect=0)
    assert [json.loads(line)["run"] for line in done.stdout.splitlines()] == [run_id("ask", "b.py:B")]
    assert "no run matches" in desk.viva("replay", journal, "--where", "score>1", expect=2).stderr


CASE = """\
task_description: Say something.
tags: [{tag}]
script: [Hello.]
scoring_points:
  - {{score_point: It speaks., weight: 1, eval_code: "assert '{wanted}' in rounds[-1]['agent']"}}
"""


@pytest.fixture
def suite(desk: Desk) -> Desk:
    """Two cases, one of which the agent fails."""
    for name, wanted in (("good", "Hi"), ("bad", "Bye")):
        folder = desk.folder / "cases" / name
        folder.mkdir(parents=True)
        (folder / "case.yaml").write_text(CASE.format(tag=name, wanted=wanted))
    desk.agent("async def get_reply_from_agent(self, message):\n    return 'Hi.'")
    return desk


def conduct(desk: Desk, *words: str | Path, out: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    common = ("suite", "cases", "--agent", "agent.py:Agent", "--sandbox", "process", "--judge", "code", "--out", out)
    return desk.viva(*common, *words, expect=expect)


def subjects(desk: Desk, journal: str) -> list[str]:
    report = json.loads(desk.viva("report", journal, "--format", "json").stdout)
    return sorted(run["subject"] for run in report["runs"])


def test_a_suite_of_what_failed_before_is_told_from_the_whole_also_later(suite: Desk) -> None:
    conduct(suite, out="all")
    done = conduct(suite, "--failed-in", "all", out="part")
    assert subjects(suite, "part") == ["bad"]
    words = "part of a suite: 1 of 2 planned runs (--failed-in all)"
    assert words in done.stdout
    assert words in suite.viva("report", "part", expect=0).stdout
    assert words in json.loads(suite.viva("report", "part", "--format", "json").stdout)["notes"]
    resumed = suite.viva("suite", "--resume", "part", expect=0)
    assert words in resumed.stdout
    assert subjects(suite, "part") == ["bad"]
    done = conduct(suite, "--failed-in", "all", "--baseline", "all", "--max-drop", "1", out="no", expect=2)
    assert "by chance alone" in done.stderr
    (suite.folder / "cases/bad/case.yaml").write_text(CASE.format(tag="bad", wanted="Hi"))
    conduct(suite, "--failed-in", "all", out="mended")
    done = conduct(suite, "--failed-in", "mended", out="none", expect=0)
    assert "nothing to run" in done.stderr
    assert not (suite.folder / "none").exists()


def test_a_suite_is_filtered_by_what_is_known_before_its_runs(suite: Desk) -> None:
    conduct(suite, "--where", "tag=good and trial=2", "--trials", "2", out="part")
    assert subjects(suite, "part") == ["good"]
    assert "score is not known before a run" in conduct(suite, "--where", "score<1", out="no", expect=2).stderr
    assert "no run of this suite matches" in conduct(suite, "--where", "case=x", out="no", expect=2).stderr
    assert not (suite.folder / "no").exists()


def test_a_suite_of_what_has_changed_since_a_journal(suite: Desk) -> None:
    conduct(suite, out="all")
    assert "nothing to run" in conduct(suite, "--changed-since", "all", out="none").stderr
    (suite.folder / "cases/good/case.yaml").write_text(CASE.format(tag="new", wanted="Hi"))
    conduct(suite, "--changed-since", "all", out="case")
    assert subjects(suite, "case") == ["good"]
    (suite.folder / "agent.py").write_text((suite.folder / "agent.py").read_text() + "# another version\n")
    conduct(suite, "--changed-since", "all", out="agent")
    assert subjects(suite, "agent") == ["bad", "good"]


def test_a_suite_of_what_has_changed_since_a_commit(suite: Desk) -> None:
    def git(*words: str) -> None:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *identity, *words], cwd=suite.folder, check=True, capture_output=True)

    assert "in no git repository" in conduct(suite, "--changed-since", "HEAD", out="no", expect=2).stderr
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    assert "nothing to run" in conduct(suite, "--changed-since", "HEAD", out="none").stderr
    assert "neither a journal nor a commit" in conduct(suite, "--changed-since", "nope", out="no", expect=2).stderr
    assert "neither a journal nor a commit" in conduct(suite, "--changed-since", "--all", out="no", expect=2).stderr
    (suite.folder / "cases/good/case.yaml").write_text(CASE.format(tag="new", wanted="Hi"))
    conduct(suite, "--changed-since", "HEAD", out="case")
    assert subjects(suite, "case") == ["good"]
    (suite.folder / "beside.py").write_text("X = 1\n")  # the agent may import it
    conduct(suite, "--changed-since", "HEAD", out="agent")
    assert subjects(suite, "agent") == ["bad", "good"]


def test_only_the_conversations_that_match_are_judged_again_and_no_later_gate_takes_them_for_all(suite: Desk) -> None:
    conduct(suite, out="all")
    done = suite.viva("judge", "all", "--where", "passed", "--out", "judged", "--sandbox", "process", expect=0)
    assert "only 1 conversation (--where 'passed')" in done.stderr
    assert subjects(suite, "judged") == ["good"]
    for words in (("report", "judged"), ("judge", "--resume", "judged")):
        assert "holds only such runs" in suite.viva(*words, "--fail-under", "1", expect=2).stderr
    suite.viva(
        "judge", "all", "--where", "tag=good", "--out", "tagged", "--fail-under", "1", "--sandbox", "process", expect=0
    )


def judged(desk: Desk, source: str, out: str, *words: str, expect: int = 0) -> subprocess.CompletedProcess[str]:
    return desk.viva("judge", source, *words, "--out", out, "--sandbox", "process", expect=expect)


def test_a_choice_by_results_is_remembered_however_often_it_is_judged_again(suite: Desk) -> None:
    conduct(suite, out="all")
    judged(suite, "all", "k", "--where", "passed")
    for source, out in (("k", "l"), ("l", "m")):
        done = judged(suite, source, out)
        assert "note: only 1 conversation (--where 'passed')" in done.stderr
        assert "holds only such runs" in suite.viva("report", out, "--fail-under", "1", expect=2).stderr
        notes = json.loads(suite.viva("report", out, "--format", "json").stdout)["notes"]
        assert "only 1 conversation (--where 'passed')" in notes
        assert "holds only such runs" in judged(suite, out, "no", "--fail-under", "1", expect=2).stderr
    again = judged(suite, "m", "n", "--where", "tag=good")
    assert "only 1 conversation (--where 'tag=good'); only 1 conversation (--where 'passed')" in again.stderr
    assert "holds only such runs" in suite.viva("report", "n", "--fail-under", "1", expect=2).stderr


def test_a_judging_by_a_program_remembers_it_too(suite: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    conduct(suite, out="all")
    judged(suite, "all", "k", "--where", "passed")
    monkeypatch.chdir(suite.folder)
    viva.judge("k", sandbox="process", out="l")
    assert "holds only such runs" in suite.viva("report", "l", "--fail-under", "1", expect=2).stderr


def test_a_judging_of_a_part_of_a_suite_is_a_part_and_may_be_gated(suite: Desk) -> None:
    conduct(suite, "--where", "tag=good", out="part")
    judged(suite, "part", "k", "--fail-under", "1")
    words = "part of a suite: 1 of 2 planned runs (--where 'tag=good')"
    assert words in suite.viva("report", "k", "--fail-under", "1", expect=0).stdout


def test_new_runs_of_conversations_that_were_chosen_by_their_results_are_a_part_and_may_be_gated(suite: Desk) -> None:
    conduct(suite, out="all")
    judged(suite, "all", "k", "--where", "passed")
    against = ("--against", "agent.py:Agent", "--sandbox", "process", "--out", "l")
    assert "note: only 1 conversation (--where 'passed')" in suite.viva("replay", "k", *against, expect=0).stderr
    assert "only 1 conversation" in suite.viva("report", "l", "--fail-under", "1", expect=0).stdout


@pytest.mark.parametrize("words", [(), ("--fresh",)])
def test_no_baseline_is_for_cases_that_were_chosen_because_they_failed_also_when_resumed(
    suite: Desk, words: tuple[str, ...]
) -> None:
    conduct(suite, out="all")
    conduct(suite, "--failed-in", "all", out="part")
    resumed = suite.viva("suite", "--resume", "part", *words, "--baseline", "all", "--max-drop", "0", expect=2)
    assert "chosen because they failed do better the next time by chance alone" in resumed.stderr
    conduct(suite, "--where", "tag=bad", out="tagged")
    suite.viva("suite", "--resume", "tagged", "--baseline", "all", "--max-drop", "0", expect=0)


CHANCE = "cases that were chosen because they failed do better the next time by chance alone"


def test_a_comparison_says_how_the_runs_of_a_side_were_chosen(suite: Desk) -> None:
    conduct(suite, out="all")
    conduct(suite, "--failed-in", "all", out="part")
    part = "B: part of a suite: 1 of 2 planned runs (--failed-in all)"
    shown = " ".join(suite.viva("compare", "all", "part", expect=0).stdout.split())
    assert f"note: {part}" in shown
    assert f"note: B: {CHANCE}" in shown
    quiet = suite.viva("compare", "all", "part", "--quiet", expect=0)
    assert f"note: {part}\nnote: B: {CHANCE}\n" in quiet.stderr
    (found,) = json.loads(suite.viva("compare", "all", "part", "--json", expect=0).stdout)["comparisons"]
    assert found["notes"][:2] == [part, f"B: {CHANCE}"]
    (back,) = json.loads(suite.viva("compare", "part", "all", "--json", expect=0).stdout)["comparisons"]
    assert back["notes"][0].startswith("A: part of a suite")
    judged(suite, "part", "judged")
    assert f"B: {CHANCE}" in " ".join(suite.viva("compare", "all", "judged", expect=0).stdout.split())
    conduct(suite, "--where", "tag=good", out="tagged")
    tagged = suite.viva("compare", "all", "tagged", expect=0).stdout
    assert "B: part of a suite" in tagged
    assert "by chance alone" not in " ".join(tagged.split())
    conduct(suite, out="again")
    (whole,) = json.loads(suite.viva("compare", "all", "again", "--json", expect=0).stdout)["comparisons"]
    assert whole.get("notes", []) == []


def test_a_comparison_of_one_run_says_so(suite: Desk) -> None:
    conduct(suite, out="all")
    name = run_id("good", "agent.py:Agent")
    assert f"B: only the run {name}" in suite.viva("compare", "all", f"all#{name}", expect=0).stdout


def test_a_history_says_how_the_runs_of_a_journal_were_chosen(suite: Desk) -> None:
    conduct(suite, out="all")
    conduct(suite, "--failed-in", "all", out="part")
    notes = ["part: part of a suite: 1 of 2 planned runs (--failed-in all)", f"part: {CHANCE}"]
    assert json.loads(suite.viva("history", "all", "part", "--json", expect=0).stdout)["notes"] == notes
    assert "".join(f"note: {note}\n" for note in notes) in suite.viva("history", "all", "part", expect=0).stderr
    assert "notes" not in json.loads(suite.viva("history", "all", "--json", expect=0).stdout)
