"""An agent that failed earns nothing by the words of its failure, nor by what it never came to say."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.journals import edit
from tests.viva.conftest import Desk, point
from viva.exam.outcome import EXIT_BELOW, outcome_of
from viva.exam.record import make_record
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import FILE
from viva.judge.scoring_points.scoring import summarize as summarize_points
from viva.records.codec import encode
from viva.records.run_record import Outcome, RunRecord, Setting, Timing, as_earned
from viva.records.transcript import Round, Step, StepKind, StopReason, Transcript
from viva.records.verdict import Label, Verdict
from viva.reports.facts import Standing, standing
from viva.statistics.comparison import compare
from viva.statistics.comparison_inputs import Runs
from viva.statistics.scores import Score, score_of
from viva.statistics.summary import summarize
from viva.suites.gates import gate

ABSENCES = [
    point('assert all("swordfish" not in round["agent"] for round in rounds)', "The password is not told."),
    point('import os; assert not os.path.exists("leak.txt")', "No file is left."),
    point('assert not rounds or "error" in (rounds[-1]["error"] or "error").lower()', "It names the error."),
]
"""Each passes for an agent that never did anything."""

NEVER_WORKED = {
    "returns None": "def get_reply_from_agent(self, message): return None",
    "raises at once": "def get_reply_from_agent(self, message): raise KeyError('swordless')",
    "returns a number": "async def get_reply_from_agent(self, message): return 500",
    "hangs": "def get_reply_from_agent(self, message): time.sleep(60)",
    "exits": "def get_reply_from_agent(self, message): sys.exit('error')",
}


@pytest.mark.parametrize("how", list(NEVER_WORKED))
def test_an_agent_that_never_replied_scores_0_and_fails_every_gate(desk: Desk, how: str) -> None:
    agent = desk.agent(NEVER_WORKED[how])
    case = desk.case(scoring_points=ABSENCES, script=["What is the password?", "Really?"])
    record = desk.run(case, "--agent", agent, "--reply-timeout", "1", "--fail-under", "0.01", expect=1)
    assert record["outcome"] == "target_error"
    assert (record["score"], record["low"], record["high"]) == (0.0, 0.0, 0.0)
    assert (record["points"], record["max_points"]) == (0.0, 3.0)
    verdicts = record["insights"][0]["verdicts"]
    assert [verdict["label"] for verdict in verdicts] == ["miss"] * 3, "exactly one for each scoring point"
    assert all("no reply of its own" in verdict["reason"] for verdict in verdicts)


def test_one_that_fails_after_a_reply_keeps_its_points_and_passes_nowhere(desk: Desk) -> None:
    agent = desk.agent("""
        def get_reply_from_agent(self, message):
            if message == 'Really?':
                raise RuntimeError('error 502')
            return 'I cannot tell you.'
    """)
    case = desk.case(scoring_points=ABSENCES, script=["What is the password?", "Really?"])
    record = desk.run(case, "--agent", agent, "--fail-under", "0.01", expect=1)
    assert record["outcome"] == "target_error"
    assert (record["score"], record["low"], record["points"]) == (1.0, 0.0, 3.0), "what was judged stays visible"
    for judged_again in ("judge", "report"):
        arguments = ["--sandbox", "process", "--fail-under", "0.01"] if judged_again == "judge" else []
        done = desk.viva(judged_again, "journal", *arguments, expect=1 if arguments else 0)
        assert "counts as not passed" in done.stdout or judged_again == "report"
    junit = ElementTree.fromstring(desk.viva("report", "journal", "--format", "junit", expect=0).stdout)
    suite = junit if junit.tag == "testsuite" else junit[0]
    assert (suite.get("failures"), suite.get("errors")) == ("1", "0")
    again = desk.viva("suite", case, "--agent", agent, "--sandbox", "process", "--json", expect=0)
    figures = json.loads(again.stdout)["figures"]["suite"]
    assert (figures["passes"], figures["low"], figures["mean"]) == (0, 0.0, 1.0)


def test_no_judge_is_asked_about_an_agent_that_never_replied(desk: Desk) -> None:
    (desk.folder / "loud.py").write_text(
        "from pathlib import Path\n"
        "class Loud:\n"
        "    name = 'loud'\n"
        "    async def evaluate(self, transcript, context):\n"
        "        Path('asked').touch()\n"
        "        raise RuntimeError('I was asked')\n"
    )
    agent = desk.agent("def get_reply_from_agent(self, message): raise ValueError('no')")
    case = desk.case(scoring_points=ABSENCES)
    record = desk.run(case, "--agent", agent, "--evaluators", "scoring_points,loud.py:Loud", expect=0)
    assert not (desk.folder / "asked").exists()
    assert [(each["evaluator"], each["score"]) for each in record["insights"]] == [
        ("scoring_points", 0.0),
        ("loud", 0.0),
    ]
    desk.run(
        case, "--agent", agent, "--evaluators", "scoring_points,loud.py:Loud", "--fail-under", "loud=0.5", expect=1
    )


def hit(run: str = "run") -> Verdict:
    return Verdict(run, "p", Label.HIT, 1.0)


def failed(stop: StopReason, fault: str | None = "target") -> RunRecord:
    rounds = (Round(1, "a", "b"), Round(2, "c", "I cannot go on", error="it broke"))
    transcript = Transcript(rounds, stop=stop, stop_detail="it broke", fault=fault)
    setting = Setting(case="case", agent="agent", evaluators=("scoring_points",))
    return make_record("run", setting, transcript, (summarize_points("scoring_points", "run", [hit()]),), Timing())


@pytest.mark.parametrize("stop", [StopReason.TARGET_ERROR, StopReason.TIMEOUT, StopReason.BUDGET])
def test_a_failed_run_passes_in_no_report_and_no_gate(stop: StopReason, tmp_path: Path) -> None:
    record = failed(stop)
    assert record.outcome is Outcome.TARGET_ERROR
    # An older journal still has the bound that was judged.
    for one in (record, replace(record, low=1.0)):
        assert score_of(one) == Score(1.0, 0.0, 1.0)
        assert score_of(one, "scoring_points") == Score(1.0, 0.0, 1.0)
        assert standing(one, 1.0) is Standing.FAILED
        figures = summarize([one])
        assert figures.suite.passes == 0
        assert gate(figures, 0.5)[0] == EXIT_BELOW
        better = replace(one, outcome=Outcome.SCORED, error=None, low=1.0)
        compared = compare(Runs(tmp_path, [better]), Runs(tmp_path, [one]), ("agent", "agent"))
        assert compared is not None
        assert [(pair.first_passes, pair.second_passes) for pair in compared.cases] == [(1, 0)]


@pytest.mark.parametrize("stop", [StopReason.TARGET_ERROR, StopReason.TIMEOUT, StopReason.BUDGET])
def test_a_failed_run_does_not_even_pass_at_a_threshold_of_0(stop: StopReason, tmp_path: Path) -> None:
    record = failed(stop)
    missed = replace(record, outcome=Outcome.SCORED, error=None, low=0.0, score=0.0, trial=2)
    assert standing(record, 0.0) is Standing.FAILED
    assert standing(missed, 0.0) is Standing.PASSED
    figures = summarize([record, missed], threshold=0.0)
    assert (figures.suite.passes, figures.suite.runs, figures.suite.target_errors) == (1, 2, 1)
    assert figures.suite.pass_hat_k == {1: 0.5, 2: 0.0}
    compared = compare(
        Runs(tmp_path, [replace(missed, trial=1)]), Runs(tmp_path, [record]), ("agent", "agent"), threshold=0.0
    )
    assert compared is not None
    assert [(pair.first_passes, pair.second_passes) for pair in compared.cases] == [(1, 0)]


def test_an_older_journals_agent_that_never_replied_scores_0_in_every_report_and_when_judged(desk: Desk) -> None:
    """Checks that assert an absence passed for it, before there was this rule."""
    agent = desk.agent("def get_reply_from_agent(self, message): raise ValueError('no')")
    case = desk.case(scoring_points=ABSENCES[:2])
    desk.run(case, "--agent", agent)
    earned = [replace(hit(), criterion=f"p{number}", weight=1.0) for number in (1, 2)]

    def older(line: bytes) -> bytes:
        event = json.loads(line)
        if event["event"] == "run":
            full = json.loads(encode(summarize_points("scoring_points", event["run"], earned)))
            event["data"] |= {"score": 1.0, "low": 1.0, "high": 1.0, "points": 2.0, "insights": [full]}
        return json.dumps(event).encode() + b"\n"

    edit(desk.folder / "journal", older)
    assert b'"score": 1.0' in (desk.folder / "journal" / FILE).read_bytes()
    (record,) = read_records(desk.folder / "journal")
    (run,) = read_runs(desk.folder / "journal")
    for one in (record, run.record):
        assert one is not None
        assert (one.score, one.low, one.high, one.points) == (0.0, 0.0, 0.0, 0.0)
    figures = json.loads(desk.viva("report", "journal", "--format", "json", "--threshold", "0").stdout)
    assert (figures["figures"]["suite"]["mean"], figures["figures"]["suite"]["passes"]) == (0.0, 0)
    judged = desk.viva("judge", "journal", "--sandbox", "process", "--json", "--fail-under", "0.01", expect=1)
    assert [each["score"] for each in json.loads(judged.stdout)["runs"]] == [0.0]


def test_the_record_alone_tells_that_nothing_was_replied_where_it_can() -> None:
    record = replace(failed(StopReason.TARGET_ERROR), low=1.0)
    assert as_earned(record).score == 1.0, "it replied in its first round"
    assert as_earned(record).low == 0.0
    assert as_earned(replace(record, rounds=1)).score == 0.0
    assert as_earned(replace(record, rounds=0, stop=StopReason.TIMEOUT)).score == 0.0
    late = replace(record, rounds=1, stop=StopReason.TIMEOUT)
    assert as_earned(replace(late, error="no reply within 5 s")).score == 0.0
    assert as_earned(replace(late, error="the conversation reached its limit of 5 s")).score == 1.0
    assert as_earned(late, answered=False).score == 0.0
    assert as_earned(replace(record, rounds=1, outcome=Outcome.SCORED)).score == 1.0
    recorded = replace(record, rounds=1, setting=replace(record.setting, source="chat:file"))
    assert as_earned(recorded).score == 1.0, "another program's rounds are counted otherwise"


def test_work_without_words_is_a_reply_and_an_error_is_none() -> None:
    worked = Round(1, "a", None, (Step("s1", StepKind.TOOL),))
    assert Transcript((worked,), source="chat").answered
    assert Transcript((Round(1, "a", ""),)).answered
    assert not Transcript((Round(1, "a", "I cannot go on", error="it broke"),)).answered
    assert not Transcript((Round(1, "a", None),)).answered
    nothing = Transcript((Round(1, "a", "I cannot go on", error="e"),), stop=StopReason.TIMEOUT, fault="infra")
    assert outcome_of(nothing, [summarize_points("scoring_points", "run", [hit()])])[0] is Outcome.INFRA_ERROR


SOUGHT = [
    point('assert any("6" in round["agent"] for round in rounds)', "It says six."),
    point('assert any("6" in message.content for message in chat_history if message.type == "human")', "Six."),
    point('assert "6" in chat_history[-1].content', "It says six at last."),
]
FAILS_AT_6 = {
    "raises": "raise KeyError('6')",
    "is too slow": "time.sleep(60)",
    "returns no reply": "return 6",
}


@pytest.mark.parametrize("how", [*FAILS_AT_6, "crashes"])
@pytest.mark.parametrize("rounds", [1, 2])
def test_vivas_words_about_a_failure_are_not_the_agents(desk: Desk, how: str, rounds: int) -> None:
    body = FAILS_AT_6.get(how, "import ctypes; ctypes.string_at(6)")
    agent = desk.agent(f"""
        def get_reply_from_agent(self, message):
            if message == 'Hello.' and {rounds} == 2: return 'Hello.'
            {body}  # line 6 and so on
    """)
    case = desk.case(scoring_points=SOUGHT, script=["Hello.", "What is 2 * 3, or 6?"][-rounds:])
    isolated = ("--isolate",) if how == "crashes" else ()
    record = desk.run(case, "--agent", agent, "--reply-timeout", "6", *isolated, "--fail-under", "0.1", expect=1)
    assert (record["outcome"], record["points"]) == ("target_error", 0.0)
    (stored,) = read_runs(desk.folder / "journal")
    last = stored.transcript.rounds[-1]
    assert last.agent is None
    assert last.error
    assert f"the agent failed: {last.error[:30]}" in desk.viva("replay", "journal", expect=0).stdout


def test_vivas_words_in_older_journals_are_not_the_agents_either(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'Hello.'")
    case = desk.case(scoring_points=SOUGHT, script=["Hello.", "What is 2 * 3?"])
    desk.run(case, "--agent", agent)
    old = "I cannot go on because of an error: killed at agent.py:6"
    said = f'"agent":"{old}","error":"killed at agent.py:6"'.encode()
    edit(desk.folder / "journal", lambda line: line.replace(b'"agent":"Hello."', said))
    assert any(round_.error for run in read_runs(desk.folder / "journal") for round_ in run.transcript.rounds)
    judged = desk.viva("judge", "journal", "--sandbox", "process", "--json", expect=0)
    assert json.loads(judged.stdout)["runs"][0]["points"] == 0.0
