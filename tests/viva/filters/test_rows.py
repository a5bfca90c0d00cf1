"""Runs of families have figures by row and by column, and filters know the columns of rows."""

from __future__ import annotations

import csv
import html
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.viva.conftest import Desk
from viva.journal.kept_cases import MOST_COLUMNS, MOST_OF_A_COLUMN, stored_case
from viva.journal.reader import read_records

FAMILY = """\
cases:
  price:
    for_each: rows.jsonl
    metadata: {team: blue, "<xyz>": "=1+1"}
    script: ["A trip to {{ city }}, please: {{ price }} euros."]
    scoring_points:
      - id: price
        check: {contains: "{{ price }} euros"}
        metadata: {owner: Ada}
      - check: {contains: Rome}
  plain:
    metadata: {team: red}
    script: [Hello.]
    scoring_points:
      - check: {contains: Hello}
"""
ROWS: list[dict[str, Any]] = [
    {"id": "rome", "city": "Rome", "price": 40, "region": "south"},
    {"id": "oslo", "city": "Oslo", "price": 90, "region": "north"},
    {"id": "bari", "city": "Bari", "price": 50, "region": "south"},
]
AGENT = "async def get_reply_from_agent(self, message):\n    return message"


def write_rows(desk: Desk, rows: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (desk.folder / "rows.jsonl").write_text(text)


@pytest.fixture
def trips(desk: Desk) -> Desk:
    """A family of three rows, another case, and an agent that repeats what it is told."""
    (desk.folder / "trips.yaml").write_text(FAMILY)
    write_rows(desk, ROWS)
    desk.agent(AGENT)
    return desk


def conduct(desk: Desk, *words: str, out: str = "journal", expect: int = 0) -> str:
    done = desk.viva("suite", "trips.yaml", "--agent", "agent.py:Agent", "--out", out, *words, expect=expect)
    return done.stdout + done.stderr


def subjects(desk: Desk, *words: str) -> list[str]:
    done = desk.viva("report", "journal", "--format", "json", *words, expect=0)
    return sorted(run["subject"] for run in json.loads(done.stdout)["runs"])


def report(desk: Desk, kind: str, *words: str) -> str:
    desk.viva("report", "journal", "--format", kind, "--out", f"report.{kind}", *words, expect=0)
    return (desk.folder / f"report.{kind}").read_text()


def test_reports_have_figures_by_row_and_by_column(trips: Desk) -> None:
    conduct(trips)
    by = ("--by", "row.region", "--by", "metadata.team")
    figures = json.loads(report(trips, "json", *by))["figures"]
    assert {case["name"]: case["mean"] for case in figures["cases"]} == {
        "trips#plain": 1.0, "trips#price[bari]": 0.5, "trips#price[oslo]": 0.5, "trips#price[rome]": 1.0,
    }  # fmt: skip
    found = {tag["name"]: (tag["runs"], tag["mean"]) for tag in figures["tags"]}
    assert found == {
        "trips#price": (3, 2 / 3), "region=south": (2, 0.75), "region=north": (1, 0.5),
        "metadata.team=blue": (3, 2 / 3), "metadata.team=red": (1, 1.0),
    }  # fmt: skip
    for kind in ("console", "markdown", "html"):
        assert "region=south" in html.unescape(report(trips, kind, *by))
        assert "region=south" not in html.unescape(report(trips, kind))


def test_a_run_s_page_and_files_have_its_row_and_metadata(trips: Desk) -> None:
    conduct(trips)
    runs = {run["subject"]: run for run in json.loads(report(trips, "json"))["runs"]}
    facts = {"row": "oslo", "columns": ROWS[1], "metadata": {"team": "blue", "<xyz>": "=1+1"}}
    assert runs["trips#price[oslo]"]["case_facts"] == {**facts, "points": {"price": {"owner": "Ada"}}}
    assert runs["trips#plain"]["case_facts"] == {"row": "", "columns": {}, "metadata": {"team": "red"}, "points": {}}
    rows = {row["case_file"]: row for row in csv.DictReader(report(trips, "csv").splitlines())}
    oslo = rows["trips#price[oslo]"]
    assert (oslo["row"], json.loads(oslo["columns"])) == ("oslo", ROWS[1])
    assert json.loads(oslo["metadata"])["team"] == "blue"
    assert json.loads(oslo["points_metadata"]) == {"price": {"owner": "Ada"}}
    page = report(trips, "html")
    papers = [json.loads(text) for text in re.findall(r'<script[^>]* id="k\d+">(.*?)</script>', page, re.DOTALL)]
    shown = [dict(paper["facts"]) for paper in papers]
    assert {"row": "oslo", "row.price": "90", "price: metadata.owner": "Ada"}.items() <= next(
        each.items() for each in shown if each.get("row") == "oslo"
    )
    assert "<xyz>" not in page
    name = next(run["id"] for run in runs.values() if run["subject"] == "trips#price[oslo]")
    assert "row.city" in trips.viva("report", f"journal#{name}", expect=0).stdout


def test_filters_choose_by_columns_and_name_the_nearest_of_a_misspelt_one(trips: Desk) -> None:
    assert "no row has a column 'regoin'; did you mean 'region'?" in conduct(
        trips, "--where", "trial=1 and row.regoin=south", expect=2
    )
    conduct(trips)
    assert subjects(trips, "--where", "row.region=south") == ["trips#price[bari]", "trips#price[rome]"]
    assert subjects(trips, "--where", "row.price>45 and metadata.team=blue") == [
        "trips#price[bari]", "trips#price[oslo]",
    ]  # fmt: skip
    for command in ("report", "replay", "judge"):
        done = trips.viva(command, "journal", "--where", "score<2 and row.pirce>1", expect=2)
        assert "--where, column 13: no row has a column 'pirce'; did you mean 'price'?" in done.stderr
    conduct(trips, "--where", "row.region=north", out="part")
    assert [record.subject for record in read_records(trips.folder / "part")] == ["trips#price[oslo]"]


@pytest.mark.parametrize(
    ("by", "told"),
    [
        ("row.regoin", "--by: no row has a column 'regoin'; did you mean 'region'?"),
        ("metadata.taem", "--by: no case has 'taem' in its metadata; did you mean 'team'?"),
        ("region", "--by takes row.COLUMN or metadata.KEY, not 'region'"),
        ("row.", "--by takes row.COLUMN or metadata.KEY, not 'row.'"),
    ],
)
def test_a_mistake_in_by_is_told_with_the_nearest_name(trips: Desk, by: str, told: str) -> None:
    conduct(trips)
    assert told in trips.viva("report", "journal", "--by", by, expect=2).stderr


def test_a_resumed_suite_finds_each_row_again_when_rows_are_added_and_moved(trips: Desk) -> None:
    conduct(trips, "--max-runs", "1", expect=3)
    (before,) = {record.id for record in read_records(trips.folder / "journal")}
    more = [{"id": f"r{number}", "city": "Ulm", "price": number, "region": "north"} for number in range(5)]
    write_rows(trips, [*more, *reversed(ROWS)])
    told = trips.viva("suite", "--resume", "journal", expect=0).stderr
    assert "3 runs to conduct, 1 already finished" in told
    assert "not run: 5 cases added since the suite started" in told
    found = [record.id for record in read_records(trips.folder / "journal")]
    assert len(found) == len(set(found)) == 4
    assert before in found
    assert not any("[r0]" in record.subject for record in read_records(trips.folder / "journal"))
    write_rows(trips, [*more, *ROWS[1:]])
    told = trips.viva("suite", "--resume", "journal", expect=2).stderr
    assert "changed or removed since the suite started: trips#price[rome]. Start" in told


def test_a_journal_names_row_and_columns_and_keeps_long_values_in_part(trips: Desk) -> None:
    wide = {f"column {number}": number for number in range(2 * MOST_COLUMNS)}
    write_rows(trips, [{**ROWS[0], "long": "x" * 10_000, "list": ["y"] * 10_000, **wide}])
    conduct(trips)
    record = next(each for each in read_records(trips.folder / "journal") if "rome" in each.subject)
    case = stored_case(trips.folder / "journal", record.subject, record.setting.case_hash)
    assert (case.name, case.row, case.columns["city"], case.columns["price"]) == (
        "trips#price[rome]", "rome", "Rome", 40,
    )  # fmt: skip
    assert len(case.columns) == MOST_COLUMNS
    assert max(len(str(value)) for value in case.columns.values()) <= MOST_OF_A_COLUMN + 1


def test_a_row_s_run_is_judged_and_replayed_by_its_reference(trips: Desk) -> None:
    done = trips.viva("run", "trips.yaml#price[oslo]", "--agent", "agent.py:Agent", "--out", "one", "--json", expect=0)
    run = json.loads(done.stdout)["run"]
    assert (run["subject"], run["score"]) == ("trips#price[oslo]", 0.5)
    assert "A trip to Oslo" in trips.viva("replay", f"one#{run['id']}", expect=0).stdout
    (judged,) = _records(trips, "judge", "one", "--out", "judged")
    assert judged.score == 0.5
    text = (trips.folder / "trips.yaml").read_text().replace("contains: Rome", "contains: Oslo")
    (trips.folder / "trips.yaml").write_text(text)
    (other,) = _records(trips, "judge", "one", "--case", "trips.yaml#price[oslo]", "--out", "other")
    assert other.score == 1.0
    (again,) = _records(trips, "replay", "one", "--against", "agent.py:Agent", "--out", "again")
    assert (again.subject, again.score) == ("trips#price[oslo]", 0.5)
    for words in ("trips.yaml", "trips.yaml#price"):
        assert "name one, as in trips.yaml#price[rome]" in trips.viva("run", words, expect=2).stderr
    trips.viva("run", "trips#plain", "--agent", "agent.py:Agent", "--out", "two", expect=0)


def _records(desk: Desk, *words: str | Path) -> list[Any]:
    desk.viva(*words, expect=0)
    return list(read_records(desk.folder / str(words[-1])))
