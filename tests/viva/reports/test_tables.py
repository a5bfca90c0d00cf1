"""CSV and JSON: whole for programs, harmless in spreadsheets and terminals."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.viva.reports.conftest import report
from tests.viva.reports.made import HOSTILE, write_run, write_suite
from viva.journal.writer import Journal
from viva.records.run_record import Outcome
from viva.reports.csv_table import COLUMNS, OWN_COLUMNS, cell

FORMULA = re.compile(r"(^|[;\t\r\n])[\s\"]*[=+\-@\uff1d\uff0b\uff0d\uff20]")


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text, newline=""), strict=True))


def test_the_columns_of_taskweaver_come_first_and_hold_points_and_their_share(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "echo", hits=(True, True, False, True))
    text = report("csv", tmp_path)
    assert text.startswith("case_file,score,normalized_score,")
    (row,) = rows(text)
    assert (row["case_file"], row["score"], row["normalized_score"]) == ("echo", "3", "0.75")
    own = [f"scoring_points {what}" for what in OWN_COLUMNS]
    assert list(row) == [*COLUMNS, *own]


def test_a_run_that_says_nothing_about_the_agent_has_no_score_to_average(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "x", outcome=Outcome.JUDGE_ERROR, error="the judge broke")
        write_run(journal, "y", outcome=Outcome.TARGET_ERROR, hits=(False,), error="the agent broke")
        write_run(journal, "z", ended=False)
    by_case = {row["case_file"]: row for row in rows(report("csv", tmp_path))}
    assert (by_case["x"]["score"], by_case["x"]["normalized_score"]) == ("", "")
    assert by_case["y"]["normalized_score"] == "0"
    assert (by_case["z"]["outcome"], by_case["z"]["normalized_score"]) == ("unfinished", "")


def test_a_price_that_is_not_known_is_not_nothing(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, cost=None)
    assert rows(report("csv", tmp_path))[0]["cost"] == "unknown"


def test_no_cell_is_a_formula_or_holds_a_control_character_and_every_row_is_whole(hostile: Path) -> None:
    text = report("csv", hostile)
    assert not re.search(r"[\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", text)
    parsed = list(csv.reader(io.StringIO(text, newline=""), strict=True))
    assert len(parsed) == 1 + len(HOSTILE) + 2
    assert text.count("\r\n") == text.count("\n") == len(parsed), "RFC 4180: CRLF, and no line break in a cell"
    assert {len(row) for row in parsed} == {len(COLUMNS) + len(OWN_COLUMNS)}
    assert not [value for row in parsed for value in row if FORMULA.search(value)]
    assert len(text) < 100_000


@given(st.text())
@example("=1+1")
@example("\t\r =1")
@example(';"=1')
@example("a;;;=1;-1")
@example("\uff1d1")
def test_no_text_becomes_a_formula(text: str) -> None:
    assert not FORMULA.search(cell(text))


@pytest.mark.parametrize("text", ["sum_1_to_50", "a - b", "x=1", "mail@example.org", "1+1"])
def test_harmless_text_stays_as_it_is(text: str) -> None:
    assert cell(text) == text


def test_json_holds_figures_and_every_run_in_full(tmp_path: Path) -> None:
    write_suite(tmp_path, 3, agents=2, trials=2)
    loaded = json.loads(report("json", tmp_path, threshold=0.5))
    assert loaded["threshold"] == loaded["figures"]["threshold"] == 0.5
    assert len(loaded["runs"]) == 12
    assert {run["standing"] for run in loaded["runs"]} <= {"passed", "failed", "excluded"}
    passed = sum(run["standing"] == "passed" for run in loaded["runs"])
    assert loaded["figures"]["suite"]["passes"] == passed
    assert loaded["runs"][0]["insights"][0]["verdicts"]


def test_hostile_text_leaves_json_one_valid_document_that_is_safe_to_print(hostile: Path) -> None:
    text = report("json", hostile)
    assert text.isascii()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f]", text)
    loaded = json.loads(text, parse_constant=pytest.fail)
    assert len(loaded["runs"]) == len(HOSTILE) + 1
    assert loaded["runs"][0]["error"] == HOSTILE[0]
    assert len(loaded["runs"][-1]["error"]) == 5_000_000
    assert len(loaded["unfinished"]) == 1
