"""The comparison of two states: what is measured in which folder, and which way a ratio goes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench import against
from bench.against import Measurement, State, best_state, compare
from bench.table import Figure

READ = "import json, pathlib; print('noise'); print(json.dumps(json.loads(pathlib.Path('figures.json').read_text())))"


def state(folder: Path, text: str) -> State:
    folder.mkdir()
    (folder / "figures.json").write_text(text)
    return State(folder.name, folder, Path(sys.executable))


def measurement(unit: str, name: str = "reading") -> Measurement:
    return Measurement(name, ("-c", READ), lambda said: {name: (value, unit) for name, value in said.items()})


@pytest.mark.parametrize(("unit", "ratio"), [("us", 2.0), ("MB", 2.0), ("runs/s", 0.5), ("times", 0.5)])
def test_a_ratio_above_one_is_always_worse(tmp_path: Path, unit: str, ratio: float) -> None:
    now, then = state(tmp_path / "now", '{"a": 20, "b": 1}'), state(tmp_path / "then", '{"a": 10, "c": 1}')
    assert compare(measurement(unit), now, then, 3) == [("a", ratio)], "b and c are known on one side only"


def test_what_a_state_cannot_measure_is_said_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    now, then = state(tmp_path / "now", '{"a": 20}'), state(tmp_path / "then", "not JSON")
    assert compare(measurement("us"), now, then, 2) == []
    assert "then cannot measure reading: json.decoder.JSONDecodeError" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("figures", "passes", "ratio", "measured"),
    [
        ([10, 20, 10], 3, 1.0, 3),
        ([20, 10, 10], 1, 1.0, 3),
        ([20, 20, 10, 10, 10, 10], 2, 1.0, 6),
        ([20, 20, 20, 10, 10], 1, 2.0, 4),
        ([20, 20, 20, 20, 10], 1, 2.0, 4),
    ],
    ids=["within", "by chance", "by chance in a whole batch", "mostly above", "always above"],
)
def test_a_ratio_above_the_limit_is_measured_again_but_not_for_ever(
    tmp_path: Path, figures: list[int], passes: int, ratio: float, measured: int
) -> None:
    count = "import json, pathlib\nfile = pathlib.Path('passes')\nn = int(file.read_text()) if file.exists() else 0\n"
    count += (
        "file.write_text(str(n + 1))\nprint(json.dumps({'a': json.loads(pathlib.Path('figures.json').read_text())[n]}))"
    )
    chance = Measurement("chance", ("-c", count), lambda said: {"a": (said["a"], "us")})
    now, then = state(tmp_path / "now", json.dumps(figures)), state(tmp_path / "then", json.dumps([10] * 8))
    assert compare(chance, now, then, passes) == [("a", ratio)]
    assert (tmp_path / "now" / "passes").read_text() == str(measured)


def test_two_states_are_not_compared_by_figures_for_orientation(tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "__init__.py").touch()
    table = (Path(against.__file__).parent / "table.py").read_text()
    (tmp_path / "bench" / "table.py").write_text(table)
    (tmp_path / "bench" / "few.py").write_text(
        "from bench.table import Figure\n"
        "def figures(): return [Figure('own', 2, 'ms'), Figure('peer', 3, 'ms', reference=True)]\n"
    )
    measured = State("now", tmp_path, Path(sys.executable)).measure(against._figures("few"))
    assert measured == {"own": (2, "ms")}


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


def test_each_measurement_is_compared_with_the_best_state_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "best.txt"
    file.write_text("# comment\n1111111\n2222222 worlds rounds  # these alone\n")
    monkeypatch.setattr(against, "BEST", file)
    assert [best_state(name) for name in ("suite", "worlds", "rounds", "")] == ["1111111", *["2222222"] * 2, "1111111"]


def test_a_file_that_names_no_commit_for_the_rest_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "best.txt"
    file.write_text("2222222 worlds\n")
    monkeypatch.setattr(against, "BEST", file)
    with pytest.raises(SystemExit, match="names no commit"):
        best_state("suite")


def test_an_absolute_budget_counts_as_missed_only_where_the_best_state_is_faster(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ratios = {"rounds": {"a": 1.0, "b": 1.3}, "judging again": {"judging again": 0.9}}
    monkeypatch.setattr(against, "MEASUREMENTS", [measurement("us", name) for name in (*ratios, "startup")])
    monkeypatch.setattr(against, "best_state", lambda _name="": "1111111")
    asked = []

    def compared(_commit: str, chosen: list[Measurement], _passes: int) -> dict[str, float]:
        asked.extend(each.name for each in chosen)
        return dict(pair for each in chosen for pair in ratios.get(each.name, {"c": 1.2}).items())

    monkeypatch.setattr(against, "against", compared)
    over = {"rounds": ["a", "b"], "suite": ["judging again", "nobody measures this"]}
    known: dict[str, Mapping[str, float]] = {}
    assert against.slower_than_best(over, 3, known) == ["b", "nobody measures this"]
    with pytest.raises(SystemExit, match=r"worse than 1\.1 times the earlier state: b; c$"):
        against.rest_against_best(known, 3)
    assert asked == ["rounds", "judging again", "startup"], "each is compared once"
