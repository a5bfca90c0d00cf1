"""The parts that docs/extend.md shows are used as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.viva.conftest import Desk
from viva.journal.reader import read_records, read_runs

PAGE = Path(__file__).parents[1] / "docs" / "extend.md"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A working folder with the page's files in it."""
    for text in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        name = re.match(r"# (\w+\.py)\n", text)
        assert name is not None, "the first line must say which file this is"
        (tmp_path / name[1]).write_text(text, encoding="utf-8")
    return Desk(tmp_path)


def test_the_evaluator_judges_beside_the_scoring_points_and_the_sink_gets_the_run(desk: Desk) -> None:
    evaluators = "scoring_points,my_evaluators.py:Politeness"
    arguments = ("--evaluators", evaluators, "--sink", "my_sinks.py:Printer:done", "--sandbox", "process")
    done = desk.viva("suite", desk.case(), *arguments, "--out", "journal", expect=0, process=True)
    (record,) = read_records(desk.folder / "journal")
    assert [insight.evaluator for insight in record.insights] == ["scoring_points", "politeness"]
    assert record.score == 1.0
    assert record.insights[1].score == 0.0
    assert "politeness" in done.stdout
    # What a sink prints goes to stderr: stdout is the report's.
    assert f"done {record.id} 1.0 1" in done.stderr


def test_the_function_judges_with_its_parameter_and_twice_under_two_names(desk: Desk) -> None:
    evaluators = "brief.py:is_brief,brief.py:is_brief(words=2, name='very_brief'),my_evaluators.py:Politeness(word='h')"
    record = desk.run(desk.case(), "--evaluators", evaluators)
    told = {each["evaluator"]: (each["label"], each["score"]) for each in record["insights"]}
    assert told == {"is_brief": ("yes", 1.0), "very_brief": ("no", 0.0), "politeness": ("polite", 1.0)}
    assert record["setting"]["evaluator_parameters"] == {
        "is_brief": "words=50", "very_brief": "words=2", "politeness": "word='h'",
    }  # fmt: skip


def test_the_evaluators_page_is_as_long_as_a_screen() -> None:
    text = PAGE.read_text(encoding="utf-8")
    begin = text.index("## An evaluator")
    assert len(text[begin : text.index("\n## ", begin)].splitlines()) <= 70
    assert len(text[begin : text.index("## A sink")].splitlines()) <= 120


def test_the_database_is_a_sink_and_a_history(desk: Desk) -> None:
    desk.case()
    for _ in range(2):
        desk.viva("run", "exam", "--sandbox", "process", "--sink", "my_history.py:Database", expect=0, process=True)
    done = desk.viva("history", "my_history.py:Database", expect=0, process=True)
    assert "2 runs" in done.stdout
    assert "1.00→1.00" in done.stdout


def test_the_reader_imports_a_talk(desk: Desk) -> None:
    (desk.folder / "talk.txt").write_text("Hello?\nThank you.\nBye?\nNo.\n")
    arguments = ("--evaluators", "my_evaluators.py:Politeness", "--out", "journal")
    desk.viva("trace", "my_readers.py:Lines:talk.txt", *arguments, expect=0)
    (run,) = read_runs(desk.folder / "journal")
    assert [(each.examiner, each.agent) for each in run.transcript.rounds] == [
        ("Hello?", "Thank you."),
        ("Bye?", "No."),
    ]
    assert run.record is not None
    assert (run.record.score, run.record.subject) == (0.5, "talk")
