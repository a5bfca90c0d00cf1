"""What hits rest on, in every report: each hit says its layer, and hits on words alone are counted."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.viva.reports.browser import Browser
from tests.viva.reports.conftest import report
from tests.viva.reports.made import write_run
from tests.viva.reports.test_page_run import open_run
from viva.journal.reader import read_records
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, RunRecord
from viva.records.verdict import Evidence, Insight, Verdict
from viva.reports.console.run import run_report
from viva.statistics.summary import summarize

NAMES = ("words", "step", "file", "code", "never", "missed")


def verdicts(run: str) -> tuple[Verdict, ...]:
    def one(name: str, *places: str, by: str = "m", flags: tuple[str, ...] = (), label: str = "hit") -> Verdict:
        evidence = tuple(Evidence(place, "the words") for place in places)
        score = 1.0 if label == "hit" else 0.0
        return Verdict(run, name, label, score, by=by, statement=f"Point {name}.", evidence=evidence, flags=flags)

    return (
        one("words", "r1", flags=("words-alone",)),
        one("step", "r1", "s1"),
        one("file", "file:out/a b.txt"),
        one("code", by="code"),
        one("never", "r1", flags=("condition-never-arose",)),
        one("missed", "r1", label="miss", flags=("words-alone",)),
    )


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    folder = tmp_path / "journal"
    with Journal(folder) as journal:
        run = write_run(journal, "a case", ended=False)
        insight = Insight("scoring_points", run, "partial", 5 / 6, low=5 / 6, high=5 / 6, verdicts=verdicts(run))
        record = RunRecord(run, "a case", "agents.py:One", Outcome.SCORED, 5 / 6, insights=(insight,))
        journal.append("run", run, 1, record)
    return folder


def record_in(journal: Path) -> RunRecord:
    (record,) = read_records(journal)
    return record


LINES = ("1 of 5 hits rests on words alone", "1 of 5 hits rests on a condition that never arose")


def test_the_figures_count_hits_and_nothing_else(journal: Path) -> None:
    record = record_in(journal)
    figures = summarize([record, replace(record, outcome=Outcome.JUDGE_ERROR)])
    assert figures.hit_layers is not None
    assert (figures.hit_layers.hits, figures.hit_layers.words_alone, figures.hit_layers.never_arose) == (5, 1, 1)


@pytest.mark.parametrize("kind", ["console", "markdown", "html"])
def test_every_report_counts_hits_on_words_alone(kind: str, journal: Path) -> None:
    text = report(kind, journal)
    assert all(line in text for line in LINES)


def test_json_has_the_counts_only_where_there_are_any(journal: Path, tmp_path: Path) -> None:
    figures = json.loads(report("json", journal))["figures"]
    assert figures["hit_layers"] == {"hits": 5, "words_alone": 1, "never_arose": 1}
    with Journal(tmp_path / "plain") as plain:
        write_run(plain)
    assert "hit_layers" not in json.loads(report("json", tmp_path / "plain"))["figures"]
    assert "words alone" not in report("console", tmp_path / "plain")
    assert 'id="hits"' not in report("html", tmp_path / "plain")


def test_each_hit_of_a_model_says_its_layer(journal: Path, browser: Browser) -> None:
    out = Console(file=io.StringIO(), width=200)
    out.print(run_report(record_in(journal), journal))
    text: str = out.file.getvalue()  # type: ignore[attr-defined]
    said = [line for line in text.splitlines() if "by m" in line or "by code" in line]
    layers = ("said to the user", "shown by a step", "shown by a file", "by code", "said to the user", "by m ")
    assert len(said) == len(layers)
    assert all(layer in line for layer, line in zip(layers, said, strict=True))
    assert all(line in text for line in LINES)
    page = open_run(browser, journal)
    assert page.count("said to the user") == 2
    assert "by m, shown by a step" in page
    assert "file out/a b.txt" in page
