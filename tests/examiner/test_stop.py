"""The stop keyword: understood in whatever dress a model gives it, and never shown to the agent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.examiner.stop import STOP_KEYWORD, read_message

STOPS = [
    "EXAM_FINISHED",
    "exam_finished",
    "Exam_Finished.",
    " \n EXAM_FINISHED \n",
    "`EXAM_FINISHED`",
    "```\nEXAM_FINISHED\n```",
    "```text\nEXAM_FINISHED\n```",
    "**EXAM_FINISHED**",
    "_EXAM_FINISHED_",
    "__EXAM_FINISHED__",
    "*EXAM\\_FINISHED*",
    "EXAM\\_FINISHED",
    '"EXAM_FINISHED"',
    "(EXAM_FINISHED)",
    "“EXAM_FINISHED”",
    "Thank you, that was all. EXAM_FINISHED",
    "Thank you, that was all.\r\nEXAM_FINISHED\r\n",
    "Thank you. EXAM_FINISHED.",
    "Thank you, EXAM_FINISHED!",
    "谢谢。EXAM_FINISHED。",
    "EXAM_FINISHED\nThe agent did well.",
    "EXAM_FINISHED - the agent did well",
    "EXAM_FINISHED EXAM_FINISHED",
]


@pytest.mark.parametrize("text", STOPS)
def test_the_keyword_stops_alone_or_at_a_sentences_end_in_any_dress(text: str) -> None:
    assert read_message(text).stop


@pytest.mark.parametrize("text", STOPS)
def test_words_beside_the_keyword_are_told_from_what_it_is_dressed_in(text: str) -> None:
    words = ("hank you", "谢谢", "did well")
    assert bool(read_message(text).text) == any(word in text for word in words)


@pytest.mark.parametrize(
    "text",
    [
        "Say EXAM_FINISHED once you are done, please.",
        "I will write `EXAM_FINISHED` when you have added all numbers.",
        "Is EXAM_FINISHED, as a word, known to you?",
    ],
)
def test_in_the_middle_of_a_sentence_it_is_neither_sent_nor_a_stop(text: str) -> None:
    message = read_message(text)
    assert (message.stop, message.misplaced) == (False, True)


@pytest.mark.parametrize(
    "text",
    [
        "Please set exam_finished_at to 12.",
        "Rename my_exam_finished to done.",
        "Write EXAM_FINISHED2 into the file.",
        "The exam is finished. Which city?",
        "Please add 5.",
    ],
)
def test_words_of_the_task_that_only_look_alike_are_no_stop(text: str) -> None:
    message = read_message(text)
    assert (message.text, message.stop, message.misplaced) == (text, False, False)


words = st.text(st.characters(codec="utf-8"), max_size=60) | st.sampled_from(["```", "**", "_", "\\", ". ", "\n", "x"])
dress = st.sampled_from(["EXAM_FINISHED", "exam_finished", "EXAM\\_FINISHED", "Exam_Finished", "`EXAM_FINISHED`"])


@given(st.lists(words | dress, max_size=6))
def test_what_is_sent_to_the_agent_never_holds_the_keyword_as_a_word(parts: list[str]) -> None:
    message = read_message(" ".join(parts))
    if not message.stop and not message.misplaced:
        assert STOP_KEYWORD not in message.text.replace("\\", "").upper().split()
        assert not any(part in (f"`{STOP_KEYWORD}`", STOP_KEYWORD) for part in parts)


@given(st.text(alphabet="`*_\"'([{<> \t\n", max_size=12), st.text(alphabet="`*_\"')]}> \t\n.!", max_size=12), dress)
def test_alone_it_stops_whatever_stands_around_it(before: str, after: str, keyword: str) -> None:
    assert read_message(f"{before}{keyword}{after}").stop


@given(st.text())
def test_a_message_without_the_keyword_is_sent_as_it_is(text: str) -> None:
    if "FINISHED" not in text.upper():
        message = read_message(text)
        assert (message.text, message.stop, message.misplaced) == (text.strip(), False, False)
