"""Usage of recordings: what steps and rounds say is summed up once, and what nobody said is unknown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from viva.records import Round, Step, StepKind, Transcript, Usage
from viva.records.transcript import NO_USAGE, UNREPORTED, adds_nothing
from viva.records.usage import round_usage, with_usage

FEW, SOME, MANY = Usage(10, 1, calls=1, cost=0.1), Usage(20, 2, calls=1, cost=0.2), Usage(30, 3, calls=2, cost=0.3)


def target(*rounds: Round) -> Usage:
    return with_usage(Transcript(rounds, source="spans")).usage["target"]


def model(name: str, usage: Usage = NO_USAGE, parent: str | None = None) -> Step:
    return Step(name, StepKind.MODEL, parent, usage=usage)


def test_a_recording_that_reports_nothing_is_unknown_and_not_free() -> None:
    used = target(Round(1, "ask", "tell", (Step("s"),)), Round(2, "ask", "tell"))
    assert used == UNREPORTED
    assert (used.cost, used.reported) == (None, False)


def test_steps_and_rounds_are_summed_up() -> None:
    rounds = Round(1, "ask", "tell", (model("a", FEW), model("b", SOME))), Round(2, "ask", "tell", usage=FEW)
    used = target(*rounds)
    assert (used.input_tokens, used.output_tokens, used.calls, used.reported) == (40, 4, 3, True)
    assert used.cost == pytest.approx(0.4)


def test_a_figure_that_includes_those_below_it_is_not_counted_twice() -> None:
    parts = (model("a", FEW, "whole"), model("b", SOME, "whole"))
    whole = Step("whole", StepKind.AGENT, usage=MANY)
    assert target(Round(1, steps=(whole, *parts))) == MANY
    assert target(Round(1, steps=(*parts, whole))) == MANY
    assert target(Round(1, steps=parts, usage=MANY)) == MANY
    # The same call, seen by two libraries.
    assert target(Round(1, steps=(model("outer", SOME), model("inner", SOME, "outer")))) == SOME


def test_a_figure_smaller_than_those_below_it_is_one_of_its_own() -> None:
    assert target(Round(1, steps=(model("asks", FEW), model("answers", MANY, "asks")))).input_tokens == 40


def test_a_cost_that_only_the_parts_know_is_taken_from_them() -> None:
    whole = Step("whole", StepKind.AGENT, usage=Usage(30, 3, calls=2))
    used = target(Round(1, steps=(whole, model("a", FEW, "whole"), model("b", SOME, "whole"))))
    assert used.cost == pytest.approx(0.3)


def test_a_part_that_reports_nothing_makes_the_sum_a_lower_bound() -> None:
    for unreported in (Round(2, "ask", "tell"), Round(2, steps=(model("b"),))):
        used = target(Round(1, steps=(model("a", FEW),)), unreported)
        assert (used.input_tokens, used.reported, used.cost) == (10, False, None)
    used = target(Round(1, steps=(model("a", FEW), model("b"))))
    assert (used.input_tokens, used.reported, used.cost) == (10, False, None)
    assert target(Round(1, steps=(model("a", FEW),)), Round(2, "a question without an answer")) == FEW


def test_what_the_source_sums_up_itself_is_left_as_it_is() -> None:
    told = Transcript((Round(1, "ask", "tell", usage=FEW),), usage={"target": MANY})
    assert with_usage(told).usage == {"target": MANY}


def test_the_examiners_share_is_kept_apart() -> None:
    usage = with_usage(Transcript((Round(1, "ask", "tell", usage=FEW, examiner_usage=SOME),))).usage
    assert usage == {"target": FEW, "examiner": SOME}


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["a", "b", "c", "d", "x", None])), max_size=8))
def test_steps_that_name_each_other_in_any_way_are_each_counted_at_most_once(
    names: list[tuple[str, str | None]],
) -> None:
    steps = tuple(model(name, FEW, parent) for name, parent in names)
    used = round_usage(Round(1, steps=steps))
    assert used.input_tokens <= 10 * len(steps)
    assert (used.input_tokens > 0) == bool(steps)


def test_a_chain_of_any_depth_is_summed_up() -> None:
    steps = tuple(model(str(depth), SOME, str(depth - 1)) for depth in range(5000))
    assert round_usage(Round(1, steps=steps)) == SOME
    assert round_usage(replace(Round(1), steps=steps[:1])) == SOME


@given(st.builds(Usage, *[st.integers(0, 2)] * 6, st.sampled_from([None, 0.0, 1.0]), reported=st.booleans()))
@example(Usage(cost=0.0))
@example(UNREPORTED)
def test_only_a_usage_that_changes_no_sum_adds_nothing(used: Usage) -> None:
    sums = [Usage(1, 2, cost=0.5), Usage(3), Usage(1, cost=0.0, reported=False)]
    assert adds_nothing(used) == all(total + replace(used) == total for total in sums)
