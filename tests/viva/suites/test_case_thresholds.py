"""A case with a threshold of its own passes by that, wherever a report says who passed, and keeps it with its runs."""

from __future__ import annotations

import json

import pytest

from tests.viva.conftest import Desk
from viva.pytest_plugin.text import headline
from viva.records.run_record import Outcome, RunRecord, Setting

SHOP = """
defaults:
  script: [Hello.]
  scoring_points:
    - check: {contains: Hello}
    - check: {contains: Goodbye}
cases:
  above: {threshold: 0.6}
  none: {}
  own: {threshold: THRESHOLD}
"""
GREETER = "def get_reply_from_agent(self, message):\n    return 'Hello.'"


@pytest.fixture
def judged(desk: Desk) -> Desk:
    """A journal of three cases that score 0.5 each."""
    (desk.folder / "shop.yaml").write_text(SHOP.replace("THRESHOLD", "0.5"))
    agent = desk.agent(GREETER)
    desk.viva("suite", "shop.yaml", "--agent", agent, "--sandbox", "process", "--out", "a", expect=0)
    return desk


def standings(desk: Desk, journal: str = "a", *more: str) -> dict[str, str]:
    """Who passed, as the JSON report says."""
    found = desk.viva("report", journal, *more, "--format", "json", expect=0)
    return {run["subject"].partition("#")[2]: run["standing"] for run in json.loads(found.stdout)["runs"]}


def test_a_case_passes_by_its_own_threshold_and_others_by_the_given_one(judged: Desk) -> None:
    assert standings(judged) == {"above": "failed", "none": "failed", "own": "passed"}
    assert standings(judged, "a", "--threshold", "0.5") == {"above": "failed", "none": "passed", "own": "passed"}
    figures = json.loads(judged.viva("report", "a", "--format", "json").stdout)["figures"]
    assert (figures["suite"]["passes"], figures["own_thresholds"]) == (1, 2)
    assert [cell["passes"] for cell in figures["cells"]] == [0, 0, 1]
    listed = judged.viva("report", "a", "--where", "passed=yes", "--format", "json")
    assert [run["subject"] for run in json.loads(listed.stdout)["runs"]] == ["shop#own"]


def test_reports_say_that_cases_have_thresholds_of_their_own(judged: Desk) -> None:
    words = "1, or of their case (2 runs)"
    for form in ("console", "markdown", "html"):
        done = judged.viva("report", "a", *(() if form == "console" else ("--format", form, "--out", form)), expect=0)
        text = done.stdout if form == "console" else (judged.folder / form).read_text()
        assert words in " ".join(text.split()), form
    junit = judged.viva("report", "a", "--format", "junit").stdout
    assert (junit.count("[[PROPERTY|threshold=0.5]]"), junit.count('type="below_threshold"')) == (1, 2)
    assert ", or that of its case" in judged.viva("compare", "a", "a", expect=0).stdout


def test_a_later_change_of_the_case_changes_no_old_result(judged: Desk) -> None:
    (judged.folder / "shop.yaml").write_text(SHOP.replace("THRESHOLD", "0.9"))
    assert standings(judged)["own"] == "passed"
    judged.viva("judge", "a", "--out", "same", expect=0)
    assert standings(judged, "same")["own"] == "passed"
    judged.viva("judge", "a", "--case", "shop.yaml#own", "--where", "case=shop#own", "--out", "changed", expect=0)
    assert standings(judged, "changed") == {"own": "failed"}


def test_the_journal_of_a_case_without_a_threshold_is_as_before(judged: Desk) -> None:
    report = json.loads(judged.viva("report", "a", "--format", "json").stdout)
    assert {run["subject"]: run["setting"].get("threshold") for run in report["runs"]} == {
        "shop#above": 0.6,
        "shop#none": None,
        "shop#own": 0.5,
    }
    lines = (judged.folder / "a" / "journal.jsonl").read_text()
    assert lines.count('"threshold"') == 4  # the setting and the record of two runs


def test_one_run_says_from_which_score_it_passes(judged: Desk) -> None:
    done = judged.viva("run", "shop.yaml#own", "--agent", "agent.py:Agent", "--sandbox", "process", "--out", "b")
    assert "0.5, the threshold of the case" in done.stdout


@pytest.mark.parametrize(
    ("own", "words"), [(None, "below the threshold of 1"), (0.9, "below the case's threshold of 0.9")]
)
def test_pytest_says_which_threshold_was_missed(own: float | None, words: str) -> None:
    record = RunRecord("r", "c", "a", Outcome.SCORED, 0.5, low=0.5, setting=Setting(threshold=own))
    assert headline(record, 1.0).endswith(words)
    assert "below" not in headline(record, 0.5) or own is not None
