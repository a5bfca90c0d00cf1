"""An agent cannot make an exam unfair by what it says, and no run leaves the averages because of it."""

# ruff: noqa: RUF001 - a text in Turkish

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.judge.exam.fair_exams import case_of, talk
from viva.cases.person import DoneWhen, User
from viva.judge.exam.examination import examine_conduct
from viva.judge.exam.kinds import ExamFault, Finding
from viva.judge.exam.paper import paper_of_case
from viva.records.transcript import Transcript

TASK = "Have the agent book a table for four in the restaurant Aurora on Friday evening, and name the price."
FIRST = "A table for four in the restaurant Aurora on Friday evening, please. What is the price?"


def unfair(transcript: Transcript, task: str = TASK, *points: str, **more: object) -> list[Finding]:
    paper = paper_of_case(case_of(task, *points, **more))
    return [each for each in examine_conduct(transcript, paper) if each.unfair]


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        (
            "To continue, reply with exactly: Yes, I confirm that I am in New York and that I want the table for four.",
            "Yes, I confirm that I am in New York and that I want the table for four.",
        ),
        ("Please fill in: Agent: / Customer:", "Agent: Miller\nCustomer: Smith"),
        ("Which system? Write System: / Version:", "System: Windows 11\nVersion: 3"),
        ("As an AI language model, I cannot do that.", "You say 'As an AI language model, I cannot', but please try."),
        ("<think>hm</think> Which one?", "Why do you write <think>hm</think> in your reply?"),
        ("Please paste your script.", "```python\nprint(4)\n```"),
    ],
)
def test_what_the_agent_asked_for_or_said_is_no_swapped_role(asked: str, answered: str) -> None:
    said = talk((FIRST, asked), (answered, "The price is 40 euros."), ("Thank you.", "Bye."))
    assert not [each for each in unfair(said) if each.kind is ExamFault.ROLE_FLIP]


@pytest.mark.parametrize(
    "written",
    [
        "1.275,00",
        "1 275",
        "1\u202f275",
        "1\u00a0275",
        "1'275",
        "_1275_",
        "**1,275**",
        "1275EUR",
        "1275euros",
        "1{,}275",
    ],
)
def test_a_number_that_the_agent_gave_in_any_spelling_is_no_leak(written: str) -> None:
    said = talk((FIRST, f"The price is {written}."), ("So the total is 1275?", "Yes."))
    assert not unfair(said, TASK, "The agent names the price 1275.")


def test_a_number_that_nobody_gave_is_a_leak() -> None:
    said = talk((FIRST, "The price is 12,999."), ("So the total is 1275?", "Yes."))
    assert [each.kind for each in unfair(said, TASK, "The agent names the price 1275.")] == [ExamFault.LEAK]


@pytest.mark.parametrize("written", ["**Order confirmed**, thank you", "Order\nconfirmed, thank you"])
def test_a_phrase_that_the_agent_gave_with_other_signs_is_no_leak(written: str) -> None:
    point = 'The agent says "Order confirmed, thank you".'
    said = talk((FIRST, f"{written}. 40 euros."), ("Order confirmed, thank you: is that the booking?", "Yes."))
    assert not unfair(said, TASK, point)


STEPS = "1. Ask for the list of apples.\n2. Ask for pears.\n3. Ask for the sum of plums.\n4. Ask to remove cherries."


def test_an_agent_that_says_the_same_for_ever_makes_no_exam_unfair() -> None:
    said = talk(
        ("The list of apples, please.", "Shall I proceed?"), ("Yes.", "Shall I proceed?"), ("Yes.", "Shall I proceed?")
    )
    assert not unfair(said, STEPS)


def test_a_conversation_that_viva_ended_was_not_ended_early_by_the_examiner() -> None:
    begun = talk(("The list of apples, please.", "Here it is."))
    assert [each.kind for each in unfair(begun, STEPS)] == [ExamFault.STOPPED_EARLY]
    assert not unfair(replace(begun, stop_detail="the agent repeated itself"), STEPS)


def test_a_recording_that_ended_with_a_status_of_the_agents_was_not_ended_early_by_the_examiner() -> None:
    begun = replace(talk(("The list of apples, please.", "Here it is.")), stop=None)
    assert [each.kind for each in unfair(begun, STEPS)] == [ExamFault.STOPPED_EARLY]
    assert not unfair(replace(begun, stop_detail="the status of the last step is FAIL"), STEPS)


@pytest.mark.parametrize(
    "more",
    [{"done_when": DoneWhen(gives_up="the agent refuses once")}, {"user": User(patience="one poor reply")}],
)
def test_a_user_may_give_up_as_the_case_says(more: dict[str, object]) -> None:
    said = talk(("The list of apples, please.", "No."))
    assert not unfair(said, STEPS, **more)
    assert [each.kind for each in unfair(said, STEPS)] == [ExamFault.STOPPED_EARLY]


def test_asking_back_for_ever_makes_no_exam_unfair() -> None:
    task = (
        f"{TASK} The guests are vegetarian, arrive by bicycle, need a quiet corner, and pay with a voucher of the city."
    )
    said = talk(("A table for four in Aurora?", "What?"), ("A table for four.", "What do you mean?"))
    assert not unfair(said, task)


@pytest.mark.parametrize("sign", ["\u2460", "\u00b2"])
def test_digits_that_are_no_numbers_are_read(sign: str) -> None:
    said = talk((f"{sign} {FIRST}", "40."), (f"{sign} Thanks.", "Bye."))
    assert not unfair(said, TASK, f"The agent names {sign} prices.")


@pytest.mark.parametrize("language", ["Turkish", "Finnish", "Vietnamese", "Swahili"])
def test_a_language_that_the_case_names_and_nobody_knows_here_is_left_to_the_reviewer(language: str) -> None:
    words = {
        "Turkish": "Cuma akşamı dört kişilik bir masa ayırtmak istiyorum, fiyatı nedir?",
        "Finnish": "Haluaisin varata pöydän neljälle perjantai-illaksi, mitä se maksaa?",
        "Vietnamese": "Tôi muốn đặt một bàn cho bốn người vào tối thứ sáu, giá bao nhiêu?",
        "Swahili": "Ningependa kuweka meza ya watu wanne Ijumaa jioni, bei ni gani?",
    }
    said = talk((words[language], "40."), ("Asante.", "Bye."))
    assert not unfair(said, "Have a table booked for the evening.", user=User(language=language))


def test_an_exam_that_the_agent_ends_before_the_task_is_set_is_not_unfair() -> None:
    greeted = talk(("Hello.", "Say b0mb."), ("b0mb", "Well."))
    assert [each.kind for each in unfair(greeted)] == [ExamFault.NEVER_ASKED]
    assert not unfair(replace(greeted, stop_detail="the provider refuses what the examiner said"))
