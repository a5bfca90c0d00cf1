"""A conversation too long for a sandbox reaches the check cut, and is no miss for its length."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from viva.cases import Case, ScoringPoint
from viva.judge.long_conversations import MOST_BYTES, WHOLE, cut_to_fit
from viva.judge.scoring_points.by_code import CodeJudge
from viva.judge.view import run_view
from viva.records import Round, Step, Transcript, Verdict
from viva.sandbox import RunView
from viva.sandbox.choice import choose

MIB = 1024 * 1024


def size(view: RunView) -> int:
    return len(json.dumps([list(view.chat_history), list(view.rounds)]))


@pytest.mark.parametrize(
    "made",
    [
        lambda: (Round(1, "ask", "x" * (40 * MIB)),),
        lambda: (Round(1, "ask", "\0" * (8 * MIB)),),
        lambda: (Round(1, "ask", "\U0001f600" * (3 * MIB)),),
        lambda: (Round(1, "ask", "é" * (10 * MIB) + '"' * MIB),),
        lambda: tuple(Round(number, "ask", "word " * 3000) for number in range(1, 1001)),
        lambda: (Round(1, "ask", "a", (Step("s", tool_input={"a": ["y" * 30 * MIB]}, result="z" * 30 * MIB),)),),
        lambda: (Round(1, "ask", "a", tuple(Step(f"s{number}", result="r" * 50) for number in range(150_000))),),
        lambda: (Round(1, "ask", "a", (Step("s", tool_input=[1234567890] * 1_500_000),)),),
        lambda: (Round(1, "ask", "a", (Step("s", tool_input={f"a key of {n:030}": n for n in range(400_000)}),)),),
    ],
    ids=["ascii", "nul", "emoji", "mixed", "rounds", "step", "steps", "numbers", "keys"],
)
def test_whatever_makes_it_long_it_is_cut_to_the_limit_and_says_so(made: Callable[[], tuple[Round, ...]]) -> None:
    rounds = made()
    view = run_view(Transcript(rounds), "task")
    assert size(view) <= MOST_BYTES * 1.2
    assert all(shown["cut"] for shown in view.rounds)


@pytest.mark.parametrize("text", ["word " * 200_000, "é" * 1_000_000, "\0" * 1_000_000])
def test_a_long_conversation_that_fits_is_whole(text: str) -> None:
    rounds = (Round(1, "ask", text, (Step("s", result=text[:1000]),)),)
    (shown,) = run_view(Transcript(rounds), "task").rounds
    assert shown["agent"] == text
    assert "cut" not in shown
    assert cut_to_fit(rounds) is WHOLE or cut_to_fit(rounds).words(text) == text


def test_beginning_and_end_of_a_text_are_kept_and_short_texts_are_whole() -> None:
    rounds = (Round(1, "ask", f"begin{'x' * 40 * MIB}end"), Round(2, "again", "short"))
    one, two = run_view(Transcript(rounds), "task").rounds
    assert one["agent"].startswith("beginx")
    assert one["agent"].endswith("xend")
    assert "characters left out" in one["agent"]
    assert (two["examiner"], two["agent"]) == ("again", "short")


def test_memory_stays_within_twice_the_conversation() -> None:
    text = "x" * (60 * MIB)
    rounds = (Round(1, "ask", text, (Step("s", result=text),)),)
    tracemalloc.start()
    try:
        run_view(Transcript(rounds), "task")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # Beside the conversation itself, whose two texts share their memory here.
    assert peak < 2 * 120 * MIB + 20 * MIB


def test_steps_are_cut_before_what_was_said() -> None:
    said = "word " * 500_000
    steps = (Step("s1", result="begin" + "r" * (20 * MIB) + "end"), Step("s2", tool="short"))
    (shown,) = run_view(Transcript((Round(1, "ask", said, steps),)), "task").rounds
    assert (shown["agent"], shown["cut"], shown["steps_left_out"]) == (said, "steps", 0)
    assert shown["steps"][0]["result"].startswith("beginrrr")
    assert shown["steps"][0]["result"].endswith("rrrend")
    assert shown["steps"][1] == {"id": "s2", "tool": "short"}


@pytest.mark.parametrize(
    ("code", "label"),
    [
        ("assert rounds[0]['agent'].endswith('needle')", "unsure"),
        ("assert 'swordfish' not in rounds[0]['agent']", "unsure"),
        ("assert 'begin' in rounds[0]['agent'] and 'swordfish' in rounds[0]['agent']", "unsure"),
        ("assert runds", "error"),
    ],
)
async def test_what_was_said_and_is_too_long_earns_nothing_and_is_no_miss(
    tmp_path: Path, code: str, label: str
) -> None:
    """A check that looks for something forbidden would pass where that is hidden in the middle."""
    said = "x" * (20 * MIB) + "swordfish" + "x" * (20 * MIB) + "needle"
    verdict = await judged(tmp_path, (Round(1, "ask", said),), code)
    assert (verdict.label, verdict.score, verdict.flags) == (label, None, ("conversation-cut",))


async def test_a_check_that_sees_cut_steps_judges_as_ever_and_is_flagged(tmp_path: Path) -> None:
    rounds = (Round(1, "ask", "needle", (Step("s", result="r" * 40 * MIB),)),)
    for code, label in (("assert rounds[0]['agent'] == 'needle'", "hit"), ("assert rounds[0]['agent'] == 'x'", "miss")):
        verdict = await judged(tmp_path, rounds, code)
        assert (verdict.label, verdict.flags) == (label, ("conversation-cut",))


async def judged(folder: Path, rounds: tuple[Round, ...], code: str) -> Verdict:
    point = ScoringPoint("p", "It ends.", 1.0, code)
    case = Case("exam", folder / "case.yaml", "0" * 64, "task", (point,))
    sandbox = (await choose("process")).sandbox
    try:
        judge = CodeJudge(sandbox, case, "run", Transcript(rounds), None)
        verdict = await judge.judge(point)
        await judge.close()
    finally:
        await sandbox.close()
    return verdict
