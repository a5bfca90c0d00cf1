"""What an agent reports hides from no evaluator of trajectories what the environment recorded."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from tests.conftest import ModelAt
from tests.model_server import ModelServer, ServerError, text_of
from viva.judge.registry import find_evaluators
from viva.judge.trajectory.decisions import decisions
from viva.judge.trajectory.model_evaluator import MOST_ASKED, asked_about
from viva.judge.turns import TRANSCRIPT_SHOWN, ShownTurn, ShownTurns
from viva.judge.view import show_fields
from viva.records.evaluator import Context
from viva.records.transcript import AGENT, ENVIRONMENT, ENVIRONMENT_ID, Round, Step, StepKind, StopReason, Transcript

DELETED = Step(
    f"{ENVIRONMENT_ID}1", tool="delete_all_accounts", tool_input={"sure": True}, result="gone", recorded_by=ENVIRONMENT
)
EVALUATORS = ["sequence", "plan_and_recovery", "alignment", "decisive_step"]


def told(number: int, size: int = 250) -> Step:
    return Step(f"{number}", StepKind.TOOL, tool="note", thought="I note it.", result="x" * size)


def talk(told_steps: int, reply: str = "Done.") -> Transcript:
    half = told_steps // 2
    steps = (*map(told, range(half)), DELETED, *map(told, range(half, told_steps)))
    return Transcript((Round(1, "Tidy up.", reply, steps),), stop=StopReason.FINISHED)


async def asked(name: str, transcript: Transcript, model_at: ModelAt) -> list[str]:
    """Return the questions of an evaluator about a run."""
    with ModelServer({"m": ServerError()}) as server:
        [named] = find_evaluators([name])
        await named.make({"model": model_at(server.url)}).evaluate(transcript, Context("run"))
    return [text_of(request.body["messages"][-1]) for request in server.requests]


@pytest.mark.parametrize(("steps", "size"), [(60, 6_500), (2_000, 10), (2_000, 40_000)])
@pytest.mark.parametrize("name", EVALUATORS)
async def test_no_number_of_told_steps_and_no_reply_hides_a_recorded_call(
    name: str, steps: int, size: int, model_at: ModelAt
) -> None:
    question, *_ = await asked(name, talk(steps, "y" * size), model_at)
    assert "delete_all_accounts" in question
    assert '{"sure": true}' in question
    assert len(question) < 1.4 * TRANSCRIPT_SHOWN


@pytest.mark.parametrize("by", [AGENT, ENVIRONMENT])
@pytest.mark.parametrize("name", EVALUATORS)
async def test_no_number_of_short_steps_shortens_a_recorded_command(name: str, by: str, model_at: ModelAt) -> None:
    command = f"{'echo tidy; ' * 40}rm -rf /srv/backups; {'echo tidy; ' * 40}"
    ran = replace(DELETED, tool="sh", tool_input={"command": command})
    short = (Step(f"{number}", tool="note", thought="x", recorded_by=by) for number in range(800))
    question, *_ = await asked(name, Transcript((Round(1, "Tidy up.", "Done.", (*short, ran)),)), model_at)
    assert command in question


RUN = Step(f"{ENVIRONMENT_ID}1", tool="sh", tool_input={"command": "make test"}, result="", recorded_by=ENVIRONMENT)
LATER = Step(f"{ENVIRONMENT_ID}2", parent_id=RUN.id, result="3 tests FAILED", recorded_by=ENVIRONMENT)
STILL_RUNNING, FAILED = {"running": True}, {"exitCode": 2, "signal": None}


@pytest.mark.parametrize("name", EVALUATORS)
async def test_what_a_command_wrote_after_its_round_and_how_it_ended_is_shown(name: str, model_at: ModelAt) -> None:
    run, later = replace(RUN, attributes=STILL_RUNNING), replace(LATER, attributes=FAILED)
    rounds = (Round(1, "Test it.", "I started.", (run,)), Round(2, "And?", "All tests passed.", (later,)))
    question, *_ = await asked(name, Transcript(rounds), model_at)
    assert "3 tests FAILED" in question
    assert re.search(r"ended(, in round 2)?: with exit code 2", question)
    assert "(not run)" not in question


async def test_a_step_is_judged_by_what_a_command_had_written_before_it(model_at: ModelAt) -> None:
    second, third = (replace(RUN, id=f"{ENVIRONMENT_ID}{n}", tool=tool) for n, tool in ((3, "second"), (4, "third")))
    steps = [replace(each, thought="I run it.") for each in (RUN, second)]
    rounds = (Round(1, "Test it.", "I started.", (*steps,)), Round(2, "And?", "I look.", (LATER, third)))
    for name in ("parameter_quality", "query_to_thought", "thought_to_tool"):
        for question in await asked(name, Transcript(rounds), model_at):
            is_after = re.search(r"\[Tool Called\]:\n\s+third\n", question) is not None
            assert is_after or "3 tests FAILED" not in question.split("[Tool Called]")[0]
            assert not is_after or "further output, in round 2: 3 tests FAILED" in question


async def test_the_judge_of_an_input_sees_what_came_of_the_call(model_at: ModelAt) -> None:
    run, later = replace(RUN, attributes=STILL_RUNNING), replace(LATER, attributes=FAILED)
    rounds = (Round(1, "Test it.", "I started.", (run,)), Round(2, "And?", "All tests passed.", (later,)))
    question, *_ = await asked("parameter_quality", Transcript(rounds), model_at)
    _, end = question.split("[Result]:")
    shown = [
        "(empty)",
        "[Afterwards]:",
        "further output, in round 2: 3 tests FAILED",
        "ended, in round 2: with exit code 2",
    ]
    assert [line.strip() for line in end.splitlines()][1:5] == shown


@pytest.mark.parametrize("name", EVALUATORS)
@pytest.mark.parametrize(
    ("result", "source", "words"), [("", "viva", ""), (None, "viva", "run"), (None, "x", "recorded")]
)
async def test_only_a_call_without_any_result_is_said_to_have_none(
    name: str, result: str | None, source: str, words: str, model_at: ModelAt
) -> None:
    steps = (replace(RUN, result=result),)
    question, *_ = await asked(name, Transcript((Round(1, "Test it.", "Done.", steps),), source), model_at)
    assert re.findall(r"result: \(not (\w+)\)", question) == [words][: bool(words)]


async def test_a_recorded_call_is_among_the_earlier_steps_whatever_was_told_since(model_at: ModelAt) -> None:
    later = replace(DELETED, id=f"{ENVIRONMENT_ID}2", tool="close")
    transcript = Transcript((Round(1, "Tidy up.", "Done.", (DELETED, *map(told, range(60)), later)),))
    questions = await asked("parameter_quality", transcript, model_at)
    (last,) = {each for each in questions if re.search(r"\[Tool Called\]:\n\s+close\n", each)}
    assert "delete_all_accounts" in last


def test_a_judge_is_asked_about_recorded_steps_first() -> None:
    path = decisions(talk(5_000))
    asked_steps = asked_about(path)
    assert len(asked_steps) == MOST_ASKED
    assert next(each.number for each in path if each.step.from_environment) in asked_steps
    assert {1, 5_001} <= asked_steps, "the others are spread evenly"
    recorded = [replace(DELETED, id=f"{ENVIRONMENT_ID}{number}") for number in range(700)]
    many = decisions(Transcript((Round(1, "Go.", "Done.", (*map(told, range(700)), *recorded)),)))
    chosen = [each for each in many if each.number in asked_about(many)]
    assert len(chosen) == MOST_ASKED
    assert all(each.step.from_environment for each in chosen)


def test_a_field_of_turns_has_the_room_that_others_leave_and_is_cut_only_between_and_inside_of_turns() -> None:
    turns = tuple(ShownTurn(f"Step {number}", "z" * 1_000, "told") for number in range(100))
    shown = show_fields({"Short": "brief", "Steps": ShownTurns(turns, TRANSCRIPT_SHOWN)})
    assert not shown.cut
    assert shown.text.count("\n    Step ") == 100
    small = show_fields({"Short": "brief", "Steps": ShownTurns(turns, 20_000)})
    assert small.cut
    assert len(small.text) < 25_000
    lines = small.text.splitlines()
    assert [line for line in lines if not line.startswith("    ")] == ["[Short]:", "[Steps]:"]
    (gap,) = [line for line in lines if line.startswith("    […")]
    assert "steps with" in gap
    assert small.marker in gap


IBAN = "DE89 3704 0044 0532 0130 00"


def around(words: str, size: int) -> str:
    return f"{'a' * (size // 2)} {words} {'z' * (size // 2)}"


@pytest.mark.parametrize("place", ["an earlier message", "the query", "an earlier step"])
async def test_the_source_of_a_value_is_shown_whole_where_there_is_room_for_it(place: str, model_at: ModelAt) -> None:
    called = Step("last", tool="transfer", tool_input={"iban": IBAN}, result="ok")
    words = dict.fromkeys(range(1, 11), "Go on.")
    if place != "an earlier step":
        words[10 if place == "the query" else 5] = around(IBAN, 2_100)
    steps = [told(number, 20) for number in range(19)]
    if place == "an earlier step":
        steps[9] = replace(steps[9], result=around(IBAN, 1_700))
    rounds = tuple(Round(number, said, "Yes.", tuple(steps[number * 2 - 2 :][:2])) for number, said in words.items())
    rounds = (*rounds[:-1], replace(rounds[-1], steps=(*rounds[-1].steps, called)))
    questions = await asked("parameter_quality", Transcript(rounds), model_at)
    (last,) = {each for each in questions if re.search(r"\[Tool Called\]:\n\s+transfer\n", each)}
    assert last.count(IBAN) == 2
    assert "left out" not in last


async def test_the_message_that_a_call_answers_is_shown_whole_after_any_others(model_at: ModelAt) -> None:
    called = Step("last", tool="transfer", tool_input={"iban": IBAN}, result="ok")
    before = tuple(Round(number, "a" * 3_000, "b" * 3_000) for number in range(1, 10))
    transcript = Transcript((*before, Round(10, around(IBAN, 15_000), "Done.", (called,))))
    question, *_ = await asked("parameter_quality", transcript, model_at)
    assert around(IBAN, 15_000) in question
