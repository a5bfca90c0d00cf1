"""Imported cases lie in one file that a person can read, and rows are a family with a table beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import yaml

import viva
from tests.viva.interchange.imports import all_cases
from viva.cases import Case
from viva.interchange import ImportReport


def imported(tmp_path: Path, name: str, data: Any, out: str = "out") -> tuple[ImportReport, list[Case], Path]:
    (tmp_path / name).write_text(json.dumps(data))
    report = viva.import_cases(tmp_path / name, tmp_path / out)
    return report, all_cases(tmp_path / out), tmp_path / out


def rows(*numbers: int) -> list[dict[str, Any]]:
    return [{"input": f"{number} + 1?", "expected": str(number + 1), "level": number % 2} for number in numbers]


def test_rows_are_two_files_however_many_there_are(tmp_path: Path) -> None:
    report, cases, out = imported(tmp_path, "rows.json", rows(*range(300)))
    assert {each.name for each in out.iterdir()} == {"cases.yaml", "rows.jsonl", "import-report.json"}
    assert report.files == ["cases.yaml", "rows.jsonl"]
    assert [case.name for case in cases] == report.cases
    assert yaml.safe_load((out / "cases.yaml").read_text())["cases"]["rows"] == {
        "for_each": "rows.jsonl",
        "script": ["{{ input }}"],
        "scoring_points": ["The agent's answer agrees with the expected answer: {{ expected }}"],
    }
    assert dict(cases[7].columns)["level"] == 1


def test_ids_of_rows_stay_when_rows_are_added_before_them(tmp_path: Path) -> None:
    first, _, _ = imported(tmp_path, "rows.json", rows(1, 2, 3), "out/shop")
    second, _, _ = imported(tmp_path, "rows.json", [*rows(9, 8), *rows(1, 2), {"input": "Why?"}, *rows(3)], "new/shop")
    assert set(first.cases) < set(second.cases)


def test_rows_that_are_the_same_are_cases_of_their_own(tmp_path: Path) -> None:
    report, cases, _ = imported(tmp_path, "rows.json", rows(1, 1))
    assert len({case.name for case in cases}) == len(report.cases) == 2


def test_braces_in_a_row_are_text(tmp_path: Path) -> None:
    given = {"input": "Say {{ expected }} and {{x}}.", "expected": "{{ input }}: {{ y }}", "metadata": {"a": "{{ b }}"}}
    _, (case,), _ = imported(tmp_path, "rows.json", [given])
    assert [line.say for line in case.script] == [given["input"]]
    assert case.scoring_points[0].score_point.endswith(": {{ input }}: {{ y }}")
    assert case.metadata == given["metadata"]


def test_what_cases_have_in_common_is_written_once(tmp_path: Path) -> None:
    tests = [{"vars": {"q": word}, "assert": [{"type": "contains", "value": word}]} for word in ("one", "two")]
    default = {"assert": [{"type": "not-contains", "value": "sorry"}], "metadata": {"team": "shop"}, "threshold": 0.5}
    config = {"prompts": ["{{q}}"], "providers": ["x"], "defaultTest": default, "tests": tests}
    _, cases, out = imported(tmp_path, "promptfooconfig.json", config)
    written = yaml.safe_load((out / "cases.yaml").read_text())
    assert written["defaults"] == {
        "threshold": 0.5,
        "scoring_points": [{"check": {"not_contains": "sorry"}}],
        "metadata": {"team": "shop"},
    }
    assert [len(case.scoring_points) for case in cases] == [2, 2]


def test_more_cases_than_a_file_should_have_are_in_several(tmp_path: Path) -> None:
    tests = [{"vars": {"q": f"{number}?"}, "assert": [{"type": "is-json"}]} for number in range(501)]
    config = {"prompts": ["{{q}}"], "providers": ["x"], "tests": tests}
    report, cases, _ = imported(tmp_path, "promptfooconfig.json", config)
    assert report.files == ["cases.yaml", "out-2.yaml"]
    assert [case.name for case in cases] == report.cases
    assert report.cases[-1].startswith("out-2#0501-")
