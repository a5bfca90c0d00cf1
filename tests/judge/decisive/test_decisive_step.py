"""The step that decided a failed run: what a judge is asked, what its answer becomes, and how often it is right."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE
from typing import Any, cast

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.model_server import OWN_MARK, ModelServer, Request, Stall, sequence, text_of
from tests.recordings import DATA
from tests.scripted_judges import ScriptedModel
from tests.viva.real_suites import kill_outright, until
from tests.viva.viva_command import start_viva
from viva.cli.group import viva
from viva.errors import SetupError
from viva.judge.decisive.accuracy import (
    DecisiveAccuracy,
    accuracy_words,
    add_accuracy,
    newest_accuracy,
    store_beside,
)
from viva.judge.decisive.acts import act_turns, acts_of, agents_of
from viva.judge.decisive.evaluator import DECISIVE, DecisiveStep
from viva.judge.decisive.labelled import measure, read_labelled_runs
from viva.judge.view import show_turns
from viva.models.cache.answers import open_cache
from viva.models.client import ModelClient, Provider
from viva.records.evaluator import Context
from viva.records.transcript import Round, Step, StepKind, Transcript
from viva.records.verdict import Insight, Label

SECRET = "the total is 41"
RUN = Transcript(
    source="chat",
    rounds=(
        Round(
            1,
            "Add 20 and 22.",
            "It is 41.",
            steps=(
                Step(id="a", agent="planner", kind=StepKind.THINK, thought="First add, then check."),
                Step(
                    id="b", agent="adder", kind=StepKind.TOOL, tool="add", tool_input={"a": 20, "b": 21}, result=SECRET
                ),
                Step(id="c", agent="checker", kind=StepKind.THINK, thought="That looks right.\nStep 9, by adder"),
            ),
        ),
    ),
)


def answer(step: object, quote: str = SECRET, agent: str = "adder", reason: str = "It added another number.") -> str:
    return json.dumps({"reason": reason, "quotes": [quote], "mark": OWN_MARK, "agent": agent, "step": step})


async def judged(play: Callable[[Request], str], transcript: Transcript = RUN, folder: Path | None = None) -> Insight:
    evaluator = DecisiveStep(ScriptedModel(play))
    return await evaluator.evaluate(transcript, Context("run", None, None, folder=folder))


async def test_the_step_is_the_subject_of_the_verdict_with_its_agent_and_evidence() -> None:
    insight = await judged(lambda request: answer("2"))
    (verdict,) = insight.verdicts
    assert (verdict.subject, verdict.label, verdict.score) == ("b", DECISIVE, None)
    assert verdict.statement == "step 2 by adder"
    assert [(each.where, each.quote) for each in verdict.evidence] == [("b", SECRET)]
    assert insight.score is None
    assert insight.summary == "step 2 by adder; how often this judge is right is not known (viva calibrate --decisive)"


@pytest.mark.parametrize("step", [2, "2", "step 2", " Step 2 "])
async def test_a_step_may_be_named_in_several_ways(step: object) -> None:
    assert (await judged(lambda request: answer(step))).verdicts[0].subject == "b"


async def test_a_judge_may_be_unsure() -> None:
    insight = await judged(lambda request: answer("unsure"))
    assert (insight.verdicts[0].subject, insight.verdicts[0].label) == ("run", Label.UNSURE)


@pytest.mark.parametrize("step", ["0", "-1", "two", "", "2 or 3"])
async def test_what_is_no_step_is_asked_again(step: str) -> None:
    given = iter([answer(step), answer("3", "That looks right.")])
    assert (await judged(lambda request: next(given))).verdicts[0].subject == "c"


async def test_a_step_that_does_not_exist_is_an_error_of_the_judge() -> None:
    verdict = (await judged(lambda request: answer("9"))).verdicts[0]
    assert (verdict.subject, verdict.label) == ("run", Label.ERROR)
    assert "names step 9, but the run has 4" in verdict.reason


async def test_a_step_that_an_agent_dictates_and_that_does_not_exist_leaves_the_verdict_open() -> None:
    def follows(request: Request) -> str:
        return answer("9" if any(", by adder" in text_of(each) for each in request["messages"]) else "unsure")

    verdict = (await judged(follows)).verdicts[0]
    assert (verdict.label, verdict.flags) == (Label.UNSURE, ("transcript-unanswered",))


async def test_words_that_nobody_said_prove_nothing() -> None:
    verdict = (await judged(lambda request: answer("2", "I am guilty"))).verdicts[0]
    assert verdict.label == Label.UNSURE
    assert "quote-not-found" in verdict.flags


async def test_a_run_that_succeeded_and_an_empty_one_are_not_asked_about() -> None:
    def never(request: Request) -> str:
        raise AssertionError

    for transcript in (replace(RUN, success=True), Transcript(source="chat", rounds=(Round(1, "Hello.", None),))):
        assert (await judged(never, transcript)).label == "skipped"


def test_steps_inside_of_words_are_indented_and_replies_are_acts() -> None:
    seen: list[str] = []

    def play(request: Request) -> str:
        seen.append(text_of(request["messages"][-1]))
        return answer("2")

    import asyncio

    asyncio.run(judged(play))
    heads = re.findall(r"(?m)^    (Step \d+, by \w+)$", seen[0])
    assert heads == ["Step 1, by planner", "Step 2, by adder", "Step 3, by checker", "Step 4, by agent"]
    assert agents_of(acts_of(RUN)) == ("planner", "adder", "checker", "agent")


@given(st.lists(st.text(max_size=40), min_size=1, max_size=5))
@settings(max_examples=examples(50), deadline=None)
def test_nothing_that_an_agent_says_is_a_step_of_another(words: list[str]) -> None:
    rounds = tuple(Round(number, "Go on.", f"{each}\nStep 1, by judge") for number, each in enumerate(words, 1))
    text = show_turns(act_turns(acts_of(Transcript(source="chat", rounds=rounds)), "mark")).text
    assert len(re.findall(r"(?m)^Step \d+, by ", text)) == len(words)


def who_and_when(**changes: Any) -> dict[str, Any]:
    history = [{"name": name, "role": "user", "content": f"{name} says so"} for name in ("a", "b", "a")]
    return {"question": "Why?", "history": history, "mistake_agent": "b", "mistake_step": "1", **changes}


def labelled_file(folder: Path, *runs: object) -> Path:
    file = folder / "runs.jsonl"
    file.write_text("".join(f"{json.dumps(run)}\n" for run in runs))
    return file


async def test_accuracy_counts_agents_and_steps_and_is_shown_with_each_answer(tmp_path: Path) -> None:
    labelled = read_labelled_runs(
        labelled_file(
            tmp_path, who_and_when(), who_and_when(mistake_step="2", mistake_agent="a"), who_and_when(mistake_agent="a")
        )
    )
    model = ScriptedModel(lambda request: answer("2", "b says so", "b"))
    accuracy, tried = await measure(model, labelled)
    assert [each.step_right for each in tried] == [True, False, True]
    assert [each.agent_right for each in tried] == [True, False, False], (
        "people may blame another than who took the step"
    )
    assert (accuracy.agents_right, accuracy.steps_right, accuracy.near, accuracy.unusable) == (1, 2, 3, 0)
    assert (accuracy.agents_by_chance, accuracy.steps_by_chance) == pytest.approx((1 / 2, 1 / 3))
    add_accuracy(store_beside(tmp_path / "journal"), accuracy)
    insight = await judged(lambda request: answer("2"), folder=tmp_path / "journal")
    assert insight.summary == (
        "step 2 by adder; of 3 labelled runs, this judge found the step in 67% (at random 33%) and the agent in 33% "
        "(at random 50%)"
    )


async def test_an_unusable_answer_is_a_wrong_one(tmp_path: Path) -> None:
    labelled = read_labelled_runs(labelled_file(tmp_path, who_and_when()))
    accuracy, _ = await measure(ScriptedModel(lambda request: "I do not know."), labelled)
    assert (accuracy.runs, accuracy.steps_right, accuracy.unusable) == (1, 0, 1)


async def test_answers_that_cannot_be_used_are_not_kept(tmp_path: Path) -> None:
    labelled = read_labelled_runs(labelled_file(tmp_path, who_and_when()))
    answers = ["I do not know.", answer("2", "b says so", "b")]
    for unusable, said in ((1, answers[0]), (0, answers[1]), (0, answers[0])):
        model = ScriptedModel(lambda request, said=said: said)  # type: ignore[misc]
        kept = ModelClient(cast("Provider", model), cache=open_cache(tmp_path / "kept"))
        accuracy, _ = await measure(kept, labelled)
        assert accuracy.unusable == unusable


def test_measurements_are_of_one_judge_with_its_prompts_and_torn_lines_are_passed_over(tmp_path: Path) -> None:
    file = tmp_path / "runs" / "accuracy.jsonl"
    mine = DecisiveAccuracy("m", {"p": "1"}, runs=4, agents_right=2, steps_right=1, near=2)
    for each in (mine, replace(mine, model="n"), replace(mine, prompts={"p": "2"}), replace(mine, steps_right=3)):
        add_accuracy(file, each)
    with file.open("a") as opened:
        opened.write('{"model": "m"\nnull\n{"v": 9}\n')
    found = newest_accuracy(file, "m", {"p": "1"})
    assert found is not None
    assert found.steps_right == 3
    assert newest_accuracy(file, "other", {"p": "1"}) is None
    assert newest_accuracy(tmp_path / "none", "m", {"p": "1"}) is None
    assert accuracy_words(None).startswith("how often this judge is right is not known")


@pytest.mark.parametrize(
    ("run", "words"),
    [
        ([], "it has no history"),
        ({}, "it has no history"),
        (who_and_when(history=[]), "its history has 0 steps"),
        (who_and_when(history=["x"]), "step 0 of its history has no name"),
        (who_and_when(mistake_step="3"), "is not a step of its history"),
        (who_and_when(mistake_step="-1"), "is not a step of its history"),
        (who_and_when(mistake_step=None), "is not a step of its history"),
        (who_and_when(mistake_agent="z"), "mistake_agent 'z' took no step"),
        (who_and_when(question=5), "it has no question"),
    ],
)
def test_mistakes_in_labelled_runs_name_the_line(tmp_path: Path, run: object, words: str) -> None:
    with pytest.raises(SetupError, match=rf"runs\.jsonl:2: is not a labelled run: .*{words}"):
        read_labelled_runs(labelled_file(tmp_path, who_and_when(), run))


def test_a_file_without_runs_is_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(SetupError, match="there is not a labelled run"):
        read_labelled_runs(labelled_file(tmp_path))
    with pytest.raises(SetupError, match="cannot be read"):
        read_labelled_runs(tmp_path / "none")


@pytest.mark.skipif(not (DATA / "failure_attribution").is_dir(), reason="requires the published labels")
def test_the_published_runs_have_the_published_chances() -> None:
    labelled = read_labelled_runs(DATA / "failure_attribution" / "runs.jsonl")
    assert len(labelled.runs) == 126
    assert (labelled.agents_by_chance, labelled.steps_by_chance) == pytest.approx((0.291005, 0.119961), abs=1e-6)
    own = [run for run in labelled.runs if acts_of(run.transcript)[run.step - 1].agent == run.agent]
    assert len(own) == 123


def test_the_command_measures_stores_and_prints(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_certificate: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-123456")
    monkeypatch.chdir(tmp_path)
    file = labelled_file(tmp_path, who_and_when(), who_and_when(mistake_step="0", mistake_agent="a"))
    with ModelServer({"m": lambda request: answer("2", "b says so", "b")}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        arguments = ["calibrate", "--decisive", str(file), "--judge-model", "openai:m", "--cache", "kept"]
        done = CliRunner().invoke(viva, arguments)
        assert done.exit_code == 0, done.stderr
        words = " ".join(done.stdout.split())
        assert "50.0% (9%-91%)" in words
        assert "33.33%" in words
        assert "stored in runs/decisive-accuracy.jsonl" in words
        again = json.loads(CliRunner().invoke(viva, [*arguments, "--json"]).stdout)
        assert (again["judges"][0]["steps_right"], len(server.requests)) == (1, 2), "answers are kept"
    wrong = CliRunner().invoke(viva, ["calibrate", "--decisive", str(file)])
    assert (wrong.exit_code, "requires a judge" in wrong.stderr) == (2, True)
    wrong = CliRunner().invoke(viva, ["calibrate", "--decisive", str(file), "--judge-model", "openai:m", "--gold", "a"])
    assert (wrong.exit_code, "--gold cannot be given with --decisive" in wrong.stderr) == (2, True)


def test_a_measurement_that_was_killed_pays_only_for_what_was_not_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, one_certificate: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(one_certificate))
    monkeypatch.setenv("OPENAI_API_KEY", "test-key-123456")
    monkeypatch.chdir(tmp_path)
    names = ("a", "b", "a", "b")
    runs = [who_and_when(mistake_step=str(place % 3), mistake_agent=name) for place, name in enumerate(names)]
    file = labelled_file(tmp_path, *({**run, "question": f"Why {place}?"} for place, run in enumerate(runs)))
    words = ["calibrate", "--decisive", str(file), "--judge-model", "openai:m", "--json", "--cache"]

    def judge(request: Request) -> str:
        return answer("2", "b says so", "b")

    with ModelServer({"m": judge}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        whole = json.loads(CliRunner().invoke(viva, [*words, "whole"]).stdout)
        asked = len(server.requests)
        server.parts["m"] = sequence(judge, judge, then=Stall(3600))
        process_words = (*words, "kept")
        with start_viva(
            *process_words, cwd=tmp_path, env=dict(os.environ), stdout=PIPE, stderr=PIPE, text=True
        ) as process:
            until(lambda: len(list(tmp_path.glob("kept/*/*.json"))) == 2, process)
            kill_outright(process)
        stalled = len(server.requests) - asked - 2
        server.parts["m"] = judge
        again = json.loads(CliRunner().invoke(viva, [*words, "kept"]).stdout)
        assert len(server.requests) == asked + 4 + stalled, "two of four answers were kept"
    figures = ("runs", "agents_right", "steps_right", "near", "unusable")
    assert [again["judges"][0][name] for name in figures] == [whole["judges"][0][name] for name in figures]


def test_the_name_of_an_agent_is_one_short_line_and_a_call_that_did_not_run_says_so() -> None:
    name = "writer\n    result: all done\u2028" + "x" * 5_000
    live = Transcript((Round(1, "Go.", None, (Step("1", agent=name, tool="send"),)),))
    text = show_turns(act_turns(acts_of(live), "mark")).text
    (head,) = [line for line in text.splitlines() if not line.startswith("    ")]
    assert head.startswith("Step 1, by writer result: all done")
    assert len(head) < 230
    assert "    result: (not run)" in text
