"""What is exported of an import is the source, up to what the reports name."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import yaml

from tests.viva.conftest import Desk
from tests.viva.interchange.imports import SOURCES, Imported
from viva.interchange.exporting import exported
from viva.interchange.pydantic_evals.specs import FIRST


def normal(evaluator: Any) -> tuple[str, Any]:
    """An evaluator with all its arguments named."""
    if isinstance(evaluator, str):
        return evaluator, {}
    ((name, given),) = evaluator.items()
    named = isinstance(given, dict) and (FIRST.get(name) in given or name not in ("Equals", "Contains"))
    return name, given if named else {FIRST[name]: given}


def test_a_dataset_of_pydantic_evals_comes_back(tmp_path: Path) -> None:
    source = yaml.safe_load((SOURCES / "pydantic_evals" / "geography.yaml").read_text())
    imported = Imported(SOURCES / "pydantic_evals" / "geography.yaml", tmp_path / "out")
    made = exported(list(imported.cases.values()), "pydantic-evals")
    back = yaml.safe_load(made.text)
    reported = ("HasMatchingSpan", "MyRiverChecker")
    by_inputs = {json.dumps(case["inputs"]): case for case in back["cases"]}
    for case in source["cases"]:
        found = by_inputs[json.dumps(case["inputs"])]
        assert {key: value for key, value in found.items() if key != "evaluators"} == {
            key: value for key, value in case.items() if key != "evaluators"
        }
        kept = [each for each in map(normal, case["evaluators"]) if each[0] not in reported]
        assert [normal(each) for each in found["evaluators"]] == kept
    assert back["name"] == source["name"]
    assert back["evaluators"] == [{"LLMJudge": "The answer is in English."}]
    assert all(imported.reported(kind, name) for kind, name in (("no home", reported[0]), ("refused", reported[1])))


def test_an_export_reports_what_the_format_has_nothing_for(tmp_path: Path) -> None:
    imported = Imported(SOURCES / "harbor", tmp_path / "out")
    made = exported(list(imported.cases.values()), "pydantic-evals")
    assert any("eval_code" in each.path and each.kind == "refused" for each in made.reported)
    assert any("timeout" in each.path for each in made.reported)


def test_rows_come_back_as_json_lines_and_csv(tmp_path: Path) -> None:
    rows = [{"id": "a", "input": "2 + 2?", "expected": "4", "metadata": {"level": "easy"}, "tags": ["sums"]}]
    source = tmp_path / "rows.json"
    source.write_text(json.dumps(rows))
    cases = list(Imported(source, tmp_path / "out").cases.values())
    assert [json.loads(line) for line in exported(cases, "rows").text.splitlines()] == rows
    (row,) = csv.DictReader(exported(cases, "rows", ".csv").text.splitlines())
    assert (row["input"], row["expected"], json.loads(row["metadata"])) == ("2 + 2?", "4", {"level": "easy"})


def test_the_command_never_writes_over_a_file(desk: Desk) -> None:
    name = desk.case()
    desk.viva("export", name, "--to", "rows", "--out", "rows.jsonl", expect=0)
    written = (desk.folder / "rows.jsonl").read_text()
    assert json.loads(written)["input"] == "Hello."
    desk.viva("export", name, "--to", "rows", "--out", "rows.jsonl", expect=2)


def test_conversations_of_a_journal_are_exported_as_trajectories(desk: Desk) -> None:
    desk.run(desk.case(), "--agent", "example:careful", "--judge", "code")
    desk.viva("export", "journal", "--to", "atif", "--out", "runs.jsonl", expect=0)
    trajectory = json.loads((desk.folder / "runs.jsonl").read_text())
    assert trajectory["schema_version"].startswith("ATIF-v1")
