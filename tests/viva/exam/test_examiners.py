"""Who examines: with `auto`, the script of each case that has one, and the model elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import viva
from tests.model_server import ModelServer, Part, by_role, sequence
from tests.viva.conftest import Desk, point
from viva.errors import SetupError
from viva.journal.reader import read_records
from viva.records.run_record import RunRecord

ECHO = "def get_reply_from_agent(self, message): return message"


def asks_once() -> Part:
    """A model that asks once and ends the exam."""
    return by_role(examiner=sequence("Question of the model.", then="EXAM_FINISHED"))


def suite(desk: Desk, *arguments: str, expect: int = 0, url: str = "http://127.0.0.1:9/v1") -> str:
    """Run a suite of a case with a script and of one without; return what was printed."""
    if not (desk.folder / "cases").exists():
        (desk.folder / "cases").mkdir()
        desk.case("cases/with", scoring_points=[point("assert rounds")], script=["Line of the script."])
        desk.case("cases/without", scoring_points=[point("assert rounds")], script=None)
    start = ("suite", "cases", "--agent", desk.agent(ECHO), "--sandbox", "process", "--out", "journal")
    environment = {"OPENAI_BASE_URL": url, "VIVA_MODEL_WAIT": "0.001"}
    done = desk.viva(*start, *arguments, environment=environment, expect=expect)
    return done.stdout + done.stderr


def records(folder: Path) -> dict[str, RunRecord]:
    return {record.subject: record for record in read_records(folder)}


def asked(folder: Path) -> dict[str, list[str | None]]:
    """The messages of the examiner, by case."""
    return {run.setting.case: [each.examiner for each in run.transcript.rounds] for run in viva.read_journal(folder)}


def test_auto_takes_the_script_where_there_is_one_and_the_model_elsewhere(desk: Desk) -> None:
    with ModelServer({"m": asks_once()}) as server:
        said = suite(desk, "--examiner", "auto", "--model", "openai:m", url=server.url)
        assert len(server.requests) == 2
    journal = desk.folder / "journal"
    assert asked(journal) == {"with": ["Line of the script."], "without": ["Question of the model."]}
    found = records(journal)
    assert {name: each.setting.examiner for name, each in found.items()} == {"with": "script", "without": "m"}
    assert "examiner" not in found["with"].setting.prompts, "no model examined there"
    assert "examiner" in found["without"].setting.prompts
    assert "examiner script" in said
    assert "examiner m" in said


def test_without_auto_a_model_examines_every_case(desk: Desk) -> None:
    one_question = sequence("One.", "EXAM_FINISHED", "Two.", then="EXAM_FINISHED")
    with ModelServer({"m": by_role(examiner=one_question)}) as server:
        suite(desk, "--model", "openai:m", "--concurrency", "1", url=server.url)
    assert {each.setting.examiner for each in records(desk.folder / "journal").values()} == {"m"}


@pytest.mark.parametrize("examiner", ["auto", "script"])
def test_a_case_without_a_script_is_named_where_there_is_no_model(desk: Desk, examiner: str) -> None:
    said = suite(desk, "--examiner", examiner, expect=2)
    assert "'without' has no script" in said
    assert "--model" in said
    assert not (desk.folder / "journal").exists()


def test_auto_needs_no_model_where_every_case_has_a_script(desk: Desk) -> None:
    """Also if one is named: its server, at which nothing listens, is not asked."""
    for model in ((), ("--model", "openai:m")):
        suite(desk, "--examiner", "auto", "--name", "with", *model, "--out", f"journal{len(model)}")
        found = records(desk.folder / f"journal{len(model)}")
        assert [each.setting.examiner for each in found.values()] == ["script"]


def test_an_unknown_examiner_is_a_mistake_that_names_the_known_ones(desk: Desk) -> None:
    assert "script, model, auto or replay:JOURNAL" in suite(desk, "--examiner", "both", expect=2)


def test_auto_is_kept_when_a_suite_is_resumed(desk: Desk) -> None:
    with ModelServer({"m": asks_once()}) as server:
        arguments = ("--examiner", "auto", "--model", "openai:m", "--concurrency", "1", "--max-tokens", "1")
        # The script uses no tokens, so the second run is started; the third is left out.
        suite(desk, *arguments, "--trials", "2", url=server.url, expect=3)
    with ModelServer({"m": asks_once()}) as server:
        desk.viva("suite", "--resume", "journal", environment={"OPENAI_BASE_URL": server.url}, expect=0)
    assert asked(desk.folder / "journal") == {"with": ["Line of the script."], "without": ["Question of the model."]}
    names = [(each.subject, each.setting.examiner) for each in read_records(desk.folder / "journal")]
    assert sorted(names) == [("with", "script"), ("with", "script"), ("without", "m"), ("without", "m")]


def test_programs_choose_auto_in_the_same_way(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    suite(desk, "--examiner", "script", "--name", "with", "--out", "first")
    monkeypatch.chdir(desk.folder)
    with pytest.raises(SetupError, match="'without' has no script"):
        viva.run_suite("cases", "agent.py:Agent", examiner="auto", sandbox="process", out="journal")
    with ModelServer({"m": asks_once()}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        choice = {"examiner": "auto", "model": "openai:m", "sandbox": "process"}
        viva.run_suite("cases", "agent.py:Agent", out="journal", **choice)
        one = viva.examine("cases/with", "agent.py:Agent", out="one", **choice)
    assert {name: each.setting.examiner for name, each in records(Path("journal")).items()} == {
        "with": "script",
        "without": "m",
    }
    assert one.setting.examiner == "script"
