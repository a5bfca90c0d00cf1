"""The page leads with who is ahead and with what fails: failures first, identical ones once, reasons as they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.viva.reports.browser import Browser
from tests.viva.reports.made import write_run
from tests.viva.reports.test_page import check_harmless, write_page
from viva.journal.reader import read_records
from viva.journal.writer import Journal
from viva.records.run_record import Outcome
from viva.records.verdict import Insight, Verdict
from viva.reports.facts import Standing
from viva.reports.page import report as page
from viva.reports.page.failures import MOST_REASONS, Failures, misses
from viva.reports.page.lead import Lead, lead_of
from viva.statistics.summary import summarize

SPACES = "AssertionError: expected 'a b', got 'a  b' (line 3 of the check)"


def lead(folder: Path, **hits: Sequence[bool]) -> Lead | None:
    """Write one case for each value of each agent; gives what the page says of them."""
    with Journal(folder) as journal:
        for agent, each in hits.items():
            for number, hit in enumerate(each):
                write_run(journal, f"c{number}", f"x:{agent}", hits=(hit,))
    return lead_of(summarize(read_records(folder)), {f"x:{agent}": agent for agent in hits})


def test_an_agent_is_ahead_only_if_the_interval_of_the_difference_excludes_zero(tmp_path: Path) -> None:
    clear = lead(tmp_path / "clear", B=(False,) * 10, A=(True,) * 10, C=(False,) * 10)
    assert clear is not None
    assert clear.headline == "A is ahead"
    assert clear.detail.startswith("1.00 against 0.00 of B, a difference of +1.00 over 10 cases (95 % interval +")
    close = lead(tmp_path / "close", A=(True, False) * 5, B=(True, False) * 4 + (False, False))
    assert close is not None
    assert close.headline == "No agent is clearly ahead"
    assert close.detail.endswith(": no significant difference.")


def test_few_cases_and_equal_scores_make_no_lead(tmp_path: Path) -> None:
    few = lead(tmp_path / "few", A=(True,) * 3, B=(False,) * 3)
    assert few is not None
    assert few.headline == "A has the highest score"
    assert "intervals need at least 5 cases" in few.detail
    level = lead(tmp_path / "level", A=(True,) * 5, B=(True,) * 5)
    assert level == Lead("A and B are tied", "1.00 each over 5 cases.")
    assert lead(tmp_path / "one", A=(True,) * 5) is None


def test_agents_are_compared_over_the_cases_that_both_have(tmp_path: Path) -> None:
    # Over all its cases A has the higher score, because it was spared those that B missed.
    found = lead(tmp_path / "j", A=(True,) * 4 + (False,) * 2, B=(True,) * 6 + (False,) * 6)
    assert found is not None
    assert found.detail.startswith("B has 1.00 against 0.67 of A, a difference of +0.33 over 6 cases")


def test_identical_failures_stand_once_and_those_of_most_runs_first(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        for trial in range(1, 4):
            write_run(journal, "often", trial=trial, hits=(False,), reason="AssertionError: same (line 1 of the check)")
        write_run(journal, "once", hits=(False,), statement="It is short.", reason="AssertionError: other")
        write_run(journal, "fine")
    browser.go(write_page(tmp_path))
    rows = browser.run("return Array.from(document.querySelectorAll('.failures tbody tr'), (row) => row.innerText)")
    assert len(rows) == 2
    words = re.sub("id [0-9a-f]{8}", "id X", " ".join(rows[0].split()))
    assert words == (
        "3 of 3 often The agent answers rightly. 75% of the runs with a miss, id X AssertionError: same "
        "(line 1 of the check) one of 3 runs"
    )
    assert rows[1].split()[:4] == ["1", "of", "1", "once"]
    order = "return Array.from(document.querySelectorAll('#overview section h2'), (n) => n.innerText)"
    titles = browser.run(order)
    assert titles.index("What fails") < titles.index("Cases") < titles.index("Runs")
    browser.click(".failures tbody a")
    browser.until("document.querySelector('#run h1')?.textContent === 'often'")


def test_whoever_opens_a_run_from_what_fails_comes_back_there(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "a", hits=(False,))
        write_run(journal, "b")
    browser.go(write_page(tmp_path))
    browser.type(".failures a", "\ue007")  # Enter
    browser.until("document.activeElement.tagName === 'H1'")
    browser.press("Escape")
    browser.until("document.activeElement.closest('.failures') !== null")


def test_one_error_in_several_cases_and_what_other_evaluators_miss_are_one_failure_each(
    tmp_path: Path, browser: Browser
) -> None:
    with Journal(tmp_path) as journal:
        for number, case in enumerate("abc"):
            write_run(
                journal, case, outcome=Outcome.TARGET_ERROR, hits=(False,), error=f"no reply within {number + 3} s"
            )
        write_run(journal, "d", outcome=Outcome.INFRA_ERROR, error="the sandbox is gone")
    browser.go(write_page(tmp_path))
    rows = browser.run("return Array.from(document.querySelectorAll('.failures tbody tr'), (row) => row.innerText)")
    assert [" ".join(row.split()) for row in rows] == [
        "3 target error a, b, c no reply within 3 s one of 3 runs",
        "1 infra error d the sandbox is gone the run",
    ]


def test_many_distinct_reasons_are_folded_and_the_rest_is_counted(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        for trial in range(1, MOST_REASONS + 3):
            write_run(journal, trial=trial, hits=(False,), reason=f"reason {trial}")
    browser.go(write_page(tmp_path))
    assert browser.run("return document.querySelectorAll('.failures .cause').length") == MOST_REASONS
    assert browser.run("return document.querySelector('.failures summary').innerText") == "5 more reasons"
    assert "2 runs have other reasons" in browser.run("return document.querySelector('.failures').innerText")


def test_failed_runs_come_first_with_their_reasons_and_passed_runs_last(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "passed")
        write_run(journal, "excluded", outcome=Outcome.JUDGE_ERROR, error="no verdict")
        write_run(journal, "failed", hits=(True, False, False), reason=SPACES, statement="It says a b.")
    browser.go(write_page(tmp_path))
    cases = "return Array.from(document.querySelectorAll('#rows tr'), (row) => row.cells[0].innerText)"
    assert browser.run(cases) == ["failed", "excluded", "passed"]
    why = "return document.querySelector('#rows .why').innerText"
    assert browser.run(why).split("\n") == ["It says a b. and 1 more", SPACES.removesuffix(" (line 3 of the check)")]
    browser.run("const f = document.getElementById('order'); f.value = 'number'; f.dispatchEvent(new Event('change'))")
    assert browser.run(cases) == ["passed", "excluded", "failed"]
    browser.click("#rows tr:nth-child(3) a")
    browser.until("document.querySelector('#run h1')?.textContent === 'failed'")


def test_on_a_phone_the_reasons_are_there_and_nothing_overflows(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        for agent in ("x:One", "x:Two"):
            for case in ("a_case_with_a_name_that_is_long_enough_to_be_wider_than_a_phone", "b"):
                write_run(journal, case, agent, hits=(False,), reason=SPACES + "x" * 300, isolates=False)
    target = write_page(tmp_path)
    browser.width(390)
    try:
        for fragment in ("", "#run-0"):
            browser.go(target, fragment)
            assert browser.run("return document.documentElement.scrollWidth") == 390
            seen = "return document.querySelector('main:not([hidden]) .reason').getBoundingClientRect().width"
            assert 200 < browser.run(seen) < 390
        browser.go(target)
        assert browser.run("return document.querySelector('#rows .why').offsetParent !== null")
    finally:
        browser.width(1280)


@pytest.mark.parametrize("width", [1400, 390])
def test_long_names_of_agents_fit_beside_the_reasons(tmp_path: Path, browser: Browser, width: int) -> None:
    with Journal(tmp_path) as journal:
        for number in range(2):
            write_run(journal, agent=f"x:{'long_name_of_an_agent' * 3}{number}", hits=(False,), reason="w" * 300)
    browser.width(width)
    try:
        browser.go(write_page(tmp_path))
        beyond = "const box = document.querySelector('.failures').parentNode; return box.scrollWidth - box.clientWidth"
        assert browser.run(beyond) == 0
    finally:
        browser.width(1280)


def test_reasons_are_in_monospace_with_every_space_and_the_difference_marked(tmp_path: Path, browser: Browser) -> None:
    plain = "AssertionError: a\n\n  b   c (line 2 of the check)"
    with Journal(tmp_path) as journal:
        write_run(journal, "plain", hits=(False,), reason=plain)
        write_run(journal, "compared", hits=(False,), reason=SPACES)
    target = write_page(tmp_path)
    browser.go(target)
    style = "const s = getComputedStyle(document.querySelector('main:not([hidden]) {}'));"
    style += "return [s.fontFamily.includes('monospace'), s.whiteSpace]"
    for selector in (".failures .reason", "#rows .reason"):
        assert browser.run(style.format(selector)) == [True, "pre-wrap"]
    assert plain in browser.run("return Array.from(document.querySelectorAll('.reason'), (n) => n.textContent)")
    for place in ("", "#run-1"):
        browser.go(target, place)
        assert browser.run(style.format(".value")) == [True, "pre-wrap"]
        within = "document.querySelector('main:not([hidden]) .versus')"
        sides = browser.run(f"return Array.from({within}.querySelectorAll('.value'), (n) => n.textContent)")
        assert sides == ["'a b'", "'a  b'"]
        assert browser.run(f"return Array.from({within}.querySelectorAll('.label'), (n) => n.textContent)") == [
            "expected", "got",
        ]  # fmt: skip
        assert browser.run(f"return Array.from({within}.querySelectorAll('.differs'), (n) => n.textContent)") == [" "]
        shown = browser.run("return document.querySelector('main:not([hidden]) .reason:has(.versus)').innerText")
        assert "They differ in white space only." in shown
    browser.go(target, "#run-0")
    assert browser.run(style.format(".points .reason")) == [True, "pre-wrap"]
    assert browser.run("return document.querySelector('.points .reason').textContent") == plain


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hostile_reasons_that_compare_become_no_markup(tmp_path: Path, browser: Browser, scheme: str) -> None:
    bad = "<img src=x onerror=alert(1)>"
    with Journal(tmp_path) as journal:
        for reason in (f"{bad} != {bad}</script><script>alert(1)", f"expected {bad}, got <b>\u202e"):
            write_run(journal, bad, agent=f"x:{bad}", hits=(False,), reason=reason, statement=bad)
            write_run(journal, bad, agent="x:y", hits=(False,), reason=reason, statement=bad)
    browser.scheme(scheme)
    for fragment in ("", "#run-1"):
        browser.go(write_page(tmp_path), fragment)
        assert bad in check_harmless(browser)
    assert browser.complaints() == []
    browser.scheme("light")


def test_criteria_of_other_evaluators_are_grouped_over_all_cases(tmp_path: Path, browser: Browser) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "first")
    insight = Insight("reward", "", "recorded", 0.0)
    (record,) = read_records(tmp_path)
    with Journal(tmp_path / "j") as journal:
        for case in ("a", "b", "c"):
            verdict = Verdict(case, "reward", "recorded", 0.0, reason="the reward in the recording")
            insights = (replace(insight, subject=case, verdicts=(verdict,)),)
            setting = replace(record.setting, case=case, evaluators=("reward",))
            made = replace(record, id=case, subject=case, score=0.0, low=0.0, insights=insights, setting=setting)
            journal.append("setting", case, 1, setting)
            journal.append("run", case, 1, made)
    browser.go(write_page(tmp_path / "j"))
    rows = browser.run("return Array.from(document.querySelectorAll('.failures tbody tr'), (row) => row.innerText)")
    assert [re.sub("id [0-9a-f]{8}", "id X", " ".join(row.split())) for row in rows] == [
        "3 of 3 a, b, c reward 100% of the runs with a miss, id X the reward in the recording one of 3 runs"
    ]


def test_a_large_suite_shows_a_limited_number_of_failures_and_says_so(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for case in range(page.MOST_FAILURES + 5):
            write_run(
                journal, f"case {case}", hits=(False,), statement=f"Zq{case:07b}o.".translate(str.maketrans("01", "kv"))
            )
    target = write_page(tmp_path)
    text = target.read_text(encoding="utf-8")
    table = text.partition('<table class="failures">')[2].partition("</table>")[0]
    assert table.count("<tr>") == 1 + page.MOST_FAILURES
    assert "5 more not shown here; see the table of runs" in text


def test_a_score_without_verdicts_is_a_failure_and_what_was_not_judged_is_none(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        write_run(journal, "a")
    (record,) = read_records(tmp_path)
    graded = Insight("my_grade", record.id, "poor", 0.4, summary="Too long.")
    setting = replace(record.setting, evaluators=("my_grade",))
    (miss,) = misses(replace(record, insights=(graded,), setting=setting))
    assert miss == ("my grade", "", "Too long.")
    skipped = Verdict(record.id, "my_grade", "skipped", None, reason="no thought")
    assert misses(replace(record, insights=(replace(graded, verdicts=(skipped,)),), setting=setting)) == []


def test_a_point_with_the_same_words_in_several_cases_is_one_failure(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for case in ("a", "b"):
            write_run(journal, case, hits=(False,), reason="No.")
        write_run(journal, "c", hits=(False,), statement="Another point.", reason="No.")
    failures = Failures()
    for row, record in enumerate(read_records(tmp_path)):
        failures.add(row, record, Standing.FAILED)
    failures.group(summarize(read_records(tmp_path)))
    found = [
        (each.statement, dict(each.cases), [(one.text, one.runs) for one in each.commonest]) for each in failures.worst
    ]
    assert found == [
        ("The agent answers rightly.", {"a": 1, "b": 1}, [("No.", 2)]),
        ("Another point.", {"c": 1}, [("No.", 1)]),
    ]
