"""The page of one run: its task, misses before hits with their checks, long conversations folded to their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.viva.conftest import Desk, point
from tests.viva.reports.browser import Browser
from tests.viva.reports.made import HOSTILE, write_run
from tests.viva.reports.test_page import PALE, check_harmless, write_page
from viva.journal.reader import read_records
from viva.journal.writer import Journal
from viva.records.transcript import Round, Step
from viva.records.verdict import Evidence, Insight, Verdict

FOLDED = "return Array.from(document.querySelectorAll('.folded > summary'), (n) => n.textContent)"


def open_run(browser: Browser, journal: Path) -> str:
    browser.go(write_page(journal), "#run-0")
    text: str = browser.run("return document.getElementById('run').innerText")
    return text


def test_the_task_and_the_failing_line_of_the_check_stand_beside_the_miss(desk: Desk, browser: Browser) -> None:
    code = 'reply = rounds[0]["agent"]\n\nassert reply ==   "yes", f"expected yes, got {reply}"'
    case = desk.case(task_description="Ask for\n  a yes.", scoring_points=[point(code), point("assert rounds")])
    agent = desk.agent("def get_reply_from_agent(self, message):\n    return 'no'")
    desk.run(case, "--agent", agent)
    desk.run(case, "--agent", agent, "--out", "second", out=None)
    open_run(browser, desk.folder / "journal")
    assert browser.run("return document.querySelector('.task .text').textContent") == "Ask for\n  a yes."
    assert browser.run("return document.querySelector('.task').open")
    opened = "[n.open, n.querySelector('.source').textContent]"
    checks = f"return Array.from(document.querySelectorAll('.check'), (n) => {opened})"
    assert browser.run(checks) == [[True, code + "\n"], [False, "assert rounds\n"]]
    assert browser.run("return document.querySelector('.source .at').textContent") == code.splitlines()[2] + "\n"
    assert browser.run("return Array.from(document.querySelectorAll('.versus .value'), (n) => n.textContent)") == [
        "yes", "no",
    ]  # fmt: skip


def test_the_task_and_the_checks_are_on_the_page_once_for_all_runs_of_a_case(desk: Desk) -> None:
    case = desk.case(task_description="A task that is told once.", scoring_points=[point("assert rounds, 'told once'")])
    desk.viva("suite", case, "--trials", "4", "--sandbox", "process", "--out", "journal", expect=0)
    text = write_page(desk.folder / "journal").read_text(encoding="utf-8")
    assert text.count("A task that is told once.") == 1
    assert text.count("told once'") == 1


@pytest.mark.parametrize("damage", ["", "{", '{"name": 3}', "[" * 100_000])
def test_a_case_that_the_journal_lost_leaves_the_rest_of_the_page(desk: Desk, browser: Browser, damage: str) -> None:
    desk.run(desk.case())
    (stored,) = (desk.folder / "journal" / "cases").iterdir()
    stored.unlink()
    if damage:
        stored.write_text(damage)
    text = open_run(browser, desk.folder / "journal")
    assert "It speaks." in text
    assert browser.run("return document.querySelectorAll('.task, .check').length") == 0
    assert browser.complaints() == []


def test_hostile_tasks_and_checks_become_no_markup(desk: Desk, browser: Browser) -> None:
    bad = "".join(text for text in HOSTILE if text.isprintable())
    code = f"assert False, {bad!r}  # {bad}"
    desk.run(desk.case(task_description=bad, scoring_points=[point(code, bad), point("assert rounds", "</script>")]))
    browser.complaints()
    browser.go(write_page(desk.folder / "journal"), "#run-0")
    text = check_harmless(browser)
    assert text.count("<script>alert(1)</script>") >= 3
    assert browser.complaints() == []


def test_misses_stand_before_hits_and_many_hits_are_folded(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "few", hits=(True, False, True))
        write_run(journal, "many", hits=(*[True] * 9, False))
    target = write_page(tmp_path)
    browser.go(target, "#run-0")
    labels = "return Array.from(document.querySelectorAll('.points .chip'), (n) => n.textContent)"
    assert browser.run(labels) == ["miss", "hit", "hit"]
    browser.go(target, "#run-1")
    assert browser.run(labels) == ["miss", *["hit"] * 9]
    assert browser.run("return document.querySelector('.rest summary').textContent") == "hit (9)"
    assert not browser.run("return document.querySelector('.rest details').open")


def test_the_score_of_a_run_stands_once(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, hits=(True, False, False))
    text = open_run(browser, tmp_path)
    assert text.count("1/3 = 0.33") == 1
    assert text.count("0.33") == 1
    assert "of 3 points" not in text


def long_run(folder: Path, *verdicts: Verdict, rounds: int = 40, steps: Sequence[Step] = ()) -> Path:
    said = [f"reply {number}" for number in range(1, rounds + 1)]
    with Journal(folder) as journal:
        run = write_run(journal, said=said, hits=(False,), evidence=(), steps=steps)
        insight = Insight("more", run, "judged", 0.0, verdicts=verdicts)
        journal.append("insight", run, 1, insight)
    (record,) = read_records(folder)
    changed = replace(record, insights=(*record.insights, insight))
    with Journal(folder) as journal:
        journal.append("run", run, 1, changed)
    return folder


def verdict(reason: str = "", *evidence: Evidence) -> Verdict:
    return Verdict("a-case", "p", "miss", 0.0, reason=reason, evidence=evidence, statement="So.")


def test_a_long_conversation_is_folded_to_its_first_last_and_quoted_rounds(tmp_path: Path, browser: Browser) -> None:
    quoted, named = verdict("No.", Evidence("r20", "reply 20")), verdict("AssertionError: round 30: reply 30")
    open_run(browser, long_run(tmp_path, quoted, named))
    assert browser.run(FOLDED) == [
        "Rounds 2 to 19: 18 without a verdict",
        "Rounds 21 to 29: 9 without a verdict",
        "Rounds 31 to 39: 9 without a verdict",
    ]
    visible = (
        "return Array.from(document.querySelectorAll('.round')).filter((n) => n.checkVisibility()).map((n) => n.id)"
    )
    assert browser.run(visible) == ["round-1", "round-20", "round-30", "round-40"]
    links = browser.run("return Array.from(document.querySelectorAll('.jumps button'), (n) => n.textContent)")
    assert links == ["20", "30"]
    browser.click(".jumps button:nth-of-type(2)")
    assert 0 <= browser.run("return document.getElementById('round-30').getBoundingClientRect().top") < 60
    browser.click(".folded > summary")
    assert len(browser.run(visible)) == 22


def test_a_reason_links_to_the_round_that_it_names(tmp_path: Path, browser: Browser) -> None:
    named = verdict("AssertionError: round 30: reply 30; and round 99 never was")
    open_run(browser, long_run(tmp_path, named))
    links = "return Array.from(document.querySelectorAll('.points .link'), (n) => n.textContent)"
    assert browser.run(links) == ["round 30"], "a round that the run does not have is no link"
    browser.click(".points .link")
    assert 0 <= browser.run("return document.getElementById('round-30').getBoundingClientRect().top") < 60


def test_a_short_conversation_is_shown_whole(tmp_path: Path, browser: Browser) -> None:
    open_run(browser, long_run(tmp_path, rounds=12))
    assert browser.run(FOLDED) == []
    assert browser.run("return document.querySelectorAll('.round').length") == 12


def test_the_arrow_keys_open_the_fold_that_they_come_to(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        run = write_run(journal, said=[f"reply {n}" for n in range(1, 31)], evidence=())
        journal.append("round", run, 1, Round(31, "?", "!", (Step("s31", tool="search", result="x"),)))
        journal.append("round", run, 1, Round(32, "?", "!", (Step("s32", tool="search", result="x"),)))
        journal.append("round", run, 1, Round(33, "?", "!"))
    open_run(browser, tmp_path)
    assert len(browser.run(FOLDED)) == 1
    browser.press("ArrowRight")
    browser.press("ArrowLeft", 3)
    assert browser.run("return document.querySelector('.current').dataset.id") == "s31"
    assert browser.run("return document.querySelector('.current').checkVisibility()")


def test_compared_values_and_checks_stand_out_in_both_colour_schemes(desk: Desk, browser: Browser) -> None:
    code = 'said = rounds[0]["agent"]\nassert said == "a b", f"expected a b, got {said}"'
    agent = desk.agent("def get_reply_from_agent(self, message):\n    return 'a  b c'")
    desk.viva(
        "suite", desk.case(scoring_points=[point(code), point("assert rounds")]), "--agent", agent, "--trials", "2",
        "--sandbox", "process", "--out", "journal", expect=0,
    )  # fmt: skip
    target = write_page(desk.folder / "journal")
    for scheme in ("light", "dark"):
        browser.scheme(scheme)
        for fragment in ("", "#run-0"):
            browser.go(target, fragment)
            assert browser.run("return document.querySelectorAll('main:not([hidden]) .differs').length") >= 1
            assert browser.run(PALE)[1] == [], (scheme, fragment)
    browser.scheme("light")


def test_everything_that_can_be_opened_is_reached_by_the_keyboard(desk: Desk, browser: Browser) -> None:
    desk.run(desk.case(scoring_points=[point("assert False, 'x'")]))
    open_run(browser, desk.folder / "journal")
    unreachable = (
        "return Array.from(document.querySelectorAll('#run summary, #run button, #run .source'))"
        ".filter((n) => n.tabIndex < 0).length"
    )
    assert browser.run(unreachable) == 0
