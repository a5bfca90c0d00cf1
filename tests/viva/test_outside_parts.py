"""Parts that live outside Viva, one set by import string and one by entry point, are used without a change in it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Mapping
from typing import Any

import pytest

from tests.distributions import install
from tests.viva.conftest import Desk, point
from viva.cases import load_case
from viva.errors import SetupError
from viva.exam.judging.resources import build_judge
from viva.exam.options import Options
from viva.exam.subscribers import RunHeader
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import FILE
from viva.records.run_record import Outcome, RunRecord
from viva.records.transcript import Transcript
from viva.suites import sink_feed
from viva.suites.sink_feed import SinkFeed

PARTS = '''
import json
from viva import VirtualUser
from viva.adapters.connectors.loaded_agent import LoadedAgent
from viva.recordings.recording import Recording
from viva.records.transcript import Round, Step, Transcript
from viva.records.verdict import Insight, Verdict


class Politeness:
    """An evaluator: how many of the agent's replies say please."""

    name = "politeness"
    needs = ()

    async def evaluate(self, transcript, context):
        polite = [round_ for round_ in transcript.rounds if "please" in (round_.agent or "").lower()]
        score = len(polite) / max(1, len(transcript.rounds))
        verdicts = tuple(
            Verdict(round_.id, self.name, "polite" if round_ in polite else "curt", float(round_ in polite))
            for round_ in transcript.rounds
        )
        return Insight(
            self.name, context.subject, "polite" if score == 1 else "curt", score,
            scores={"please": score}, summary=f"{len(polite)} polite replies", verdicts=verdicts,
        )


class Post:
    """A sink: one line for each run, with what was said."""

    def __init__(self, path):
        self.path = path

    async def write(self, record, transcript):
        said = [round_.agent for round_ in transcript.rounds]
        names = [insight.evaluator for insight in record.insights]
        with open(self.path, "a") as file:
            file.write(json.dumps([record.id, record.subject, record.score, names, said]) + "\\n")

    async def close(self):
        with open(self.path, "a") as file:
            file.write('"closed"\\n')


class Rooms:
    """A connector to agents that say where they are."""

    def load(self, spec, *, isolate, memory_mb):
        room = spec.rpartition(":")[2]

        class Guest(VirtualUser):
            def get_reply_from_agent(self, message):
                return f"Please come to the {room}."

        return LoadedAgent(spec, room, Guest, "3.1")


class Notes:
    """A reader of lines: who said what."""

    def read(self, source):
        with open(source) as file:
            lines = file.read().splitlines()
        for number, line in enumerate(lines, 1):
            task, asked, said = line.split("|")
            steps = (Step("s1", tool="note", tool_input={"line": number}),)
            yield Recording(
                Transcript((Round(1, asked, said, steps),), source="notes"),
                place=f"{source}, line {number}", run_key=str(number), subject=task, agent="guest", reward=0.5,
            )


def write(journals, out):
    """A report format: a line for each run."""
    for entry in journals.entries():
        out.write(f"{entry.record.subject} = {entry.record.score}\\n")


def breaks(journals, out):
    out.write("half")
    raise KeyError("no such column")
'''
POINTS = {
    "viva.evaluators": {"politeness": "our_parts:Politeness"},
    "viva.sinks": {"post": "our_parts:Post"},
    "viva.connectors": {"rooms": "our_parts:Rooms"},
    "viva.readers": {"notes": "our_parts:Notes"},
    "viva.reports": {"lines": "our_parts:write", "breaks": "our_parts:breaks"},
}
BY_ENTRY_POINT = {
    "evaluator": "politeness", "sink": "post", "connector": "rooms", "reader": "notes", "format": "lines",
}  # fmt: skip
BY_IMPORT_STRING = {
    "evaluator": "parts.py:Politeness", "sink": "parts.py:Post", "connector": "parts.py:Rooms",
    "reader": "parts.py:Notes", "format": "parts.py:write",
}  # fmt: skip


@pytest.fixture(params=[BY_ENTRY_POINT, BY_IMPORT_STRING], ids=["entry point", "import string"])
def parts(request: pytest.FixtureRequest, desk: Desk) -> Mapping[str, str]:
    """How each part is asked for."""
    if request.param is BY_IMPORT_STRING:
        (desk.folder / "parts.py").write_text(PARTS)
    else:
        install(desk.folder / "site", "our-parts", "1.2", {"our_parts": PARTS}, POINTS)
    named: Mapping[str, str] = request.param
    return named


def call(desk: Desk, *arguments: str, expect: int = 0) -> Any:
    environment = {"PYTHONPATH": str(desk.folder / "site")}
    return desk.viva(*arguments, expect=expect, environment=environment, process=True)


def posted(desk: Desk) -> list[Any]:
    return [json.loads(line) for line in (desk.folder / "posted.jsonl").read_text().splitlines()]


def test_a_suite_uses_connector_evaluator_sink_and_format_from_outside(desk: Desk, parts: Mapping[str, str]) -> None:
    for name in ("first", "second"):
        desk.case(name, scoring_points=[point("assert 'hall' in rounds[0]['agent']")], script=["Where?", "Where now?"])
    call(
        desk, "suite", "first", "second", "--agent", f"{parts['connector']}:hall", "--trials", "2",
        "--evaluators", f"scoring_points,{parts['evaluator']}", "--sink", f"{parts['sink']}:posted.jsonl",
        "--sandbox", "process", "--out", "journal",
    )  # fmt: skip
    records = list(read_records(desk.folder / "journal"))
    assert {(record.agent, record.agent_version) for record in records} == {(f"{parts['connector']}:hall", "3.1")}
    assert [record.score for record in records] == [1.0] * 4
    for record in records:
        assert record.setting.evaluators == ("scoring_points", "politeness")
        assert [insight.evaluator for insight in record.insights] == ["scoring_points", "politeness"]
        assert record.insights[1].scores == {"please": 1.0}
    *lines, last = posted(desk)
    said = ["Please come to the hall."] * 2
    names = ["scoring_points", "politeness"]
    expected = [[record.id, record.subject, 1.0, names, said] for record in records]
    assert sorted(lines) == sorted(expected)
    assert last == "closed"

    shown = call(desk, "report", "journal").stdout
    assert "politeness" in shown
    assert "please 1.00" in shown
    one = call(desk, "report", f"journal#{records[0].id}").stdout
    assert "2 polite replies" in one
    written = call(desk, "report", "journal", "--format", parts["format"]).stdout
    assert sorted(written.splitlines()) == ["first = 1.0"] * 2 + ["second = 1.0"] * 2
    call(desk, "report", "journal", "--format", parts["format"], "--out", "report.lines")
    assert (desk.folder / "report.lines").read_text() == written


def test_a_trace_uses_reader_evaluator_sink_and_format_from_outside(desk: Desk, parts: Mapping[str, str]) -> None:
    (desk.folder / "talks.txt").write_text("greet|Hello?|Please come in.\ngreet|Hello?|No.\nleave|Bye.|Please stay.\n")
    call(
        desk, "trace", f"{parts['reader']}:talks.txt", "--evaluators", f"{parts['evaluator']},reward",
        "--sink", f"{parts['sink']}:posted.jsonl", "--out", "journal",
    )  # fmt: skip
    runs = list(read_runs(desk.folder / "journal"))
    told = [(run.setting.case, run.setting.trial, run.setting.agent, run.setting.source) for run in runs]
    source = f"{parts['reader']}:talks.txt"
    assert told == [("greet", 1, "guest", source), ("greet", 2, "guest", source), ("leave", 1, "guest", source)]
    assert [run.transcript.rounds[0].steps[0].tool_input for run in runs] == [{"line": 1}, {"line": 2}, {"line": 3}]
    assert [run.record.score for run in runs if run.record is not None] == [1.0, 0.0, 1.0]
    assert [insight.score for run in runs for insight in run.insights if insight.evaluator == "reward"] == [0.5] * 3
    *lines, last = posted(desk)
    assert sorted(line[0] for line in lines) == sorted(run.id for run in runs)
    assert {line[4][0] for line in lines} == {"Please come in.", "No.", "Please stay."}
    assert last == "closed"
    written = call(desk, "report", "journal", "--format", parts["format"]).stdout
    assert sorted(written.splitlines()) == ["greet = 0.0", "greet = 1.0", "leave = 1.0"]
    judged = call(desk, "judge", "journal", "--evaluators", parts["evaluator"], "--out", "again", "--json").stdout
    assert [run["score"] for run in json.loads(judged)["runs"]] == [1.0, 0.0, 1.0]


def test_a_report_format_that_is_not_there_or_breaks_says_so_and_leaves_no_file(desk: Desk) -> None:
    install(desk.folder / "site", "our-parts", "1.2", {"our_parts": PARTS}, POINTS)
    desk.case()
    desk.run("exam", "--agent", "example:careful")
    done = call(desk, "report", "journal", "--format", "breaks", "--out", "half.txt", expect=2)
    assert re.search(r"the report format breaks failed: our_parts\.py:\d+: KeyError: 'no such column'", done.stderr)
    assert not (desk.folder / "half.txt").exists()
    done = call(desk, "report", "journal", "--format", "htm", expect=2)
    assert "there is no report format 'htm'. Did you mean html?" in done.stderr
    done = call(desk, "report", "journal", "--format", "our_parts:Post", expect=2)
    assert "is not a report format: it must be a function write(journals, out)" in done.stderr
    parts = json.loads(call(desk, "doctor", "--json").stdout)["parts"]
    assert {"name": "lines", "where": "our-parts 1.2", "target": "our_parts:write"} in parts["report formats"]


def test_a_sink_that_raises_is_reported_and_stops_nothing(desk: Desk) -> None:
    desk.case()
    (desk.folder / "bad.py").write_text(
        "class Bad:\n"
        "    async def write(self, record, transcript):\n        raise RuntimeError('\\x1b[31mthe post is on strike')\n"
        "    async def close(self):\n        raise OSError('and closed')\n"
    )
    done = desk.viva(
        "suite", "exam", "--trials", "3", "--sandbox", "process", "--sink", "bad.py:Bad", "--sink", "jsonl:all.jsonl",
        "--out", "journal", expect=0, process=True,
    )  # fmt: skip
    told = " ".join(done.stderr.split())
    assert told.count("the post is on strike") == 1
    assert "the sink bad.py:Bad failed: bad.py:3: RuntimeError" in told
    assert "the sink bad.py:Bad did not write 3 of the completed runs" in told
    assert "and closed" in told
    assert "\x1b" not in done.stderr
    assert len(list(read_records(desk.folder / "journal"))) == 3
    for quiet in ("--quiet", "--json"):
        done = desk.viva("run", "exam", "--sandbox", "process", "--sink", "bad.py:Bad", quiet, expect=0)
        assert "the post is on strike" in " ".join(done.stderr.split())
    assert len((desk.folder / "all.jsonl").read_text().splitlines()) == 3


@pytest.mark.parametrize("mistake", [("--agent", "agents.py:Missing"), ("--evaluators", "reward")])
def test_a_sink_is_closed_where_a_mistake_is_found_before_the_first_run(desk: Desk, mistake: tuple[str, str]) -> None:
    desk.case()
    (desk.folder / "agents.py").write_text("")
    (desk.folder / "own.py").write_text(
        "from pathlib import Path\n"
        "class Own:\n"
        "    async def write(self, record, transcript):\n        Path('written').touch()\n"
        "    async def close(self):\n        Path('closed').touch()\n"
    )
    desk.viva("suite", "exam", "--sandbox", "process", "--sink", "own.py:Own", *mistake, "--out", "journal", expect=2)
    assert (desk.folder / "closed").exists()
    assert not (desk.folder / "written").exists()
    assert not (desk.folder / "journal").exists()


def test_an_evaluator_of_recordings_is_refused_before_an_exam_begins(desk: Desk) -> None:
    desk.case()
    done = desk.viva("run", "exam", "--sandbox", "process", "--evaluators", "scoring_points,reward", expect=2)
    assert "the evaluator 'reward' requires recorded runs" in " ".join(done.stderr.split())
    assert not (desk.folder / "runs").exists()


def test_a_part_imports_the_users_modules_with_the_names_of_vivas_packages(desk: Desk) -> None:
    desk.case()
    for file in ("records.py", "judge/__init__.py", "cases.py"):
        (desk.folder / file).parent.mkdir(exist_ok=True)
        (desk.folder / file).write_text("def load(): ...\nscale = load\n")
    lines = "from records import load\nfrom judge import scale\nfrom cases import scale"
    (desk.folder / "own.py").write_text(f"{lines}\nclass Own:\n    def write(self, record, transcript): ...\n")
    desk.viva("run", "exam", "--sandbox", "process", "--sink", "own.py:Own")


class Hangs:
    """An async sink that waits for ever."""

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        await asyncio.Event().wait()

    async def close(self) -> None:
        return None


class Deaf(Hangs):
    """It does not heed its cancellation either."""

    async def write(self, record: RunRecord, transcript: Transcript) -> None:
        while True:
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(3600)


class Blocks:
    """A plain sink that blocks its thread."""

    def write(self, record: RunRecord, transcript: Transcript) -> None:
        time.sleep(3600)

    def close(self) -> None:
        return None


@pytest.mark.parametrize("kind", [Hangs, Deaf, Blocks])
async def test_a_sink_that_hangs_is_given_up_and_stops_nothing(monkeypatch: pytest.MonkeyPatch, kind: type) -> None:
    monkeypatch.setattr(sink_feed, "WRITE_SECONDS", 0.05)
    monkeypatch.setattr(sink_feed, "CLOSE_SECONDS", 0.05)
    monkeypatch.setattr(sink_feed, "QUEUE", 2)
    reports: list[str] = []
    feed = SinkFeed(kind(), "post", reports.append)
    async with asyncio.timeout(60):
        await give(feed, 10)
    assert "the sink post is disabled" in reports[0]
    assert reports[1:] == ["the sink post did not write 10 of the completed runs"]


async def give(feed: SinkFeed, runs: int) -> None:
    for number in range(runs):
        record = RunRecord(f"r{number}", "case", "agent", Outcome.SCORED, 1.0)
        await feed.on_end(RunHeader(id=record.id, subject="case", agent="agent"), record, Transcript())
    await feed.on_closed()


@pytest.mark.parametrize("error", [SystemExit(3), TimeoutError("no answer"), asyncio.CancelledError()])
async def test_whatever_a_sink_raises_is_its_own_trouble(error: BaseException) -> None:
    reports: list[str] = []
    taken: list[str] = []

    class Raises:
        async def write(self, record: RunRecord, transcript: Transcript) -> None:
            if record.id != "r2":
                raise error
            taken.append(record.id)

        async def close(self) -> None:
            raise error

    await give(SinkFeed(Raises(), "post", reports.append), 3)
    assert taken == ["r2"]
    assert [words.partition(":")[0] for words in reports] == [
        "the sink post failed", "the sink post failed to close", "the sink post did not write 2 of the completed runs",
    ]  # fmt: skip


def test_a_plain_sink_that_hangs_does_not_hold_up_the_end_of_the_process(desk: Desk) -> None:
    desk.case()
    (desk.folder / "bad.py").write_text(
        "import time\nfrom viva.suites import sink_feed\nsink_feed.WRITE_SECONDS = sink_feed.CLOSE_SECONDS = 0.2\n"
        "class Bad:\n    def write(self, record, transcript):\n        time.sleep(3600)\n"
    )
    done = desk.viva(
        "run", "exam", "--sandbox", "process", "--sink", "bad.py:Bad", "--out", "journal", expect=0,
        process=True,
    )  # fmt: skip
    assert "the sink bad.py:Bad is disabled" in " ".join(done.stderr.split())


EVALUATOR = """
from viva.records.verdict import Insight, Verdict

class Needy:
    name = "needy"
    needs = {needs!r}

    async def evaluate(self, transcript, context):
        {body}
"""


def evaluator(desk: Desk, needs: tuple[str, ...], body: str) -> str:
    (desk.folder / "needy.py").write_text(EVALUATOR.format(needs=needs, body=body))
    return "needy.py:Needy"


@pytest.mark.parametrize(
    ("need", "words"),
    [
        ("model", "requires a model: add --model openai:NAME or --judge-model openai:NAME"),
        ("reference", "requires a reference trajectory, and none was given"),
        ("luck", "has an unknown need: 'luck' is not a valid Need. Known: case, model, sandbox, text, reference"),
    ],
)
def test_what_an_evaluator_needs_and_does_not_get_is_told_before_the_first_message(
    desk: Desk, need: str, words: str
) -> None:
    desk.case()
    agent = desk.agent("def get_reply_from_agent(self, message):\n    open('asked', 'w')\n    return 'yes'")
    spec = evaluator(desk, (need,), "raise AssertionError")
    done = desk.viva("run", "exam", "--agent", agent, "--evaluators", spec, "--out", "journal", expect=2)
    assert f"the evaluator '{spec}' {words}" in " ".join(done.stderr.split())
    assert not (desk.folder / "journal").exists()
    assert not (desk.folder / "asked").exists()


def test_an_evaluator_that_needs_a_case_is_refused_for_recordings(desk: Desk) -> None:
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    (desk.folder / "talk.json").write_text(json.dumps(talk))
    spec = evaluator(desk, ("case",), "raise AssertionError")
    for name in (spec, "scoring_points"):
        done = desk.viva("trace", "chat:talk.json", "--evaluators", name, "--out", "journal", expect=2)
        assert "requires a case, and recorded runs have none" in " ".join(done.stderr.split())
        assert not (desk.folder / "journal" / FILE).exists()


async def test_needs_that_are_met_are_no_obstacle(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.folder)
    case = load_case(desk.folder / desk.case())
    spec = evaluator(desk, ("case", "text", "sandbox"), "raise AssertionError")
    judge = await build_judge(Options(evaluators=(spec,), sandbox="process"), [case])
    assert list(judge.evaluators) == [spec]
    assert judge.sandbox is not None
    await judge.close()
    (desk.folder / "other.py").write_text((desk.folder / "needy.py").read_text())
    with pytest.raises(SetupError, match="both called 'needy'"):
        await build_judge(Options(evaluators=(spec, "other.py:Needy"), sandbox="process"), [case])


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("raise KeyError('\\x1b[31mred')", "the evaluator needy failed: needy.py:9: KeyError"),
        ("return {'fine'}", "the evaluator needy failed: it returned set ({'fine'}), which is not a judgement"),
        ("return ()", "the evaluator needy failed: it returned no insight or verdict"),
        ("return None", "the evaluator needy failed: it returned None, which is not a judgement"),
    ],
)
def test_what_breaks_in_an_evaluator_is_an_error_in_its_own_insight_alone(desk: Desk, body: str, words: str) -> None:
    desk.case()
    spec = evaluator(desk, (), body)
    record = desk.run("exam", "--evaluators", f"scoring_points,{spec}")
    assert (record["outcome"], record["score"]) == ("scored", 1.0)
    own = record["insights"][1]
    assert (own["evaluator"], own["label"], own["score"]) == ("needy", "error", None)
    assert words in own["summary"]
    assert own["verdicts"][0]["label"] == "error"
    shown = desk.viva("report", "journal", expect=0)
    assert "the evaluator needy failed" in " ".join(shown.stdout.split())
    assert "\x1b" not in shown.stdout
    alone = desk.run("exam", "--evaluators", spec, out="alone", expect=3)
    assert (alone["outcome"], alone["score"]) == ("judge_error", None)


def test_an_evaluator_that_needs_what_was_said_has_an_error_where_a_recording_does_not_tell(desk: Desk) -> None:
    (desk.folder / "counts.py").write_text(
        "from viva.recordings.recording import Recording\nfrom viva.records.transcript import Round, Step, Transcript\n"
        "class Counts:\n    def read(self, source):\n"
        "        for said in (None, 'Hello.'):\n"
        "            rounds = (Round(1, None, said, (Step('s1', tool='search', seconds=1.0),)),)\n"
        "            yield Recording(Transcript(rounds, source='counts'), place='x', run_key=str(said), reward=1.0)\n"
    )
    spec = evaluator(desk, ("text",), "return Insight(self.name, context.subject, 'fine', 1.0)")
    desk.viva(
        "trace", "counts.py:Counts:x", "--evaluators", f"reward,{spec}", "--out", "journal", expect=0
    )  # fmt: skip
    silent, telling = (record.insights[1] for record in read_records(desk.folder / "journal"))
    assert (silent.label, silent.score, telling.label, telling.score) == ("error", None, "fine", 1.0)
    assert (
        silent.summary
        == "the evaluator needy requires the text of the conversation, which the recording does not contain"
    )
