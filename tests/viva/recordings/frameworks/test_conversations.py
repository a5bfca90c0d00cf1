"""The second turn of a conversation has the first as an earlier round, whoever recorded it."""

from __future__ import annotations

import pytest

from tests.viva.recordings.frameworks.test_frameworks import spans_of
from tests.viva.recordings.frameworks.truth import FRAMEWORKS
from viva.recordings.table import read_recordings

FIRST = ("Is it warm in Paris?", "It has 18 degrees.")
SECOND = ("And in Fahrenheit?", "64 fahrenheit.")


@pytest.mark.parametrize(
    "name",
    [
        "google_adk",
        "google_adk_legacy",
        "langchain_openllmetry",
        "smolagents_code",
        "smolagents_tools",
        "strands_agents",
        "strands_latest",
        "vercel_ai",
    ],
)
def test_the_second_turn_has_the_first_as_an_earlier_round(name: str) -> None:
    recordings = list(read_recordings(f"otlp:{spans_of(FRAMEWORKS / name)}"))
    (second,) = [recording for recording in recordings if recording.subject == SECOND[0]]
    assert [(round_.examiner, round_.agent) for round_ in second.transcript.rounds] == [FIRST, SECOND]
    assert [bool(round_.steps) for round_ in second.transcript.rounds] == [False, True]


def test_a_question_without_its_answer_in_the_history_is_an_earlier_round_without_a_reply() -> None:
    recordings = list(read_recordings(f"otlp:{spans_of(FRAMEWORKS / 'dspy_react')}"))
    # DSPy's ReAct gives the model the earlier questions alone: the fields of its steps have no place for the answers.
    assert [(round_.examiner, round_.agent) for round_ in recordings[-1].transcript.rounds] == [
        (FIRST[0], None),
        SECOND,
    ]
