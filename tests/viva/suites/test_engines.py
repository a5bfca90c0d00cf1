"""What every engine promises. Each test runs with each of them; those for Ray need it installed (`vivavoce[ray]`)."""

from __future__ import annotations

import json
import signal
import subprocess
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.viva.real_suites import left_running, until
from tests.viva.suites.conftest import FAILING, MODEL, Engine
from tests.viva.viva_command import in_this_process, start
from viva.journal.reader import StoredRun, read_records, read_runs
from viva.journal.writer import scan
from viva.records.codec import to_plain

AGENT = '''
import asyncio, base64, pathlib
from viva import VirtualUser
from viva.records.transcript import Reply, Step, Usage
import beside

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Agent(VirtualUser):
    """Does what it is told by the first word of a message."""

    async def get_reply_from_agent(self, message):
        word, _, rest = message.partition(" ")
        if word == "raise":
            raise RuntimeError("out of order")
        if word == "write":
            (self.workspace / "made").mkdir(exist_ok=True)
            (self.workspace / "made" / "note.txt").write_text(rest)
            return (self.workspace / "table.csv").read_text() if (self.workspace / "table.csv").exists() else "-"
        if word == "show":
            return Reply("a picture", (Step("s1", tool="draw", images=("data:image/png;base64," + PIXEL,)),))
        if word == "long":
            return "x" * 300_000
        if word == "wait":
            folder = pathlib.Path(rest)
            while not (folder / "go").exists():
                (folder / "waiting").touch()
                await asyncio.sleep(0.01)
        step = Step("s1", tool="say", tool_input={"n": 1})
        return Reply(f"{beside.PREFIX}{message}", (step,), Usage(10, 2, cost=0.25))
'''
CHECK = {"score_point": "It says so.", "weight": 1, "eval_code": "assert rounds[-1]['agent'] == 'said: hello'"}


class Place:
    """A folder with an agent, in which suites run with one engine."""

    def __init__(self, folder: Path, engine: Engine) -> None:
        self.folder, self.engine = folder, engine
        (folder / "agents").mkdir()
        (folder / "agents" / "agent.py").write_text(AGENT)
        (folder / "agents" / "beside.py").write_text("PREFIX = 'said: '\n")
        self.agent = "agents/agent.py:Agent"

    def case(self, name: str, *script: str, data: Mapping[str, str] | None = None, **fields: Any) -> None:
        """Write a case; by default it has a check that the agent said hello last."""
        case = self.folder / "cases" / name
        case.mkdir(parents=True)
        for file, text in (data or {}).items():
            (case / file).write_text(text)
        content = {"task_description": "Talk.", "scoring_points": [CHECK], "script": list(script), **fields}
        content |= {"data_files": list(data)} if data else {}
        (case / "case.yaml").write_text(yaml.safe_dump(content))

    def command(self, command: str, *arguments: str | int | float, out: str = "j") -> list[str | Path | float]:
        """A command with this engine."""
        more: list[str | Path | float] = []
        if command == "suite" and "--resume" not in arguments:
            more = ["cases", "--agent", self.agent, "--sandbox", "process"]
        target = [] if "--resume" in arguments else ["--out", out]
        return [command, *more, *self.engine.options, *target, *arguments]

    def viva(self, command: str, *arguments: str | int | float, out: str = "j", expect: int = 0) -> dict[str, Any]:
        """Run a command with this engine; returns what it says as JSON."""
        done = self.call(command, *arguments, "--json", out=out)
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == expect, f"ended with {done.returncode}\n{done.stdout}\n{done.stderr}"
        told: dict[str, Any] = json.loads(done.stdout) if done.stdout else {}
        return told

    def call(self, command: str, *arguments: str | int | float, out: str = "j") -> subprocess.CompletedProcess[str]:
        """Run a command with this engine to its end, whatever that is."""
        line = self.command(command, *arguments, out=out)
        return in_this_process(*line, cwd=self.folder, environment=self.engine.environment)

    def runs(self, journal: str = "j") -> dict[str, StoredRun]:
        """The runs of a journal, by the name of their case."""
        return {run.setting.case: run for run in read_runs(self.folder / journal)}


@pytest.fixture
def place(tmp_path: Path, engine: Engine) -> Place:
    """A fresh folder and an engine."""
    return Place(tmp_path, engine)


def test_outcomes_scores_and_everything_that_was_said_come_back(place: Place) -> None:
    place.case("passes", "hello")
    place.case("fails", "good day")
    place.case("raises", "hello", "raise")
    place.case("broken", "hello", scoring_points=[{**CHECK, "eval_code": "assert runds"}])
    files = "assert open('made/note.txt').read() == 'kept' and open('table.csv').read() == 'a,b'"
    place.case("files", "write kept", data={"table.csv": "a,b"}, scoring_points=[{**CHECK, "eval_code": files}])
    place.case("shows", "show", "long", "hello")
    told = place.viva("suite", expect=3)
    assert (told["ended"], told["left_out"]) == (6, 0)
    runs = place.runs()
    records = {name: run.record for name, run in runs.items()}
    assert {name: (record.outcome.value, record.score) for name, record in records.items() if record} == {
        "passes": ("scored", 1.0),
        "fails": ("scored", 0.0),
        "raises": ("target_error", 0.0),
        "broken": ("judge_error", None),
        "files": ("scored", 1.0),
        "shows": ("scored", 1.0),
    }
    said = runs["passes"].transcript.rounds[0]
    assert (said.examiner, said.agent, said.steps[0].tool_input) == ("hello", "said: hello", {"n": 1})
    assert said.usage.cost == 0.25
    # What the agent left is next to the journal, wherever it worked.
    workspace = place.folder / "j" / str(runs["files"].setting.workspace)
    assert (workspace / "made" / "note.txt").read_text() == "kept"
    assert runs["files"].transcript.rounds[0].agent == "a,b"
    (picture,) = runs["shows"].transcript.rounds[0].steps[0].images
    assert (place.folder / "j" / picture).read_bytes().startswith(b"\x89PNG")
    assert runs["shows"].transcript.rounds[1].agent == "x" * 300_000
    nodes = {run.setting.node for run in runs.values()}
    assert nodes <= {None} if place.engine.name == "local" else nodes <= {"checks", "plain"}


def test_a_round_is_in_the_journal_before_the_next_begins(place: Place) -> None:
    place.agent = "agents/reader.py:Agent"
    journal = place.folder / "j" / "journal.jsonl"
    (place.folder / "agents" / "reader.py").write_text(
        textwrap.dedent(f"""
        import pathlib

        class Agent:
            def __init__(self, task_description):
                pass

            def get_reply_from_agent(self, message):
                return str(pathlib.Path({str(journal)!r}).read_text().count('"event":"round"'))
    """)
    )
    place.case("counts", "one", "two", "three", "four", scoring_points=[{**CHECK, "eval_code": "assert rounds"}])
    place.viva("suite")
    assert [each.agent for each in place.runs()["counts"].transcript.rounds] == ["0", "1", "2", "3"]


def test_a_run_whose_examiner_failed_is_tried_again_and_then_excluded(place: Place) -> None:
    place.case("talks", "hello")
    options = ["--examiner", "model", "--examiner-model", f"openai:{FAILING}", "--attempts", 2]
    told = place.viva("suite", *options, expect=3)
    assert sum(told["figures"]["suite"]["excluded"].values()) == 1
    (record,) = read_records(place.folder / "j")
    assert record.attempt == 2
    assert "500" in str(record.error)


def test_a_budget_begins_no_run_beyond_it(place: Place) -> None:
    place.case("talks", "hello")
    told = place.viva("suite", "--trials", 8, "--concurrency", 1, "--max-cost", 0.3, expect=3)
    assert (told["ended"], told["left_out"]) == (2, 6)
    assert "--max-cost of $0.3 is used up" in told["reason"]


def test_max_time_cuts_off_and_the_suite_can_be_resumed(place: Place) -> None:
    place.case("quick", "hello")
    place.case("slow", f"wait {place.folder}", scoring_points=[{**CHECK, "eval_code": "assert rounds"}])
    told = place.viva("suite", "--max-time", 5, "--concurrency", 2, expect=3)  # the quick one needs a part of it
    assert (told["ended"], told["left_out"]) == (1, 1)
    kinds = [event.data.get("stop") for event in scan(place.folder / "j") if event.kind == "transcript"]
    assert "cancelled" in kinds, "a stopped run says that it was stopped"
    (place.folder / "go").touch()
    place.viva("suite", "--resume", "j")
    assert {name: run.attempt for name, run in place.runs().items()} == {"quick": 1, "slow": 2}


def test_gates_and_sinks_see_every_run(place: Place) -> None:
    place.case("passes", "hello")
    place.case("fails", "good day")
    place.viva("suite", "--sink", "jsonl:runs.jsonl", "--fail-under", 0.9, "--trials", 3, expect=1)
    lines = [json.loads(line) for line in (place.folder / "runs.jsonl").read_text().splitlines()]
    assert (
        sorted((line["case"], line["score"]) for line in _records(lines))
        == [("fails", 0.0)] * 3 + [("passes", 1.0)] * 3
    )
    place.viva("suite", "--fail-under", 0.5, out="again")


def _records(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"case": line.get("subject"), "score": line.get("score")} for line in lines]


def test_ctrl_c_keeps_what_is_done_and_leaves_nothing_running(place: Place) -> None:
    place.case("quick", "hello")
    place.case("slow", f"wait {place.folder}", scoring_points=[{**CHECK, "eval_code": "assert rounds"}])
    process = start(*place.command("suite", "--trials", 3, "--concurrency", 6), cwd=place.folder)
    journal = place.folder / "j" / "journal.jsonl"
    until(lambda: journal.exists() and len(list(read_records(place.folder / "j"))) == 3, process)
    until((place.folder / "waiting").exists, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "--resume j" in errors
    assert "Traceback" not in errors
    assert left_running(str(place.folder)) == []
    (place.folder / "go").touch()
    place.viva("suite", "--resume", "j")
    assert {record.outcome.value for record in read_records(place.folder / "j")} == {"scored"}
    assert len(list(read_records(place.folder / "j"))) == 6


def test_stored_conversations_are_judged_again_with_their_files(place: Place) -> None:
    place.case("shows", "show", "long", "hello")
    files = "assert open('made/note.txt').read() == 'kept'"
    place.case("files", "write kept", data={"t.csv": "a"}, scoring_points=[{**CHECK, "eval_code": files}])
    place.viva("suite")
    before = {name: to_plain(run.transcript) for name, run in place.runs().items()}
    place.viva("judge", "j", "--sandbox", "process", out="judged")
    runs = place.runs("judged")
    assert {name: run.score for name, run in runs.items()} == {"shows": 1.0, "files": 1.0}
    assert {name: to_plain(run.transcript) for name, run in runs.items()} == before
    workspace = place.folder / "judged" / str(runs["files"].setting.workspace)
    assert (workspace / "made" / "note.txt").read_text() == "kept"
    (picture,) = runs["shows"].transcript.rounds[0].steps[0].images
    assert (place.folder / "judged" / picture).exists()


def test_a_finished_conversation_is_only_judged(place: Place) -> None:
    place.case("files", "write kept", "hello")
    place.viva("suite")
    journal = place.folder / "j" / "journal.jsonl"
    kept = [line for line in journal.read_bytes().splitlines(keepends=True) if b'"event":"run"' not in line]
    journal.write_bytes(b"".join(line for line in kept if b'"event":"insight"' not in line))
    place.viva("suite", "--resume", "j")
    (record,) = read_records(place.folder / "j")
    assert (record.score, record.attempt, record.rounds) == (1.0, 1, 2)
    assert sum(event.kind == "round" for event in scan(place.folder / "j")) == 2


def test_recordings_are_imported_and_judged(place: Place) -> None:
    messages = [{"role": "user", "content": "Hello."}, {"role": "assistant", "content": "Hi."}]
    lines = [json.dumps({"id": f"r{number}", "messages": messages, "reward": number}) for number in (0, 1)]
    (place.folder / "chat.jsonl").write_text("\n".join(lines))
    (place.folder / "own.py").write_text(
        textwrap.dedent("""
        from viva.records.verdict import Insight

        class Likes:
            name = "likes"

            async def evaluate(self, transcript, context):
                earlier = await context.history.runs()
                return Insight(self.name, context.subject, "liked", 0.5, summary=f"{len(earlier) > 0}")
    """)
    )
    place.viva("trace", "chat:chat.jsonl", "--evaluators", "own.py:Likes", out="t")
    records = list(read_records(place.folder / "t"))
    assert [(record.score, record.insights[0].summary) for record in records] == [(0.5, "True")] * 2
    assert not list((place.folder / "t").glob("source"))


def test_a_model_judges_with_the_key_of_where_it_is_asked(place: Place) -> None:
    place.case("talks", "hello", scoring_points=[{"score_point": "The sum should be 3.", "weight": 1}])
    told = place.viva("suite", "--judge-model", f"openai:{MODEL}", "--model-calls", 2)
    assert told["ended"] == 1
    (record,) = read_records(place.folder / "j")
    assert record.usage["judge"].calls == 1
    assert record.setting.judge_model == MODEL


def test_an_agent_that_cannot_be_made_is_told_once_before_any_run_is_spent(place: Place) -> None:
    (place.folder / "agents" / "agent.py").write_text(
        "class Agent:\n    def __init__(self, task_description):\n        raise RuntimeError('no key')\n"
        "    def get_reply_from_agent(self, message):\n        return ''\n"
    )
    place.case("one", "hello")
    place.case("two", "hello")
    done = place.call("suite", "--trials", 5)
    assert done.returncode == 2, done.stderr
    assert "cannot be examined" in done.stderr
    assert list(read_records(place.folder / "j")) == []


def test_a_mistake_leaves_no_journal(place: Place) -> None:
    place.case("one", "hello")
    place.agent = "agents/nowhere.py:Agent"
    done = place.call("suite")
    assert done.returncode == 2, done.stderr
    assert "agents/nowhere.py" in done.stderr
    assert not (place.folder / "j").exists()


def test_what_a_killed_process_left_is_told_once(place: Place) -> None:
    place.case("one", "hello")
    place.viva("suite")
    (place.folder / "j" / "last-words.txt").touch()
    assert "ended without a message" in place.call("suite", "--resume", "j").stderr
    assert "ended without a message" not in place.call("suite", "--resume", "j").stderr
