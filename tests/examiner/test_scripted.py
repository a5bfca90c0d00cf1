"""The scripted examiner: a pattern of the case is held against what the agent said, however much that is."""

from __future__ import annotations

import pytest

from viva.cases import ScriptLine, find_case, load_case
from viva.examiner import ScriptedExaminer

ASKED = (ScriptLine("Hello."), ScriptLine("New York.", if_agent_says=r"which city.*\?"))


async def second(reply: str) -> str | None:
    examiner = ScriptedExaminer(ASKED)
    await examiner.next_message(None)
    return await examiner.next_message(reply)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ("Which city?", "New York."),
        ("It is sunny.", None),
        ("", None),
        ("Which city? " + "x" * 1_000_000, "New York."),
        ("x" * 1_000_000 + " which city?", "New York."),
    ],
    ids=lambda value: str(value)[:20],
)
async def test_a_line_is_said_where_the_agent_calls_for_it_at_either_end_of_a_flood(
    reply: str, message: str | None
) -> None:
    assert await second(reply) == message


async def test_a_reply_made_to_keep_a_bundled_pattern_searching_does_not_hold_up_the_others() -> None:
    """The pattern `new york.*\\?` looks to the end of the line from each `new york`: days, for 5 MB of them."""
    script = load_case(find_case("weather_asks_back")).script
    examiner = ScriptedExaminer(script)
    assert await examiner.next_message(None)
    assert await examiner.next_message("new york " * 600_000) is None


CATASTROPHES = [
    (r"(a+)+$", "a" * 5_000 + "!"),
    (r"^(\w+\s?)*$", "word " * 2_000 + "!"),
    (r"(x|xx)+y", "x" * 9_000),
    (r"(.*,){12}z", "a," * 5_000),
]


@pytest.mark.parametrize(("pattern", "reply"), CATASTROPHES)
async def test_a_pattern_that_searches_without_end_is_cut_off_and_its_line_skipped(pattern: str, reply: str) -> None:
    examiner = ScriptedExaminer((ScriptLine("Hello."), ScriptLine("Never.", if_agent_says=pattern), ScriptLine("Bye.")))
    await examiner.next_message(None)
    assert await examiner.next_message(reply) == "Bye."  # without a limit, it would not come in a lifetime
    assert all("took longer" in note for note in examiner.notes)
    assert await examiner.next_message("") is None
