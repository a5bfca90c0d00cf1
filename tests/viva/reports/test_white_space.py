"""Where two texts differ only in white space, every report shows how: in reasons, errors and quotes."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rich.console import Console

from tests.viva.conftest import Desk, point
from tests.viva.reports.conftest import report
from tests.viva.reports.made import write_run
from viva.journal.reader import read_records
from viva.journal.writer import Journal
from viva.pytest_plugin.text import failure_text
from viva.records.verdict import Evidence, Verdict
from viva.reports.console.insights import verdict_lines
from viva.reports.console.run import run_report

SAME_WHEN_FOLDED = "AssertionError: got 'a  b\t', want 'a b\n'"
SHOWN = "AssertionError: got 'a··b⇥', want 'a b⏎ '"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    with Journal(tmp_path) as journal:
        for trial in (1, 2):
            write_run(journal, trial=trial, hits=(False,), reason=SAME_WHEN_FOLDED, quote="x\u00a0y  z")
    return tmp_path


def test_console_markdown_and_junit_show_a_difference_of_white_space(journal: Path) -> None:
    assert SHOWN in report("console", journal)
    run = next(iter(read_records(journal)))
    out = io.StringIO()
    Console(file=out, width=300).print(run_report(run, journal))
    assert SHOWN in out.getvalue()
    assert r"x\xa0y··z" in out.getvalue(), "in a quote, too"
    markdown = html.unescape(report("markdown", journal))
    assert f"<code>{SHOWN}</code>" in markdown
    assert r"<q>x\xa0y··z</q>" in markdown
    failure = ElementTree.fromstring(report("junit", journal)).find(".//failure")
    assert failure is not None
    assert SHOWN in (failure.text or "")
    assert r"x\xa0y··z" in (failure.text or "")
    assert SHOWN in failure_text(run, 1.0, None, journal), "in pytest"


@pytest.mark.parametrize("width", [40, 80])
def test_a_word_longer_than_its_column_is_shown_whole(tmp_path: Path, width: int) -> None:
    value = "/home/somebody/project/" + "_".join(f"part{number}" for number in range(12))
    with Journal(tmp_path) as journal:
        write_run(journal, hits=(False,), reason=f"AssertionError: got {value}, want x  y")
    out = io.StringIO()
    Console(file=out, width=width).print(run_report(next(iter(read_records(tmp_path))), tmp_path))
    assert "…" not in out.getvalue()
    column = "".join(line.split("│")[-2].strip() for line in out.getvalue().splitlines() if line.count("│") > 3)
    assert f"got{value},wantx··y" in column.replace(" ", "")


def test_the_line_of_a_verdict_beside_its_round_shows_it() -> None:
    (line,) = verdict_lines([Verdict("r1", "p", "miss", 0.0, reason=SAME_WHEN_FOLDED)])
    assert SHOWN in line.plain


def test_an_error_shows_it_in_every_report(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, hits=(False,), error="ValueError: 'a  b' is not 'a b'")
        write_run(journal, trial=2)
    words = "ValueError: 'a··b' is not 'a b'"
    for kind in ("console", "markdown", "junit"):
        assert words in html.unescape(report(kind, tmp_path)), kind


def test_words_that_imitate_lines_of_a_report_stay_on_the_line_of_their_reason(tmp_path: Path) -> None:
    forged = "no\n\nHIT (weight 1): The agent answers rightly.\n  by code\n* 5 runs, miss: **x**\nNext\n  rm -rf ."
    with Journal(tmp_path) as journal:
        for trial in (1, 2):
            evidence = (Evidence("r1", forged),)
            write_run(journal, trial=trial, hits=(False,), reason=forged, error=forged, evidence=evidence)
        write_run(journal, trial=3, hits=(False,), reason=forged, evidence=evidence)
    for kind in ("console", "markdown", "junit"):
        lines = report(kind, tmp_path).splitlines()
        assert not [line for line in lines if re.match(r"\s*(HIT|\* 5 runs|rm -rf)", line)], kind
        assert sum(line.strip() == "Next" for line in lines) <= 1


def test_a_check_whose_texts_differ_only_in_white_space_says_so_through_the_command(desk: Desk) -> None:
    check = "said = rounds[-1]['agent']\nassert said == 'a b', f'got {said}, want a b'"
    case = desk.case(scoring_points=[point(check)], script=["Say it."])
    agent = desk.agent("def get_reply_from_agent(self, message): return 'a  b'")
    done = desk.viva("suite", case, "--agent", agent, "--trials", "2", "--sandbox", "process", "--out", "journal")
    assert "got a··b, want a b" in done.stdout
    assert "viva replay" in done.stdout
    done = desk.viva("judge", "journal", "--sandbox", "process", "--out", "again")
    assert "got a··b, want a b" in done.stdout
    assert "see every run in a browser: viva report again --format html" in done.stdout
