"""An evaluator of the user's own, with parameters: in each command, in the record, on a resume and in a comparison."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import viva
from tests.distributions import install
from tests.viva.conftest import Desk
from viva.journal.reader import read_records

CODE = '''
import asyncio
from viva import Insight, Verdict


def is_brief(transcript, context, words=5):
    return all(len((each.agent or "").split()) <= words for each in transcript.rounds)


async def tone(transcript, context):
    await asyncio.sleep(0)
    return "calm"


class LengthOfReplies:
    """Named scores."""

    def __init__(self, words: int = 5, of: str = "agent") -> None:
        if words < 1:
            raise ValueError("words must be above 0")
        self.words, self.of = words, of

    def evaluate(self, transcript, context):
        return {"brief": is_brief(transcript, context, self.words), "half": 0.5}


class EachRound:
    def evaluate(self, transcript, context):
        for each in transcript.rounds:
            yield Verdict(each.id, "each_round", "said", 1.0)


class Judged:
    async def evaluate(self, transcript, context):
        return Insight("judged", context.subject, "fine", 0.25)


class Wrong:
    def evaluate(self, transcript):
        return 0.5


def swapped(context, transcript, words=3):
    return True


class Swapped:
    async def evaluate(self, context, transcript):
        return True


def second(run, transcript):
    return True
'''
BRIEF = "own.py:is_brief(words=1)"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A working folder with a case and the file of evaluators."""
    desk = Desk(tmp_path)
    (desk.folder / "own.py").write_text(CODE)
    desk.case()
    return desk


def scores(record: Any) -> dict[str, Any]:
    return {each["evaluator"]: each.get("score") for each in record["insights"]}


def test_evaluators_of_each_kind_judge_side_by_side(desk: Desk) -> None:
    evaluators = (
        "scoring_points, own.py:LengthOfReplies(words=1, of='a, (b'),own.py:EachRound,own.py:Judged,own.py:tone,"
        "own.py:is_brief(words=3)"
    )
    agent = desk.agent("def get_reply_from_agent(self, message):\n    return 'two words'")
    record = desk.run("exam", "--agent", agent, "--evaluators", evaluators)
    assert scores(record) == {
        "scoring_points": 1.0, "length_of_replies": 0.25, "each_round": 1.0, "judged": 0.25, "tone": None,
        "is_brief": 1.0,
    }  # fmt: skip
    assert [each["label"] for each in record["insights"]][-2:] == ["calm", "yes"]
    assert record["setting"]["evaluator_parameters"] == {
        "length_of_replies": "of='a, (b', words=1", "is_brief": "words=3",
    }  # fmt: skip
    shown = desk.viva("report", "journal", expect=0).stdout
    assert "is_brief(words=3)" in "".join(shown.split())
    assert "length_of_replies: judged, 0.25, brief 0.00, half 0.50" in shown


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("Wrong", "own.py:39: def evaluate(self, transcript) must take transcript and context"),
        (
            "swapped",
            "own.py:43: def swapped(context, transcript, words=3) gets the transcript first; swap the parameters",
        ),
        ("swapped(words=4)", "def swapped(transcript, context)"),
        ("Swapped", "gets the transcript first; swap the parameters: def evaluate(self, transcript, context)"),
        ("second", "def second(run, transcript) gets the transcript first"),
        ("is_brief(word=3)", "has no parameter 'word'. Did you mean words?"),
        ("is_brief(3)", "name each parameter"),
        ("LengthOfReplies(words='three')", "does not accept words='three'"),
        ("LengthOfReplies(words=0)", "own.py:20: ValueError: words must be above 0"),
        ("CODE", "own.py has no 'CODE'"),
        ("asyncio", "is not an evaluator"),
        ("is_brief,own.py:is_brief(words=2)", "give one another name, as in own.py:is_brief(name='other', words=2)"),
    ],
)
def test_a_mistake_is_told_before_the_first_message(desk: Desk, spec: str, words: str) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message):\n    open('asked', 'w')\n    return 'yes'")
    arguments = ("--agent", agent, "--evaluators", f"own.py:{spec}", "--out", "journal")
    for command in (("run", "exam"), ("suite", "exam")):
        done = desk.viva(*command, *arguments, "--sandbox", "process", expect=2)
        assert words in " ".join(done.stderr.split())
        assert not (desk.folder / "asked").exists()
        assert not (desk.folder / "journal").exists()


def test_judge_and_trace_take_parameters(desk: Desk) -> None:
    desk.run("exam", "--agent", desk.agent("def get_reply_from_agent(self, message):\n    return 'one two three'"))
    judged = desk.viva("judge", "journal", "--evaluators", BRIEF, "--out", "judged", "--json", expect=0)
    assert [run["score"] for run in json.loads(judged.stdout)["runs"]] == [0.0]
    talk = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "one two"}]
    (desk.folder / "talk.json").write_text(json.dumps(talk))
    for words, score in ((1, 0.0), (2, 1.0)):
        evaluators = f"own.py:is_brief(words={words}, name='brief')"
        desk.viva("trace", "chat:talk.json", "--evaluators", evaluators, "--out", f"traced{words}", expect=0)
        (record,) = read_records(desk.folder / f"traced{words}")
        assert (record.score, record.setting.evaluators) == (score, ("brief",))
        assert record.setting.evaluator_parameters == {"brief": f"words={words}"}


def test_a_resumed_suite_keeps_the_parameters(desk: Desk) -> None:
    desk.viva("suite", "exam", "--trials", "2", "--sandbox", "process", "--evaluators", BRIEF, "--out", "j", expect=0)
    file = desk.folder / "j" / "journal.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(line for line in lines if '"event":"run"' not in line[:40]))
    assert list(read_records(desk.folder / "j")) == []
    desk.viva("suite", "--resume", "j", expect=0)
    assert [record.setting.evaluator_parameters for record in read_records(desk.folder / "j")] == [
        {"is_brief": "words=1"}
    ] * 2


def test_a_comparison_shows_that_the_parameters_differ(desk: Desk) -> None:
    for words in (1, 9):
        desk.run("exam", "--evaluators", f"own.py:is_brief(words={words})", out=f"j{words}")
    shown = " ".join(desk.viva("compare", "j1", "j9", expect=0).stdout.split())
    assert "is_brief(words=1)" in shown
    assert "is_brief(words=9)" in shown


def test_runs_are_judged_again_with_the_parameters_of_an_installed_evaluator(desk: Desk) -> None:
    points = {"viva.evaluators": {"is_brief": "brief_parts:is_brief"}}
    install(desk.folder / "site", "brief-parts", "1.0", {"brief_parts": CODE}, points)
    environment = {"PYTHONPATH": str(desk.folder / "site")}

    def call(*arguments: str, expect: int = 0) -> str:
        return desk.viva(*arguments, expect=expect, environment=environment, process=True).stderr

    call("run", "exam", "--sandbox", "process", "--evaluators", "is_brief(words=0)", "--out", "journal")
    call("judge", "journal", "--out", "again")
    (record,) = read_records(desk.folder / "again")
    assert (record.score, record.setting.evaluator_parameters) == (0.0, {"is_brief": "words=0"})
    # What the journal only describes cannot be repeated.
    call("run", "exam", "--sandbox", "process", "--evaluators", f"is_brief(name='x', words={10**120})", "--out", "long")
    assert "Name the evaluators: --evaluators file.py:Thing" in call("judge", "long", "--out", "more", expect=2)


def test_a_plain_evaluator_that_hangs_costs_its_insight_and_holds_up_no_end_of_the_process(desk: Desk) -> None:
    (desk.folder / "slow.py").write_text("import time\ndef slow(transcript, context):\n    time.sleep(3600)\n")
    evaluators = ("--evaluators", "scoring_points,slow.py:slow", "--evaluator-timeout", "0.2")
    record = desk.run("exam", *evaluators, process=True)
    assert (record["outcome"], scores(record)) == ("scored", {"scoring_points": 1.0, "slow": None})
    assert "the evaluator slow did not end within 0.2 s" in record["insights"][1]["summary"]


def test_a_secret_parameter_is_not_in_the_record(desk: Desk) -> None:
    (desk.folder / "keyed.py").write_text("def keyed(transcript, context, api_key):\n    return api_key == 'xyzzy-1'\n")
    record = desk.run("exam", "--evaluators", "keyed.py:keyed(api_key='xyzzy-1')")
    assert (record["score"], record["setting"]["evaluator_parameters"]) == (1.0, {"keyed": "api_key=<redacted>"})
    assert "xyzzy" not in (desk.folder / "journal" / "journal.jsonl").read_text()


class Brief:
    """The number of words is a parameter."""

    def __init__(self, words: int = 5) -> None:
        self.words = words

    def evaluate(self, transcript: viva.Transcript, context: viva.Context) -> bool:
        return all(len((each.agent or "").split()) <= self.words for each in transcript.rounds)


def at_once(transcript: viva.Transcript, context: viva.Context) -> float:
    return 1.0 / len(transcript.rounds)


def test_a_python_program_passes_objects_functions_and_names(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.folder)
    run = viva.examine("exam", "example:careful", evaluators=[at_once, Brief(words=1), "scoring_points"], out="j")
    assert [each.evaluator for each in run.insights] == ["at_once", "brief", "scoring_points"]
    assert run.score == 1.0
    assert run.setting.evaluator_parameters == {"brief": "words=1"}
    assert run.setting.evaluators == ("at_once", "brief", "scoring_points")
    for words in (1, 9):
        for spec in (Brief(words=words), f"own.py:is_brief(words={words})"):
            (judged,) = viva.judge(run, evaluators=spec, out=f"judged-{words}-{type(spec).__name__}").runs()
            assert list(judged.setting.evaluator_parameters.values()) == [f"words={words}"]
            assert judged.score == (0.0 if words == 1 else 1.0)


def test_a_call_with_other_parameters_does_not_go_on_with_a_folder(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.folder)
    run = viva.examine("exam", "example:careful", out="j")
    assert viva.judge(run, evaluators=Brief(words=1), out="out").ended == 1
    assert viva.judge(run, evaluators=Brief(words=1), out="out", resume=True).ended == 0
    with pytest.raises(viva.SetupError, match="it differs in options"):
        viva.judge(run, evaluators=Brief(words=2), out="out", resume=True)


def test_a_wrong_evaluator_of_a_program_is_refused_before_the_first_message(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.folder)

    class Agent(viva.VirtualUser):
        def get_reply_from_agent(self, message: str) -> str:
            raise AssertionError("it was asked")

    def wrong(transcript: viva.Transcript) -> bool:
        return True

    with pytest.raises(viva.SetupError, match=r"test_own_evaluators\.py:\d+: def wrong\(transcript\) must take"):
        viva.examine("exam", Agent, evaluators=wrong, out="j")
    with pytest.raises(viva.SetupError, match=r"evaluators must be .* or several of these, not 5"):
        viva.run_suite("exam", Agent, evaluators=5, out="j")  # type: ignore[arg-type]
    assert not (desk.folder / "j").exists()
