"""What a first run would only reveal at a cost is told before it, with exit code 2, and leaves no journal behind."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import viva
from tests.model_server import ModelServer, Part, ServerError, Unauthorized, by_role, sequence, verdict
from tests.viva.conftest import Desk, point
from viva.errors import SetupError
from viva.journal.reader import read_records
from viva.records.run_record import Outcome

ECHO = "def get_reply_from_agent(self, message): return message"
OUT = ("--out", "runs/new")
CODE = [point("assert rounds")]


def held() -> Part:
    """A model that asks once and ends the exam."""
    return by_role(examiner=sequence("Hello.", then="EXAM_FINISHED"), judge=verdict("hit", "It is."))


@pytest.fixture
def closed_port() -> Iterator[int]:
    """A port at which nothing listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield taken.getsockname()[1]


def at(url: str) -> dict[str, str]:
    """The environment of a user whose model is at an address."""
    return {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "sk-test-key-1", "VIVA_MODEL_WAIT": "0.001"}


def refused(desk: Desk, *arguments: str, url: str = "", expect: int = 2) -> str:
    """Call a command that must end as a usage error without a journal; return what it said."""
    done = desk.viva(*arguments, environment=at(url) if url else None, expect=expect)
    assert not (desk.folder / "runs").exists(), "it left a journal"
    assert "--resume" not in done.stderr, "there is nothing to resume"
    return " ".join(done.stderr.split())


def stored(desk: Desk, case: str = "old", agent: str | None = None, out: str = "before") -> str:
    """Hold an exam without a model; return its journal."""
    if not (desk.folder / case).exists():
        desk.case(case, scoring_points=CODE)
    desk.viva("suite", case, "--agent", agent or desk.agent(ECHO), "--sandbox", "process", "--out", out, expect=0)
    return out


def recording(desk: Desk, name: str = "talks") -> str:
    """Write a recorded conversation; return its source."""
    line = {"messages": [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello."}]}
    (desk.folder / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
    return f"chat:{name}.jsonl"


# Gates


def command(desk: Desk, name: str) -> tuple[str, ...]:
    """The beginning of a command that would work."""
    if name == "trace":
        return "trace", recording(desk), "--evaluators", "loops", *OUT
    if name == "judge":
        return "judge", stored(desk), "--sandbox", "process", *OUT
    return name, desk.case(), "--agent", desk.agent(ECHO), "--sandbox", "process", *OUT


@pytest.mark.parametrize("name", ["run", "suite", "judge", "trace"])
@pytest.mark.parametrize("gate", ["sfaety", "combined_steps", "match_strict", "scoring_point"])
def test_a_gate_on_an_evaluator_that_does_not_judge_is_a_mistake(desk: Desk, name: str, gate: str) -> None:
    said = refused(desk, *command(desk, name), "--fail-under", f"{gate}=0.5")
    assert gate in said
    assert ("loops" if name == "trace" else "scoring_points") in said, "it says which evaluators there are"
    assert ("Did you mean scoring_points?" in said) == (gate == "scoring_point" and name != "trace")


@pytest.mark.parametrize("name", ["suite", "trace"])
def test_a_drop_of_an_evaluator_that_does_not_judge_is_a_mistake(desk: Desk, name: str) -> None:
    if name == "suite":
        baseline = stored(desk, "exam")
        arguments = ("suite", "exam", "--agent", "agent.py:Agent", "--sandbox", "process", *OUT)
    else:
        desk.viva("trace", recording(desk), "--evaluators", "loops", "--out", "before")
        baseline, arguments = "before", command(desk, "trace")
    assert "sfaety" in refused(desk, *arguments, "--baseline", baseline, "--max-drop", "sfaety=0.1")
    assert "match_strict" in refused(desk, *arguments, "--baseline", baseline, "--max-drop", "match_strict=0.1")


def test_a_gate_by_an_import_string_names_what_the_evaluator_is_called(desk: Desk) -> None:
    (desk.folder / "own.py").write_text("class Tone:\n    name = 'tone'\n    def evaluate(self, t, c): return True\n")
    start = (*command(desk, "suite"), "--evaluators", "scoring_points,own.py:Tone")
    assert "Did you mean tone?" in refused(desk, *start, "--fail-under", "own.py:Tone=0.5")
    desk.viva(*start, "--fail-under", "tone=0.5", expect=0)


def test_a_resumed_judgement_may_be_gated_by_what_has_judged_already(desk: Desk) -> None:
    desk.viva(*command(desk, "judge"), expect=0)
    desk.viva("judge", "--resume", "runs/new", "--fail-under", "scoring_points=0.5", expect=0)


# Baselines


@pytest.mark.parametrize("agent", ["agent.py:Agent", "example:careful"])
def test_a_baseline_without_a_common_case_is_a_mistake(desk: Desk, agent: str) -> None:
    baseline = stored(desk)
    desk.case("new", scoring_points=CODE)
    said = refused(
        desk, "suite", "new", "--agent", agent, "--sandbox", "process", *OUT, "--baseline", baseline, "--max-drop", "0"
    )
    assert "no case" in said
    assert "old" in said
    assert "new" in said


def test_one_agent_without_a_common_case_is_a_mistake_beside_others(desk: Desk) -> None:
    stored(desk, out="before")
    desk.case("new", scoring_points=CODE)
    stored(desk, "new", "example:careful", out="other")
    both = (desk.folder / "before" / "journal.jsonl").read_text() + (
        desk.folder / "other" / "journal.jsonl"
    ).read_text()
    (desk.folder / "both").mkdir()
    (desk.folder / "both" / "journal.jsonl").write_text(both)
    agents = ("--agent", "agent.py:Agent", "--agent", "example:careful")
    start = ("suite", "new", *agents, "--sandbox", "process", *OUT, "--baseline", "both")
    assert "of agent.py:Agent" in refused(desk, *start, "--max-drop", "0.5")


def test_recordings_of_other_tasks_than_the_baseline_are_a_mistake(desk: Desk) -> None:
    desk.viva("trace", recording(desk), "--evaluators", "loops", "--out", "before")
    start = ("trace", recording(desk, "others"), "--evaluators", "loops", *OUT, "--baseline", "before")
    assert "in common" in refused(desk, *start, "--max-drop", "0.1")


@pytest.mark.parametrize("kind", ["missing", "file", "empty", "garbage", "started", "run"])
def test_a_baseline_that_cannot_be_read_is_a_mistake(desk: Desk, kind: str) -> None:
    baseline = desk.folder / "baseline"
    if kind == "file":
        baseline.write_text("nothing")
    elif kind == "run":
        baseline = Path(f"{stored(desk)}#old-1")
    elif kind != "missing":
        baseline.mkdir()
        text = {"garbage": b"\xff\xfe{{{\n", "started": b'{"kind": "setting", "run": "a", "attempt": 1, "data": {}}\n'}
        if kind != "empty":
            (baseline / "journal.jsonl").write_bytes(text[kind])
    said = refused(desk, *command(desk, "suite"), "--baseline", str(baseline), "--max-drop", "0.1")
    assert "baseline" in said


# Servers of models


def roles(desk: Desk, model: str = "openai:m") -> dict[str, tuple[str, ...]]:
    """A command for each role that a model can have."""
    agent = ("--agent", desk.agent(ECHO), "--sandbox", "process", *OUT)
    asked, judged = desk.case("asked", script=None), desk.case("judged", scoring_points=[point(None)])
    journal = stored(desk)
    evaluator = ("--evaluators", "thought_to_tool", *OUT)
    return {
        "run": ("run", asked, *agent, "--model", model),
        "examiner": ("suite", asked, *agent, "--examiner-model", model),
        "judge": ("suite", judged, *agent, "--judge-model", model),
        "viva judge": ("judge", journal, "--judge", "model", "--model", model, *OUT),
        "viva trace": ("trace", recording(desk), *evaluator, "--judge-model", model),
        "analyst": ("analyze", journal, "--model", model),
    }


ROLES = ["run", "examiner", "judge", "viva judge", "viva trace", "analyst"]


@pytest.mark.parametrize("role", ROLES)
def test_a_server_that_is_down_is_told_before_the_first_run(desk: Desk, closed_port: int, role: str) -> None:
    said = refused(desk, *roles(desk)[role], url=f"http://127.0.0.1:{closed_port}/v1")
    assert f"nothing listens at 127.0.0.1:{closed_port}" in said
    assert "OPENAI_BASE_URL" in said


@pytest.mark.parametrize("role", ROLES)
def test_a_host_that_does_not_exist_is_told_before_the_first_run(
    desk: Desk, role: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    arguments = roles(desk)[role]
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert "there is no host 'models.invalid'" in refused(desk, *arguments, url="http://models.invalid/v1")


ADDRESSES = [
    ("localhost:1234/v1", "Write http://localhost:1234/v1"),
    ("models.example/v1", "Write http://models.example/v1"),
    ("ftp://models.example/v1", "Write http://models.example/v1"),
    ("http://", "names no host"),
    ("http:///v1", "names no host"),
    ("http://models.example:99999/v1", "invalid port"),
    ("http://models.example:port/v1", "invalid port"),
    ("http://[models/v1", "invalid host"),
    ("http://my models/v1", "white space"),
    ("http://models.example/v1\n", "white space"),
]


@pytest.mark.parametrize(("url", "words"), ADDRESSES)
def test_what_is_no_address_is_told_with_what_to_write(desk: Desk, url: str, words: str) -> None:
    said = refused(desk, *roles(desk)["examiner"], url=url)
    assert "OPENAI_BASE_URL" in said
    assert words in said


@pytest.mark.parametrize("role", ROLES)
def test_an_address_without_its_scheme_is_told_in_every_role(desk: Desk, role: str) -> None:
    assert "http://localhost:1234/v1" in refused(desk, *roles(desk)[role], url="localhost:1234/v1")


@pytest.mark.parametrize(("url", "words"), ADDRESSES[:6])
def test_what_is_no_address_in_a_model_file_is_told_with_the_file(desk: Desk, url: str, words: str) -> None:
    config = {"model": "m", "api_key": "sk-in-a-file-1", "base_url": url, "model_info": {}}
    component = {"provider": "autogen_ext.models.openai.OpenAIChatCompletionClient", "config": config}
    (desk.folder / "model.json").write_text(json.dumps(component))
    said = refused(desk, *roles(desk, "model.json")["examiner"])
    assert "base_url in model.json" in said
    assert words in said


PASSWORDS = [
    "me:hunter2hunter2@models.example/v1",
    "http://me:x://hunter2hunter2@models.example/v1",
    "http://me:hunter2/hunter2@models.example/v1",
    "http://me:hunter2hunter2@models.example:99999/v1?next=http://other.example",
]


@pytest.mark.parametrize("url", PASSWORDS)
def test_a_password_in_an_address_is_not_printed(desk: Desk, url: str) -> None:
    said = refused(desk, *roles(desk)["examiner"], url=url)
    assert "hunter2" not in said
    assert "models.example" in said


@pytest.mark.parametrize("role", ROLES)
def test_a_server_without_tls_behind_an_address_with_https_is_told(desk: Desk, role: str) -> None:
    with ModelServer({"m": held()}) as server:
        said = refused(desk, *roles(desk)[role], url=server.url.replace("http:", "https:"))
    assert "Write http:// if it has no certificate" in said


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("localhost:1234/v1#m", "http://localhost:1234/v1#m"),
        ("http:///v1#m", "names no host"),
        ("http://localhost:99999/v1#m", "is not an address"),
    ],
)
def test_what_is_no_address_of_an_agent_is_told(desk: Desk, spec: str, words: str) -> None:
    assert words in refused(desk, "suite", desk.case(), "--agent", spec, *OUT)


def test_a_folder_that_held_something_keeps_it(desk: Desk) -> None:
    (desk.folder / "mine").mkdir()
    (desk.folder / "mine" / "notes.txt").write_text("mine")
    with ModelServer({"m": Unauthorized()}) as server:
        case = desk.case(script=None)
        start = ("suite", case, "--agent", desk.agent(ECHO), "--model", "openai:m", "--out", "mine")
        desk.viva(*start, "--sandbox", "process", environment=at(server.url), expect=2)
    assert [each.name for each in (desk.folder / "mine").iterdir()] == ["notes.txt"]


# Names of models


@pytest.mark.parametrize("role", ROLES)
def test_a_model_that_its_server_does_not_have_is_told_before_the_first_run(desk: Desk, role: str) -> None:
    with ModelServer() as server:
        said = refused(desk, *roles(desk, "openai:gpt-wrong")[role], url=server.url)
        assert [seen.body["max_tokens"] for seen in server.requests] == [1], "asked for one token, and no more"
    assert "gpt-wrong" in said
    assert "404" in said


def test_a_model_that_its_server_does_not_list_may_be_there_all_the_same(desk: Desk) -> None:
    desk.case(script=None, scoring_points=CODE)
    with ModelServer({"alias": held()}, lists=["m-2026-01"]) as server:
        start = ("suite", "exam", "--agent", desk.agent(ECHO), "--sandbox", "process", "--model", "openai:alias", *OUT)
        desk.viva(*start, environment=at(server.url), expect=0)


@pytest.mark.parametrize("status", [404, 405, 500])
@pytest.mark.parametrize("concurrency", ["1", "4"])
def test_the_first_refusal_of_a_server_without_a_list_leaves_no_journal(
    desk: Desk, status: int, concurrency: str
) -> None:
    for number in range(4):
        desk.case(f"c{number}", script=None)
    start = ("suite", ".", "--agent", desk.agent(ECHO), "--sandbox", "process", "--concurrency", concurrency, *OUT)
    with ModelServer(lists=status) as server:
        said = refused(desk, *start, "--model", "openai:gpt-wrong", url=server.url)
        assert 1 <= len(server.requests) <= int(concurrency)
    assert "gpt-wrong" in said


def test_a_key_that_may_not_list_models_may_be_good_for_questions(desk: Desk) -> None:
    desk.case(script=None, scoring_points=CODE)
    start = ("suite", "exam", "--agent", desk.agent(ECHO), "--sandbox", "process", "--model", "openai:m", *OUT)
    with ModelServer({"m": Unauthorized()}, lists=403) as server:
        assert "OPENAI_API_KEY" in refused(desk, *start, url=server.url)
    with ModelServer({"m": held()}, lists=403) as server:
        desk.viva(*start, environment=at(server.url), expect=0)


def test_the_newest_journal_is_never_one_of_a_mistake(desk: Desk) -> None:
    stored(desk, out="runs/old")
    with ModelServer(lists=404) as server:
        start = ("run", desk.case(script=None), "--agent", "agent.py:Agent", "--sandbox", "process")
        desk.viva(*start, "--model", "openai:gpt-wrong", environment=at(server.url), expect=2)
    assert [each.name for each in (desk.folder / "runs").iterdir()] == ["old"]


def test_a_journal_in_which_nothing_was_said_is_not_the_newest_one(desk: Desk) -> None:
    """An agent's endpoint that lacks its model leaves one, which can be resumed when the endpoint is repaired."""
    stored(desk, out="runs/old")
    with ModelServer() as server:
        start = (
            "suite",
            desk.case(),
            "--agent",
            f"{server.url}#gpt-wrong",
            "--sandbox",
            "process",
            "--out",
            "runs/empty",
        )
        done = desk.viva(*start, expect=2)
    assert "viva suite --resume runs/empty" in done.stderr
    said = desk.viva("judge", "--sandbox", "process", "--json", expect=0)
    assert [run["subject"] for run in json.loads(said.stdout)["runs"]] == ["old"]


# Resuming with another model


def settings(desk: Desk, journal: str = "journal") -> dict[str, tuple[str, str | None]]:
    """Examiner and model of the judge by case, as the records say."""
    records = read_records(desk.folder / journal)
    return {each.subject: (each.setting.examiner, each.setting.judge_model) for each in records}


def test_a_suite_whose_judge_has_a_wrong_name_is_resumed_with_another(desk: Desk) -> None:
    desk.case(scoring_points=[point(None)])
    start = ("suite", "exam", "--agent", desk.agent(ECHO), "--examiner", "script", "--out", "journal")
    with ModelServer({"right": verdict("miss", "It is not.")}, lists=404) as server:
        done = desk.viva(*start, "--model", "openai:wrong", environment=at(server.url), expect=2)
        assert "viva suite --resume journal" in done.stderr, "the conversation is kept"
        desk.viva("suite", "--resume", "journal", "--model", "openai:right", environment=at(server.url), expect=0)
    assert settings(desk) == {"exam": ("script", "right")}
    assert desk.kinds().count("round") == 1, "nothing was asked again"


def test_each_run_names_the_model_that_spoke_in_it(desk: Desk) -> None:
    for name in ("a", "b"):
        desk.case(name, script=None, scoring_points=CODE)
    agent = desk.agent(ECHO)
    start = ("suite", "a", "b", "--agent", agent, "--sandbox", "process", "--concurrency", "1", "--attempts", "1")
    first = sequence("Hello.", "EXAM_FINISHED", then=ServerError(404))
    with ModelServer({"one": first, "two": held()}) as server:
        desk.viva(*start, "--model", "openai:one", "--out", "journal", environment=at(server.url), expect=3)
        again = ("suite", "--resume", "journal", "--retry-errors", "--model", "openai:two")
        desk.viva(*again, environment=at(server.url), expect=0)
    assert {name: who for name, (who, _) in settings(desk).items()} == {"a": "one", "b": "two"}
    assert all(record.outcome is Outcome.SCORED for record in read_records(desk.folder / "journal"))


@pytest.mark.parametrize("flag", ["--model", "--examiner-model", "--judge-model", "--backup-model"])
def test_a_model_cannot_be_added_to_exams_that_had_none(desk: Desk, flag: str) -> None:
    stored(desk)
    done = desk.viva("suite", "--resume", "before", flag, "openai:m", environment=at("http://127.0.0.1:9/v1"), expect=2)
    assert f"{flag} cannot be added" in done.stderr


@pytest.mark.parametrize("flag", ["--model", "--examiner-model"])
def test_a_model_cannot_be_left_out_when_exams_are_resumed(desk: Desk, flag: str) -> None:
    """An empty variable of a CI job would otherwise have the scripts examine the rest of a model's suite."""
    desk.case(scoring_points=CODE)
    start = ("suite", "exam", "--agent", desk.agent(ECHO), "--sandbox", "process", "--model", "openai:m", *OUT)
    with ModelServer({"m": held()}) as server:
        desk.viva(*start, environment=at(server.url), expect=0)
        done = desk.viva("suite", "--resume", "runs/new", "--fresh", flag, "", environment=at(server.url), expect=2)
    assert f"{flag} requires the name of a model" in done.stderr


def test_a_finished_suite_asks_no_model_when_it_is_resumed(desk: Desk, closed_port: int) -> None:
    desk.case(script=None, scoring_points=CODE)
    start = ("suite", "exam", "--agent", desk.agent(ECHO), "--sandbox", "process", "--model", "openai:m", *OUT)
    with ModelServer({"m": held()}) as server:
        desk.viva(*start, environment=at(server.url), expect=0)
    down = at(f"http://127.0.0.1:{closed_port}/v1")
    desk.viva("suite", "--resume", "runs/new", environment=down, expect=0)


# Python


@pytest.mark.parametrize("wrong", ["down", "scheme", "name"])
def test_programs_are_told_in_the_same_way(
    desk: Desk, closed_port: int, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.folder)
    calls = python_calls(desk)
    with ModelServer() as server:
        urls = {"down": f"http://127.0.0.1:{closed_port}/v1", "scheme": "localhost:1234/v1", "name": server.url}
        monkeypatch.setenv("OPENAI_BASE_URL", urls[wrong])
        for call in calls:
            with pytest.raises(SetupError):
                call()
            assert not (desk.folder / "runs").exists()


def python_calls(desk: Desk) -> Sequence[object]:
    """Calls of the public functions with a model called gpt-wrong."""

    class Echo(viva.VirtualUser):
        def get_reply_from_agent(self, message: str) -> str:
            return message

    model, journal = "openai:gpt-wrong", stored(desk)
    asked, source = desk.case("asked", script=None), recording(desk)
    return (
        lambda: viva.examine(asked, Echo, model=model, sandbox="process"),
        lambda: viva.run_suite([asked], Echo, model=model, sandbox="process"),
        lambda: viva.judge(journal, judge="model", model=model),
        lambda: viva.trace(source, evaluators=["thought_to_tool"], judge_model=model),
    )


def test_a_program_resumes_with_another_model(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(desk.folder)
    desk.case(scoring_points=[point(None)])
    agent = desk.agent(ECHO)

    def suite(model: str | None) -> viva.SuiteResult:
        more = {} if model is None else {"model": model}
        return viva.run_suite("exam", agent, examiner="script", out="journal", resume=True, **more)

    with ModelServer({"right": verdict("miss", "It is not.")}, lists=404) as server:
        for name, value in at(server.url).items():
            monkeypatch.setenv(name, value)
        with pytest.raises(SetupError, match="wrong"):
            suite("openai:wrong")
        with pytest.raises(SetupError, match="model"):
            suite(None)
        assert suite("openai:right").ended == 1
    assert settings(desk) == {"exam": ("script", "right")}
