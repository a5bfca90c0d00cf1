"""Points of a run with one identical reason are one row; the page lists the agent's files and how to print the run."""

from __future__ import annotations

import shlex
from pathlib import Path
from xml.etree import ElementTree

from tests.viva.conftest import Desk, point
from tests.viva.reports.browser import Browser
from tests.viva.reports.test_page import write_page
from viva.journal.reader import read_records, read_runs
from viva.records.verdict import Evidence, Verdict
from viva.reports.page import left_files
from viva.reports.same_reasons import joined, statement_of

AGENT = "def get_reply_from_agent(self, message):\n    {}\n    return 'no'"
SAME = "assert rounds[0]['agent'] == 'yes', 'it never says yes'"


def verdict(criterion: str, reason: str = "No.", score: float = 0.0, **more: object) -> Verdict:
    return Verdict("run", criterion, "miss", score, reason=reason, statement=f"It {criterion}.", **more)  # type: ignore[arg-type]


def test_only_points_that_nothing_else_tells_apart_are_joined() -> None:
    quoted = Evidence("r1", "no")
    verdicts = [
        *(verdict("p1"), verdict("p2", "Other."), verdict("p3"), verdict("p4", by="model"), verdict("p5", score=1.0)),
        *(verdict("p6", score=1.0), verdict("p7", ""), verdict("p8", ""), verdict("p9", evidence=(quoted,))),
        *(verdict("p10", "Broke.", fault="judge"), verdict("p11", "Broke.", fault="examiner")),
    ]
    groups = [[each.criterion for each in group] for group in joined(verdicts)]
    assert groups == [["p1", "p3"], ["p2"], ["p4"], ["p5"], ["p6"], ["p7"], ["p8"], ["p9"], ["p10"], ["p11"]]
    assert statement_of(joined(verdicts)[0]) == "p1, p3: It p1.; It p3."
    assert statement_of(joined(verdicts)[1]) == "It p2."


def missed_suite(desk: Desk) -> None:
    points = [point(SAME, f"It does {name}.") for name in ("this", "that")] + [point("assert rounds", "It speaks.")]
    desk.run(desk.case(scoring_points=points), "--agent", desk.agent(AGENT.format("pass")))


def test_a_reason_is_shown_once_on_the_console_and_in_markdown(desk: Desk) -> None:
    missed_suite(desk)
    shown = desk.viva("report", f"journal#{first_run(desk.folder / 'journal')}", expect=0).stdout
    for text in (shown, desk.viva("report", "journal", "--format", "markdown", expect=0).stdout):
        assert text.count("it never says yes") == 1, text
    assert "It does this.; It does that." in desk.viva("report", "journal", "--format", "markdown").stdout


def first_run(journal: Path) -> str:
    return next(iter(read_records(journal))).id


def test_a_reason_is_shown_once_on_the_page_with_each_statement(desk: Desk, browser: Browser) -> None:
    missed_suite(desk)
    browser.go(write_page(desk.folder / "journal"), "#run-0")
    rows = browser.run(
        "return Array.from(document.querySelectorAll('.points > li'), (n) =>"
        " [n.querySelector('.weight').textContent, Array.from(n.querySelectorAll('.statement'), (s) => s.textContent)])"
    )
    assert rows == [["weight 2", ["It does this.", "It does that."]], ["weight 1", ["It speaks."]]]
    assert browser.complaints() == []


def test_the_page_lists_the_files_that_the_agent_left_and_prints_the_command(desk: Desk, browser: Browser) -> None:
    hostile = "<img src=x onerror=alert(1)>\x1b[31m\u202egpj.exe"
    lines = (
        f"here = self.workspace; Path(here, {hostile!r}).write_text('12345'); Path(here, 'sub').mkdir(exist_ok=True); "
        "Path(here, 'sub/b.txt').write_text('x'); Path(here, 'link').symlink_to('/etc/passwd')"
    )
    desk.run(desk.case(), "--agent", desk.agent(AGENT.format(lines)))
    browser.go(write_page(desk.folder / "journal"), "#run-0")
    files = browser.run(
        "return Array.from(document.querySelectorAll('.files dt'), (n) => [n.textContent, n.nextSibling.textContent])"
    )
    assert files == [["<img src=x onerror=alert(1)>\\x1b[31m\\u202egpj.exe", "5 bytes"], ["sub/b.txt", "1 byte"]]
    assert browser.complaints() == []
    words = shlex.split(browser.run("return document.querySelector('.command').textContent"))
    assert words[:2] == ["viva", "replay"]
    assert words[2].endswith(f"journal#{first_run(desk.folder / 'journal')}")
    assert "Stopped" in browser.run("return document.getElementById('run').textContent")
    assert desk.viva(*words[1:], expect=0).stdout


def test_the_command_is_quoted_for_a_shell(desk: Desk, browser: Browser) -> None:
    desk.viva("run", desk.case(), "--sandbox", "process", "--out", "it's $(mine)", expect=0)
    browser.go(write_page(desk.folder / "it's $(mine)"), "#run-0")
    words = shlex.split(browser.run("return document.querySelector('.command').textContent"))
    assert words[2].rpartition("#")[0].endswith("it's $(mine)")


def test_many_files_are_counted(desk: Desk) -> None:
    lines = f"[Path(self.workspace, f'{{n:03}}').touch() for n in range({left_files.MOST_FILES + 3})]"
    desk.run(desk.case(), "--agent", desk.agent(AGENT.format(lines)))
    (stored,) = read_runs(desk.folder / "journal")
    found = left_files.left_files(stored)
    assert len(found) == left_files.MOST_FILES + 1
    assert found[0] == ("000", "0 bytes")
    assert found[-1] == ("… 3 more files", "")


def test_junit_has_the_cases_in_their_order_whatever_ended_first(desk: Desk) -> None:
    for name in ("task 10", "task 2", "task 1"):
        desk.case(name)
    desk.viva("suite", "task 10", "task 2", "task 1", "--trials", "2", "--sandbox", "process", "--out", "journal")
    root = ElementTree.fromstring(desk.viva("report", "journal", "--format", "junit", expect=0).stdout)
    names = [each.get("name") for each in root.iter("testcase")]
    assert names == [f"task {n} (trial {trial})" for n in (1, 2, 10) for trial in (1, 2)]
