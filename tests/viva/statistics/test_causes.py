"""Misses are grouped by cause, whatever case, agent and wording; console, Markdown and page agree."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.viva.reports.conftest import report
from tests.viva.statistics.held_out_causes import held_out
from tests.viva.statistics.planted_causes import CAUSES, UNIQUE, adjusted_rand, failed, planted
from viva.cli.assistants.reading import explain_failures
from viva.journal.writer import Journal
from viva.records.run_record import RunRecord
from viva.reports.number_words import percent
from viva.statistics.causes.miss_words import miss_words
from viva.statistics.causes.tally import CauseTally, wording_of
from viva.statistics.misses import misses_of
from viva.statistics.summary import summarize
from viva.viewer.overview import Overviews
from viva.viewer.watched import WatchedJournal


def grouped(planted: tuple[list[RunRecord], list[str]]) -> tuple[list[str], list[str]]:
    """Return the id of the cause that each run was given, and its true cause."""
    tally = CauseTally()
    for record in planted[0]:
        tally.add(record)
    ids = tally.grouping(100).ids
    return [ids[wording_of(next(iter(misses_of(record))))] for record in planted[0]], planted[1]


@pytest.mark.parametrize("seed", range(10))
def test_twelve_planted_causes_are_found_and_what_failed_alone_stays_alone(seed: int) -> None:
    found, causes = grouped(planted(seed))
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
    found = summarize(records).misses
    assert len(CAUSES) <= len(found) <= len(CAUSES) + 2
    assert sum(each.runs for each in found) == len(records)
    assert sum(each.share for each in found) == pytest.approx(1)
    for each in found:
        assert sum(each.agents.values()) == each.runs
        assert each.run in {record.id for record in records}
        assert each.cases > 1
        assert each.points > 1


def test_one_point_missed_in_many_runs_is_one_cause() -> None:
    records, _ = planted(1, runs=1, unique=0)
    (found,) = summarize(records * 5).misses
    assert (found.runs, found.points, found.also) == (5, 1, ())


@pytest.mark.parametrize("seed", range(5))
def test_twelve_other_causes_are_found_in_wordings_that_the_limits_were_not_chosen_on(seed: int) -> None:
    found, causes = grouped(held_out(seed))
    assert adjusted_rand(found, causes) >= 0.8


def test_a_causes_id_does_not_depend_on_which_wording_is_the_commonest() -> None:
    reasons = (
        "Nothing was saved: the workspace lacks the report file.",
        "The report was printed; no file was saved to the workspace.",
        "The file with the report is missing, as it was never saved in the workspace.",
    )
    ids = set()
    for commonest in range(3):
        chance = random.Random(commonest)
        said = [reason for place, reason in enumerate(reasons) for _ in range(9 if place == commonest else 2)]
        (found,) = summarize([failed(number, chance, reason) for number, reason in enumerate(said)]).misses
        ids.add(found.id)
        assert found.reason in said
        assert found.reason_runs == 9
    assert len(ids) == 1


def test_two_journals_read_together_and_in_another_process_have_the_same_ids() -> None:
    records, _ = planted(5, unique=0)
    ids = [each.id for each in summarize(records).misses]
    code = (
        "from tests.viva.statistics.planted_causes import planted; from viva.statistics.summary import summarize; "
        "print([each.id for each in summarize(planted(5, unique=0)[0]).misses])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(ids)


def test_a_strangers_journal_takes_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.statistics.causes.tally.MOST_TEMPLATES", 50)
    tally = CauseTally()
    for record in planted(1)[0]:
        tally.add(record)
    assert len(tally._wordings) == 50
    assert tally.grouping(9).left_out > 0


def test_console_markdown_page_viewer_and_assistant_show_the_same_causes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    records, _ = planted(2, runs=60)
    with Journal(tmp_path / "j") as journal:
        for record in records:
            journal.append("run", record.id, 1, record)
    figures = summarize(records)
    found = {kind: " ".join(report(kind, tmp_path / "j").split()) for kind in ("console", "markdown", "html")}
    found["assistant"] = " ".join(explain_failures("j").split())
    for kind, text in found.items():
        heading = {"html": "What fails", "assistant": "kinds of failure"}.get(kind, "What was missed")
        section = text[text.rindex(heading) :] if kind == "html" else text[text.index(heading) :]
        ids = re.findall(r"(?:id |id <code>|; )([0-9a-f]{8})\b", section)
        assert ids[:5] == [each.id for each in figures.misses[:5]], kind
        for each in figures.misses[: 5 if kind == "console" else len(ids)]:
            assert f"{each.runs} run" in section or f"<b>{each.runs}</b>" in section, kind
            assert kind == "markdown" or f"{percent(each.share)} of the runs with a miss" in section, kind
        assert "Causes found" not in text, "one grouping, shown once"
    overview = Overviews().of(WatchedJournal(tmp_path / "j"))
    assert [(each["id"], each["runs"]) for each in overview["misses"]] == [
        (each.id, each.runs) for each in figures.misses[:20]
    ]


def test_a_hostile_reason_is_text_in_every_format(tmp_path: Path) -> None:
    chance = random.Random(1)
    reason = "<img src=x onerror=alert(1)> **bold** \x1b[31mrefund policy violated | forbidden"
    with Journal(tmp_path / "j") as journal:
        for number in range(6):
            record = failed(number, chance, reason, f"case {number}")
            journal.append("run", record.id, 1, record)
    for kind in ("console", "markdown", "html"):
        text = report(kind, tmp_path / "j")
        assert "refund policy violated" in text.replace("*", "").replace("\\", "")
        assert "\x1b[31m" not in text
        assert kind == "console" or "<img" not in text
