"""Results of OpenAI's hosted evals become a journal whose verdicts are those of the export, and never better."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import viva
from viva.journal.reader import read_records
from viva.records.run_record import Outcome
from viva.records.verdict import Label


def sample(index: int, **changes: Any) -> dict[str, Any]:
    return {
        "run_id": "evalrun_1",
        "data_source_idx": index,
        "item": {"question": f"Question {index}?", "ground_truth": "Paris"},
        "sample": {
            "outputs": [{"role": "assistant", "content": f"Answer {index}"}],
            "error": None,
            "finish_reason": "stop",
            "token_usage": {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14},
        },
        "grades": {"exact": 1.0, "tone": 0.7},
        "passes": {"exact": True, "tone": False},
        "grader_samples": {"tone": {"model": "a-judge", "output": "{}"}},
        **changes,
    }


def imported(tmp_path: Path, *samples: dict[str, Any]) -> viva.ImportReport:
    file = tmp_path / "results.jsonl"
    file.write_text("".join(json.dumps(each) + "\n" for each in samples))
    return viva.import_cases(file, tmp_path / "journal")


def labels(tmp_path: Path) -> dict[str, dict[str, str]]:
    records = read_records(tmp_path / "journal")
    return {
        each.setting.case: {verdict.criterion: verdict.label for verdict in each.insights[0].verdicts}
        for each in records
    }


def test_the_verdicts_are_those_of_the_export(tmp_path: Path) -> None:
    report = imported(tmp_path, sample(0), sample(1, passes={"exact": True, "tone": True}))
    assert (report.format, report.runs, report.cases) == ("openai-results", 2, [])
    assert labels(tmp_path) == {
        "Question 0?": {"exact": Label.HIT, "tone": Label.MISS},
        "Question 1?": {"exact": Label.HIT, "tone": Label.HIT},
    }
    assert {record.setting.case: record.score for record in read_records(tmp_path / "journal")} == {
        "Question 0?": 0.5,
        "Question 1?": 1.0,
    }


@pytest.mark.parametrize(
    "changes",
    [
        {"passes": {"exact": True}},
        {"passes": {"exact": True, "tone": None}},
        {"passes": {"exact": True, "tone": "true"}},
        {"passes": {"exact": True, "tone": 1}},
    ],
)
def test_a_grade_without_passes_is_unsure_and_never_a_pass(tmp_path: Path, changes: dict[str, Any]) -> None:
    imported(tmp_path, sample(0, **changes))
    assert labels(tmp_path) == {"Question 0?": {"exact": Label.HIT, "tone": Label.UNSURE}}
    (record,) = read_records(tmp_path / "journal")
    assert (record.low, record.high) == (0.5, 1.0)


@pytest.mark.parametrize("changes", [{"passes": {}}, {"passes": None}, {"passes": [True, True]}])
def test_grades_alone_give_no_score(tmp_path: Path, changes: dict[str, Any]) -> None:
    imported(tmp_path, sample(0, **changes))
    (record,) = read_records(tmp_path / "journal")
    assert record.score is None
    assert set(labels(tmp_path)["Question 0?"].values()) == {Label.UNSURE}


def test_a_sample_that_failed_is_the_agents_error(tmp_path: Path) -> None:
    failed = {"outputs": [], "error": {"message": "rate limit"}, "finish_reason": None}
    imported(tmp_path, sample(0, sample=failed, grades={}, passes={}))
    (record,) = read_records(tmp_path / "journal")
    assert (record.outcome, record.score) == (Outcome.TARGET_ERROR, 0.0)


def test_every_value_is_in_the_journal(tmp_path: Path) -> None:
    report = imported(tmp_path, sample(0, odd={"kept": [1, "two"]}), sample(1))
    assert report.reported == []
    assert report.taken + report.empty >= report.values - 2


def test_usage_is_that_of_the_export(tmp_path: Path) -> None:
    imported(tmp_path, sample(0))
    (record,) = read_records(tmp_path / "journal")
    assert (record.usage["target"].input_tokens, record.usage["target"].output_tokens) == (11, 3)


def test_samples_of_one_row_are_trials_of_one_subject(tmp_path: Path) -> None:
    imported(tmp_path, sample(0), sample(0))
    assert sorted(record.setting.trial for record in read_records(tmp_path / "journal")) == [0, 1]
