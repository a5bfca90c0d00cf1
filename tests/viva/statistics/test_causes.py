"""Misses are grouped by cause, whatever case, agent and wording; console, Markdown and page agree."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.viva.reports.conftest import report
from tests.viva.statistics.planted_causes import CAUSES, UNIQUE, adjusted_rand, failed, planted
from viva.journal.writer import Journal
from viva.reports.number_words import percent
from viva.statistics.causes.clusters import cluster, words_of
from viva.statistics.causes.miss_words import miss_words
from viva.statistics.causes.tally import CauseTally
from viva.statistics.summary import summarize


def grouped(seed: int) -> tuple[list[object], list[str]]:
    records, causes = planted(seed)
    words = [words_of(each.insights[0].verdicts[0].reason, each.insights[0].verdicts[0].statement) for each in records]
    found = cluster(dict.fromkeys(words, 1))
    return [found[each] for each in words], causes


@pytest.mark.parametrize("seed", range(10))
def test_twelve_planted_causes_are_found_and_what_failed_alone_stays_alone(seed: int) -> None:
    found, causes = grouped(seed)
    planted_runs = len(found) - len(UNIQUE)
    assert adjusted_rand(found[:planted_runs], causes[:planted_runs]) >= 0.9
    assert adjusted_rand(found, causes) >= 0.9
    assert sum(found.count(each) == 1 for each in found[planted_runs:]) >= len(UNIQUE) - 2


def test_values_names_and_endings_tell_no_causes_apart() -> None:
    first = miss_words("The refund of $12.50 for Ms. Novak was confirmed by `pay_out` at https://a.example/x.")
    second = miss_words("The refund of 7 for Ibrahim Diallo needs confirmation by “pay” at /tmp/file.txt.")
    assert {"refund", "confirm"} <= first & second
    assert not {"novak", "ibrahim", "pay_out", "example"} & (first | second)


def test_a_cause_says_its_share_its_agents_and_a_run() -> None:
    records, _ = planted(3, unique=0)
    found = summarize(records).causes
    assert len(CAUSES) <= len(found) <= len(CAUSES) + 2
    assert sum(each.runs for each in found) == len(records)
    assert sum(each.share for each in found) == pytest.approx(1)
    for each in found:
        assert sum(each.agents.values()) == each.runs
        assert each.run in {record.id for record in records}
        assert each.cases > 1
        assert each.statements > 1


def test_one_point_missed_in_many_runs_is_a_miss_and_no_cause() -> None:
    records, _ = planted(1, runs=1, unique=0)
    assert summarize(records * 5).causes == ()


def test_two_journals_read_together_and_in_another_process_have_the_same_ids() -> None:
    records, _ = planted(5, unique=0)
    ids = [each.id for each in summarize(records).causes]
    code = (
        "from tests.viva.statistics.planted_causes import planted; from viva.statistics.summary import summarize; "
        "print([each.id for each in summarize(planted(5, unique=0)[0]).causes])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(ids)


def test_a_strangers_journal_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.statistics.causes.tally.MOST_TEMPLATES", 50)
    tally = CauseTally()
    for record in planted(1)[0]:
        tally.add(record)
    assert len(tally._wordings) == 50


def test_console_markdown_and_page_show_the_same_causes(tmp_path: Path) -> None:
    records, _ = planted(2, runs=60)
    with Journal(tmp_path / "j") as journal:
        for record in records:
            journal.append("run", record.id, 1, record)
    figures = summarize(records)
    texts = {kind: " ".join(report(kind, tmp_path / "j").split()) for kind in ("console", "markdown", "html")}
    for kind, whole in texts.items():
        shown = figures.causes[: 3 if kind == "markdown" else 6]
        text = whole[whole.index("Causes found in several points") :]
        ids = re.findall(r"(?:id |<code>)(?:<code>)?([0-9a-f]{8})\b", text)[: len(shown)]
        assert ids == [each.id for each in shown], kind
        for each in shown:
            assert f"{each.runs} runs ({percent(each.share)}" in text, kind


def test_a_hostile_reason_is_text_in_every_format(tmp_path: Path) -> None:
    chance = random.Random(1)
    reason = "<img src=x onerror=alert(1)> **bold** \x1b[31mrefund policy violated | forbidden"
    with Journal(tmp_path / "j") as journal:
        for number in range(6):
            record = failed(number, chance, reason, f"case {number}")
            journal.append("run", record.id, 1, record)
    for kind in ("console", "markdown", "html"):
        text = report(kind, tmp_path / "j")
        assert "Causes found in several points" in text
        assert "\x1b[31m" not in text
        assert kind == "console" or "<img" not in text
