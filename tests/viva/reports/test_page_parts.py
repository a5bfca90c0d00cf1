"""A page that would be too large has parts beside it, and reads as if it were one file."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.viva.reports.browser import Browser
from tests.viva.reports.made import HOSTILE, write_run
from tests.viva.reports.test_page import write_page
from viva.cli.group import viva
from viva.journal.writer import Journal
from viva.records.transcript import Step
from viva.reports.page import page_parts, report
from viva.reports.page.page_files import sweep
from viva.reports.page.page_parts import _in_quotes, _pieces, plain_bytes

RUNS = 12
SHOWN = "return document.getElementById('run').innerText"


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("parts") / "j"
    with Journal(folder) as opened:
        for number in range(RUNS):
            said = (*HOSTILE[number::RUNS], f"needle{number} 'quoted' \\u0041 \\' ä 𝄞", "x" * 3000)
            write_run(opened, f"case {number}", said=said, steps=[Step("s", tool="t", result="\\'" * 400)])
    return folder


def divide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the limits be so small that a small journal exceeds them."""
    monkeypatch.setattr(page_parts, "MOST_INLINE", 4_000)
    monkeypatch.setattr(page_parts, "MOST_PART", 3_000)
    monkeypatch.setattr(report, "MOST_ROW_BYTES", 2_000)
    monkeypatch.setattr(report, "ROWS_SHOWN", 3)


def test_a_small_journal_is_one_file_and_nothing_else(journal: Path, tmp_path: Path) -> None:
    shutil.copytree(journal, tmp_path / "j")
    text = write_page(tmp_path / "j").read_text("utf-8")
    assert not (tmp_path / "j" / "report_files").exists()
    assert "strict-dynamic" not in text
    assert "no external resources" in text


def test_a_page_in_parts_shows_and_finds_what_a_page_in_one_file_does(
    journal: Path, tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(journal, tmp_path / "j")
    whole = write_page(tmp_path / "j").rename(tmp_path / "j" / "whole.html")
    divide(monkeypatch)
    target = write_page(tmp_path / "j")
    parts = sorted((tmp_path / "j" / "report_files").iterdir())
    assert len(parts) > RUNS
    assert max(part.stat().st_size for part in parts) < 3_200
    # A folder can be moved, and its name may be anything.
    moved = tmp_path / "a b#c%20"
    moved.mkdir()
    for each in (target, tmp_path / "j" / "report_files", whole):
        shutil.move(each, moved)
    browser.complaints(), browser.requests()
    read: dict[str, list[str]] = {}
    for name in ("whole.html", "report.html"):
        for number in (0, 7, RUNS - 1):
            browser.go(moved / name, f"#run-{number}")
            browser.until("document.querySelector('#run .ending')")
            read.setdefault(name, []).append(browser.run(SHOWN))
    assert read["report.html"] == read["whole.html"]
    assert "needle7 'quoted' \\u0041 \\' ä 𝄞" in read["report.html"][1]
    browser.go(moved / "report.html")
    browser.until(f"document.getElementById('rows').rows.length === {RUNS}")
    browser.type("#by-text", "needle9")
    browser.until(f"document.getElementById('count').textContent === '1 of {RUNS} runs'")
    assert browser.run(
        "return Array.from(document.querySelectorAll('#rows tr:not([hidden]) th'), (n) => n.innerText)"
    ) == ["case 9"]
    assert browser.run(
        "return [document.scripts.length, document.querySelectorAll('[onerror],[onmouseover]').length]"
    ) == [
        2,
        0,
    ], "the script and the list of parts"
    assert browser.complaints() == []
    assert browser.requests() == []


def test_a_page_without_its_parts_says_what_is_missing(
    journal: Path, tmp_path: Path, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(journal, tmp_path / "j")
    divide(monkeypatch)
    target = write_page(tmp_path / "j")
    shutil.rmtree(tmp_path / "j" / "report_files")
    browser.go(target)
    browser.until("document.querySelector('.warning')?.textContent.startsWith('Only the first runs are shown.')")
    assert 3 <= browser.run("return document.getElementById('rows').rows.length") < RUNS
    browser.click("#rows a")
    browser.until("document.getElementById('run').innerText.includes('cannot be read. The folder of parts')")
    browser.complaints()


def test_on_standard_output_everything_is_in_the_page(journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    divide(monkeypatch)
    done = CliRunner().invoke(viva, ["report", str(journal), "--format", "html", "--out", "-"])
    assert done.exit_code == 0
    assert done.output.count('<script type="application/json" id="c') == RUNS
    assert "strict-dynamic" not in done.output


def test_parts_of_earlier_writings_are_removed_and_those_of_writers_at_work_stay(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, files = tmp_path / "out.html", tmp_path / "out_files"
    arguments = ["report", str(journal), "--out", str(target)]
    divide(monkeypatch)
    assert CliRunner().invoke(viva, arguments).exit_code == 0
    first = {each.name for each in files.iterdir()}
    at_work, killed = "part-1-0123abcd-0.js", "part-999999999-0123abcd-0.js"
    for name in (at_work, killed, "notes.txt"):
        (files / name).write_text("")
    assert CliRunner().invoke(viva, arguments).exit_code == 0
    second = {each.name for each in files.iterdir()}
    assert not first & second
    assert second & {at_work, killed, "notes.txt"} == {at_work, "notes.txt"}
    assert all(name in target.read_text("utf-8") for name in second - {at_work, "notes.txt"})
    monkeypatch.undo()
    for name in (at_work, "notes.txt"):
        (files / name).unlink()
    assert CliRunner().invoke(viva, arguments).exit_code == 0
    assert not files.exists(), "the page is one file again"


def test_a_link_in_the_place_of_the_folder_is_not_followed(
    journal: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(journal, tmp_path / "j")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "j" / "report_files").symlink_to(tmp_path / "elsewhere")
    divide(monkeypatch)
    done = CliRunner().invoke(viva, ["report", str(tmp_path / "j"), "--format", "html"])
    assert done.exit_code == 2
    assert "cannot write" in done.output
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert not (tmp_path / "j" / "report.html").exists()


def test_a_page_that_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "report.html")
    sweep(tmp_path / "report.html")


@settings(max_examples=examples(200), deadline=None)
@given(st.text(st.sampled_from("a\\'\"ä𝄞<&\u2028\n")), st.integers(8, 40))
def test_pieces_end_between_characters_and_escapes(text: str, most: int) -> None:
    quoted = _in_quotes(plain_bytes(text))
    pieces = list(_pieces(quoted, most))
    assert b"".join(pieces) == quoted
    assert all(len(piece) <= most for piece in pieces)
    for piece in pieces:
        piece.decode()
        assert (len(piece) - len(piece.rstrip(b"\\"))) % 2 == 0
