"""Each model call belongs to the run of its agent: beside sub-agents, after handoffs, outside of agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.viva.recordings.spans.test_broken import span
from tests.viva.recordings.spans.test_calls_of_tools import asks, back, ran
from tests.viva.recordings.spans.test_conventions import openinference, read
from viva.records.trajectory import answer_of, trajectory
from viva.records.transcript import Transcript

QUESTION = {"role": "user", "content": "Plan a trip to Rome."}
SYSTEM = {"role": "system", "content": "You plan trips."}


def says(words: str) -> dict[str, Any]:
    return {"role": "assistant", "content": words}


def call(number: int, parent: int, given: list[dict[str, Any]], message: dict[str, Any]) -> dict[str, Any]:
    return span(number, parent, attributes=openinference(given, message))


def agent(number: int, parent: int, name: str) -> dict[str, Any]:
    return span(number, parent, name=name, span_kind="AGENT", attributes={"agent.name": name})


def path(transcript: Transcript) -> list[tuple[str | None, str | None]]:
    return [(step.agent, step.tool or answer_of(step)) for step in trajectory(transcript)]


HISTORY = [QUESTION, asks("ask_expert", "{}", "c1"), back("Sunny.", "c1"), asks("transfer_to_booker", "{}", "c2")]


@pytest.mark.parametrize("passed_on", [[*HISTORY, back('{"assistant": "booker"}', "c2")], [QUESTION], []])
def test_a_handoff_after_a_sub_agent_continues_the_run_of_the_agent_that_handed_off(
    passed_on: list[dict[str, Any]], tmp_path: Path
) -> None:
    spans = [
        span(1, name="trip"),
        agent(2, 1, "planner"),
        call(3, 2, [SYSTEM, QUESTION], HISTORY[1]),
        ran(4, 2, name="ask_expert"),
        agent(5, 4, "expert"),
        call(6, 5, [{"role": "user", "content": "Weather?"}], says("Sunny.")),
        call(7, 2, HISTORY[:3], HISTORY[3]),
        span(8, 2, name="handoff to booker", span_kind="TOOL"),
        agent(9, 1, "booker"),
        call(10, 9, passed_on, says("All is booked.")),
    ]
    outer, inner = read(tmp_path, spans)
    assert (outer.agent, inner.agent) == ("planner", "expert")
    assert path(outer.transcript) == [
        ("planner", "ask_expert"),
        ("planner", "transfer_to_booker"),
        ("booker", "All is booked."),
    ]
    assert outer.transcript.rounds[-1].agent == "All is booked."
    assert path(inner.transcript) == [("expert", "Sunny.")]
    assert inner.transcript.rounds[-1].agent == "Sunny."


def test_a_handoff_continues_its_run_though_another_agent_began_in_between(tmp_path: Path) -> None:
    other = {"role": "user", "content": "Count the guests."}
    given = [QUESTION, asks("transfer_to_booker", "{}", "c2"), back("booker", "c2")]
    spans = [
        span(1),
        agent(2, 1, "planner"),
        agent(4, 1, "counter"),
        call(3, 2, [QUESTION], given[1]),
        call(5, 4, [other], asks("count", "{}", "c2")),
        agent(6, 1, "booker"),
        call(7, 6, given, says("All is booked.")),
        call(8, 4, [other, asks("count", "{}", "c2"), back("7", "c2")], says("Seven.")),
    ]
    planned, counted = read(tmp_path, spans)
    assert [planned.transcript.rounds[-1].agent, counted.transcript.rounds[-1].agent] == ["All is booked.", "Seven."]


JUDGE = {"role": "system", "content": "You grade answers."}


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_model_call_outside_of_every_agent_belongs_to_no_run(when: str, tmp_path: Path) -> None:
    judged = call(
        9 if when == "after" else 2, 1, [JUDGE, {"role": "user", "content": "Grade: All is booked."}], says("Grade: A")
    )
    talk = [SYSTEM, QUESTION]
    spans = [
        span(1, name="my request", attributes={"output.value": "Grade: A"}),
        judged,
        agent(3, 1, "booker"),
        call(4, 3, talk, asks("book", "{}")),
        ran(5, 3, name="book"),
        call(6, 3, [*talk, asks("book", "{}"), back("done")], says("All is booked.")),
    ]
    (recording,) = read(tmp_path, spans)
    transcript = recording.transcript
    assert path(transcript) == [("booker", "book"), ("booker", "All is booked.")]
    assert (recording.subject, transcript.system) == (QUESTION["content"], SYSTEM["content"])
    assert transcript.rounds[-1].agent == "All is booked."
    assert transcript.usage["target"].calls == 2
    assert len(transcript.rounds[-1].steps) == len(spans), "its span is kept"


def test_the_calls_of_a_program_without_a_span_of_its_own_agent_are_its_run(tmp_path: Path) -> None:
    talk = [QUESTION]
    asked = asks("ask_expert", "{}")
    spans = [
        span(1, name="my loop"),
        call(2, 1, talk, asked),
        ran(3, 1, name="ask_expert"),
        agent(4, 3, "expert"),
        call(5, 4, [{"role": "user", "content": "Weather?"}], says("Sunny.")),
        call(6, 1, [*talk, asked, back("Sunny.")], says("Go.")),
    ]
    outer, inner = read(tmp_path, spans)
    assert [outer.transcript.rounds[-1].agent, inner.transcript.rounds[-1].agent] == ["Go.", "Sunny."]
    # A call that lost its parents may have been any agent's.
    lost = call(7, 99, talk, says("Later."))
    runs = read(tmp_path, [span(1), agent(2, 1, "planner"), call(3, 2, talk, says("First.")), lost])
    assert [words for run in runs for _, words in path(run.transcript)] == ["First.", "Later."]
