"""Personas and strategies as dimensions of a suite: a run for each, its setting, its figures, and resuming."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import viva
from tests.model_server import ModelServer, Part, Request, by_role, said_by, sequence, system_text
from tests.viva.conftest import Desk, point
from viva.errors import SetupError
from viva.examiner.library import personas, strategies
from viva.journal.reader import read_records
from viva.journal.writer import run_id
from viva.records.run_record import RunRecord

ECHO = "def get_reply_from_agent(self, message): return message"


def shows_its_role(request: Request) -> str:
    """Say which persona and strategy the prompt describes, once."""
    if said_by("assistant", request):
        return "EXAM_FINISHED"
    prompt = " ".join(system_text(request).split())
    seen = [name for name, words in personas().items() if words in prompt]
    seen += [name for name, each in strategies().items() if each.how in prompt]
    return f"Role: {' '.join(seen) or 'plain'}"


def parts() -> Part:
    return by_role(examiner=shows_its_role)


def cases(desk: Desk, number: int = 1, **fields: Any) -> None:
    (desk.folder / "cases").mkdir()
    for n in range(number):
        desk.case(
            f"cases/c{n}",
            scoring_points=[point('assert "terse" not in chat_history[-1].content')],
            script=None,
            **fields,
        )


def suite(desk: Desk, server: ModelServer | None, *arguments: str, expect: int = 0) -> str:
    start = ("suite", "cases", "--agent", desk.agent(ECHO), "--sandbox", "process", "--out", "journal")
    url = "http://127.0.0.1:9/v1" if server is None else server.url
    model = () if server is None else ("--model", "openai:m")
    environment = {"OPENAI_BASE_URL": url, "VIVA_MODEL_WAIT": "0.001"}
    done = desk.viva(*start, *model, *arguments, environment=environment, expect=expect)
    return done.stdout + done.stderr


def records(folder: Path) -> list[RunRecord]:
    return list(read_records(folder))


def said(journal: Path) -> dict[tuple[str, str], str | None]:
    return {
        (run.setting.persona, run.setting.strategy): run.transcript.rounds[0].examiner
        for run in viva.read_journal(journal)
    }


def test_each_persona_is_a_run_of_its_own_that_its_setting_names(desk: Desk) -> None:
    cases(desk)
    with ModelServer({"m": parts()}) as server:
        printed = suite(desk, server, "--persona", "terse", "--persona", "expert,confused")
    journal = desk.folder / "journal"
    assert said(journal) == {(name, ""): f"Role: {name}" for name in ("terse", "expert", "confused")}
    found = records(journal)
    assert len({record.id for record in found}) == 3
    assert all("personas" in record.setting.prompts for record in found)
    assert {record.setting.persona: record.score for record in found} == {"terse": 0, "expert": 1, "confused": 1}
    table = printed[printed.index("persona") :]
    assert table.index("terse") < table.index("confused") < table.index("expert"), "the worst first"
    assert "at least 5 cases are required" in " ".join(table.split())


def test_all_personas_and_strategies_are_combined(desk: Desk) -> None:
    cases(desk)
    with ModelServer({"m": parts()}) as server:
        suite(desk, server, "--persona", "all", "--strategy", "encoding")
    expected = {(one, "encoding"): f"Role: {one} encoding" for one in personas()}
    assert said(desk.folder / "journal") == expected


def test_a_run_without_a_persona_keeps_its_id_and_an_old_record_has_none(desk: Desk) -> None:
    cases(desk)
    with ModelServer({"m": parts()}) as server:
        suite(desk, server)
    (record,) = records(desk.folder / "journal")
    assert record.id == run_id("c0", "agent.py:Agent", 1) == run_id("c0", "agent.py:Agent")
    assert (record.setting.persona, record.setting.strategy) == ("", "")
    text = (desk.folder / "journal" / "journal.jsonl").read_text()
    assert '"persona"' not in text
    assert '"personas"' not in text


def test_the_persona_and_strategy_of_a_case_are_named_in_the_setting(desk: Desk) -> None:
    cases(desk, user="expert", strategy={"name": "encoding", "goal": "a refund"})
    with ModelServer({"m": parts()}) as server:
        suite(desk, server)
    assert said(desk.folder / "journal") == {("expert", "encoding"): "Role: expert encoding"}
    prompts = records(desk.folder / "journal")[0].setting.prompts
    assert {"examiner", "personas", "strategies"} <= prompts.keys()


def test_a_resumed_suite_does_the_rest_of_the_personas_and_no_other(desk: Desk) -> None:
    cases(desk)
    with ModelServer({"m": parts()}) as server:
        suite(desk, server, "--persona", "all")
    journal = desk.folder / "journal" / "journal.jsonl"
    lost = run_id("c0", "agent.py:Agent", 1, "terse")
    lines = journal.read_text().splitlines(keepends=True)
    journal.write_text("".join(line for line in lines if lost not in line))
    with ModelServer({"m": parts()}) as server:
        environment = {"OPENAI_BASE_URL": server.url, "VIVA_MODEL_WAIT": "0.001"}
        desk.viva("suite", "--resume", "journal", environment=environment, expect=0)
        assert len(server.requests) == 2, "one message and the end"
    assert {record.setting.persona for record in records(desk.folder / "journal")} == set(personas())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--persona", "terse"), "--persona requires a model as examiner"),
        (("--persona", "terse", "--strategy", "all"), "--persona and --strategy require a model as examiner"),
        (("--strategy", "all"), "--strategy requires a model as examiner"),
        (("--persona", "ters"), "did you mean 'terse'?"),
    ],
)
def test_without_a_model_or_with_a_misspelt_name_nothing_is_run(
    desk: Desk, arguments: tuple[str, ...], words: str
) -> None:
    cases(desk)
    assert words in " ".join(suite(desk, None, *arguments, expect=2).split())
    assert not list(desk.folder.glob("journal/journal.jsonl"))


def test_with_auto_a_case_with_a_script_is_named(desk: Desk) -> None:
    (desk.folder / "cases").mkdir()
    desk.case("cases/scripted")
    with ModelServer({"m": parts()}) as server:
        printed = suite(desk, server, "--examiner", "auto", "--persona", "terse", expect=2)
        assert server.requests == []
    assert "the script of the case 'scripted' examines" in " ".join(printed.split())


def test_a_misspelt_persona_in_a_case_is_refused_before_the_first_message(desk: Desk) -> None:
    cases(desk, user="ters")
    with ModelServer({"m": parts()}) as server:
        printed = suite(desk, server, expect=2)
        assert server.requests == []
    assert "did you mean 'terse'?" in " ".join(printed.split())


def test_one_exam_plays_one_persona(desk: Desk) -> None:
    cases(desk)
    with ModelServer({"m": parts()}) as server:
        environment = {"OPENAI_BASE_URL": server.url}
        model = ("--model", "openai:m", "--agent", desk.agent(ECHO))
        record = desk.run("cases/c0", *model, "--persona", "expert", environment=environment)
        assert record["setting"]["persona"] == "expert"
        many = desk.viva("run", "cases/c0", *model, "--persona", "all", environment=environment, expect=2)
    assert "To test with several, use a suite." in " ".join(many.stderr.split())


def test_python_has_the_same_dimensions(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    cases(desk)
    monkeypatch.chdir(desk.folder)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    agent = desk.agent(ECHO)
    with ModelServer({"m": parts()}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        shared = {"model": "openai:m", "sandbox": "process", "out": "journal", "resume": True}
        result = viva.run_suite("cases", agent, personas=["terse", "expert"], strategies="encoding", **shared)
        again = viva.run_suite("cases", agent, personas=["terse", "expert"], strategies="encoding", **shared)
        one = viva.examine("cases/c0", agent, model="openai:m", sandbox="process", out="one", personas="confused")
        with pytest.raises(SetupError, match="this is one exam"):
            viva.examine("cases/c0", agent, model="openai:m", sandbox="process", personas="all")
    assert one.setting.persona == "confused"
    assert again.figures == result.figures
    by_persona, by_strategy = result.figures.variants
    assert [each.group.name for each in by_persona.variants] == ["terse", "expert"]
    (encoding,) = by_strategy.variants
    assert (encoding.held, encoding.group.runs) == (1, 2)


def test_the_figures_are_in_every_report(desk: Desk) -> None:
    """Seven cases, in which a terse user never gets what the others get: more than chance, and said everywhere."""
    cases(desk, 7)
    with ModelServer({"m": parts()}) as server:
        printed = suite(desk, server, "--persona", "terse", "--persona", "expert", "--strategy", "encoding")
    more = r"More than chance: terse \(-1\.00\), expert \(\+1\.00\)\."
    assert re.search(more, " ".join(printed.split()))
    assert "0/7 0%" in " ".join(printed.split()) or "7/14" in printed
    for form, pattern in (("md", r"terse</code>"), ("html", r"<bdi>terse</bdi>")):
        desk.viva("report", "journal", "--format", {"md": "markdown"}.get(form, form), "--out", f"r.{form}", expect=0)
        text = (desk.folder / f"r.{form}").read_text()
        assert re.search(pattern, text)
        assert "More than chance" in text
    desk.viva("report", "journal", "--format", "json", "--out", "r.json", expect=0)
    found = json.loads((desk.folder / "r.json").read_text())["figures"]["variants"]
    assert [each["dimension"] for each in found] == ["persona", "strategy"]
    terse = found[0]["variants"][0]
    difference = terse["difference"]
    assert terse["group"]["name"] == "terse"
    assert (difference["value"], difference["cases"], difference["clear"]) == (-1.0, 7, True)
    assert found[1]["variants"][0]["held"] == 7


def test_neither_agent_nor_examiner_is_told_what_is_for_the_judge_alone(desk: Desk) -> None:
    """The agent writes down everything that it is given."""
    agent = """
    def __init__(self, task_description, app_dir=None, config_var=None):
        super().__init__(task_description, app_dir, config_var)
        self.given = [task_description, app_dir, config_var, dict(os.environ), sys.argv]

    def get_reply_from_agent(self, message):
        return repr([self.given, vars(self), message])
    """
    secret = {"background": "MARMALADE", "facts": [{"says": "CINNAMON", "when": "never"}], "insist": "NUTMEG"}
    desk.case("exam", scoring_points=[{"score_point": "PAPRIKA", "weight": 1}], script=None, **secret)
    with ModelServer({"m": by_role(examiner=sequence("Hello.", then="EXAM_FINISHED"))}) as server:
        model = ("--model", "openai:m", "--agent", desk.agent(agent))
        desk.viva("run", "exam", *model, "--out", "j", environment={"OPENAI_BASE_URL": server.url})
        bodies = [str(request.body) for request in server.requests]
    (run,) = viva.read_journal(desk.folder / "j")
    reply = run.transcript.rounds[0].agent or ""
    assert "Say something." in reply
    assert not [word for word in ("MARMALADE", "CINNAMON", "NUTMEG", "PAPRIKA") if word in reply]
    examining = [body for body in bodies if "You are an examiner" in body]
    judging = [body for body in bodies if "You are the judge" in body]
    assert examining
    assert judging
    assert not [body for body in examining if "MARMALADE" in body or "PAPRIKA" in body]
    assert all("MARMALADE" in body and "CINNAMON" not in body for body in judging)


def test_a_strategy_for_cases_without_a_goal_is_told_before_the_run(desk: Desk) -> None:
    cases(desk, 2)
    with ModelServer({"m": parts()}) as server:
        printed = suite(desk, server, "--strategy", "encoding")
    assert "no goal for --strategy in c0 and 1 more" in " ".join(printed.split())


def test_a_plain_suite_says_nothing_of_them(desk: Desk) -> None:
    cases(desk)
    with ModelServer({"m": by_role(examiner=sequence("Hello.", then="EXAM_FINISHED"))}) as server:
        printed = suite(desk, server)
    assert "persona" not in printed
    assert "strategy" not in printed
