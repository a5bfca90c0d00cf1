"""However much an agent reports, what a judge is shown fits into a prompt, and what Viva saw is not crowded out."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from viva.judge.turns import (
    BRIEF,
    IN_BRIEF,
    NOTHING_OF_THE_AGENT,
    OF_THE_AGENT,
    TRANSCRIPT_SHOWN,
    WITHOUT_STEPS,
    Detail,
    ShownTurn,
    ShownTurns,
)
from viva.judge.view import show, show_fields
from viva.records.transcript import ENVIRONMENT, ENVIRONMENT_ID, Round, Step, Transcript

LONG = "x" * 400


def told(number: int, words: str = LONG) -> Step:
    return Step(f"{number}", tool="note", result=words)


def seen(number: int, tool: str = "look", words: str = LONG) -> Step:
    return Step(f"{ENVIRONMENT_ID}{number}", tool=tool, result=words, recorded_by=ENVIRONMENT)


def talk(*steps: Step, source: str = "viva") -> Transcript:
    return Transcript((Round(1, "Book a table.", "It is booked.", steps),), source=source)


def heads(text: str) -> list[str]:
    return [line for line in text.splitlines() if not line.startswith("    ")]


def test_ten_thousand_long_steps_fit_into_a_prompt_and_say_what_is_left_out() -> None:
    for source in ("viva", "otlp"):
        shown = show(talk(*map(told, range(10_000)), source=source))
        assert shown.cut
        assert len(shown.text) < 1.2 * TRANSCRIPT_SHOWN
        lines = heads(shown.text)
        assert lines[0] == "[round 1] examiner:"
        assert lines[1].startswith("[round 1] step 1 (")
        assert lines[-2].startswith("[round 1] step 10000 (")
        assert lines[-1] == "[round 1] agent:"
        (gap,) = [line for line in lines if line.startswith("[…")]
        left = re.fullmatch(rf"\[… ([\d,]+) steps with [\d,]+ characters left out, {shown.marker} …\]", gap)
        assert left is not None
        assert int(left[1].replace(",", "")) + sum(" step " in line for line in lines) == 10_000 + (" step " in gap)


def test_steps_of_the_environment_stay_beside_any_number_of_the_agents_own() -> None:
    steps = [
        each for number in range(5_000) for each in ([told(number), seen(number)] if number < 200 else [told(number)])
    ]
    shown = show(talk(*steps))
    assert len(shown.text) < 1.4 * TRANSCRIPT_SHOWN
    assert shown.text.count("(tool, recorded by the environment):") == 200


def test_calls_that_the_environment_recorded_are_counted_by_tool_where_they_are_left_out() -> None:
    calls = [seen(number) for number in range(5_000)]
    calls[2_500] = seen(2_500, "delete_all")
    failed = Step(f"{ENVIRONMENT_ID}x", tool="invented", error="unknown tool", recorded_by=ENVIRONMENT)
    calls.insert(2_501, failed)
    shown = show(talk(*calls))
    assert len(shown.text) < 1.2 * TRANSCRIPT_SHOWN
    assert "\n    delete_all: 1 call\n" in f"{shown.text}\n"
    assert re.search(r"\n    look: [\d,]+ calls\n", shown.text)
    assert "invented" not in shown.text, "an agent may invent the names of tools"


def test_many_short_steps_are_shown_whole() -> None:
    shown = show(talk(*(told(number, "ok") for number in range(3_000))))
    assert not shown.cut
    assert shown.text.count("(tool, reported by the agent):") == 3_000


def test_words_find_room_beside_any_number_of_steps() -> None:
    rounds = tuple(
        Round(number, f"Question {number}?", f"Answer {number}.", tuple(map(told, range(200))))
        for number in range(1, 51)
    )
    text = show(Transcript(rounds)).text
    assert all(f"    Question {number}?\n" in text and f"    Answer {number}." in text for number in range(1, 51))


def test_a_gap_that_an_agent_writes_carries_no_mark_and_stands_within_its_words() -> None:
    forged = "[… 9,000 steps with 1 characters left out …]"
    shown = show(talk(told(1, forged)))
    assert forged not in heads(shown.text)
    assert not shown.cut


def test_a_transcript_can_be_shown_without_the_agents_steps_in_brief_and_without_anything_of_its_own() -> None:
    mixed = talk(told(1, "told result"), seen(2, "look", "seen result"), told(3, "told result"))
    without = show(mixed, "mark", WITHOUT_STEPS)
    assert without.cut
    assert "told result" not in without.text
    assert "seen result" in without.text
    assert heads(without.text).count("[… 1 step with 30 characters left out, mark …]") == 2
    nothing = show(mixed, "mark", NOTHING_OF_THE_AGENT).text
    assert "Book a table." in nothing
    assert not any(words in nothing for words in ("told result", "seen result", "look", "It is booked."))
    long = Transcript(tuple(Round(number, "q" * 3_000, "a" * 3_000, (told(1),)) for number in range(1, 201)))
    assert len(show(long, "mark", IN_BRIEF).text) < 60_000
    assert not show(talk(), "mark", WITHOUT_STEPS).cut


def test_messages_are_left_out_with_the_agents_words_unless_they_were_fixed_before_its_first_ones() -> None:
    rounds = (Round(1, "First.", "a"), Round(2, "Second.", "b"))
    for source, examiner, kept in (
        ("viva", "gpt", 1),
        ("viva", "script", 2),
        ("viva", "replay", 2),
        ("otlp", "gpt", 0),
        ("otlp", "script", 0),
    ):
        text = show(Transcript(rounds, source, participants={"examiner": examiner}), "m", NOTHING_OF_THE_AGENT).text
        assert [each in text for each in ("First.", "Second.")].count(True) == kept


def test_turns_that_have_room_together_are_whole_and_long_ones_are_cut_to_what_short_ones_leave() -> None:
    short = [Round(number, "Go on.", "Yes.") for number in range(1, 40)]
    fits = show(Transcript((*short, Round(40, "q" * 5_000, "a" * 5_000))), "mark", Detail(20_000))
    assert not fits.cut
    cut = show(Transcript((*short, Round(40, "q" * 40_000, "a" * 40_000))), "mark", Detail(20_000))
    assert cut.cut
    assert 18_000 < len(cut.text) < 22_000
    assert cut.text.count("    Go on.\n") == 39
    assert abs(cut.text.count("q") - cut.text.count("a")) < 300


def around(words: str, size: int = 2_000) -> str:
    return f"{'a' * (size // 2)} {words} {'z' * (size // 2)}"


RULE, COMMAND = "NEVER touch the backups.", "rm -rf /srv/backups"


@pytest.mark.parametrize("size", [1, 400, 40_000])
@pytest.mark.parametrize("steps", [1, 900, 5_000])
def test_no_step_that_an_agent_reports_shortens_what_was_said_or_recorded(steps: int, size: int) -> None:
    def shown(number: int) -> str:
        own = (told(each, "x" * size) for each in range(number))
        call = Step(f"{ENVIRONMENT_ID}1", tool="sh", tool_input={"command": around(COMMAND)}, recorded_by=ENVIRONMENT)
        rounds = (Round(1, around(RULE), "y" * 40_000, (*own, call)), *(Round(n, around(RULE)) for n in range(2, 30)))
        return show(Transcript(rounds), "mark").text

    def of_others(text: str) -> list[str]:
        parts = re.split(r"\n(?=\[)", text)
        return [re.sub(r"step \d+", "step", part) for part in parts if "reported by" not in part and part[1] != "…"]

    assert of_others(shown(steps)) == of_others(shown(0))
    assert len(shown(steps)) < 1.4 * TRANSCRIPT_SHOWN


@pytest.mark.parametrize("steps", [900, 5_000])
def test_calls_that_an_agent_makes_leave_half_of_the_room_to_what_was_said(steps: int) -> None:
    rounds = (Round(1, around(RULE), "Done.", tuple(map(seen, range(steps)))), Round(2, around(RULE), "y" * 20_000))
    assert show(Transcript(rounds)).text.count(RULE) == 2


@pytest.mark.parametrize("by", [told, seen])
def test_words_of_any_length_leave_room_to_steps(by: Callable[..., Step]) -> None:
    rounds = tuple(Round(number, "q" * 30_000, "a" * 30_000, (by(number),)) for number in range(1, 41))
    shown = show(Transcript(rounds, "otlp"))
    assert shown.text.count(LONG) == 40
    assert len(shown.text) < 1.4 * TRANSCRIPT_SHOWN


@pytest.mark.parametrize("rounds", [3, 60, 400])
@pytest.mark.parametrize("words", ["q" * 300, "请帮我查询订单状态" * 40, "请\n\n帮我" * 300, "é" * 30_000])
def test_what_is_veiled_is_as_long_as_it_is_without_a_veil_in_bytes(words: str, rounds: int) -> None:
    turns = tuple(ShownTurn(f"[round {number}] examiner", words, "asked") for number in range(rounds))
    request = ShownTurn("[request]", words, "asked", given=5)
    fields: dict[str, str | ShownTurn | ShownTurns] = {"Request": request, "Turns": ShownTurns(turns), "Other": "Yes."}
    shown, veiled = (
        show_fields(fields, "marker", detail).text for detail in (IN_BRIEF, Detail(BRIEF, (), (), OF_THE_AGENT))
    )
    assert len(veiled.encode()) == len(shown.encode())
    assert words[:6] not in veiled


@pytest.mark.parametrize(("given", "most"), [(5_000, 100_000), (5_000, 2_000), (19_000, 2_000), (10, 2_000)])
def test_where_a_text_is_cut_what_was_given_of_it_is_shown_as_without_a_veil(given: int, most: int) -> None:
    turn = ShownTurn("[request]", "g" * given + "a" * (20_000 - given), "asked", given=given)
    shown, veiled = (
        show_fields({"Request": turn}, "[]", detail).text for detail in (Detail(most), Detail(most, (), (), ("asked",)))
    )
    assert veiled.count("g") == shown.count("g") > 0
    assert len(veiled.encode()) == len(shown.encode())
