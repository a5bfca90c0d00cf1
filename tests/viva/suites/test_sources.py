"""What `viva judge` and `viva replay --against` promise: they outlive a kill, and mix no journals."""

from __future__ import annotations

import json
import re
import shutil
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.journals import resealed
from tests.viva.real_suites import until, viva, write_agent, write_cases
from tests.viva.viva_command import start
from viva.errors import SetupError
from viva.exam.judging.resources import JudgeResources
from viva.exam.options import Options
from viva.exam.resources import Resources
from viva.exam.subscribers import Subscribers
from viva.journal.kept_cases import stored_case
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import FILE, Journal, scan
from viva.judge.loaded_evaluator import load_evaluator
from viva.records.codec import encode
from viva.records.evaluator import Context
from viva.records.run_record import Outcome
from viva.records.transcript import Transcript, Usage
from viva.records.verdict import Insight, Verdict
from viva.suites.engine import SuiteEnd, run_jobs
from viva.suites.judging import Judging, judge_jobs
from viva.suites.request import JournalsRequest, journals_request
from viva.suites.resuming.stored_request import FILE as REQUEST
from viva.suites.resuming.stored_request import request_to_resume
from viva.suites.worker import Worker

CASES = 12
HELD = """\
import os, time
with open({tally!r}, "a") as tally:
    tally.write("x")
while os.path.exists({hold!r}) and os.path.getsize({tally!r}) > 5:
    time.sleep(0.01)
{check}
"""
"""A check of which five pass, and the others wait, as long as there is a file `hold`."""


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with a journal `first` of a suite, with questions that any agent can be asked."""
    folder = tmp_path_factory.mktemp("suite")
    cases, agent = write_cases(folder / "cases", CASES), write_agent(folder)
    for file in cases.glob("*/case.yaml"):
        case = yaml.safe_load(file.read_text())
        (scoring_point,) = case["scoring_points"]
        places = {"tally": str(folder / "tally"), "hold": str(folder / "hold")}
        scoring_point["eval_code"] = HELD.format(check=scoring_point["eval_code"], **places)
        file.write_text(yaml.safe_dump(case))
    done = viva(
        "suite", cases, "--agent", agent, "--sandbox", "process", "--out", "first", "--quiet", "--concurrency", 8,
        cwd=folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def killed(folder: Path, out: str, records: int, *command: str) -> int:
    """Start a command that writes a journal, and kill it once that has so many records; gives how many it has.

    It judges no more than five before it is killed.
    """
    file = folder / out / FILE
    (folder / "tally").write_text("")
    (folder / "hold").touch()
    process = start(*command, "--out", out, cwd=folder)
    until(lambda: file.exists() and file.read_bytes().count(b'"event":"run"') >= records, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    (folder / "hold").unlink()
    return len(list(read_records(folder / out)))


def counted(journal: Path, kind: str) -> Counter[str]:
    return Counter(event.run for event in scan(journal) if event.kind == kind)


def test_another_agents_exams_go_on_after_a_kill_and_none_is_held_twice(suite: Path) -> None:
    (suite / "slow.py").write_text(
        "import time\nclass Slow:\n"
        "    def __init__(self, task_description): pass\n"
        "    def get_reply_from_agent(self, message):\n        time.sleep(0.05)\n        return message[4:-1]\n"
    )
    # A SPEC that holds from the folder in which it was begun only.
    command = ("replay", "first", "--against", "slow.py:Slow", "--sandbox", "process", "--concurrency", "2")
    before = killed(suite, "against", 3, *command)
    assert 3 <= before < CASES
    elsewhere = suite / "elsewhere"
    elsewhere.mkdir()
    done = viva("replay", "--resume", suite / "against", "--json", cwd=elsewhere, process=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["figures"]["suite"]["runs"] == CASES
    assert set(counted(suite / "against", "run").values()) == {1}
    asked = {run.setting.case: [each.examiner for each in run.transcript.rounds] for run in read_runs(suite / "first")}
    again = {
        run.setting.case: [each.examiner for each in run.transcript.rounds] for run in read_runs(suite / "against")
    }
    assert again == asked
    assert {record.score for record in read_records(suite / "against")} == {1.0}


def test_a_judging_goes_on_after_a_kill_and_no_conversation_is_judged_twice(suite: Path) -> None:
    command = ("judge", "first", "--sandbox", "process", "--concurrency", "1", "--quiet")
    before = killed(suite, "judged", 2, *command)
    done = viva("judge", "--resume", "judged", "--quiet", cwd=suite, process=True)
    assert done.returncode == 0, done.stderr
    assert set(counted(suite / "judged", "run").values()) == {1}
    assert [line.split()[1:] for line in done.stdout.splitlines()] == [["scored", "1/1", "=", "1.00"]] * CASES
    order = [record.id for record in read_records(suite / "first")]
    assert [line.split()[0] for line in done.stdout.splitlines()] == order
    assert 2 <= before < CASES
    for one, other in zip(read_runs(suite / "first"), read_runs(suite / "judged"), strict=False):
        assert len(one.transcript.rounds) == len(other.transcript.rounds)


def test_what_was_begun_is_gone_on_with_by_its_own_command_as_it_was_begun(suite: Path) -> None:
    done = viva("judge", "first", "--sandbox", "process", "--out", "short", "--quiet", cwd=suite)
    assert done.returncode == 0, done.stderr
    for command, said in (
        (("replay", "--resume", "short"), "viva judge --resume short"),
        (("judge", "--resume", "first"), "first was not made by viva judge"),
        (("judge", "--resume", "short", "--judge", "model"), "--judge cannot be changed"),
        (("judge", "first", "--retry-errors"), "--retry-errors requires --resume"),
        (("replay", "first", "--judge", "code"), "--judge requires --against"),
    ):
        done = viva(*command, cwd=suite)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    sources = json.loads((suite / "short" / REQUEST).read_text())
    sources["sizes"] = [1]
    (suite / "short" / REQUEST).write_text(json.dumps(sources))
    with pytest.raises(SetupError, match="changed since"):
        request_to_resume(suite / "short", JournalsRequest, "judge", trusted=True)


def test_the_request_of_an_older_journal_is_read_under_its_older_names(suite: Path, tmp_path: Path) -> None:
    request = journals_request("judge", [(suite / "first", None)], Options(sandbox="process"))
    older = json.loads(encode(request))
    older["places"] = older.pop("references")
    (tmp_path / REQUEST).write_text(json.dumps(older))
    assert request_to_resume(tmp_path, JournalsRequest, "judge", trusted=True) == request


def test_no_journal_is_judged_into_one_that_holds_runs(suite: Path) -> None:
    before = (suite / "first" / FILE).read_bytes()
    done = viva("judge", "first", "--sandbox", "process", "--out", "first", cwd=suite)
    assert (done.returncode, "already contains a journal" in done.stderr) == (2, True)
    assert (suite / "first" / FILE).read_bytes() == before


def test_no_exam_is_held_into_a_journal_of_what_was_judged_again(suite: Path, tmp_path: Path) -> None:
    run = next(read_records(suite / "first")).id
    assert viva("judge", f"{suite / 'first'}#{run}", "--out", "again", "--quiet", cwd=tmp_path).returncode == 0
    before = (tmp_path / "again" / FILE).read_bytes()
    done = viva("run", "echo", "--sandbox", "process", "--out", "again", cwd=tmp_path)
    assert (done.returncode, "name another --out" in done.stderr) == (2, True)
    assert (tmp_path / "again" / FILE).read_bytes() == before


def test_what_was_begun_and_stopped_at_once_is_not_taken_for_something_new(suite: Path, tmp_path: Path) -> None:
    command = ("judge", suite / "first", "--sandbox", "process", "--out", "early", "--quiet")
    assert viva(*command, cwd=tmp_path).returncode == 0
    (tmp_path / "early" / FILE).write_bytes(b"")
    done = viva(*command, cwd=tmp_path)
    assert done.returncode == 2
    assert "is already in use: resume it" in done.stderr
    assert viva("judge", "--resume", "early", "--quiet", cwd=tmp_path).returncode == 0


def test_the_same_run_out_of_two_journals_is_not_mixed_into_one(suite: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        viva("run", "echo", "--sandbox", "process", "--out", name, "--quiet", cwd=tmp_path)
    done = viva("judge", "one", "two", "--sandbox", "process", "--out", "both", cwd=tmp_path)
    assert done.returncode == 2
    assert "judge these journals separately" in done.stderr
    assert not (tmp_path / "both").exists()


def test_a_mended_case_that_no_run_is_of_is_told_and_nothing_is_judged(suite: Path) -> None:
    done = viva("judge", "first", "--case", "echo", "--sandbox", "process", "--out", "mended", cwd=suite)
    assert done.returncode == 2
    assert "the journal has no run of a case 'echo'" in done.stderr
    assert "count_0" in done.stderr
    assert not (suite / "mended").exists()


def test_half_an_exam_is_asked_of_nobody_unless_it_is_named(tmp_path: Path) -> None:
    cases = write_cases(tmp_path / "cases", 2)
    (tmp_path / "half.py").write_text(
        "class Half:\n    def __init__(self, task_description): self.n = 0\n"
        "    def get_reply_from_agent(self, message):\n        self.n += 1\n        return str(1 / (self.n < 2))\n"
    )
    agents = ("--agent", write_agent(tmp_path), "--agent", "half.py:Half")
    viva("suite", cases, *agents, "--sandbox", "process", "--out", "both", "--quiet", cwd=tmp_path)
    command = ("--against", agents[1], "--sandbox", "process", "--out")
    done = viva("replay", "both", *command, "again", cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert "left out: 2 conversations that broke off before every question was asked" in done.stderr
    assert [record.score for record in read_records(tmp_path / "again")] == [1.0, 1.0]
    broken = next(record for record in read_records(tmp_path / "both") if record.agent == "half.py:Half")
    done = viva("replay", f"both#{broken.id}", *command, "one", cwd=tmp_path)
    assert "this conversation broke off" in done.stderr
    assert [record.rounds for record in read_records(tmp_path / "one")] == [2]


def test_figures_are_shown_of_many_that_were_judged_and_where_they_are(suite: Path) -> None:
    done = viva("judge", "first", "--sandbox", "process", "--out", "figures", cwd=suite)
    assert "journal  figures" in " ".join(done.stdout.split("\n")).replace("   ", "  ")
    assert f"{CASES} │ 1.00" in done.stdout


def test_a_strangers_journal_runs_nothing_here_and_hands_over_no_file_of_ours(tmp_path: Path) -> None:
    viva("run", "echo", "--sandbox", "process", "--out", "strange", "--quiet", cwd=tmp_path)
    (case,) = (tmp_path / "strange" / "cases").iterdir()
    honest = json.loads(case.read_text())
    (tmp_path / "secret").write_text("x")
    command = ("replay", "strange", "--against", "example:careful", "--sandbox", "process", "--out", "again")
    for change, said in (
        ({"pre_command": ["touch hurt"]}, "add --allow-pre-command"),
        ({"data_files": [str(tmp_path / "secret")]}, "are not in"),
        ({"data_files": ["gone.csv"]}, "name the folder that contains the case: --cases FOLDER"),
    ):
        case.write_text(json.dumps({**honest, **change}))
        done = viva(*command, cwd=tmp_path)
        assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert not (tmp_path / "hurt").exists()
    assert not (tmp_path / "again").exists()
    case.write_text(json.dumps({**honest, "pre_command": ["touch hurt"]}))
    assert viva(*command, "--allow-pre-command", cwd=tmp_path).returncode == 0
    assert (tmp_path / "hurt").exists()


def test_a_case_is_looked_up_in_the_journal_alone(tmp_path: Path) -> None:
    (tmp_path / "evil.json").write_text("{}")
    with pytest.raises(SetupError, match="has an invalid case hash"):
        stored_case(tmp_path / "strange" / "deeper", "x", "../../evil")


def test_a_conversation_that_never_ended_is_not_passed_over_in_silence(suite: Path, tmp_path: Path) -> None:
    first = next(iter(read_records(suite / "first"))).id.encode()
    lines = (suite / "first" / FILE).read_bytes().splitlines()
    ended = [
        line for line in lines if first in line[:120] and re.match(rb'.{0,20}"event":"(transcript|insight|run)"', line)
    ]
    shutil.copytree(suite / "first" / "cases", tmp_path / "cut" / "cases")
    (tmp_path / "cut" / FILE).write_bytes(b"\n".join(line for line in lines if line not in ended) + b"\n")
    done = viva("judge", "cut", "--sandbox", "process", "--out", "judged", "--quiet", cwd=tmp_path)
    assert "the conversation did not end" in done.stdout
    assert done.returncode == 3
    assert len(list(read_records(tmp_path / "judged"))) == CASES - 1


def test_what_could_not_be_judged_is_judged_again_on_request_and_copied_once(suite: Path) -> None:
    command = ("judge", "first", "--sandbox", "process", "--out", "repeated", "--quiet")
    assert viva(*command, cwd=suite).returncode == 0
    file = suite / "repeated" / FILE
    file.write_bytes(resealed(file.read_bytes().replace(b'"outcome":"scored"', b'"outcome":"infra_error"')))
    rounds = file.read_bytes().count(b'"event":"round"')
    assert viva("judge", "--resume", "repeated", "--quiet", cwd=suite).returncode == 3
    assert viva("judge", "--resume", "repeated", "--retry-errors", "--quiet", cwd=suite).returncode == 0
    assert file.read_bytes().count(b'"event":"round"') == rounds
    assert {record.outcome for record in read_records(suite / "repeated")} == {Outcome.SCORED}


async def judge(source: Path, target: Path, evaluator: object, **options: Any) -> SuiteEnd:
    """Judge a journal into another, by an evaluator that needs nothing."""
    request = journals_request("judge", [(source, None)], Options(concurrency=4, **options))
    found = Judging()
    with Journal(target) as journal:
        judge = JudgeResources("model", {"scoring_points": load_evaluator("given", evaluator, {}, {})})
        worker = Worker(Resources(options=request.options, judge=judge), [], journal)
        return await run_jobs(worker, judge_jobs(request, found, {}, set(), ()), 4, Subscribers())


class Faltering:
    """A judge whose provider is away the first time that it is asked about a run."""

    name = "scoring_points"

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        self.asked[context.subject] += 1
        usage = Usage(10, 1, calls=1, cost=0.5)
        if self.asked[context.subject] == 1:
            error = Verdict(context.subject, "p", "error", None, reason="HTTP 503", by="a model", fault="infra")
            return Insight(self.name, context.subject, "error", None, verdicts=(error,), usage=usage)
        hit = Verdict(context.subject, "p", "hit", 1.0, by="a model")
        return Insight(self.name, context.subject, "scored", 1.0, verdicts=(hit,), usage=usage)


async def test_a_judging_that_fails_for_a_moment_is_repeated_and_all_of_it_is_paid_for(
    suite: Path, tmp_path: Path
) -> None:
    evaluator = Faltering()
    end = await judge(suite / "first", tmp_path / "again", evaluator)
    assert end.ended == CASES
    assert set(evaluator.asked.values()) == {2}
    for record in read_records(tmp_path / "again"):
        assert record.outcome is Outcome.SCORED
        assert record.usage["judge"].cost == 1.0
        assert record.setting.judge == "model"


async def test_a_judge_that_raises_costs_its_own_run_only(suite: Path, tmp_path: Path) -> None:
    class Raising(Faltering):
        async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
            if context.subject.startswith("count_3-"):
                raise ZeroDivisionError
            self.asked[context.subject] += 1
            return await super().evaluate(transcript, context)

    await judge(suite / "first", tmp_path / "again", Raising())
    outcomes = {record.subject: record.outcome for record in read_records(tmp_path / "again")}
    assert outcomes.pop("count_3") is Outcome.JUDGE_ERROR
    assert set(outcomes.values()) == {Outcome.SCORED}
    assert len(outcomes) == CASES - 1


async def test_a_run_that_was_killed_before_its_record_keeps_its_trial(suite: Path, tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 1), write_agent(tmp_path)
    command = ("suite", cases, "--agent", agent, "--trials", 3, "--sandbox", "process", "--out", "three", "--quiet")
    viva(*command, cwd=tmp_path, process=True)
    file = tmp_path / "three" / FILE
    lines = [line for line in file.read_bytes().splitlines() if b'"event":"run"' not in line]
    file.write_bytes(b"\n".join(lines) + b"\n")
    await judge(tmp_path / "three", tmp_path / "again", Faltering())
    assert sorted(record.trial for record in read_records(tmp_path / "again")) == [1, 2, 3]
