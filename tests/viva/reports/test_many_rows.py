"""A page of more runs than it has rows for says so, and shows the failures first."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from bench.report_journals import write_journal
from viva.reports.journals import joined
from viva.reports.page import report, rows

RUNS = 300


def test_what_has_no_row_is_counted_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_journal(tmp_path / "j", RUNS)
    journals = joined([str(tmp_path / "j")])
    whole = rows.gather_rows(journals)
    assert len(whole.rows) == RUNS
    assert whole.left_out == 0
    few = rows.gather_rows(journals, 20)
    assert [row.standing for row in few.failures_first[:20]] == [row.standing for row in whole.failures_first[:20]]
    assert few.left_out == RUNS - len(few.rows)
    assert (few.standings, few.figures) == (whole.standings, whole.figures)
    examples = few.failures.examples()
    assert examples <= {row.number for row in few.rows}
    monkeypatch.setattr(report, "gather_rows", lambda journals: few)
    out = io.StringIO()
    report.write(journals, out)
    assert f"{few.left_out} more runs without a row here" in " ".join(out.getvalue().split())
    assert out.getvalue().count('<script type="application/json" id="c') == len(few.rows)
