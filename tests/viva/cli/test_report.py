"""`viva report` as a user calls it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.viva.real_suites import viva
from tests.viva.reports.made import write_run, write_suite
from viva.journal.writer import Journal
from viva.reports.formats import ENDINGS, FORMATS, writer


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return write_suite(tmp_path / "journal", 4, agents=2, trials=2)


@pytest.mark.parametrize(
    ("kind", "start"),
    [("csv", "case_file,"), ("json", '{"threshold"'), ("junit", "<?xml"), ("markdown", "## 2 agents")],
)
def test_text_formats_go_to_standard_output(suite: Path, kind: str, start: str) -> None:
    done = viva("report", suite, "--format", kind, cwd=suite)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(start)


def test_the_ending_of_out_says_the_format_and_the_file_appears_whole(suite: Path) -> None:
    for name in ("r.csv", "r.json", "r.xml", "r.md", "r.html"):
        assert viva("report", suite, "--out", name, cwd=suite).returncode == 0
    ElementTree.parse(suite / "r.xml")
    assert len(json.loads((suite / "r.json").read_text())["runs"]) == 16
    assert (suite / "r.html").read_text().rstrip().endswith("</html>")
    assert not list(suite.glob(".*.part"))


def test_the_page_lies_beside_the_journal_unless_told_otherwise(suite: Path) -> None:
    done = viva("report", suite, "--format", "html", cwd=suite)
    assert done.returncode == 0
    assert str(suite / "report.html") in done.stderr
    assert (suite / "report.html").is_file()


def test_one_run_is_printed_in_full_and_several_as_figures(suite: Path) -> None:
    with Journal(suite.parent / "one") as journal:
        run = write_run(journal, statement="It asks back.")
    assert "It asks back." in viva("report", suite.parent / "one", cwd=suite).stdout
    assert "It asks back." in viva("report", f"{suite.parent / 'one'}#{run}", cwd=suite).stdout
    several = viva("report", suite, cwd=suite).stdout
    assert "Agent1" in several
    assert "Agent2" in several


def test_several_journals_are_joined_and_one_named_twice_counts_once(suite: Path) -> None:
    other = write_suite(suite.parent / "other", 2)
    done = viva("report", suite, other, suite, "--format", "json", cwd=suite)
    assert len(json.loads(done.stdout)["runs"]) == 16 + 2


def test_the_threshold_decides_what_passes(suite: Path) -> None:
    figures = [
        json.loads(viva("report", suite, "--format", "json", "--threshold", value, cwd=suite).stdout)["figures"]
        for value in ("0", "1")
    ]
    assert figures[0]["suite"]["passes"] == figures[0]["suite"]["runs"] > figures[1]["suite"].get("passes", 0)


def test_torn_lines_are_told(suite: Path) -> None:
    with (suite / "journal.jsonl").open("ab") as file:
        file.write(b'\n{"v":1,"event":"run","run":"x","attempt":1,"data":{"id\n')
    assert "1 unreadable line of" in viva("report", suite, cwd=suite).stdout
    assert json.loads(viva("report", suite, "--format", "json", cwd=suite).stdout)["torn_lines"] == 1


def check_mistake(done: subprocess.CompletedProcess[str], words: str) -> None:
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_mistakes_are_told_plainly(suite: Path) -> None:
    check_mistake(viva("report", "nowhere", cwd=suite), "there is no folder nowhere")
    check_mistake(viva("report", "nowhere", "--format", "html", cwd=suite), "there is no folder nowhere")
    check_mistake(viva("report", f"{suite}#no-such-run", cwd=suite), "no run")
    check_mistake(viva("report", suite, "--out", "no/such/folder/r.csv", cwd=suite), "cannot write")
    check_mistake(viva("report", suite, "--format", "csv", "--open", cwd=suite), "--open requires")
    check_mistake(viva("report", suite, "--out", "report.pdf", cwd=suite), ".txt, .csv, .json, .xml, .md, .html")
    check_mistake(viva("report", suite, "--out", "report", cwd=suite), "it has no file extension")
    assert not list(suite.glob("report*")), "nothing is written under a name that was refused"
    check_mistake(viva("report", cwd=suite), "no journal under runs/")


def test_a_journal_without_a_finished_run_is_reported_in_every_format(tmp_path: Path) -> None:
    with Journal(tmp_path / "journal") as journal:
        write_run(journal, ended=False)
    for kind in ("console", "csv", "json", "junit", "markdown", "html"):
        done = viva("report", "journal", "--format", kind, "--out", "-", cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), kind


def test_hostile_text_is_harmless_on_a_terminal(hostile: Path) -> None:
    done = viva("report", hostile, cwd=hostile)
    assert done.returncode == 0
    assert not set(done.stdout) & set("\x1b\x07\x00\x7f\u202e\u2066")


def test_a_format_that_is_named_goes_into_a_file_of_any_ending(suite: Path) -> None:
    assert viva("report", suite, "--format", "csv", "--out", "r.tsv", cwd=suite).returncode == 0
    assert (suite / "r.tsv").read_text().startswith("case_file,")
    assert viva("report", suite, "--out", "r.txt", cwd=suite).returncode == 0
    assert "Agent1" in (suite / "r.txt").read_text()


def test_every_format_can_be_imported_and_every_ending_has_one() -> None:
    # Files of these have an ending that says too little: `.jsonl`, `.json`.
    by_name_only = {"atif", "training", "training_supervised", "training_preference", "training_reward"}
    assert set(ENDINGS.values()) == set(FORMATS.builtin) - by_name_only
    assert all(callable(writer(name)) for name in FORMATS.builtin)


def test_what_a_killed_report_left_is_swept_and_no_planted_link_is_followed(suite: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    gone = subprocess.Popen(["true"])
    gone.wait()
    left = suite / f".r.csv.{gone.pid}.{'0' * 16}.part"
    left.write_text("half")
    planted = suite / f".r.csv.{gone.pid}.{'1' * 16}.part"
    planted.symlink_to(mine)
    other, alive = suite / ".other.csv.1.part", suite / f".r.csv.{os.getpid()}.{'2' * 16}.part"
    other.write_text("not ours")
    alive.write_text("being written")
    done = viva("report", suite, "--out", "r.csv", cwd=suite)
    assert done.returncode == 0, done.stderr
    assert mine.read_text() == "mine"
    assert [left.exists(), planted.is_symlink(), other.exists(), alive.exists()] == [False, False, True, True]
    other.unlink()
    alive.unlink()


def test_a_link_planted_under_the_default_name_is_replaced_not_followed(suite: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.write_text("mine")
    (suite / "report.html").symlink_to(mine)
    assert viva("report", suite, "--format", "html", cwd=suite).returncode == 0
    assert mine.read_text() == "mine"
    assert not (suite / "report.html").is_symlink()
    (suite / "report.html").unlink()
    os.mkfifo(suite / "report.html")
    assert viva("report", suite, "--format", "html", cwd=suite).returncode == 0
    assert (suite / "report.html").is_file()
