"""Scoring points that are a tree, in every report: groups with their scores, folded, and the points below them."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tests.viva.conftest import Desk
from tests.viva.reports.browser import Browser
from tests.viva.reports.conftest import report
from tests.viva.reports.made import HOSTILE
from tests.viva.reports.test_page import check_harmless
from tests.viva.reports.test_page_run import open_run
from viva.journal.reader import read_records
from viva.journal.writer import Journal
from viva.records.run_record import RunRecord
from viva.records.verdict import Insight, Verdict
from viva.reports.console.run import run_report
from viva.reports.point_tree import has_tree, path_words, tree_rows

POINTS = [
    {
        "id": "polite",
        "score_point": "The agent is polite.",
        "weight": 1,
        "points": [
            {"score_point": "It greets.", "weight": 1, "eval_code": "assert 'Hello' in rounds[0]['agent']"},
            {"score_point": "It thanks.", "weight": 1, "eval_code": "assert 'Thanks' in rounds[0]['agent']"},
        ],
    },
    {
        "id": "right",
        "score_point": "The agent is right.",
        "weight": 3,
        "points": [
            {"score_point": "It adds.", "weight": 2, "eval_code": "assert '55' in rounds[0]['agent']"},
            {
                "id": "shown",
                "score_point": "It shows how.",
                "weight": 1,
                "points": [
                    {"score_point": "It names n.", "weight": 1, "eval_code": "assert 'n is' in rounds[0]['agent']"},
                    {
                        "score_point": "It names the rule.",
                        "weight": 1,
                        "eval_code": "assert 'Gauss' in rounds[0]['agent']",
                    },
                ],
            },
        ],
    },
]


@pytest.fixture
def journal(desk: Desk) -> Path:
    agent = desk.agent("def get_reply_from_agent(self, message):\n    return 'Hello! Thanks. By Gauss, it is 54.'")
    desk.run(desk.case(scoring_points=POINTS), "--agent", agent)
    return desk.folder / "journal"


def record_in(journal: Path) -> RunRecord:
    (record,) = read_records(journal)
    return record


def console_of(record: RunRecord) -> list[str]:
    out = Console(file=io.StringIO(), width=120)
    out.print(run_report(record, Path("journal")))
    text: str = out.file.getvalue()  # type: ignore[attr-defined]
    return [line.strip("│ ").rstrip() for line in text.splitlines()]


def test_the_console_folds_a_group_that_is_all_hit_and_shows_the_points_of_the_others(journal: Path) -> None:
    lines = console_of(record_in(journal))
    start = next(number for number, line in enumerate(lines) if "The agent is polite." in line)
    shown = [line.replace("│", "  ").split("  ") for line in lines[start:]]
    words = [" ".join(part.strip() for part in line if part.strip()) for line in shown]
    assert words[0] == "1 1.00 The agent is polite. 2 points, all hit"
    assert words[1] == "3 0.17 The agent is right."
    assert any(line.startswith("2 miss It adds.") for line in words)
    assert any(line.startswith("1 0.50 It shows how.") for line in words)
    assert any(line.startswith("0.5 miss It names n.") for line in words)
    assert not any("It greets." in line for line in words)
    assert any(line.startswith("score 1.5/4 = 0.38") for line in words), [line for line in words if "score" in line]


def test_json_and_junit_say_where_a_point_stands(journal: Path) -> None:
    (run,) = json.loads(report("json", journal))["runs"]
    (insight,) = run["insights"]
    tree = insight["details"]["tree"]
    assert [(group["id"], group["score"]) for group in tree["groups"]] == [
        ("polite", 1.0),
        ("right", pytest.approx(1 / 6)),
        ("shown", 0.5),
    ]
    assert list(tree["paths"].values()) == [["polite"], ["polite"], ["right"], ["right", "shown"], ["right", "shown"]]
    text = report("junit", journal)
    assert "  in right/shown\n" in text
    assert "  in polite" not in text


def test_csv_markdown_and_the_suite_show_the_groups_at_the_top(journal: Path) -> None:
    (row,) = csv.DictReader(io.StringIO(report("csv", journal)))
    assert row["scoring_points scores"] == "polite 1.00, right 0.17"
    assert "polite 1.00, right 0.17" in report("markdown", journal)
    assert "polite" in report("console", journal)


def test_the_page_folds_the_groups(journal: Path, browser: Browser) -> None:
    open_run(browser, journal)
    facts = "[n.open, n.querySelector('summary').textContent]"
    groups = f"Array.from(document.querySelectorAll('.group > details'), (n) => {facts})"
    assert browser.run(f"return {groups}") == [
        [False, "The agent is polite. 1.00 · weight 1 · 2 of 2 hit"],
        [True, "The agent is right. 0.17 · weight 3 · 1 of 3 hit"],
        [False, "It shows how. 0.50 · weight 1 · 1 of 2 hit"],
    ]
    inner = "document.querySelectorAll('.group .group .points > li .statement')"
    assert browser.run(f"return Array.from({inner}, (n) => n.textContent)") == ["It names n.", "It names the rule."]


def test_a_point_without_a_tree_says_nothing_of_one(desk: Desk) -> None:
    desk.run(desk.case())
    (insight,) = record_in(desk.folder / "journal").insights
    assert (insight.details, insight.scores, has_tree(insight)) == ({}, {}, False)
    (run,) = json.loads(report("json", desk.folder / "journal"))["runs"]
    assert run["insights"][0]["details"] == {}
    assert "tree" not in report("html", desk.folder / "journal").split("</style>")[1].split("<script>")[0]


ODD = [
    None, 7, "tree", [], {}, {"paths": 3}, {"paths": {"p": 3}}, {"paths": {"p": [[], None]}, "groups": 3},
    {"paths": {"p": ["g"] * 5_000}, "groups": [3, {"id": []}, {"id": "g", "statement": 3, "score": "x", "low": 9}]},
]  # fmt: skip


@pytest.mark.parametrize("tree", ODD)
def test_a_strangers_tree_breaks_no_report(tree: object, journal: Path, tmp_path: Path) -> None:
    record = record_in(journal)
    verdicts = (Verdict(record.id, "p", "hit", 1.0), Verdict(record.id, "q", "miss", 0.0))
    insight = Insight("scoring_points", record.id, "miss", 0.5, verdicts=verdicts, details={"tree": tree})
    assert len([row for row in tree_rows(insight) if isinstance(row, tuple)]) == 2
    assert path_words(insight, "q") == ""
    changed = replace(record, insights=(insight,))
    assert console_of(changed)
    with Journal(tmp_path / "other") as other:
        other.append("run", record.id, 1, changed)
    for kind in ("console", "csv", "json", "junit", "markdown", "html"):
        assert report(kind, tmp_path / "other")


def test_hostile_statements_of_groups_become_no_markup(desk: Desk, browser: Browser) -> None:
    points = [
        {"score_point": text, "weight": 1, "points": [{"score_point": "One.", "weight": 1, "eval_code": "assert 0"}]}
        for text in HOSTILE
        if text.isprintable()
    ]
    desk.run(desk.case(scoring_points=points))
    open_run(browser, desk.folder / "journal")
    check_harmless(browser)
    report("console", desk.folder / "journal")
