"""What printing a stored conversation promises."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import pytest

from tests.viva.conftest import AGENTS, Desk
from tests.viva.reports.made import write_run
from tests.viva.viva_command import VIVA, clean_environment
from viva.journal.writer import Journal
from viva.records.run_record import Outcome


def test_the_conversation_is_printed_as_it_was_held(desk: Desk) -> None:
    desk.run("mean_of_a_column")
    shown = desk.viva("replay", "journal", expect=0).stdout
    assert [line.strip() for line in shown.splitlines()[1:]] == [
        "1 examiner  Please tell me the mean of a column in measurements.csv.",
        "agent     Which column of measurements.csv do you mean?",
        "2 examiner  The column is 'height_cm'.",
        "agent     The mean of height_cm is 171.25.",
        "2 rounds, stopped: finished",
        "scored, 3/3 = 1.00",
    ]
    assert "mean_of_a_column" in shown.splitlines()[0]


def test_the_newest_journal_under_runs_is_the_default(desk: Desk) -> None:
    desk.run("echo", out=None)
    desk.run("weather_asks_back", out=None)
    desk.viva("run", "echo", "--agent", "no_such.py:A", expect=2)
    assert "weather" in desk.viva("replay", expect=0).stdout.splitlines()[0]


def test_all_runs_of_a_journal_or_one_of_them(desk: Desk) -> None:
    desk.run("echo")
    weather = desk.run("weather_asks_back")
    shown = desk.viva("replay", "journal", expect=0).stdout
    assert "GUTENBERG" in shown
    assert "sunny" in shown
    shown = desk.viva("replay", f"journal#{weather['id']}", expect=0).stdout
    assert "GUTENBERG" not in shown
    assert "sunny" in shown


def test_json_is_one_object_for_each_run(desk: Desk) -> None:
    desk.run("echo")
    desk.run("weather_asks_back", "--agent", AGENTS / "asks_back.py:AsksBackAgent")
    done = desk.viva("replay", "journal", "--json", expect=0)
    objects = [json.loads(line) for line in done.stdout.splitlines()]
    assert [len(each["transcript"]["rounds"]) for each in objects] == [1, 2]
    assert [each["attempt"] for each in objects] == [1, 1]


def test_reading_pace_prints_the_same(desk: Desk) -> None:
    desk.run("echo")
    plain = desk.viva("replay", "journal", expect=0).stdout
    assert desk.viva("replay", "journal", "--pace", "--speed", "100", expect=0).stdout == plain


def test_torn_lines_are_counted_and_cost_one_event_each(desk: Desk) -> None:
    desk.run("weather_asks_back", "--agent", AGENTS / "asks_back.py:AsksBackAgent")
    file = desk.folder / "journal" / "journal.jsonl"
    whole = file.read_text()
    torn = re.sub(r'\{"v":1,"event":"round"[^\n]*"number":1,[^\n]*', '{"v":1,"event":"rou', whole)
    assert torn != whole
    file.write_text(torn)
    done = desk.viva("replay", "journal", expect=0)
    assert "1 torn line skipped" in done.stderr
    assert "2 examiner" in done.stdout
    assert "1 examiner" not in done.stdout


def test_a_journal_that_was_copied_elsewhere_is_whole(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'y' * 500_000 + 'end'")
    desk.run("echo", "--agent", agent)
    shutil.copytree(desk.folder / "journal", desk.folder / "copy")
    shutil.rmtree(desk.folder / "journal")
    said = json.loads(desk.viva("replay", "copy", "--json", expect=0).stdout)
    assert said["transcript"]["rounds"][0]["agent"] == "y" * 500_000 + "end"
    assert "more characters]" in desk.viva("replay", "copy", expect=0).stdout


def test_a_reader_that_stops_early_is_no_fault(desk: Desk) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'x' * 4_000")
    desk.run("sum_1_to_50", "--agent", agent)
    piped = subprocess.run(
        ["bash", "-c", f"'{VIVA}' replay journal | head -n 1; exit ${{PIPESTATUS[0]}}"],
        cwd=desk.folder,
        env=clean_environment(),
        capture_output=True,
        encoding="utf-8",
        timeout=60,
    )
    assert (piped.stderr, piped.returncode) == ("", 0)
    assert "sum_1_to_50" in piped.stdout


@pytest.mark.parametrize("locale", ["C", "C.UTF-8"])
def test_every_alphabet_can_be_printed_in_every_locale(desk: Desk, locale: str) -> None:
    agent = desk.agent("def get_reply_from_agent(self, message): return 'Ünïcödé 日本語 🙂'")
    environment = {"LC_ALL": locale, "LANG": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    desk.viva(
        *("run", "echo", "--agent", agent, "--sandbox", "process", "--out", "journal"),
        environment=environment,
        expect=0,
        process=True,
    )
    shown = desk.viva("replay", "journal", environment=environment, expect=0, process=True).stdout
    assert ("日本語" if locale == "C.UTF-8" else r"\u65e5\u672c\u8a9e") in shown


def test_the_questions_of_a_stored_exam_can_be_asked_by_an_examiner(desk: Desk) -> None:
    desk.run("weather_asks_back", "--agent", AGENTS / "asks_back.py:AsksBackAgent")
    record = desk.run("weather_asks_back", "--examiner", "replay:journal", out="again")
    assert (record["setting"]["examiner"], record["rounds"]) == ("replay", 2)
    first, second = (
        json.loads(desk.viva("replay", name, "--json", expect=0).stdout)["transcript"]["rounds"]
        for name in ("journal", "again")
    )
    assert [each["examiner"] for each in first] == [each["examiner"] for each in second]


@pytest.fixture
def mixed(desk: Desk) -> Desk:
    """Two agents, two cases, two trials: one failed run, one excluded one, one that did not end."""
    with Journal(desk.folder / "journal") as journal:
        write_run(journal, "sums", "agents.py:One", said=["one sums"])
        write_run(journal, "sums", "agents.py:Two", said=["two sums"], hits=[False])
        write_run(journal, "sums", "agents.py:Two", 2, said=["two sums again"])
        write_run(journal, "files", "agents.py:One", said=["one files"], hits=[True, False])
        write_run(journal, "files", "agents.py:Two", said=["two files"], outcome=Outcome.EXAMINER_ERROR)
        write_run(journal, "words", "agents.py:Two", said=["two words"], outcome=Outcome.TARGET_ERROR)
        write_run(journal, "words", "agents.py:One", said=["one words"], ended=False)
    return desk


def said(printed: str) -> list[str]:
    return re.findall(r"^    agent     (.*)$", printed, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "runs"),
    [
        ((), 7),
        (("--failed",), ["two sums", "one files", "two words"]),
        (("--failed", "--threshold", "0.5"), ["two sums", "two words"]),
        (("--case", "fil*"), ["one files", "two files"]),
        (("--name", "files", "--name", "words", "--agent", "Two"), ["two files", "two words"]),
        (("--agent", "agents.py:One", "--failed"), ["one files"]),
        (("--trial", "2"), ["two sums again"]),
        (("--outcome", "examiner_error"), ["two files"]),
        (("--outcome", "unfinished", "--outcome", "target_error"), ["two words", "one words"]),
    ],
)
def test_runs_are_chosen_by_case_agent_trial_and_outcome(
    mixed: Desk, arguments: tuple[str, ...], runs: list[str] | int
) -> None:
    shown = said(mixed.viva("replay", "journal", *arguments, expect=0).stdout)
    assert (len(shown) if isinstance(runs, int) else shown) == runs
    objects = mixed.viva("replay", "journal", "--json", *arguments, expect=0).stdout.splitlines()
    assert [json.loads(each)["transcript"]["rounds"][0]["agent"] for each in objects] == shown


def test_the_exact_name_of_a_case_is_enough_whatever_characters_it_has(desk: Desk) -> None:
    with Journal(desk.folder / "journal") as journal:
        write_run(journal, "sums [easy]", said=["wanted"])
        write_run(journal, "sums e", said=["another"])
    assert said(desk.viva("replay", "journal", "--case", "sums [easy]", expect=0).stdout) == ["wanted", "another"]
    assert said(desk.viva("replay", "journal", "--case", "*]", expect=0).stdout) == ["wanted"]


def test_what_was_not_found_is_told(mixed: Desk) -> None:
    done = mixed.viva("replay", "journal", "--failed", "--trial", "2", expect=0)
    assert (done.stdout, done.stderr.strip()) == ("", "no run failed; 1 run searched")
    done = mixed.viva("replay", "journal", "--case", "sum", expect=2)
    assert "sums, files, words" in " ".join(done.stderr.split())
    assert "agents.py:One, agents.py:Two" in " ".join(done.stderr.split())


@pytest.mark.parametrize("option", [("--failed",), ("--case", "x"), ("--pace",)])
def test_a_filter_is_refused_where_it_would_be_ignored(mixed: Desk, option: tuple[str, ...]) -> None:
    done = mixed.viva("replay", "journal", "--against", "example:careful", *option, expect=2)
    assert option[0] in done.stderr
    assert "--against" in done.stderr
    assert "requires --failed" in mixed.viva("replay", "journal", "--threshold", "0.5", expect=2).stderr
