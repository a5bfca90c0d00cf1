"""Rows become cases, and every value of a row is in a case or in the report."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import viva
from tests.examples import examples
from tests.viva.interchange.accounting import dropped
from tests.viva.interchange.imports import all_cases
from viva.cases import Case
from viva.errors import SetupError
from viva.interchange import SourceFile
from viva.interchange.formats import ImportOptions, format_named

LANGSMITH = {
    "id": "7c1",
    "inputs": {"question": "What does a ticket to Oslo cost?"},
    "outputs": {"answer": "320 euros"},
    "metadata": {"level": 2},
    "split": "base",
    "created_at": "2026-01-05T10:00:00Z",
}
LANGFUSE = {
    "id": "item-1",
    "input": {"text": "Cancel order 7"},
    "expectedOutput": {"answer": "Order 7 is cancelled"},
    "metadata": {"team": "shop"},
    "sourceTraceId": "t-1",
    "status": "ACTIVE",
}
MLFLOW_GOAL = {
    "inputs": {"goal": "Get a refund for order 7", "persona": "An impatient customer"},
    "expectations": {"expected_facts": ["The refund takes three days", "The refund is 20 euros"]},
}
BRAINTRUST = {"input": "What is 2 + 2?", "expected": "4", "metadata": {"grade": "easy"}, "tags": ["maths", "short"]}
DATADOG = {"input_data": {"question": "Hi?"}, "expected_output": "Hello", "metadata": {"a": 1}}


def imported(tmp_path: Path, rows: Any, **options: Any) -> list[Case]:
    source = tmp_path / "rows.json"
    source.write_text(json.dumps(rows))
    viva.import_cases(source, tmp_path / "out", **options)
    return all_cases(tmp_path / "out")


def said(case: Case) -> list[str]:
    return [line.say for line in case.script]


@pytest.mark.parametrize(
    ("row", "message", "expectation"),
    [
        (LANGSMITH, "What does a ticket to Oslo cost?", "320 euros"),
        (LANGFUSE, "Cancel order 7", "Order 7 is cancelled"),
        (BRAINTRUST, "What is 2 + 2?", "4"),
        (DATADOG, "Hi?", "Hello"),
        ({"question": "Why?", "answer": "Because."}, "Why?", "Because."),
    ],
)
def test_rows_of_the_platforms_need_no_map(tmp_path: Path, row: Any, message: str, expectation: str) -> None:
    (case,) = imported(tmp_path, [row])
    assert said(case) == [message]
    assert case.scoring_points[0].score_point.endswith(expectation)


def test_a_goal_is_the_task_of_an_examiner_with_a_persona(tmp_path: Path) -> None:
    (case,) = imported(tmp_path, [MLFLOW_GOAL])
    assert case.task_description == "Get a refund for order 7"
    assert case.user is not None
    assert case.user.persona == "An impatient customer"
    assert [point.score_point.partition(": ")[2] for point in case.scoring_points] == [
        "The refund takes three days",
        "The refund is 20 euros",
    ]


def test_tags_and_names_are_those_of_the_row(tmp_path: Path) -> None:
    (case,) = imported(tmp_path, [LANGSMITH])
    assert (case.name, case.tags) == ("out#rows[7c1]", ("base", "out#rows"))


def test_map_names_any_place_in_a_row(tmp_path: Path) -> None:
    row = {"turn": {"messages": [{"role": "user", "content": "Hi"}, {"role": "user", "content": "Bye"}]}, "gold.a": "x"}
    (case,) = imported(tmp_path, [row], mapping={"input": "turn.messages", "expected": "gold.a"})
    assert said(case) == ["Hi", "Bye"]
    assert case.scoring_points[0].score_point.endswith("x")


def test_a_row_without_a_question_is_reported_and_the_others_are_imported(tmp_path: Path) -> None:
    (case,) = imported(tmp_path, [{"input": "", "expected": "lost"}, {"input": "Hi", "expected": "Hello"}])
    assert said(case) == ["Hi"]
    report = json.loads((tmp_path / "out" / "import-report.json").read_text())
    assert {"[0]", "[0].expected"} <= {each["path"] for each in report["reported"]}


def test_a_row_without_an_expectation_is_marked_and_runnable(tmp_path: Path) -> None:
    (case,) = imported(tmp_path, [{"input": "Hi"}])
    assert "import-incomplete" in case.tags
    assert case.scoring_points


@pytest.mark.parametrize(
    ("mapping", "words"),
    [
        ({"inptu": "a"}, "did you mean 'input'"),
        ({"input": "b.c"}, r"no row has 'b.c' .*the rows have a"),
        ({}, "nothing says what the agent is asked: add --map input=PATH"),
    ],
)
def test_a_wrong_map_is_told_with_the_columns(tmp_path: Path, mapping: dict[str, str], words: str) -> None:
    with pytest.raises(SetupError, match=words):
        imported(tmp_path, [{"a": "1"}], mapping=mapping)
    assert not (tmp_path / "out").exists()


def test_csv_cells_with_json_are_read_as_the_platforms_write_them(tmp_path: Path) -> None:
    source = tmp_path / "rows.csv"
    source.write_text('inputs,outputs\n"{""question"": ""Hi, you?""}","{""answer"": ""Hello""}"\n', encoding="utf-8")
    viva.import_cases(source, tmp_path / "out")
    (case,) = all_cases(tmp_path / "out")
    assert said(case) == ["Hi, you?"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["id", "input", "inputs", "expected", "outputs", "metadata", "tags", "split", "question", "answer", "messages"]
) | st.text(max_size=6)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(st.dictionaries(NAMES, VALUES, max_size=5), min_size=1, max_size=3))
def test_no_value_of_any_row_is_dropped(tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, Any]]) -> None:
    folder = tmp_path_factory.mktemp("rows")
    rows = [{"input": "Hi"}, *rows]
    source = folder / "rows.json"
    source.write_text(json.dumps(rows))
    with contextlib.suppress(SetupError):  # a shape that only rows without a question have
        viva.import_cases(source, folder / "out")
    if not (folder / "out").exists():
        return
    file = SourceFile(source)
    format_named("rows").load().read(file, ImportOptions())
    expressed = {str(node) for node in file.tree().leaves() if file.ledger.leaf("", node.path).expressed}
    plain = file.tree().peek()
    assert dropped(plain, folder / "out", expressed) == []
