"""Tokens of which only some were reported are a lower bound in every report, and nothing is divided by them."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.viva.reports.conftest import report
from tests.viva.reports.made import write_run
from viva.cli.commands.compare import command as compare
from viva.journal.writer import Journal
from viva.records.transcript import Usage

PARTIAL = Usage(800, 200, calls=3, cost=None, reported=False)
"""What is left if a model reports nothing of one of its calls."""
WHOLE = Usage(4_000, 1_000, calls=3, cost=None)


def write(folder: Path, usage: Usage | None, agent: str = "agents.py:One", cases: int = 3) -> Path:
    with Journal(folder) as journal:
        for case in range(cases):
            write_run(journal, f"case {case}", agent, usage=usage)
    return folder


def compared(first: Path, second: Path) -> str:
    told = CliRunner().invoke(compare, [str(first), str(second)], env={"COLUMNS": "160"})
    (line,) = [line for line in told.stdout.splitlines() if "tokens per run" in line]
    return " ".join(line.split())


def test_a_comparison_divides_no_lower_bound(tmp_path: Path) -> None:
    one, two, three = (write(tmp_path / name, used) for name, used in (("a", PARTIAL), ("b", WHOLE), ("c", WHOLE)))
    assert "│ at least 1,000 │ 5,000" in compared(one, two)
    assert "│ 5,000 │ at least 1,000" in compared(two, one)
    assert " x " not in compared(one, two) + compared(two, one)
    assert compared(two, three).endswith("5,000 │ 5,000 │ x 1.00")


@pytest.mark.parametrize(("usage", "words"), [(PARTIAL, "in part"), (WHOLE, "all"), (Usage(reported=False), "")])
def test_the_table_says_whether_all_tokens_were_reported(tmp_path: Path, usage: Usage, words: str) -> None:
    rows = list(csv.DictReader(io.StringIO(report("csv", write(tmp_path / "j", usage)))))
    known = {"in part": "1000", "all": "5000", "": "unknown"}[words]
    assert {(row["tokens"], row["tokens_reported"]) for row in rows} == {(known, words)}


def test_junit_says_so_too(tmp_path: Path) -> None:
    text = report("junit", write(tmp_path / "j", PARTIAL))
    assert '<property name="tokens.reported" value="in part"/>' in text
    assert text.count("[[PROPERTY|tokens.reported=in part]]") == 3
    assert "tokens.reported" not in report("junit", write(tmp_path / "whole", WHOLE))


def test_the_page_shows_a_lower_bound_and_draws_none(tmp_path: Path) -> None:
    partial = report("html", write(tmp_path / "partial", PARTIAL))
    assert "at least 3,000 tokens" in partial
    assert "tokens per run" not in partial
    folder = write(tmp_path / "both", WHOLE)
    write(folder, PARTIAL, "agents.py:Two")
    plot = report("html", folder).partition('<svg class="plot"')[2].partition("</figure>")[0]
    assert "tokens per run" in plot
    assert "One: score 1.000 at 5e+03 tokens per run" in plot
    assert "Two:" not in plot
    assert "Those of which some tokens were not reported are left out." in plot
    assert re.search(r">\s*15,000 tokens", report("html", write(tmp_path / "whole", WHOLE)))
