"""The comparison of two states: what is measured in which folder, and which way a ratio goes."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from bench.against import Measurement, State, best_state, compare
from bench.table import Figure

READ = "import json, pathlib; print('noise'); print(json.dumps(json.loads(pathlib.Path('figures.json').read_text())))"


def state(folder: Path, text: str) -> State:
    folder.mkdir()
    (folder / "figures.json").write_text(text)
    return State(folder.name, folder, Path(sys.executable))


def measurement(unit: str) -> Measurement:
    return Measurement("reading", ("-c", READ), lambda said: {name: (value, unit) for name, value in said.items()})


@pytest.mark.parametrize(("unit", "ratio"), [("us", 2.0), ("MB", 2.0), ("runs/s", 0.5), ("times", 0.5)])
def test_a_ratio_above_one_is_always_worse(tmp_path: Path, unit: str, ratio: float) -> None:
    now, then = state(tmp_path / "now", '{"a": 20, "b": 1}'), state(tmp_path / "then", '{"a": 10, "c": 1}')
    assert compare(measurement(unit), now, then, 3) == [("a", ratio)], "b and c are known on one side only"


def test_what_a_state_cannot_measure_is_said_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now, then = state(tmp_path / "now", '{"a": 20}'), state(tmp_path / "then", "not JSON")
    assert compare(measurement("us"), now, then, 2) == []
    assert "then cannot measure reading: json.decoder.JSONDecodeError" in capsys.readouterr().out


def test_the_best_state_is_a_commit() -> None:
    assert re.fullmatch(r"[0-9a-f]{7,40}", best_state())


@pytest.mark.parametrize(
    ("figure", "kept"),
    [
        (Figure("f", 2.0, "us", 2.0), True),
        (Figure("f", 2.1, "us", 2.0), False),
        (Figure("f", 2.1, "times", 2.0, at_least=True), True),
        (Figure("f", 1.9, "times", 2.0, at_least=True), False),
        (Figure("f", 1.9, "us"), None),
    ],
)
def test_a_figure_keeps_its_budget_or_not(figure: Figure, kept: bool | None) -> None:
    assert figure.kept is kept
