"""The decision table of the operational evaluator, row by row, and the thresholds of its signals."""

from __future__ import annotations

import pytest

from viva.judge.operational.decision import Signal, Trend, decide, signals_of
from viva.judge.operational.figures import OperationalFigures

BETTER, SAME, WORSE = 1, 0, -1


def signals(*, tokens: int = 0, tools: int = 0, failures: int = 0, success: int = 0) -> tuple[Signal, ...]:
    given = {"tokens": tokens, "tools": tools, "failures": failures, "success": success}
    return tuple(Signal(name, direction, "") for name, direction in given.items())


TABLE = [
    # earlier runs, signals, success of this run, label
    pytest.param(0, (), None, Trend.INCONCLUSIVE, id="the first run"),
    pytest.param(0, signals(tokens=BETTER), True, Trend.INCONCLUSIVE, id="the first run, whatever it did"),
    pytest.param(3, (), None, Trend.INCONCLUSIVE, id="nothing to compare"),
    pytest.param(1, signals(success=WORSE), False, Trend.DEGRADED, id="success lost"),
    pytest.param(1, signals(success=WORSE, tokens=BETTER), False, Trend.DEGRADED, id="success lost with fewer tokens"),
    pytest.param(1, signals(success=BETTER), True, Trend.IMPROVED, id="success gained"),
    pytest.param(1, signals(success=BETTER, tokens=WORSE), True, Trend.IMPROVED, id="success gained with more tokens"),
    pytest.param(1, signals(tokens=BETTER, tools=WORSE), None, Trend.INCONCLUSIVE, id="better and worse"),
    pytest.param(1, signals(tokens=WORSE), None, Trend.DEGRADED, id="more tokens"),
    pytest.param(1, signals(tools=WORSE), True, Trend.DEGRADED, id="more tool calls fail"),
    pytest.param(1, signals(failures=WORSE), True, Trend.DEGRADED, id="more aborts or failed model calls"),
    pytest.param(1, signals(tokens=BETTER), None, Trend.IMPROVED, id="fewer tokens"),
    pytest.param(1, signals(tools=BETTER, failures=BETTER), True, Trend.IMPROVED, id="fewer failures"),
    pytest.param(1, signals(tokens=BETTER), False, Trend.INCONCLUSIVE, id="fewer tokens, and failed again"),
    pytest.param(1, signals(), True, Trend.FLAT, id="no change"),
    pytest.param(1, signals(), False, Trend.FLAT, id="no change, and failed again"),
]


@pytest.mark.parametrize(("earlier", "found", "success", "label"), TABLE)
def test_the_decision_table(earlier: int, found: tuple[Signal, ...], success: bool | None, label: Trend) -> None:
    assert decide(found, earlier=earlier, success=success) is label


@pytest.mark.parametrize(
    ("now", "before", "name", "direction"),
    [
        (OperationalFigures(tokens=90), OperationalFigures(tokens=100), "tokens", BETTER),
        (OperationalFigures(tokens=91), OperationalFigures(tokens=100), "tokens", SAME),
        (OperationalFigures(tokens=109), OperationalFigures(tokens=100), "tokens", SAME),
        (OperationalFigures(tokens=110), OperationalFigures(tokens=100), "tokens", WORSE),
        (OperationalFigures(tool_rate=0.95), OperationalFigures(tool_rate=0.90), "tools", BETTER),
        (OperationalFigures(tool_rate=0.94), OperationalFigures(tool_rate=0.90), "tools", SAME),
        (OperationalFigures(tool_rate=0.85), OperationalFigures(tool_rate=0.90), "tools", WORSE),
        (OperationalFigures(failures=1), OperationalFigures(failures=1.5), "failures", BETTER),
        (OperationalFigures(failures=1), OperationalFigures(failures=1), "failures", SAME),
        (OperationalFigures(failures=2), OperationalFigures(failures=1.5), "failures", WORSE),
        (OperationalFigures(success=True), OperationalFigures(success=False), "success", BETTER),
        (OperationalFigures(success=False), OperationalFigures(success=False), "success", SAME),
        (OperationalFigures(success=False), OperationalFigures(success=True), "success", WORSE),
    ],
)
def test_the_thresholds(now: OperationalFigures, before: OperationalFigures, name: str, direction: int) -> None:
    (found,) = signals_of(now, before)
    assert (found.name, found.direction) == (name, direction)


@pytest.mark.parametrize("unknown", [OperationalFigures(), OperationalFigures(tokens=0.0)])
def test_a_figure_that_one_side_lacks_is_no_signal(unknown: OperationalFigures) -> None:
    full = OperationalFigures(tokens=100, tool_rate=1.0, failures=0, success=True)
    assert signals_of(full, unknown) == ()
