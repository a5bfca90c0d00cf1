"""The pytest plugin, in real runs of pytest."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from importlib.metadata import entry_points
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.model_server import CutConnection, ModelServer, by_role, sequence
from tests.model_server import verdict as ruling
from tests.viva.conftest import Desk, point
from tests.viva.pytest_plugin.sessions import INI
from tests.viva.suites.played_exams import FAIR, FLIPPED, examiner
from tests.viva.viva_command import run_pytest
from viva.cases.find import BUNDLED
from viva.exam.option_declaration import Part
from viva.exam.options import Options
from viva.journal.lock import exclusive_writer
from viva.journal.reader import read_records
from viva.journal.writer import Damage, scan
from viva.pytest_plugin.entry_point import name_of, pytest_addoption
from viva.pytest_plugin.given import exam_options
from viva.statistics.summary import summarize

pytest_plugins = ["pytester"]

ECHO = """
def get_reply_from_agent(self, message):
    return message
"""
HEAVY = ("cases", "records", "adapters", "examiner", "judge", "sandbox", "pydantic", "rich", "click", "autogen_core")


class Exam:
    """A folder with cases and agents, and pytest run in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.desk = Desk(pytester.path)
        pytester.makeini(f"{INI}filterwarnings = error\n")
        self.agent = self.desk.agent(ECHO)

    def __call__(
        self, *arguments: str, agent: str | None = None, process: bool = False, fresh: bool = False
    ) -> pytest.RunResult:
        """Run pytest with the plugin that is installed: in this process, unless that matters, there are workers, or
        models: pytester forgets what was imported, which their packages do not bear.

        A process is forked from a warm one, unless what it imports matters, and when.
        """
        said = (
            arguments
            if any(item.startswith("--viva-sandbox") for item in arguments)
            else (*arguments, "--viva-sandbox=process")
        )
        words = ("--viva-agent", agent or self.agent, *said)
        if fresh:
            return self.pytester.runpytest_subprocess(*words)
        if not process and "-n" not in said:
            return self.pytester.runpytest_inprocess(*words)
        done = run_pytest(*words, cwd=self.pytester.path, capture_output=True, encoding="utf-8")
        return pytest.RunResult(done.returncode, done.stdout.splitlines(), done.stderr.splitlines(), 0.0)

    @property
    def journal(self) -> Path:
        """The one journal under runs/."""
        (folder,) = (self.pytester.path / "runs").iterdir()
        return folder


@pytest.fixture
def exam(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Exam:
    """A fresh folder."""
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "VIVA_AGENT_", "PYTEST_ADDOPTS", "PYTEST_XDIST")) or name in (
            "CI",
            "BUILD_NUMBER",
        ):
            monkeypatch.delenv(name)
    monkeypatch.setenv("COLUMNS", "200")
    return Exam(pytester)


def outcomes(result: pytest.RunResult, **expected: int) -> str:
    """Check the counts and that no traceback was shown; returns everything printed."""
    result.assert_outcomes(**expected)
    printed = "\n".join([*result.outlines, *result.errlines])
    assert "Traceback" not in printed
    assert "_pytest" not in printed
    return printed


def test_importing_the_plugin_loads_nothing_that_costs() -> None:
    code = f"import sys, viva.pytest_plugin.entry_point; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_an_agent_nothing_is_collected_and_nothing_is_loaded(exam: Exam) -> None:
    exam.desk.case()
    exam.pytester.makepyfile(f"import sys\n\n\ndef test_it():\n    assert not set({HEAVY!r}) & set(sys.modules)\n")
    # Phoenix's client brings a plugin of its own, which loads what it likes; `INI` leaves it out.
    result = exam.pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1)
    assert not (exam.pytester.path / "runs").exists()


def test_pytest_finds_the_plugin_by_its_entry_point() -> None:
    found = [entry.value for entry in entry_points(group="pytest11") if entry.name == "viva"]
    assert found == ["viva.pytest_plugin.entry_point"], (
        "after a change of pyproject.toml, install again: pip install -e ."
    )


def test_a_case_folder_is_an_item_beside_ordinary_tests(exam: Exam) -> None:
    exam.desk.case("good", data={"table.yml": "rows: 3"}, data_files=None)
    (exam.pytester.path / "good" / "table.yml").rename(exam.pytester.path / "table.yml")
    exam.pytester.makepyfile("def test_it():\n    pass\n")
    printed = outcomes(exam("-v", process=True), passed=2)
    assert "good/case.yaml::good PASSED" in printed
    assert "ignored, not cases:" in printed
    assert "table.yml" in printed
    assert f"viva: journal: {exam.journal.relative_to(exam.pytester.path)}" in printed
    assert [record.score for record in read_records(exam.journal)] == [1.0]


def test_a_failure_shows_the_missed_points_and_their_reasons_and_not_the_others(exam: Exam) -> None:
    points = [
        point("assert rounds[0]['agent'] == 'Hi', 'it said ' + rounds[0]['agent']", "The agent greets.", 3),
        point("assert rounds", "The agent speaks."),
    ]
    exam.desk.case(scoring_points=points)
    printed = outcomes(exam(), failed=1)
    assert "score 1/4 = 0.25, below the threshold of 1" in printed
    assert "MISS (weight 3) The agent greets." in printed
    assert "AssertionError: it said Hello. (line 1 of the check) (by code)" in printed
    assert "The agent speaks." not in printed
    assert "agent: Hello." in printed
    assert "sandbox process (does NOT isolate)" in printed
    assert "FAILED exam/case.yaml::exam - score 1/4 = 0.25" in printed
    (reference,) = re.findall(r"viva replay '(.+?)'", printed)
    assert "Hello." in exam.desk.viva("replay", reference, expect=0).stdout


def test_evaluators_take_parameters_and_one_that_cannot_judge_ends_the_session(exam: Exam) -> None:
    exam.desk.case()
    exam.pytester.path.joinpath("own.py").write_text(
        "def brief(transcript, context, words, tones=()):\n    return words == 1 and len(tones) == 2\n"
    )
    evaluators = "own.py:brief(words=1, tones=['a,b', 'c']),scoring_points"
    outcomes(exam("--viva-evaluators", evaluators), passed=1)
    (record,) = read_records(exam.journal)
    assert record.setting.evaluators == ("brief", "scoring_points")
    assert record.setting.evaluator_parameters == {"brief": "tones=['a,b', 'c'], words=1"}
    result = exam("--viva-evaluators", "own.py:brief")
    assert "own.py:1: def brief(transcript, context, words, tones=()) requires words" in result.stdout.str()
    assert result.ret == pytest.ExitCode.INTERRUPTED


def test_the_threshold_decides_by_the_low_bound(exam: Exam) -> None:
    exam.desk.case(scoring_points=[point("assert 0", "A."), point("assert 1", "B.")])
    outcomes(exam("--viva-threshold", "0.5"), passed=1)
    outcomes(exam("--viva-threshold", "0.51"), failed=1)


def test_an_agent_that_raises_fails_and_is_named_as_the_one_that_failed(exam: Exam) -> None:
    exam.desk.case(scoring_points=[point("assert len(rounds) == 2")], script=["One.", "Two."])
    agent = exam.desk.agent("def get_reply_from_agent(self, message):\n    raise OSError('gone')", "broken")
    printed = outcomes(exam(agent=agent), failed=1)
    assert "score 0/1 = 0.00, below the threshold of 1; the agent failed: broken.py:8: OSError: gone" in printed


@pytest.mark.parametrize("when", ["One.", "Two."])
def test_an_item_whose_agent_fails_does_not_pass_by_checks_that_an_error_satisfies(exam: Exam, when: str) -> None:
    checks = [point("assert 'swordfish' not in str(rounds)", "A."), point("assert rounds", "B.")]
    exam.desk.case(scoring_points=checks, script=["One.", "Two."])
    method = f"def get_reply_from_agent(self, message):\n    return {{'{when}': None}}.get(message, 'Yes.')"
    agent = exam.desk.agent(method, "broken")
    printed = outcomes(exam("--viva-threshold", "0.01", agent=agent), failed=1)
    assert "the agent failed" in printed
    printed = outcomes(exam("--viva-threshold", "0", agent=agent), failed=1)
    assert "; the agent failed" in printed
    assert "below the threshold" not in printed


def test_a_judge_that_breaks_is_an_error_that_says_whose_fault_it_was(exam: Exam) -> None:
    exam.desk.case("sound")
    exam.desk.case("unsound", scoring_points=[point("assert chat_histroy", "It remembers.")])
    printed = outcomes(exam("--viva-threshold", "0"), passed=1, errors=1)
    assert "judge_error (judging failed; excluded from averages)" in printed
    assert "ERROR (weight 1) It remembers." in printed
    assert "the check itself is broken: NameError: name 'chat_histroy' is not defined" in printed


def test_an_examiner_whose_provider_is_gone_is_an_infrastructure_error_and_was_tried_again(
    exam: Exam, monkeypatch: pytest.MonkeyPatch
) -> None:
    exam.desk.case()
    monkeypatch.setenv("VIVA_MODEL_ATTEMPTS", "1")
    with ModelServer({"nobody": CutConnection()}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        printed = outcomes(exam("--viva-model", "openai:nobody", process=True), errors=1)
    assert "infra_error" in printed
    assert "the provider cannot be reached" in printed
    assert [record.attempt for record in read_records(exam.journal)] == [3]


def test_an_error_of_an_agent_is_shown_without_secrets(exam: Exam, monkeypatch: pytest.MonkeyPatch) -> None:
    exam.desk.case()
    monkeypatch.setenv("ROOM_TOKEN", "t0ken-of-the-room-0123456789")
    exam.pytester.makepyfile(
        rooms="""
        from viva.adapters.connectors.agent_file import ConnectorKeys
        from viva.errors import SetupError


        class RoomKeys(ConnectorKeys):
            url: str


        class Rooms:
            keys = RoomKeys

            def load(self, spec, *, isolate, memory_mb):
                raise NotImplementedError

            def load_file(self, file, *, isolate, memory_mb):
                raise SetupError(f"there is no room at {file.expanded(file.keys.url, 'url')}.")
        """
    )
    (exam.desk.folder / "room.yaml").write_text("connector: rooms.py:Rooms\nurl: http://rooms/?token=${ROOM_TOKEN}\n")
    result = exam(agent="room.yaml")
    printed = "\n".join([*result.outlines, *result.errlines])
    assert "there is no room at http://rooms/?token=[ROOM_TOKEN]." in printed
    assert "t0ken-of-the-room" not in printed


def test_a_models_verdict_is_shown_with_its_evidence(exam: Exam, monkeypatch: pytest.MonkeyPatch) -> None:
    verdict = ruling("miss", "It only repeats.", {"round": 1, "quote": "Hello"})
    exam.desk.case(scoring_points=[point(None, "The agent answers.")])
    with ModelServer({"scripted": by_role(judge=verdict)}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        printed = outcomes(exam("--viva-judge-model", "openai:scripted", process=True), failed=1)
    assert "It only repeats. (by scripted)" in printed
    assert "r1: “Hello”" in printed


def test_what_viva_has_silenced_fails_no_exam_of_a_user_who_takes_warnings_for_errors(
    exam: Exam, monkeypatch: pytest.MonkeyPatch
) -> None:
    verdict = ruling("hit", "It answers.", {"round": 1, "quote": "Hello"})
    exam.desk.case(scoring_points=[point(None, "The agent answers.")])
    with ModelServer({"gpt-4o": by_role(judge=verdict)}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        outcomes(exam("--viva-judge-model", "openai:gpt-4o", "--viva-trials", "2", fresh=True), passed=2)


def test_a_mistake_in_a_case_is_told_with_file_and_line(exam: Exam) -> None:
    exam.desk.case("sound")
    file = exam.pytester.path / exam.desk.case("unsound", max_rouns=3) / "case.yaml"
    result = exam()
    printed = outcomes(result, errors=1)
    line = file.read_text().splitlines().index("max_rouns: 3") + 1
    assert f"{file}:{line}: unknown key 'max_rouns'; did you mean 'max_rounds'?" in printed
    assert result.ret == pytest.ExitCode.INTERRUPTED


def test_two_cases_with_one_name_are_not_mixed_up(exam: Exam) -> None:
    exam.desk.case("same")
    (exam.pytester.path / "below").mkdir()
    exam.desk.case("below/same")
    printed = outcomes(exam(), passed=1, errors=1)
    assert "two cases are called 'same'" in printed


def test_what_would_meet_every_item_stops_the_session_with_one_sentence(exam: Exam) -> None:
    exam.desk.case("one")
    exam.desk.case("two")
    result = exam(agent="agent.py:Agnt")
    printed = outcomes(result, errors=1)
    assert "agent.py has no 'Agnt'. Did you mean agent.py:Agent?" in printed
    assert result.ret == pytest.ExitCode.INTERRUPTED


def test_several_workers_write_one_journal_without_losing_an_event(exam: Exam) -> None:
    exam.pytester.makeini(INI)
    for number in range(4):
        exam.desk.case(f"case{number}", script=[f"Message {number}."] * 3)
    outcomes(exam("-n", "2", "--viva-trials", "3", "--viva-out", "out"), passed=12)
    damage = Damage()
    events = Counter(event.kind for event in scan(exam.pytester.path / "out", damage))
    assert events == {"setting": 12, "round": 36, "transcript": 12, "insight": 12, "run": 12}
    assert damage.torn == 0
    records = list(read_records(exam.pytester.path / "out"))
    assert sorted((record.subject, record.trial) for record in records) == [
        (f"case{number}", trial) for number in range(4) for trial in (1, 2, 3)
    ]


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_completed_runs_go_to_every_sink_and_one_that_fails_is_named(exam: Exam, workers: tuple[str, ...]) -> None:
    exam.pytester.makeini(INI)
    for number in range(3):
        exam.desk.case(f"case{number}")
    exam.pytester.makepyfile(
        sinks="class Broken:\n    def write(self, record, transcript):\n        raise OSError('the queue is gone')\n"
    )
    printed = outcomes(exam(*workers, "--viva-sink", "jsonl:sent.jsonl", "--viva-sink", "sinks.py:Broken"), passed=3)
    assert "the sink sinks.py:Broken failed: sinks.py:3: OSError: the queue is gone" in printed
    sent = [json.loads(line) for line in (exam.pytester.path / "sent.jsonl").read_text().splitlines()]
    assert sorted(line["subject"] for line in sent) == ["case0", "case1", "case2"]


def test_a_sink_that_is_not_there_stops_the_session_with_one_sentence(exam: Exam) -> None:
    exam.desk.case("one")
    assert "there is no sink" in outcomes(exam("--viva-sink", "jason:out"), errors=1)


def test_a_journal_on_a_file_system_without_locks_is_written_with_a_note(
    exam: Exam, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOSYS, os.strerror(errno.ENOSYS))

    monkeypatch.setattr(fcntl, "flock", refuse)
    exam.desk.case("one")
    printed = outcomes(exam(), passed=1)
    assert printed.count("without locks: another viva process") == 1


def test_workers_tell_failures_and_notes_as_one_process_does(exam: Exam, monkeypatch: pytest.MonkeyPatch) -> None:
    exam.pytester.makeini(INI)
    verdict = ruling("miss", "It only repeats.")
    exam.desk.case("bad", scoring_points=[point(None)], dependencies=["not-a-package-of-ours"])
    with ModelServer({"scripted": by_role(judge=verdict)}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        printed = outcomes(exam("-n", "1", "--viva-judge-model", "openai:scripted"), failed=1)
    assert "It only repeats." in printed
    assert printed.count("viva: note: bad requires not-a-package-of-ours") == 1
    assert "FAILED bad/case.yaml::bad - score 0/1 = 0.00" in printed


def test_tags_and_names_select_with_k(exam: Exam) -> None:
    exam.desk.case("one", tags=["smoke", "files"])
    exam.desk.case("two", tags=["dialogue"])
    printed = outcomes(exam("-v", "-k", "smoke and not dialogue"), passed=1, deselected=1)
    assert "one/case.yaml::one PASSED" in printed
    outcomes(exam("-k", "two"), passed=1, deselected=1)


def test_a_case_that_is_deselected_needs_nothing(exam: Exam) -> None:
    exam.desk.case("one")
    exam.desk.case("two", script=None)
    outcomes(exam("-k", "one"), passed=1, deselected=1)
    assert "has no script, so a model must examine" in outcomes(exam(), errors=1)


def test_a_second_session_in_the_same_journal_is_the_next_attempt(exam: Exam) -> None:
    exam.desk.case()
    for _ in range(2):
        outcomes(exam("--viva-out", "out"), passed=1)
    assert [event.attempt for event in scan(exam.pytester.path / "out") if event.kind == "run"] == [1, 2]


def test_a_journal_that_another_process_writes_is_left_alone(exam: Exam) -> None:
    exam.desk.case()
    with exclusive_writer(exam.pytester.path / "out"):
        assert "another viva process is writing to" in outcomes(exam("--viva-out", "out"), errors=1)
        exam.pytester.makeini(INI)
        result = exam("--viva-out", "out", "-n", "1")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*another viva process is writing to*"])


def test_junit_xml_has_score_points_and_run_and_survives_a_hostile_agent(exam: Exam) -> None:
    words = r"""'\x1b]0;owned\x07<script>]]>&\ud800\x00 =cmd|' + 'x' * 5_000_000"""
    agent = exam.desk.agent(f"def get_reply_from_agent(self, message):\n    return {words}", "hostile")
    exam.desk.case(scoring_points=[point("assert 0, rounds[0]['agent']", "A.", 2), point("assert 1", "B.", 1)])
    result = exam("--junitxml", "junit.xml", agent=agent, process=True)
    printed = outcomes(result, failed=1)
    assert "\x1b" not in printed
    assert len(printed) < 20_000
    (case,) = ElementTree.parse(exam.pytester.path / "junit.xml").iter("testcase")
    facts = {item.get("name"): item.get("value") for item in case.iter("property")}
    (record,) = read_records(exam.journal)
    assert facts == {
        "score": "0.333333",
        "low": "0.333333",
        "points": "1",
        "max_points": "3",
        "agent": agent,
        "outcome": "scored",
        "run_id": record.id,
        "journal": str(exam.journal.relative_to(exam.pytester.path)),
    }
    failure = case.find("failure")
    assert failure is not None
    assert (failure.get("message") or "").startswith("score 1/3")
    assert "<script>]]>" in (failure.text or "")


def test_an_isolated_agent_that_kills_its_process_fails_and_the_next_item_runs(exam: Exam) -> None:
    exam.desk.case("a", scoring_points=[point("assert len(rounds) > 1")])
    exam.desk.case("b", scoring_points=[point("assert len(rounds) > 1")])
    agent = exam.desk.agent("def get_reply_from_agent(self, message):\n    os._exit(7)", "deadly")
    printed = outcomes(exam("--viva-isolate", agent=agent, process=True), failed=2)
    assert printed.count("the agent failed") >= 2


def test_a_package_of_the_users_may_have_any_name_but_vivas(exam: Exam) -> None:
    exam.desk.case("exams")
    for name in ("cases", "harness", "records", "adapters"):
        (exam.pytester.path / name).mkdir()
        (exam.pytester.path / name / "__init__.py").write_text("raise RuntimeError('the wrong one')")
    result = exam("exams", process=True)  # runs `python -m pytest`, which puts the working folder first
    result.assert_outcomes(passed=1)


def test_an_option_that_makes_no_sense_is_refused(exam: Exam) -> None:
    for option in ("--viva-threshold=1.5", "--viva-trials=0", "--viva-reply-timeout=nan", "--viva-sandbox=none"):
        assert exam(option).ret == pytest.ExitCode.USAGE_ERROR


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_sandbox_that_does_not_isolate_is_named_though_all_pass(exam: Exam, workers: tuple[str, ...]) -> None:
    exam.desk.case("one")
    exam.desk.case("two")
    printed = outcomes(exam(*workers), passed=2)
    assert printed.count("checks run in the sandbox process, which does NOT isolate") == 1


def test_the_plugin_offers_every_option_of_an_exam_with_the_default_of_the_command_line() -> None:
    parser = pytest.Parser(_ispytest=True)
    pytest_addoption(parser)
    said = parser.parse_known_args(["--viva-timeout", "7.5", "--viva-agent-memory", "64", "--viva-check-memory", "40"])
    assert (said.viva_timeout, said.viva_agent_memory, said.viva_check_memory) == (7.5, 64, 40)
    for field, option in Options.declared(*Part):
        name = name_of(option).removeprefix("--").replace("-", "_")
        given = getattr(parser.parse_known_args([]), name)
        assert (tuple(given) if isinstance(given, list) else given) == field.default, name


def test_one_judge_stays_a_text_and_several_are_a_jury(pytester: pytest.Pytester) -> None:
    models = ("--viva-judge-model", "openai:a")
    assert exam_options(pytester.parseconfig()).judge_model is None
    assert exam_options(pytester.parseconfig(*models)).judge_model == "openai:a"
    both = exam_options(pytester.parseconfig(*models, "--viva-judge-model", "openai:b", "--viva-votes", "3"))
    assert (both.judge_model, both.votes) == (("openai:a", "openai:b"), 3)


MUTE = "def get_reply_from_agent(self, message):\n    return 'no'"


@pytest.mark.parametrize("workers", [(), ("-n", "1")])
def test_two_agents_are_both_examined_and_each_has_items_and_figures_of_its_own(
    exam: Exam, workers: tuple[str, ...]
) -> None:
    exam.desk.case("one", scoring_points=[point("assert rounds[0]['agent'] == 'Hello.'")])
    exam.desk.case("two", scoring_points=[point("assert rounds[0]['agent'] == 'Hello.'")])
    mute = exam.desk.agent(MUTE, "mute").replace("Agent", "Mute")
    (exam.pytester.path / "mute.py").write_text((exam.pytester.path / "mute.py").read_text().replace("Agent(", "Mute("))
    printed = outcomes(exam("--viva-agent", mute, "-rA", *workers), passed=2, failed=2)
    for verdict, item in (("PASSED", "one[Agent]"), ("PASSED", "two[Agent]"), ("FAILED", "two[Mute]")):
        assert re.search(rf"^{verdict} .*{re.escape(item)}", printed, re.MULTILINE), item
    assert "viva: testing agent.py:Agent, mute.py:Mute" in printed or workers
    assert "viva: Agent: 2 of 2 runs passed, mean score 1.00" in printed
    assert "viva: Mute: 0 of 2 runs passed, mean score 0.00" in printed
    assert Counter(record.agent for record in read_records(exam.journal)) == {exam.agent: 2, mute: 2}


def test_items_of_several_agents_and_trials_can_be_selected_by_name(exam: Exam) -> None:
    exam.desk.case("one")
    mute = exam.desk.agent(MUTE, "mute")
    listed = exam("--viva-agent", mute, "--viva-trials", "2", "--collect-only", "-q").outlines
    names = [line.rpartition("::")[2] for line in listed if "::" in line]
    assert names == [f"one[{agent}-{trial}]" for agent in ("agent.py:Agent", "mute.py:Agent") for trial in (1, 2)], (
        "two classes of one name are told apart by their files"
    )
    outcomes(exam("--viva-agent", mute, "-k", "mute"), passed=1, deselected=1)
    outcomes(exam("--viva-agent", mute, "one/case.yaml::one[mute.py:Agent]"), passed=1)


def test_figures_of_a_session_are_of_its_own_runs(exam: Exam) -> None:
    exam.desk.case("one", scoring_points=[point("assert rounds[0]['agent'] == 'Hello.'")])
    exam.desk.case("two")
    mute = exam.desk.agent(MUTE, "mute")
    exam("--viva-agent", mute, "--viva-out", "out")
    printed = outcomes(exam("--viva-agent", mute, "--viva-out", "out", "two"), passed=2)
    assert "viva: mute.py:Agent: 1 of 1 run passed, mean score 1.00" in printed


def marks(exam: Exam, out: str = "out") -> dict[str, tuple[str, ...]]:
    return {record.subject: record.setting.requeued for record in read_records(exam.pytester.path / out)}


def test_a_session_that_repeats_only_some_runs_of_a_journal_marks_them(exam: Exam) -> None:
    for name in ("one", "two"):
        exam.desk.case(name)
    for _ in range(2):
        outcomes(exam("--viva-out", "out"), passed=2)
    assert marks(exam) == {"one": (), "two": ()}
    outcomes(exam("--viva-out", "out", "two"), passed=1)
    assert marks(exam) == {"one": (), "two": ("scored",)}
    exam.desk.viva("report", "out", "--fail-under", "0", expect=3)
    outcomes(exam("--viva-out", "out"), passed=2)
    assert marks(exam) == {"one": (), "two": ("scored",)}, "what was chosen once stays marked"
    outcomes(exam("--viva-out", "out", "two", "-n", "1"), passed=1)
    assert marks(exam) == {"one": (), "two": ("scored", "scored")}


def test_a_plugin_that_repeats_a_test_until_it_passes_leaves_a_mark(exam: Exam) -> None:
    for name in ("one", "two"):
        exam.desk.case(name)
    exam.pytester.makeconftest(
        "import pytest\nfrom _pytest.runner import runtestprotocol\n\n\n@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_runtest_protocol(item, nextitem):\n    if item.name == 'two':\n"
        "        runtestprotocol(item, nextitem=nextitem, log=False)\n"
    )
    outcomes(exam("--viva-out", "out"), passed=2)
    assert marks(exam) == {"one": (), "two": ("scored",)}


def test_an_agent_that_is_gone_does_not_stop_the_other(exam: Exam) -> None:
    for name in ("a", "b", "c", "d", "e", "f"):
        exam.desk.case(name)
    gone = exam.desk.agent(
        """
        replies = ["Hello."]

        def get_reply_from_agent(self, message):
            from viva.errors import AgentError
            if not self.replies:
                raise AgentError("nobody listens", unavailable=True)
            return self.replies.pop()
        """,
        "gone",
    )
    printed = outcomes(exam("--viva-agent", gone), passed=6 + 1, failed=3, errors=2)
    assert "could not be reached in 3 runs in a row" in printed
    assert "viva: gone.py:Agent: 1 of 4 runs passed" in printed


def test_an_agent_that_is_given_twice_is_a_usage_error(exam: Exam) -> None:
    exam.desk.case("one")
    result = exam("--viva-agent", exam.agent)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*the same --viva-agent is given twice; use --viva-trials*"])


def test_the_folder_of_a_command_is_refused_and_so_is_a_file(exam: Exam) -> None:
    exam.desk.case("one")
    exam.desk.viva("run", "one", "--agent", exam.agent, "--sandbox", "process", "--out", "out", expect=0)
    before = (exam.pytester.path / "out" / "journal.jsonl").read_bytes()
    for out, words in (("out", "*already contains the journal of a viva command*"), ("out.xml", "*name of a file*")):
        result = exam("--viva-out", out)
        assert result.ret == pytest.ExitCode.USAGE_ERROR
        result.stderr.fnmatch_lines([words])
    assert (exam.pytester.path / "out" / "journal.jsonl").read_bytes() == before
    assert not (exam.pytester.path / "out.xml").exists()


# What is told before the first run


def models(url: str) -> dict[str, str]:
    return {"OPENAI_API_KEY": "sk-test-1", "OPENAI_BASE_URL": url, "VIVA_MODEL_WAIT": "0.001"}


@pytest.mark.parametrize(("lists", "workers"), [(None, ()), (404, ()), (None, ("-n", "1"))])
def test_a_model_that_its_server_does_not_have_ends_the_session_without_a_journal(
    exam: Exam, monkeypatch: pytest.MonkeyPatch, lists: int | None, workers: tuple[str, ...]
) -> None:
    exam.desk.case("one", script=None)
    exam.desk.case("two", script=None)
    with ModelServer(lists=lists) as server:
        for name, value in models(server.url).items():
            monkeypatch.setenv(name, value)
        result = exam("--viva-model", "openai:gpt-wrong", *workers, process=True)
    assert "gpt-wrong" in result.stdout.str()
    assert result.ret != 0
    assert not list((exam.pytester.path).glob("runs/*")), "it left a journal"


def test_an_address_without_its_scheme_ends_the_session_without_a_journal(
    exam: Exam, monkeypatch: pytest.MonkeyPatch
) -> None:
    exam.desk.case("one", script=None)
    for name, value in models("localhost:1234/v1").items():
        monkeypatch.setenv(name, value)
    result = exam("--viva-model", "openai:m", process=True)
    assert "Write http://localhost:1234/v1" in " ".join(result.stdout.str().split())
    assert not (exam.pytester.path / "runs").exists()


def test_the_script_examines_the_cases_that_have_one_and_the_model_the_others(
    exam: Exam, monkeypatch: pytest.MonkeyPatch
) -> None:
    exam.desk.case("with")
    exam.desk.case("without", script=None)
    once = by_role(examiner=sequence("Hello.", then="EXAM_FINISHED"))
    with ModelServer({"m": once}) as server:
        for name, value in models(server.url).items():
            monkeypatch.setenv(name, value)
        exam("--viva-model", "openai:m", "--viva-examiner", "auto", process=True).assert_outcomes(passed=2)
    found = {record.subject: record.setting.examiner for record in read_records(exam.journal)}
    assert found == {"with": "script", "without": "m"}


def test_a_plugin_that_repeats_a_test_does_not_make_an_unfair_exam_forgotten(
    exam: Exam, monkeypatch: pytest.MonkeyPatch
) -> None:
    exam.desk.case("weather")
    shutil.copy(BUNDLED / "weather_asks_back" / "case.yaml", exam.pytester.path / "weather" / "case.yaml")
    exam.pytester.makeconftest(
        "import pytest\nfrom _pytest.runner import runtestprotocol\n\n\n@pytest.hookimpl(tryfirst=True)\n"
        "def pytest_runtest_protocol(item, nextitem):\n    runtestprotocol(item, nextitem=nextitem, log=False)\n"
    )
    asks = ("--viva-examiner", "model", "--viva-examiner-model", "openai:m", "--viva-attempts", "1")
    with ModelServer({"m": examiner(FLIPPED, FAIR)}) as server:
        for name, value in models(server.url).items():
            monkeypatch.setenv(name, value)
        exam("--viva-out", "out", *asks, agent="example:careful", process=True)
    (record,) = read_records(exam.pytester.path / "out")
    figures = summarize([record]).examiner
    assert figures is not None
    assert (record.attempt, figures.unfair, figures.exams) == (2, 1, 2)
