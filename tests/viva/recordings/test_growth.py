"""The work to read a recording grows with its size, not with the square of it, whatever shape a stranger gives it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from viva.recordings.spans.values import flatten
from viva.recordings.table import read_recordings
from viva.recordings.waiting_calls import WaitingCalls

SIZE = 240
TIMES = 4
MOST = 1.4
"""How much more the work may grow than the recording; in the square of its size, it grows `TIMES` as much again."""

Spans = Iterator[dict[str, Any]]


def span(number: int, parent: int | None, kind: str, begin: int, end: int, **attributes: Any) -> dict[str, Any]:
    """A span as Phoenix dumps it."""
    return {
        "name": f"s{number}",
        "context": {"trace_id": "a" * 32, "span_id": f"{number + 1:016x}"},
        "parent_id": None if parent is None else f"{parent + 1:016x}",
        "start_time": 1_700_000_000_000_000_000 + begin,
        "end_time": 1_700_000_000_000_000_000 + end,
        "attributes": {"openinference.span.kind": kind, **attributes},
    }


def model(
    number: int,
    parent: int | None,
    begin: int,
    *,
    calls: Sequence[tuple[str, str]] = (),
    inputs: Sequence[Any] = (),
) -> dict[str, Any]:
    """A model call that asks for tools, each with id and name."""
    asked = [{"type": "tool_call", "id": identity, "name": name, "arguments": "{}"} for identity, name in calls]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": f"x{number}"}, *asked]}]
    given = [{"role": "user", "parts": [{"type": "text", "content": "q"}]}, *inputs]
    texts = {"gen_ai.input.messages": json.dumps(given), "gen_ai.output.messages": json.dumps(said)}
    return span(number, parent, "LLM", begin, begin + 1, **texts)


GOES_ON: list[Any] = [
    {"role": "assistant", "parts": [{"type": "text", "content": "before"}]},
    {"role": "user", "parts": [{"type": "text", "content": "q"}]},
]
END = 10**9


def agents_that_call_each_other(size: int) -> Spans:
    """A calls B, which calls A, and so on: each by a tool, each with a model call of its own."""
    parent = None
    for number in range(0, size, 3):
        yield span(number, parent, "AGENT", number, END - number, **{"agent.name": "AB"[number // 3 % 2]})
        yield model(number + 1, number, number + 1, calls=[(f"c{number}", "call")])
        yield span(number + 2, number, "TOOL", number + 2, END - number, **{"tool.name": "call"})
        parent = number + 2


def agents_within_each_other(size: int) -> Spans:
    """The same without tools in between."""
    parent = None
    for number in range(0, size, 2):
        yield span(number, parent, "AGENT", number, END - number, **{"agent.name": "AB"[number // 2 % 2]})
        yield model(number + 1, number, number + 1)
        parent = number


def agents_in_turn(size: int) -> Spans:
    """Two agents that go on with one conversation in turn, each time with a tool."""
    yield span(0, None, "CHAIN", 0, END)
    for number in range(1, size, 3):
        yield span(number, 0, "AGENT", 2 * number, 2 * number + 3, **{"agent.name": "AB"[number // 3 % 2]})
        yield model(number + 1, number, 2 * number, calls=[(f"c{number}", "t")], inputs=GOES_ON)
        yield span(number + 2, number, "TOOL", 2 * number + 1, 2 * number + 2, **{"tool.name": "t"})


def agents_that_stay_open(size: int) -> Spans:
    """Two agents whose model calls alternate."""
    for number in range(2):
        yield span(number, None, "AGENT", number, END, **{"agent.name": "AB"[number]})
    for number in range(2, size):
        yield model(number, number % 2, 2 * number)


def one_call_for_many_tools(size: int) -> Spans:
    """One model call that asks for many tools, which ran in the opposite order, and whose results follow."""
    yield span(0, None, "AGENT", 0, END)
    ids = [f"c{number}" for number in range(size // 2)]
    yield model(1, 0, 1, calls=[(identity, "t") for identity in ids])
    for number, identity in enumerate(reversed(ids), 2):
        ran = {"tool.name": "t", "tool_call.id": identity}
        yield span(number, 0, "TOOL", 8 + number, 9 + number, **ran)
    parts = [{"type": "tool_call_response", "id": identity, "response": "r"} for identity in ids]
    yield model(size, 0, END // 2, inputs=[{"role": "tool", "parts": parts}])


def tools_that_nobody_asked_for(size: int) -> Spans:
    """One model call that asks for many tools, while others ran."""
    yield span(0, None, "AGENT", 0, END)
    yield model(1, 0, 1, calls=[(f"c{number}", "t") for number in range(size // 2)])
    for number in range(2, size // 2):
        yield span(number, 0, "TOOL", 8 + number, 9 + number, **{"tool.name": "u"})


def one_circle(size: int) -> Spans:
    """Spans that are each other's parents, all in one circle."""
    for number in range(size):
        yield span(number, (number - 1) % size, ("AGENT", "LLM")[number % 2], number, END - number)


def many_circles(size: int) -> Spans:
    """Pairs of spans that are each other's parents."""
    for number in range(0, size, 2):
        yield span(number, number + 1, "AGENT", number, END - number)
        yield model(number + 1, number, number + 1)


def their_own_parents(size: int) -> Spans:
    """Spans that name themselves as their parents."""
    for number in range(size):
        yield model(number, number, number)


def children_before_parents(size: int) -> Spans:
    """A chain whose clocks run backwards, with usage on each span."""
    for number in range(size):
        parent = number - 1 if number else None
        yield span(number, parent, "CHAIN", END - number, 2 * END, **{"gen_ai.usage.input_tokens": 5})


SHAPES: list[Callable[[int], Spans]] = [
    agents_that_call_each_other,
    agents_within_each_other,
    agents_in_turn,
    agents_that_stay_open,
    one_call_for_many_tools,
    tools_that_nobody_asked_for,
    one_circle,
    many_circles,
    their_own_parents,
    children_before_parents,
]


def work(action: Callable[[], object]) -> int:
    """Count the function calls, of Python and of C, that an action takes: the same on each machine."""
    count = 0

    def see(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        action()
    finally:
        sys.setprofile(before)
    return count


def grows_evenly(action: Callable[[int], object]) -> bool:
    """Whether the work for a recording that is larger grows by as much as the recording."""
    action(SIZE)  # what is cached or imported once
    small, large = (work(lambda size=size: action(size)) for size in (SIZE, SIZE * TIMES))  # type: ignore[misc]
    return large < small * TIMES * MOST


@pytest.mark.parametrize("shape", SHAPES, ids=[shape.__name__ for shape in SHAPES])
def test_the_work_for_a_trace_grows_with_its_spans(tmp_path: Path, shape: Callable[[int], Spans]) -> None:
    def read(size: int) -> None:
        recordings = list(read_recordings(f"spans:{tmp_path / str(size)}"))
        steps = sum(len(round_.steps) for each in recordings for round_ in each.transcript.rounds)
        assert steps >= size // 2 - 2

    for size in (SIZE, SIZE * TIMES):
        (tmp_path / str(size)).write_text("\n".join(json.dumps(each) for each in shape(size)))
    assert grows_evenly(read)


def reply(number: int, **more: Any) -> dict[str, Any]:
    """A message that asks for a tool."""
    call = {"function": {"name": "t", "arguments": "{}"}, **more}
    return {"role": "assistant", "content": None, "tool_calls": [call]}


def late_results(size: int) -> list[dict[str, Any]]:
    """Calls whose results come at the end, in the opposite order."""
    ids = [f"c{number}" for number in range(size)]
    calls = [reply(number, id=identity) for number, identity in enumerate(ids)]
    results = [{"role": "tool", "tool_call_id": identity, "content": identity} for identity in reversed(ids)]
    return [{"role": "user", "content": "q"}, *calls, *results]


def late_results_by_name(size: int) -> list[dict[str, Any]]:
    """The same in the older format, which has no ids."""
    calls = [{"role": "assistant", "function_call": {"name": f"t{number}", "arguments": ""}} for number in range(size)]
    results = [{"role": "function", "name": f"t{number}", "content": "r"} for number in reversed(range(size))]
    return [{"role": "user", "content": "q"}, *calls, *results]


@pytest.mark.parametrize("messages", [late_results, late_results_by_name])
def test_the_work_for_a_chat_grows_with_its_calls(
    tmp_path: Path, messages: Callable[[int], list[dict[str, Any]]]
) -> None:
    def read(size: int) -> None:
        (recording,) = read_recordings(f"chat:{tmp_path / str(size)}")
        assert not recording.transcript.notes

    for size in (SIZE, SIZE * TIMES):
        (tmp_path / str(size)).write_text(json.dumps(messages(size)))
    assert grows_evenly(read)


def test_a_result_belongs_to_the_oldest_call_that_waits_for_it(tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    ids: list[Any] = ["a", ["x", {"y": 1}], "a", 1]
    calls = [reply(number, id=identity) for number, identity in enumerate(ids)]
    results = [
        {"role": "tool", "tool_call_id": each, "content": f"{n}"} for n, each in enumerate([ids[1], "a", 1, "a"])
    ]
    file.write_text(json.dumps([{"role": "user", "content": "q"}, *calls, *results]))
    (recording,) = read_recordings(f"chat:{file}")
    assert [step.result for step in recording.transcript.rounds[0].steps] == ["1", "0", "3", "2"]
    assert WaitingCalls().take("a", None) is None


def test_the_work_for_a_step_of_atif_grows_with_its_calls(tmp_path: Path) -> None:
    def read(size: int) -> None:
        (recording,) = read_recordings(f"atif:{tmp_path / str(size)}")
        assert all(step.result == "r" for step in recording.transcript.rounds[0].steps)

    for size in (SIZE, SIZE * TIMES):
        calls = [{"tool_call_id": f"c{n}", "function_name": "t", "arguments": {}} for n in range(size)]
        results = [{"source_call_id": f"c{n}", "content": "r"} for n in reversed(range(size))]
        step = {"source": "agent", "message": "", "tool_calls": calls, "observation": {"results": results}}
        document = {"schema_version": "ATIF-v1.5", "agent": {"name": "a"}, "steps": [{**step, "step_id": 1}]}
        (tmp_path / str(size)).write_text(json.dumps(document))
    assert grows_evenly(read)


def test_the_work_for_a_desktop_session_grows_with_its_lines_and_pictures(tmp_path: Path) -> None:
    def read(size: int) -> None:
        (recording,) = read_recordings(f"ufo:{tmp_path / str(size)}")
        steps = [step for round_ in recording.transcript.rounds for step in round_.steps]
        assert len({step.id for step in steps}) == size

    for size in (SIZE, SIZE * TIMES):
        folder = tmp_path / str(size)
        folder.mkdir()
        lines = [{"Agent": "AppAgent", "Round": n, "Step": 1, "Request": "r"} for n in range(size)]
        (folder / "response.log").write_text("\n".join(map(json.dumps, lines)))
        for number in range(size):
            (folder / f"action_round_{number}_sub_round_1_final.png").touch()
    assert grows_evenly(read)


def test_names_within_names_do_not_multiply_their_length() -> None:
    """50 levels of names of 4 KB around 2,000 values would be 400 MB of dotted names."""
    inner: Any = dict.fromkeys(map(str, range(2_000)), 1)
    for _ in range(50):
        inner = {"k" * 4_000: inner}
    flat = flatten({"deep": inner})
    assert sum(map(len, flat)) < 10_000
