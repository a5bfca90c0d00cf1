"""Behind a verdict, the page has what the judge answered: folded, harmless, and with the command for the rest."""

from __future__ import annotations

import json
from pathlib import Path

from tests.viva.reports.browser import Browser
from tests.viva.reports.made import HOSTILE, write_run
from tests.viva.reports.test_page import check_harmless, write_page
from viva.exam.judging.exchanges import EXCHANGE
from viva.journal.reader import read_records
from viva.journal.writer import Journal, scan
from viva.records.exchange.exchanges import Exchange, RequestMessage
from viva.records.exchange.packing import pack

BAD = "".join(HOSTILE)


def journal_of(tmp_path: Path, *answers: str) -> tuple[Path, str]:
    """A journal whose judge answered these about its one point, and the id of its run."""
    folder = tmp_path / "journal"
    with Journal(folder) as journal:
        run = write_run(journal, hits=(False,))
        (record,) = read_records(folder)
        point = record.insights[0].verdicts[0].criterion
        messages = (RequestMessage("system", ("Judge.",)), RequestMessage("user", ("Does it speak?",)))
        asked = [
            Exchange("scoring_points", run, point, "m", messages, answer=answer, vote=number)
            for number, answer in enumerate(answers, 1)
        ]
        journal.append(EXCHANGE, run, 1, pack(asked, [])[0])
    return folder, run


def test_the_answers_are_folded_and_the_command_is_beside_them(tmp_path: Path, browser: Browser) -> None:
    folder, run = journal_of(tmp_path, "It says nothing.", "It is silent.")
    browser.go(write_page(folder), "#run-0")
    assert browser.run("return document.querySelector('.asked').open") is False
    browser.run("document.querySelector('.asked').open = true")
    shown = browser.run("return document.querySelector('.asked').innerText")
    for words in ("It says nothing.", "It is silent.", "vote 2", f"#{run}' --judge "):
        assert words in shown
    assert browser.complaints() == []


def test_hostile_answers_become_no_markup(tmp_path: Path, browser: Browser) -> None:
    folder, _ = journal_of(tmp_path, BAD)
    browser.go(write_page(folder), "#run-0")
    browser.run("document.querySelector('.asked').open = true")
    check_harmless(browser)
    assert browser.complaints() == []


def test_long_and_many_answers_do_not_fill_the_page(tmp_path: Path) -> None:
    small = write_page(journal_of(tmp_path / "small", "No.")[0]).stat().st_size
    folder, _ = journal_of(tmp_path / "many", *("No. " * 5_000 + str(number) for number in range(200)))
    many = write_page(folder)
    assert many.stat().st_size < small + 60_000


def test_a_damaged_exchange_leaves_the_rest_of_the_page(tmp_path: Path) -> None:
    folder, run = journal_of(tmp_path, "No.")
    (event,) = [each for each in scan(folder) if each.kind == EXCHANGE]
    with Journal(folder) as journal:
        journal.append_encoded(EXCHANGE, run, 1, json.dumps({**event.data, "content": "~"}).encode())
    text = write_page(folder).read_text()
    assert "The agent answers rightly." in text
    assert '"asked"' not in text
