"""The page of journals that are joined shows their trends; a single journal's page does not."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from pathlib import Path

from viva.journal.writer import Journal
from viva.records.run_record import Outcome, RunRecord, Setting, Timing
from viva.records.verdict import Insight
from viva.reports.journals import joined
from viva.reports.page import report as page


def write(folder: Path, version: str, score: float, agent: str = "clerk") -> str:
    with Journal(folder) as journal:
        for number in range(8):
            run = f"{version}-{number}"
            record = RunRecord(
                run, "<b>shop", agent, Outcome.SCORED, score, agent_version=f"<i>{version}",
                insights=(Insight("grade", run, "judged", score),),
                timing=Timing(1_700_000_000.0 + number + float(version) * 100),
                setting=Setting(case="<b>shop", agent=agent, evaluators=("grade",)),
            )  # fmt: skip
            journal.append("run", run, 1, replace(record))
    return str(folder)


def shown(*journals: str) -> str:
    out = io.StringIO()
    page.write(joined(list(journals)), out)
    return out.getvalue()


def test_joined_journals_have_trends_with_regressions_first(tmp_path: Path) -> None:
    old, new = write(tmp_path / "old", "1", 1.0), write(tmp_path / "new", "2", 0.0)
    write(tmp_path / "old", "3", 0.5, "steady")
    found = re.search(r'<section id="trends">(.*?)</section>', shown(new, old), re.DOTALL)
    assert found is not None
    first, second = re.findall(r"<tr(?: class=\"(\w+)\")?>(?=\s*<th scope=\"row\">)(.*?)</tr>", found[1], re.DOTALL)
    assert first[0] == "worse"
    for words in ("regression", "1.00→0.00", "-1.00", "&lt;i&gt;1→&lt;i&gt;2", "&lt;b&gt;shop"):
        assert words in first[1]
    assert first[1].count('class="version"') == 1
    assert "flat" in second[1]


def test_the_page_of_one_journal_has_none(tmp_path: Path) -> None:
    assert 'id="trends"' not in shown(write(tmp_path / "old", "1", 1.0))
