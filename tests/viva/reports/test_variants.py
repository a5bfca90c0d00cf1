"""Personas and strategies in reports: the same figures in each, the worst first, harmless whatever their names."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.viva.reports.conftest import report
from tests.viva.reports.made import HOSTILE, write_run
from tests.viva.reports.test_markdown import check_harmless
from viva.journal.writer import Journal
from viva.records.verdict import Evidence

FORMATS = ("console", "html", "markdown")


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Six cases with two personas and a strategy; a terse user is refused in round 2."""
    with Journal(tmp_path / "journal") as written:
        for number in range(6):
            for persona in ("expert", "terse"):
                write_run(
                    written,
                    f"case {number}",
                    hits=(persona == "expert",),
                    evidence=(Evidence("r2", "I have saved the file."),),
                    persona=persona,
                    strategy="encoding",
                )
    return tmp_path / "journal"


@pytest.mark.parametrize("kind", FORMATS)
def test_the_worst_comes_first_with_what_is_more_than_chance(kind: str, journal: Path) -> None:
    text = " ".join(report(kind, journal).split())
    table = text[text.index("against the others") :]
    assert table.index("terse") < table.index("expert")
    for words in ("More than chance", "Bonferroni", "6/12 50%", "round 2"):
        assert words in text.replace("&#58;", ":").replace("&#40;", "(")


def test_rows_of_runs_name_them(journal: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(report("csv", journal))))
    assert {(row["persona"], row["strategy"]) for row in rows} == {("terse", "encoding"), ("expert", "encoding")}
    names = [case.get("name") for case in ElementTree.fromstring(report("junit", journal)).iter("testcase")]
    assert "case 0 (trial 1, terse, encoding)" in names
    assert "terse, encoding" in report("html", journal)
    assert len(json.loads(report("json", journal))["figures"]["variants"]) == 2


@pytest.mark.parametrize("kind", [*FORMATS, "json", "csv", "junit"])
def test_a_strangers_names_are_text_and_nothing_else(kind: str, tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as written:
        for name in HOSTILE:
            write_run(written, "case", name, persona=name, strategy=name, hits=(False,))
    text = report(kind, tmp_path / "journal")
    assert "<script>alert(1)" not in text.replace('"<script>alert(1)', "") or kind in ("json", "csv", "console")
    assert "\x1b[31m" not in text
    if kind == "markdown":
        check_harmless(text)


def test_a_stranger_who_names_any_number_of_personas_fills_no_memory(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as written:
        for number in range(250):
            write_run(written, "case", persona=f"p{number}", said=("Hello.",))
    (found,) = json.loads(report("json", tmp_path / "journal"))["figures"]["variants"]
    assert len(found["variants"]) == 200
    assert len(report("console", tmp_path / "journal")) < 100_000
