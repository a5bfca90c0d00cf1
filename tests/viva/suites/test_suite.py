"""Suites: many exams at once, none lost, none in another's way."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.journals import resealed
from tests.model_server import ModelServer, by_role
from tests.viva.real_suites import (
    check_nothing_lost_nothing_twice,
    kill_and_resume,
    left_running,
    until,
    viva,
    write_agent,
    write_cases,
)
from tests.viva.viva_command import start
from viva.cli.group import viva as command_line
from viva.journal.reader import read_records
from viva.journal.writer import scan
from viva.records.run_record import Outcome


def facts(done: subprocess.CompletedProcess[str]) -> dict[str, object]:
    assert done.stdout.count("\n") == 1, done.stderr
    loaded = json.loads(done.stdout)
    assert isinstance(loaded, dict)
    return loaded


def test_every_case_agent_and_trial_is_a_run_of_its_own(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 3), write_agent(tmp_path)
    done = viva(
        "suite", cases, "--agent", agent, "--agent", "example:failing", "--trials", 2, "--sandbox", "process",
        "--out", "journal", "--json", cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    records = list(read_records(tmp_path / "journal"))
    assert len({record.id for record in records}) == len(records) == 3 * 2 * 2
    assert {(record.trial, record.attempt) for record in records} == {(1, 1), (2, 1)}
    assert {record.outcome for record in records if record.agent == agent} == {Outcome.SCORED}
    assert {record.outcome for record in records if record.agent != agent} == {Outcome.TARGET_ERROR}
    assert facts(done)["figures"]["suite"]["mean"] == 0.5  # type: ignore[index]


@pytest.mark.parametrize(
    ("chosen", "names"),
    [
        (["--name", "count_1"], {"count_1"}),
        (["--tag", "t0"], {"count_0", "count_2"}),
        (["--name", "count_[01]", "--tag", "t1"], {"count_1"}),
    ],
)
def test_cases_are_chosen_by_name_and_tag(tmp_path: Path, chosen: list[str], names: set[str]) -> None:
    cases, agent = write_cases(tmp_path / "cases", 3), write_agent(tmp_path)
    done = viva(
        "suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet", *chosen, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert {record.subject for record in read_records(tmp_path / "j")} == names


def test_a_suite_killed_at_random_moments_resumes_without_losing_or_repeating_anything(tmp_path: Path) -> None:
    journal = kill_and_resume(tmp_path, cases=4, trials=25, kills=5, seed=20)
    check_nothing_lost_nothing_twice(journal, runs=100, kills=5)


@pytest.mark.soak
def test_400_runs_killed_at_100_random_moments(tmp_path: Path) -> None:
    journal = kill_and_resume(tmp_path, cases=4, trials=100, kills=100, seed=100)
    check_nothing_lost_nothing_twice(journal, runs=400, kills=100)


def test_a_finished_conversation_is_only_judged(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 1), write_agent(tmp_path)
    arguments = ["suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet"]
    assert viva(*arguments, cwd=tmp_path).returncode == 0
    journal = tmp_path / "j" / "journal.jsonl"
    kept = [line for line in journal.read_bytes().splitlines(keepends=True) if b'"event":"run"' not in line]
    journal.write_bytes(b"".join(line for line in kept if b'"event":"insight"' not in line))
    (tmp_path / "counter.py").write_text("class Counter:\n    def get_reply_from_agent(self, m): raise SystemExit\n")
    done = viva("suite", "--resume", "j", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (record,) = read_records(tmp_path / "j")
    assert (record.score, record.attempt, record.rounds) == (1.0, 1, 4)
    assert sum(event.kind == "round" for event in scan(tmp_path / "j")) == 4


def test_resuming_a_finished_suite_runs_nothing(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 2), write_agent(tmp_path)
    viva("suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet", cwd=tmp_path)
    before = (tmp_path / "j" / "journal.jsonl").read_bytes()
    done = viva("suite", "--resume", "j", "--quiet", cwd=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "j" / "journal.jsonl").read_bytes() == before


def test_fresh_holds_every_run_again_as_its_next_attempt(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 2), write_agent(tmp_path)
    viva("suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet", cwd=tmp_path)
    done = viva("suite", "--resume", "j", "--fresh", "--quiet", cwd=tmp_path)
    assert done.returncode == 0
    assert [record.attempt for record in read_records(tmp_path / "j")] == [2, 2]


def test_a_case_that_changed_cannot_be_resumed_into_the_same_suite(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 1), write_agent(tmp_path)
    viva("suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet", cwd=tmp_path)
    file = cases / "count_0" / "case.yaml"
    file.write_text(file.read_text().replace("weight: 1", "weight: 2"))
    done = viva("suite", "--resume", "j", cwd=tmp_path)
    assert done.returncode == 2
    assert "count_0" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_broken_check_is_reported_apart_and_never_averaged_in(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 2), write_agent(tmp_path)
    broken = cases / "broken"
    broken.mkdir()
    text = (cases / "count_0" / "case.yaml").read_text()
    (broken / "case.yaml").write_text(text.replace("assert rounds[3]", "assert runds[3]"))
    done = viva("suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--json", cwd=tmp_path)
    assert done.returncode == 3
    figures = facts(done)["figures"]["suite"]  # type: ignore[index]
    assert figures["mean"] == 1.0
    assert figures["excluded"] == {"judge_error": 1}
    assert "some runs could not be scored: 1 judge_error (the check itself is broken: NameError" in done.stderr


def test_a_suite_in_which_nothing_was_scored_is_no_success(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 1), write_agent(tmp_path)
    file = cases / "count_0" / "case.yaml"
    file.write_text(file.read_text().replace("assert rounds[3]", "assert runds[3]"))
    done = viva("suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", cwd=tmp_path)
    assert done.returncode == 3
    assert "nothing was scored" in done.stderr


def test_retry_errors_repeats_only_what_failed(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 1), write_agent(tmp_path)
    arguments = ["suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet"]
    assert viva(*arguments, cwd=tmp_path).returncode == 0
    journal = tmp_path / "j" / "journal.jsonl"
    journal.write_bytes(resealed(journal.read_bytes().replace(b'"outcome":"scored"', b'"outcome":"judge_error"')))
    assert viva("suite", "--resume", "j", "--quiet", cwd=tmp_path).returncode == 3
    done = viva("suite", "--resume", "j", "--retry-errors", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert sum(event.kind == "round" for event in scan(tmp_path / "j")) == 4, "the conversation took place again"


def test_ctrl_c_keeps_what_is_done_and_says_how_to_go_on(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 4), write_agent(tmp_path, free=6)
    command = ["suite", cases, "--agent", agent, "--trials", 5, "--sandbox", "process", "--out", "j"]
    process = start(*command, cwd=tmp_path)
    until(lambda: (tmp_path / "j" / "journal.jsonl").exists() and len(list(read_records(tmp_path / "j"))) == 6, process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "--resume j" in errors
    assert "Traceback" not in errors
    ended = {record.id for record in read_records(tmp_path / "j")}
    assert len(ended) == 6
    (tmp_path / "go").touch()
    assert viva("suite", "--resume", "j", "--quiet", cwd=tmp_path).returncode == 0
    records = list(read_records(tmp_path / "j"))
    assert len(records) == 20
    assert all(record.attempt == 1 for record in records if record.id in ended)


def test_max_time_cuts_off_and_resume_goes_on(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 2), write_agent(tmp_path, free=5)
    arguments = ["--agent", agent, "--trials", 10, "--concurrency", 2, "--sandbox", "process", "--out", "j"]
    done = viva("suite", cases, *arguments, "--max-time", 1, "--json", cwd=tmp_path)
    assert done.returncode == 3
    left = facts(done)["left_out"]
    assert isinstance(left, int)
    assert left >= 15
    (tmp_path / "go").touch()
    assert left + len(list(read_records(tmp_path / "j"))) == 20
    assert viva("suite", "--resume", "j", "--concurrency", 20, "--quiet", cwd=tmp_path).returncode == 0
    assert len(list(read_records(tmp_path / "j"))) == 20


MODEL_CASE = """\
task_description: Ask the agent to add.
scoring_points:
  - {score_point: The sum should be 3, weight: 1}
"""


def suite_with_a_model(folder: Path, model: str, *options: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What a suite of one case and eight trials, one after the other, says as JSON."""
    (folder / "cases" / "add").mkdir(parents=True)
    (folder / "cases" / "add" / "case.yaml").write_text(MODEL_CASE)
    for name, value in {"OPENAI_API_KEY": "k", "VIVA_MODEL_WAIT": "0.01", "VIVA_MODEL_ATTEMPTS": "1"}.items():
        monkeypatch.setenv(name, value)
    arguments = ["suite", str(folder / "cases"), "--agent", write_agent(folder), "--trials", "8", "--concurrency", "1"]
    arguments += ["--out", str(folder / "j"), "--json", "--model", f"openai:{model}", *options]
    with ModelServer({model: by_role()}) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        done = CliRunner().invoke(command_line, arguments)
    assert done.exit_code == 3, done.stderr
    told: dict[str, Any] = json.loads(done.stdout)
    return told


def test_a_budget_of_tokens_or_money_begins_no_run_beyond_it_and_says_what_was_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, (model, budget, words) in enumerate(
        [
            ("gpt-4o-mini", ("--max-tokens", "1"), "--max-tokens of 1 is used up"),
            ("gpt-4o-mini", ("--max-cost", "0.0000001"), "is used up"),
        ]
    ):
        told = suite_with_a_model(tmp_path / str(number), model, *budget, monkeypatch=monkeypatch)
        assert (told["ended"], told["left_out"]) == (1, 7)
        assert words in told["reason"]


@pytest.mark.parametrize(
    "option", [("--model", "openai:nobody-knows"), ("--agent", "http://127.0.0.1:{port}/v1#nobody-knows")]
)
def test_a_budget_in_dollars_is_refused_before_the_first_exam_where_a_price_is_not_known(
    tmp_path: Path, option: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    cases = write_cases(tmp_path / "cases", 1)
    arguments = ["suite", str(cases), "--sandbox", "process", "--out", str(tmp_path / "j"), "--quiet"]
    with socket.create_server(("127.0.0.1", 0)) as listening:
        named = option[1].format(port=listening.getsockname()[1])
        done = CliRunner().invoke(command_line, [*arguments, option[0], named, "--max-cost", "5"])
    assert done.exit_code == 2, done.stderr
    assert "the price of 'nobody-knows' is not known" in done.stderr
    assert not (tmp_path / "j").exists()


def test_why_runs_were_left_out_is_said_to_the_quiet_too(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 1), write_agent(tmp_path, free=0)
    arguments = ["--agent", agent, "--sandbox", "process", "--out", "j", "--quiet", "--max-time", 0.5]
    done = viva("suite", cases, *arguments, cwd=tmp_path)
    assert done.returncode == 3
    assert "left out: 1 run, --max-time of 0.5 s is used up" in done.stderr


def test_commands_before_the_exams_hold_up_neither_each_other_nor_the_end(tmp_path: Path) -> None:
    """Those of different cases. Those of one case run one after the other: they prepare the same files."""
    cases, agent = write_cases(tmp_path / "cases", 3), write_agent(tmp_path)
    files = [cases / f"count_{number}" / "case.yaml" for number in range(3)]
    # Ends only when three of them are under way at once.
    wait = f"touch $$; until [ $(ls {tmp_path}/marks | wc -l) -ge 3 ]; do sleep 0.05; done"
    (tmp_path / "marks").mkdir()
    arguments = ["--agent", agent, "--concurrency", 3, "--sandbox", "process", "--allow-pre-command"]
    for file in files:
        file.write_text(f"pre_command: ['cd {tmp_path}/marks && {wait}']\n" + file.read_text())
    done = viva("suite", cases, *arguments, "--out", "a", "--quiet", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for file in files:
        file.write_text(file.read_text().replace("-ge 3", "-ge 99"))
    done = viva("suite", cases, *arguments, "--out", "b", "--max-time", 1, "--json", cwd=tmp_path)
    assert (done.returncode, facts(done)["left_out"]) == (3, 3)
    assert left_running(f"{tmp_path}/marks") == []


def test_two_processes_cannot_run_one_suite(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 1), write_agent(tmp_path, free=0)
    command = ["suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet"]
    first = start(*command, cwd=tmp_path)
    until((tmp_path / "waiting").exists, first)
    second = viva("suite", "--resume", "j", cwd=tmp_path)
    assert second.returncode == 2
    assert "another viva" in second.stderr
    (tmp_path / "go").touch()
    first.communicate(timeout=60)
    assert first.returncode == 0


def test_the_gate_compares_the_low_bound(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 2), write_agent(tmp_path)
    arguments = ["--agent", agent, "--sandbox", "process", "--quiet"]
    assert viva("suite", cases, *arguments, "--out", "a", "--fail-under", 1, cwd=tmp_path).returncode == 0
    worse = (tmp_path / "counter.py").read_text().replace("return str", "return 'x' + str")
    (tmp_path / "counter.py").write_text(worse)
    done = viva("suite", cases, *arguments, "--out", "b", "--fail-under", 0.5, cwd=tmp_path)
    assert done.returncode == 1
    assert "below 0.5" in done.stderr
    done = viva("suite", cases, *arguments, "--out", "c", "--baseline", "a", "--max-drop", 0.1, cwd=tmp_path)
    assert done.returncode == 1
    assert "fell from 1.0000 to 0.0000" in done.stderr
    done = viva("suite", cases, *arguments, "--out", "d", "--baseline", "b", "--max-drop", 0.1, cwd=tmp_path)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["suite"], "name case folders"),
        (["suite", "cases", "--fresh"], "require --resume"),
        (["suite", "nowhere"], "there is no such case"),
        (["suite", "cases", "--name", "zzz"], "--name and --tag exclude all"),
        (["suite", "--resume", "nowhere"], "nowhere was not made by viva suite"),
        (["suite", "cases", "--max-drop", "0.1"], "require each other"),
        (["suite", "cases", "--agent", "x.py:X"], "no agent file"),
        (
            ["suite", "cases", "--agent", "example:careful", "--baseline", "nowhere", "--max-drop", "0.1"],
            "there is no folder nowhere",
        ),
    ],
)
def test_mistakes_are_told_in_a_line_or_two(tmp_path: Path, arguments: list[str], words: str) -> None:
    write_cases(tmp_path / "cases", 1)
    done = viva(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") <= 3
    assert not list(tmp_path.glob("**/journal.jsonl")), "a mistake leaves no journal behind"


def test_after_a_mistake_in_the_setup_the_same_command_with_the_mistake_mended_runs(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 1), write_agent(tmp_path)
    arguments = ["suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet"]
    assert viva(*arguments, "--judge", "model", cwd=tmp_path).returncode == 2
    done = viva(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_what_would_change_the_exams_of_a_suite_is_refused_on_resuming(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 1), write_agent(tmp_path)
    viva("suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet", cwd=tmp_path)
    done = viva("suite", "--resume", "j", "--trials", 2, "--judge", "model", "--fail-under", 1, cwd=tmp_path)
    assert done.returncode == 2
    assert "--trials, --judge cannot be changed" in done.stderr
    assert len(list(read_records(tmp_path / "j"))) == 1


def test_cases_of_the_same_words_stay_apart_when_another_agent_is_asked(tmp_path: Path) -> None:
    # The first and the third say the same to the last byte.
    cases, agent = write_cases(tmp_path / "cases", 3), write_agent(tmp_path)
    viva("suite", cases, "--agent", agent, "--sandbox", "process", "--out", "a", "--quiet", cwd=tmp_path)
    arguments = ["replay", "a", "--against", "example:failing", "--sandbox", "process", "--out"]
    viva(*arguments, "b", cwd=tmp_path)
    assert {(record.subject, record.trial) for record in read_records(tmp_path / "b")} == {
        (f"count_{index}", 1) for index in range(3)
    }
    done = viva(*arguments, "a", cwd=tmp_path)
    assert done.returncode == 2
    assert "already contains a journal" in done.stderr
    assert len(list(read_records(tmp_path / "a"))) == 3


def test_another_agent_answers_the_stored_questions(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 2), write_agent(tmp_path)
    viva("suite", cases, "--agent", agent, "--trials", 2, "--sandbox", "process", "--out", "a", "--quiet", cwd=tmp_path)
    arguments = ["replay", "a", "--against", "example:failing", "--sandbox", "process", "--out", "b"]
    done = viva(*arguments, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    before, after = list(read_records(tmp_path / "a")), list(read_records(tmp_path / "b"))
    assert {(record.subject, record.trial) for record in before} == {(record.subject, record.trial) for record in after}
    assert {record.agent for record in after} == {"example:failing"}
    assert {record.outcome for record in after} == {Outcome.TARGET_ERROR}
    asked = {event.data["examiner"] for event in scan(tmp_path / "b") if event.kind == "round"}
    assert asked <= {event.data["examiner"] for event in scan(tmp_path / "a") if event.kind == "round"}
