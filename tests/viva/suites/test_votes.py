"""Votes and juries through every door: the commands, Python and pytest; what is recorded, shown and resumed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import viva
from tests.conftest import KEY
from tests.model_server import ModelServer, Request, text_of, verdict
from tests.viva.conftest import Desk, point
from viva.journal.reader import read_records, read_runs
from viva.records.run_record import RunRecord
from viva.suites.resuming.stored_request import load_request

HIT = verdict("hit", "Yes.", {"round": 1, "quote": "sum"})
MISS = verdict("miss", "No.")
A, B = ("--judge-model", "openai:a"), ("--judge-model", "openai:b")
RUN = ("--agent", "agent.py:Agent", "--sandbox", "process")


class Wavering:
    """Says hit, and miss at every third vote on the same statement."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    def __call__(self, request: Request) -> str:
        (statement,) = re.findall(r"Statement \d+", "\n".join(text_of(each) for each in request["messages"]))[-1:]
        self.asked[statement] += 1
        return MISS if self.asked[statement] % 3 == 2 else HIT


class JuryDesk(Desk):
    """A desk whose commands know the address of two models."""

    def __init__(self, folder: Path, server: ModelServer) -> None:
        super().__init__(folder)
        self.server = server
        self.own = {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": KEY}

    def viva(self, *arguments: str | Path, environment: Mapping[str, str] | None = None, **more: Any) -> Any:
        return super().viva(*arguments, environment={**self.own, **(environment or {})}, **more)

    def records(self, journal: str = "journal") -> list[RunRecord]:
        return list(read_records(self.folder / journal))


@pytest.fixture
def jury(tmp_path: Path) -> Iterator[JuryDesk]:
    with ModelServer({"a": HIT, "b": Wavering(), "c": MISS}) as server:
        desk = JuryDesk(tmp_path, server)
        desk.case(scoring_points=[point(None, f"Statement {number} holds.") for number in range(1, 5)])
        desk.agent("def get_reply_from_agent(self, message):\n    return 'The sum is 55.'")
        yield desk


def test_a_suite_with_votes_keeps_them_and_tells_what_they_were_worth(jury: JuryDesk) -> None:
    suite = ("suite", "exam", *RUN, *A, *B, "--votes", "2", "--trials", "3", "--out", "journal")
    shown = jury.viva(*suite, expect=0, environment={"COLUMNS": "200"}).stdout
    line = next(each for each in shown.splitlines() if each.startswith("votes"))
    for words in ("a, b:", "votes cast on 12 points", "flip rate", "agreement", "effective votes", "of 4"):
        assert words in line
    assert "differ" in shown
    assert "judge code or model (a + b, 2 votes each)" in shown, "no point has a check, so that code judged none"
    for record in jury.records():
        setting = record.setting
        assert (setting.judge_model, setting.judge_models, setting.judge_votes) == ("a + b", ("a", "b"), 2)
        assert all(3 <= len(each.votes) <= 4 for each in record.insights[0].verdicts)
        assert all(vote.reason for each in record.insights[0].verdicts for vote in each.votes)
    figures = json.loads(jury.viva("report", "journal", "--format", "json", expect=0).stdout)["figures"]
    assert figures["votes"]["points"] == 12
    assert figures["votes"]["heads"] == 4
    markdown = jury.viva("report", "journal", "--format", "markdown", expect=0).stdout
    assert "- Votes: a, b" in markdown
    jury.viva("report", "journal", "--format", "html", "--out", "page.html", expect=0)
    assert "Votes of the judge" in (jury.folder / "page.html").read_text()


def test_without_votes_no_report_and_no_record_says_anything_of_them(jury: JuryDesk) -> None:
    shown = jury.viva("suite", "exam", *RUN, *A, "--out", "journal", expect=0).stdout
    assert "\nvotes" not in shown
    assert "votes" not in json.loads(jury.viva("report", "journal", "--format", "json", expect=0).stdout)["figures"]
    assert "Votes" not in jury.viva("report", "journal", "--format", "markdown", expect=0).stdout
    journal = (jury.folder / "journal" / "journal.jsonl").read_text()
    assert "judge_models" not in journal
    assert "judge_votes" not in journal
    assert '"votes"' not in journal
    request = (jury.folder / "journal" / "request.json").read_text()
    assert '"judge_model":"openai:a"' in request.replace(" ", "")
    assert '"votes"' not in request


def test_stored_conversations_are_judged_again_with_votes_and_a_jury(jury: JuryDesk) -> None:
    jury.viva("suite", "exam", *RUN, *A, "--out", "journal", expect=0)
    jury.viva("judge", "journal", *B, "--judge-model", "openai:c", *A, "--votes", "3", "--out", "again", expect=0)
    (record,) = jury.records("again")
    assert record.setting.judge_models == ("b", "c", "a")
    assert {each.judge for found in record.insights[0].verdicts for each in found.votes} == {"a", "b", "c"}
    (run,) = read_runs(jury.folder / "again")
    assert run.asked, "every vote is kept with its request"
    shown = jury.viva("replay", "again", "--judge", "1", expect=0).stdout
    flat = " ".join(shown.split())
    assert "vote 1" in flat
    assert "vote 2" in flat
    assert "final verdict: hit (votes: " in flat


def test_a_resumed_suite_keeps_its_votes_and_may_replace_its_models(jury: JuryDesk) -> None:
    suite = ("suite", "exam", *RUN, *A, *B, "--votes", "2", "--out", "journal")
    jury.viva(*suite, "--trials", "2", expect=0)
    refused = jury.viva("suite", "--resume", "journal", "--votes", "3", expect=2)
    assert "--votes cannot be changed when it is resumed" in refused.stderr
    jury.viva("suite", "--resume", "journal", "--judge-model", "openai:c", *B, expect=0)
    request = load_request(jury.folder / "journal")
    assert request is not None
    assert request.options.judge_model == ("openai:a", "openai:b")
    assert request.options.votes == 2


def test_a_model_that_is_named_twice_and_votes_that_nobody_casts_are_told(jury: JuryDesk) -> None:
    twice = jury.viva("run", "exam", *RUN, *A, *A, expect=2)
    assert "--judge-model openai:a is given twice. For several votes of one model: --votes 2." in twice.stderr
    jury.case("coded", scoring_points=[point("assert rounds")])
    idle = jury.viva("run", "coded", *RUN, *A, "--votes", "3", "--out", "coded-journal", expect=0)
    told = " ".join(idle.stderr.split())
    assert (
        "--votes has no effect: all points have eval_code or check, so no model judges them; with --judge both" in told
    )
    none = jury.viva("run", "coded", *RUN, "--votes", "3", "--out", "none-journal", expect=0)
    assert "with --judge both and --judge-model openai:NAME, models vote" in " ".join(none.stderr.split())
    more = jury.viva("run", "coded", *RUN, *A, *B, "--out", "more-journal", expect=0)
    assert "further --judge-model have no effect" in " ".join(more.stderr.split())
    both = jury.viva("run", "coded", *RUN, *A, "--votes", "3", "--judge", "both", "--out", "both-journal", expect=0)
    assert "no effect" not in both.stderr
    bare = jury.viva("suite", "exam", *RUN, "--votes", "3", "--out", "bare", expect=2)
    assert "add --judge-model openai:NAME" in " ".join(bare.stderr.split()), "the case has a script"
    jury.viva("run", "exam", *RUN, *A, "--votes", "0", expect=2)


def test_a_judgement_that_is_killed_while_votes_are_cast_costs_that_run_alone(jury: JuryDesk) -> None:
    jury.viva("suite", "exam", *RUN, *A, *B, "--votes", "2", "--trials", "2", "--out", "journal", expect=0)
    file = jury.folder / "journal" / "journal.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    last = max(number for number, line in enumerate(lines) if b'"event":"insight"' in line)
    file.write_bytes(b"".join(lines[:last]) + lines[last][:100])  # as a kill in the one write at the end leaves it
    before = {each.id: each for each in jury.records()}
    assert len(before) == 1
    jury.viva("suite", "--resume", "journal", expect=0)
    after = {each.id: each for each in jury.records()}
    assert len(after) == 2
    (kept,) = before
    assert after[kept].insights == before[kept].insights
    assert jury.kinds().count("transcript") == 2, "no conversation is held again"


def test_python_takes_one_model_or_several(jury: JuryDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(jury.folder)
    for name, value in jury.own.items():
        monkeypatch.setenv(name, value)
    call: dict[str, Any] = {"agents": "agent.py:Agent", "sandbox": "process"}
    result = viva.run_suite("exam", judge_model=["openai:a", "openai:b"], votes=2, out="several", **call)
    assert result.figures.votes is not None
    assert result.figures.votes.models
    one = viva.run_suite("exam", judge_model="openai:a", out="one", **call)
    assert one.figures.votes is None
    judged = viva.judge("one", judge_model=("openai:a", "openai:c"), out="judged")
    (run,) = judged.runs()
    assert [each.label for each in run.insights[0].verdicts] == ["unsure"] * 4
    with pytest.raises(viva.SetupError, match="votes must be a whole number, at least 1"):
        viva.run_suite("exam", judge_model="openai:a", votes=0, out="wrong", **call)
