"""Causes of misses are followed over suites: new and gone ones, and only where a suite could have shown them."""

from __future__ import annotations

import io
import json
import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.viva.statistics.planted_causes import CAUSES, failed, filled
from viva.cli.group import viva
from viva.journal.writer import Journal
from viva.records.run_record import Outcome, RunRecord, Timing
from viva.reports.journals import joined
from viva.reports.page import report as page
from viva.statistics.causes.cause_trends import CauseTrend, CauseTrendTally
from viva.viewer.views.histories import Histories
from viva.viewer.watched import WatchedJournal

RUNS = 25
SUITES = (
    {"wrong arithmetic": 10, "policy refund": 5, "format": 4},
    {"wrong arithmetic": 10, "policy refund": 8},
    {"wrong arithmetic": 10, "format": 6, "privacy": 7},
)
"""The runs with each cause; the others pass. Each suite words its reasons in another way."""


def suite(number: int, *, agent: str = "careful", case: str = "case", only: Sequence[str] = ()) -> list[RunRecord]:
    chance = random.Random(number)
    causes = [cause for cause, runs in SUITES[number].items() if cause in (only or SUITES[number]) for _ in range(runs)]
    passed = RunRecord("", case, agent, Outcome.SCORED, 1.0, low=1.0, high=1.0)
    made = [
        failed(place, chance, filled(chance, CAUSES[cause][number % len(CAUSES[cause])]), case)
        for place, cause in enumerate(causes)
    ] + [replace(passed, id=f"passed-{place}") for place in range(RUNS - len(causes))]
    return [
        replace(each, agent=agent, timing=Timing(1_700_000_000.0 + 1000 * number + place))
        for place, each in enumerate(made)
    ]


def trends(*suites: tuple[str, Sequence[RunRecord]]) -> tuple[CauseTrend, ...]:
    tally = CauseTrendTally()
    for source, records in suites:
        for record in records:
            tally.add(record, source)
    return tally.trends()


def kinds(found: Sequence[CauseTrend]) -> dict[tuple[int, ...], str]:
    return {tuple(point.found for point in each.points): each.kind for each in found}


ALL = {(10, 10, 10): "same", (5, 8, 0): "gone", (4, 0, 6): "back", (0, 0, 7): "new"}


def test_causes_are_followed_whatever_their_wording_in_the_order_of_time() -> None:
    found = trends(*((name, suite(number)) for number, name in ((2, "c"), (0, "a"), (1, "b"))))
    assert kinds(found) == ALL
    assert [each.kind for each in found] == ["new", "back", "gone", "same"]
    assert {tuple(point.source for point in each.points) for each in found} == {("a", "b", "c")}
    assert {point.runs for each in found for point in each.points} == {RUNS}


def test_a_suite_that_tried_none_of_the_cases_says_nothing_of_a_cause() -> None:
    found = trends(("a", suite(0)), ("b", suite(1, case="other")))
    assert kinds(found)[(5, 8)] == "more"  # found in the cases of both
    assert kinds(found)[(4,)] == "single"  # not gone: its case was not tried


def test_other_agents_have_trends_of_their_own_and_one_suite_has_none() -> None:
    found = trends(("a", suite(0)), ("b", suite(1, agent="hasty")))
    assert {each.kind for each in found} == {"single"}
    assert trends(("a", suite(0)), ("a", suite(1))) == ()


def test_versions_in_one_journal_are_suites() -> None:
    first = [replace(each, agent_version="1") for each in suite(0, only=["format"])]
    second = [replace(each, agent_version="2") for each in suite(1, only=["policy refund"])]
    assert kinds(trends(("a", [*second, *first]))) == {(4, 0): "gone", (0, 8): "new"}


def test_a_conversation_that_was_judged_again_counts_once_as_it_was_judged_last() -> None:
    again = suite(1)
    mended = [replace(each, insights=(), score=1.0, low=1.0, high=1.0) for each in again]
    found = trends(("a", suite(0)), ("b", again), ("b judged again", mended))
    assert {each.kind for each in found} == {"gone"}
    assert {tuple(point.source for point in each.points) for each in found} == {("a", "b judged again")}
    assert {each.cause.share for each in found if each.points[0].found == 10} == {10 / 19}


@pytest.fixture(scope="module")
def journals(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("suites")
    for number in range(3):
        with Journal(folder / f"s{number}") as journal:
            for record in suite(number):
                journal.append("run", record.id, 1, replace(record, agent="<b>careful"))
            journal.sync()
    return [folder / f"s{number}" for number in range(3)]


def test_the_page_and_the_viewer_show_those_that_changed(journals: list[Path]) -> None:
    out = io.StringIO()
    page.write(joined([str(each) for each in journals]), out)
    section = re.search(r'<section id="cause-trends">(.*?)</section>', out.getvalue(), re.DOTALL)
    assert section is not None
    rows = re.findall(r"<tr(?: class=\"\w+\")?>(?=\s*<th scope=\"row\">)(.*?)</tr>", section[1], re.DOTALL)
    watched = {number: WatchedJournal(folder) for number, folder in enumerate(journals)}
    viewed = Histories().of(watched)["causes"]
    assert [each["kind"] for each in viewed] == ["new", "back", "gone"]
    for row, each in zip(rows, viewed, strict=True):
        assert all(str(part) in row for part in (each["kind"], each["shares"], each["id"]))
    assert section[1].count('class="worse"') == 2
    assert "<b>" not in section[1]


def test_the_command_shows_them(journals: list[Path]) -> None:
    history = ["history", *map(str, journals)]
    shown = CliRunner().invoke(viva, history, env={"COLUMNS": "140"})
    assert shown.exit_code == 0, shown.stderr
    words = " ".join(shown.stdout.split())
    for change in ("│ 0 of 25→7 of 25 │ new", "│ 0 of 25→6 of 25 │ back", "│ 8 of 25→0 of 25 │ gone"):
        assert change in words
    assert "same" not in words
    told = json.loads(CliRunner().invoke(viva, [*history, "--json"]).stdout)["causes"]
    assert {tuple(point["found"] for point in each["points"]): each["kind"] for each in told} == ALL
    assert told[0]["points"][2]["share"] == 0.28
