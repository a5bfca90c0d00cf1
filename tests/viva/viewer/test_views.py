"""The data of the viewer's views: what the page is told about cases, files, times, judges and trends."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.viva.reports.made import HOSTILE, write_run
from tests.viva.viewer.conftest import Reader
from viva.cases import load_case
from viva.exam.judging.exchanges import kept_exchanges
from viva.exam.kept_workspaces import workspace_name
from viva.filters.fields import FIELDS
from viva.filters.parsing import parse_filter
from viva.journal.kept_cases import keep_case
from viva.journal.reader import read_runs
from viva.journal.writer import Journal
from viva.judge.exchange.log import ExchangeLog
from viva.records.exchange.exchanges import Exchange, PictureName, RequestMessage
from viva.records.run_record import Setting
from viva.records.transcript import Round, Step, StopReason, Transcript
from viva.viewer.routes import Routes
from viva.viewer.views.workspace import _differences
from viva.viewer.watched import WatchedJournal

Serve = Callable[..., Reader]


def answer(folders: list[Path], name: str, number: int = 0, **query: object) -> Any:
    journals = [WatchedJournal(folder) for folder in folders]
    for journal in journals:
        journal.follow()
    found = Routes(journals).answer(number, name, {key.rstrip("_"): str(value) for key, value in query.items()})
    return json.loads(json.dumps(found))


@pytest.fixture
def two(tmp_path: Path) -> list[Path]:
    """The same agent in two journals: one trial becomes worse, another better, one stays."""
    for name, hits in (("one", (True, False, True)), ("two", (False, True, True))):
        with Journal(tmp_path / name) as journal:
            for trial, hit in enumerate(hits, 1):
                reason = f"{name} says {'yes' if hit else 'no'}"
                write_run(journal, "case", "a.py:A", trial, hits=(hit,), reason=reason, persona="terse")
            write_run(journal, "case", "a.py:A", persona="talkative")
    return [tmp_path / "one", tmp_path / "two"]


def test_columns_are_what_the_address_names(two: list[Path]) -> None:
    found = answer(two, "grid", by="agent,persona")
    assert found["agents"] == ["a.py:A · talkative", "a.py:A · terse"]
    assert [len(cell) for cell in found["rows"][0]["cells"]] == [1, 3]
    assert found["varied"] == {"agent": 1, "persona": 2}
    several = answer(two, "grid", by="journal", with_="1")
    assert several["agents"] == ["one", "two"]
    assert {trial[4] for cell in several["rows"][0]["cells"] for trial in cell} == {0, 1}
    with pytest.raises(ValueError, match="there are no columns by 'nonsense'"):
        answer(two, "grid", by="agent,nonsense")


def test_journals_in_folders_of_one_name_are_told_apart(tmp_path: Path) -> None:
    folders = [tmp_path / each for each in ("a/x/j", "b/x/j", "other")]
    for folder in folders:
        with Journal(folder) as journal:
            write_run(journal)
    names = [each["name"] for each in Routes([WatchedJournal(folder) for folder in folders]).states()]
    assert names == ["a/x/j", "b/x/j", "other"]
    assert answer(folders, "grid", by="journal", with_="1,2")["agents"] == names


def test_flipped_points_have_both_reasons_and_losses_come_first(two: list[Path]) -> None:
    found = answer(two, "versus", other=1)
    assert (found["worse"], found["better"], found["same"]) == (1, 1, 2)
    assert [[point["change"] for point in points] for points in found["points"]] == [["worse"], ["better"]]
    assert [side[:2] for side in found["points"][0][0]["sides"]] == [["hit", "one says yes"], ["miss", "two says no"]]


def test_history_is_that_of_the_command_and_leads_to_runs(two: list[Path]) -> None:
    found = answer(two, "history")
    # The two journals hold the same conversations by id and time, as after judging again.
    (trend,) = (each for each in found["trends"] if each["overall"])
    assert (trend["case"], trend["agent"], trend["runs"]) == ("case", "a.py:A", 4)
    runs = answer(two, "trend", case="case", agent="a.py:A")["runs"]
    assert [run[4] for run in runs] == [0] * 4 + [1] * 4
    assert len(answer(two, "trend", case="case", agent="a.py:A", with_="0")["runs"]) == 4


def test_words_are_found_in_every_text_of_a_conversation(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        step = Step("s1", tool="shout", tool_input={"of": "Ωmega"}, result='it said "quoted\nlines"')
        write_run(journal, "one", said=("Plain KELVIN here", "x"), steps=(step,))
        write_run(journal, "two", said=("nothing",))
    for words, who in (("kelvin", "agent"), ("ωMEGA", "shout"), ('"quoted', "shout"), ("Question 2?", "examiner")):
        found = answer([tmp_path], "search", words=words)
        assert [each["row"]["case"] for each in found["found"]] == ["one"], words
        assert found["found"][0]["hits"][0][1] == who
        assert found["next"] is None
    assert answer([tmp_path], "search", words="kelvin", where="case=two")["found"] == []
    assert answer([tmp_path], "search", words="")["found"] == []
    assert answer([tmp_path], "search", words="nothing", first=1)["found"][0]["hits"][0][3] == "nothing"


def test_steps_after_the_last_reply_are_shown_and_found_in_the_last_round_alone(tmp_path: Path) -> None:
    late = Step("environment:1", tool="delete", result="a zebra", recorded_by="environment")
    said = tuple(Round(number, "ask", "tell") for number in range(1, 151))
    ending = Transcript(said, stop=StopReason.FINISHED, late_steps=(late,)).without_rounds()
    with Journal(tmp_path) as journal:
        for kind, value in (
            ("setting", Setting(case="one")),
            *(("round", each) for each in said),
            ("transcript", ending),
        ):
            journal.append(kind, "run", 1, value)
    (found,) = answer([tmp_path], "search", words="zebra")["found"]
    assert [hit[0] for hit in found["hits"]] == [150]
    watched = WatchedJournal(tmp_path)
    watched.follow()
    for first, last, numbers in ((0, 100, []), (100, 150, [150])):
        part = watched.conversation("run", first, last)
        assert part is not None
        assert [each.number for each in part.transcript.rounds if each.steps] == numbers


def test_times_are_relative_to_the_run_and_those_that_are_unknown_say_so(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append("setting", "r", 1, Setting(case="c", agent="a"))
        step = Step("s", tool="look", started=101.0, seconds=0.5)
        timed = Round(1, "q", "a", (step,), started=100.5, examiner_seconds=0.5, agent_seconds=2.0)
        journal.append("round", "r", 1, timed)
        journal.append("round", "r", 1, Round(2, "q", "a", agent_seconds=1.0))
        journal.append("round", "r", 1, replace(timed, number=3, started=float("nan"), agent_seconds=-1.0))
    first, second, third = answer([tmp_path], "timings", id="r")["rounds"]
    assert (first["start"], first["steps"][0]["start"], first["known"]) == (0.5, 1.0, True)
    assert (second["start"], second["known"]) == (2.5, False)
    assert (third["known"], third["agent"]) == (False, 0.0)
    assert answer([tmp_path], "timings", id="r", first=1, most=1)["rounds"][0]["n"] == 2


@pytest.fixture
def with_files(tmp_path: Path) -> Path:
    """A run that changed one file of its case, made three and removed one."""
    source = tmp_path / "case"
    source.mkdir()
    (source / "table.csv").write_text("a,1\nb,2\nc,3\n")
    (source / "old.txt").write_text("old\n")
    (source / "case.yaml").write_text(
        "task_description: t\ndata_files: [table.csv, old.txt]\nscript: [Hello]\nscoring_points: [It answers.]\n"
    )
    case = load_case(source / "case.yaml")
    folder = tmp_path / "journal"
    with Journal(folder) as journal:
        keep_case(case, journal)
        journal.append(
            "setting", "r", 1, Setting(case="c", agent="a", case_hash=case.hash, workspace=workspace_name("r"))
        )
    left = folder / workspace_name("r")
    left.mkdir(parents=True)
    (left / "table.csv").write_text("a,1\nb,22\nc,3\n")
    (left / "new\u202e.txt").write_text("<b>\x1b[2J\n")
    (left / "blob").write_bytes(b"\0\1")
    (left / "large").write_bytes(b"x" * 600_000)
    (left / "link").symlink_to(source / "old.txt")
    return folder


def test_files_are_compared_with_those_of_the_case(with_files: Path) -> None:
    found = answer([with_files], "files", id="r")
    assert found["known"]
    changes = {each["name"]: each["change"] for each in found["files"]}
    assert changes.pop("table.csv") == "changed"
    assert changes.pop("old.txt") == "removed"
    assert changes == dict.fromkeys(("new\\u202e.txt", "blob", "large", "link"), "new")
    assert found["files"][0]["name"] == "table.csv"
    lines = answer([with_files], "file", id="r", path="table.csv")["lines"]
    expected = [[" ", 1, 1, "a,1"], ["-", 2, None, "b,2"], ["+", None, 2, "b,22"], [" ", 3, 3, "c,3"]]
    assert lines == expected
    assert answer([with_files], "file", id="r", path="old.txt")["lines"] == [["-", 1, None, "old"]]
    new = answer([with_files], "file", id="r", path="new\u202e.txt")
    assert new["lines"] == [["+", None, 1, "<b>\\x1b[2J"]]
    assert [answer([with_files], "file", id="r", path=name)["kind"] for name in ("blob", "large")] == [
        "binary",
        "large",
    ]


@pytest.mark.parametrize("path", ["link", "../../case/old.txt", "/etc/passwd", "", "x\0", "nothing"])
def test_no_text_of_another_file_is_shown(with_files: Path, serve: Serve, path: str) -> None:
    assert serve(with_files).ask("api/0/file", {"id": "r", "path": path})[0] == 404


@settings(max_examples=examples(60), deadline=None)
@given(before=st.lists(st.sampled_from("abc"), max_size=40), after=st.lists(st.sampled_from("abc"), max_size=40))
def test_shown_differences_make_the_old_text_into_the_new_one(before: list[str], after: list[str]) -> None:
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    made = dict(enumerate(before, 1))
    shown = [each for each in _differences(old, new) if each[0] != "@"]
    for sign, number, _, line in shown:
        if sign == "-" and number is not None:
            assert made.pop(number) == line
    added = {after_: line for sign, _, after_, line in shown if sign == "+"}
    kept = iter(made.values())
    assert [added[number] if number in added else next(kept) for number in range(1, len(after) + 1)] == after


def test_requests_of_the_judge_are_shown_once_and_name_their_verdict(tmp_path: Path) -> None:
    rules = RequestMessage("system", ("rules",))
    with Journal(tmp_path) as journal:
        run = write_run(journal, hits=(True, False))
        (stored,) = read_runs(tmp_path)
        log = ExchangeLog()
        asked = [("p1", "<script>no</script>"), ("p0", "yes"), ("of no verdict", "")]
        for point, said in asked:
            question = RequestMessage("user", (f"about {point}", PictureName("x.png")))
            error = "" if said else "it was cut"
            messages = (rules, question)
            log.exchanges.append(Exchange("scoring_points", run, point, "m", messages, answer=said, error=error))
        for kind, event in kept_exchanges(log, stored.transcript, journal):
            journal.append(kind, run, 1, event)
    found = answer([tmp_path], "asked", id=run)
    assert [each["verdict"] for each in found["requests"]] == [1, 0, None]
    assert [each["messages"][0].get("same") for each in found["requests"]] == [None, [0, 0], [0, 0]]
    assert found["requests"][0]["answer"] == "<script>no</script>"
    assert found["requests"][2]["error"] == "it was cut"
    assert answer([tmp_path], "run", id=run)["asked"]


def test_the_help_knows_every_field_and_its_examples_are_filters(two: list[Path]) -> None:
    found = answer(two, "fields")
    assert [each[0] for each in found["fields"]] == [each.shown for each in FIELDS.values()]
    for expression, _ in found["examples"]:
        parse_filter(expression, "the example")


def test_views_of_hostile_journals_are_data(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for number, words in enumerate(HOSTILE):
            write_run(journal, f"{number} {words}", words, said=(words,), reason=words, persona=words)
    shown = [answer([tmp_path], "grid", by="agent,persona"), answer([tmp_path], "history")]
    shown += [answer([tmp_path], "search", words="a"), answer([tmp_path, tmp_path], "versus", other=1, all=1)]
    assert not any(sign in json.dumps(shown, ensure_ascii=False) for sign in "\x1b\u202e\x00\u2028")
