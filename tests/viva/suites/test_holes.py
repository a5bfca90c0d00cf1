"""A conversation with holes takes place again, or left out by name: it is never judged as if it were whole."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.journals import edit, resealed, unsealed
from tests.viva.real_suites import until, viva, write_agent, write_cases
from tests.viva.viva_command import start
from viva.cli import group as cli
from viva.exam import stored_runs
from viva.journal.lock import exclusive_writer
from viva.journal.reader import read_records, read_runs
from viva.journal.writer import FILE, JournalBusy, scan
from viva.suites import conduct, judging, replaying, suite, tracing
from viva.suites.resuming.stored_request import FILE as REQUEST

CASES = 3
AGAIN = ("--sandbox", "process", "--quiet")


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working folder with a journal `first` of a suite of three cases, four rounds each."""
    folder = tmp_path_factory.mktemp("suites")
    cases, agent = write_cases(folder / "cases", CASES), write_agent(folder)
    done = viva("suite", cases, "--agent", agent, "--sandbox", "process", "--out", "first", "--quiet", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def spoiled(suites: Path, out: str, change: Callable[[bytes], bytes | None]) -> tuple[Path, str]:
    """A copy of the journal in which lines of the run of `count_1` are changed; with that run's id."""
    run = next(record.id for record in read_records(suites / "first") if record.subject == "count_1")
    shutil.copytree(suites / "first", suites / out, dirs_exist_ok=True)
    edit(suites / out, lambda line: change(line) if f'"run":"{run}"'.encode() in line else line, seals=False)
    return suites / out, run


def torn(number: int) -> Callable[[bytes], bytes | None]:
    """Tears the line of a round."""
    return lambda line: line[:70] + b"\n" if b'"data":{"number":%d,' % number in line else line


def lost(number: int) -> Callable[[bytes], bytes | None]:
    return lambda line: None if b'"data":{"number":%d,' % number in line else line


def flipped(number: int) -> Callable[[bytes], bytes | None]:
    """Changes what the agent said by a bit, in a line that still is JSON."""

    def change(line: bytes) -> bytes:
        return line.replace(b'"agent":"2"', b'"agent":"3"') if b'"data":{"number":%d,' % number in line else line

    return change


def without_record(change: Callable[[bytes], bytes | None]) -> Callable[[bytes], bytes | None]:
    return lambda line: None if b'"event":"run"' in line else change(line)


def older(change: Callable[[bytes], bytes | None]) -> Callable[[bytes], bytes | None]:
    """As an older version wrote it: no checksum, no number of rounds."""

    def changed(line: bytes) -> bytes | None:
        new = change(line)
        return None if new is None else unsealed(new.rstrip(b"\n").replace(b',"round_count":4', b"")) + b"\n"

    return changed


@pytest.mark.parametrize(
    ("name", "change"),
    [("torn", torn(3)), ("lost", lost(4)), ("flipped", flipped(2)), ("older", older(lost(2))), ("first", lost(1))],
)
def test_resuming_holds_a_conversation_with_holes_again(
    suites: Path, name: str, change: Callable[[bytes], bytes | None]
) -> None:
    journal, run = spoiled(suites, f"resumed-{name}", without_record(change))
    done = viva("suite", "--resume", journal, "--json", cwd=suites)
    assert done.returncode == 0, done.stderr
    (stored,) = (each for each in read_runs(journal) if each.id == run)
    assert (stored.attempt, stored.gap, len(stored.transcript.rounds)) == (2, None, 4)
    assert {record.score for record in read_records(journal)} == {1.0}


def test_a_whole_conversation_without_a_record_is_only_judged(suites: Path) -> None:
    journal, run = spoiled(suites, "whole", without_record(lambda line: line))
    assert viva("suite", "--resume", journal, cwd=suites).returncode == 0
    assert {stored.attempt for stored in read_runs(journal) if stored.id == run} == {1}


@pytest.mark.parametrize(("name", "change"), [("torn", torn(2)), ("lost", lost(4)), ("older", older(torn(1)))])
def test_judging_leaves_a_conversation_with_holes_out_by_name(
    suites: Path, name: str, change: Callable[[bytes], bytes | None]
) -> None:
    journal, run = spoiled(suites, f"judged-{name}", change)
    done = viva("judge", journal, *AGAIN, "--out", f"judged-{name}-again", cwd=suites)
    assert done.returncode == 3, done.stderr
    assert f"{run}: round " in done.stdout
    records = list(read_records(suites / f"judged-{name}-again"))
    assert run not in {record.id for record in records}
    assert [record.score for record in records] == [1.0] * (CASES - 1)


def test_another_agent_is_not_asked_half_the_questions(suites: Path) -> None:
    journal, run = spoiled(suites, "asked", torn(2))
    command = ("replay", journal, "--against", "counter.py:Counter", "--sandbox", "process")
    done = viva(*command, "--out", "asked-again", cwd=suites)
    assert done.returncode == 3, done.stderr
    assert f"{run}: round 2 of 4 is missing, so its questions are not asked" in done.stdout
    assert "count_1" not in {record.subject for record in read_records(suites / "asked-again")}
    done = viva("replay", f"{journal}#{run}", *command[2:], cwd=suites)
    assert (done.returncode, "round 2 of 4 is missing" in done.stderr) == (2, True)


def test_a_replay_shows_where_the_hole_is(suites: Path) -> None:
    journal, run = spoiled(suites, "shown", lambda line: torn(2)(line) and torn(3)(torn(2)(line) or b""))
    shown = viva("replay", f"{journal}#{run}", cwd=suites).stdout
    assert "[rounds 2 to 3 are missing" in shown
    assert shown.index("1 examiner") < shown.index("[rounds 2 to 3") < shown.index("4 examiner")
    assert "2 of 4 rounds are missing" in shown
    told = json.loads(viva("replay", f"{journal}#{run}", "--json", cwd=suites).stdout)
    assert told["gap"] == "2 of 4 rounds are missing, the first of them round 2"


@pytest.mark.parametrize("role", ["--examiner", "--agent"])
def test_neither_questions_nor_answers_are_taken_from_a_conversation_with_holes(suites: Path, role: str) -> None:
    journal, run = spoiled(suites, f"taken{role}", lost(2))
    agent = () if role == "--agent" else ("--agent", "counter.py:Counter")
    done = viva("run", "cases/count_1", *agent, role, f"replay:{journal}#{run}", *AGAIN, cwd=suites)
    assert done.returncode == 2
    assert "is not whole: round 2 of 4 is missing" in done.stderr


def newer(line: bytes) -> bytes:
    return resealed(line.replace(b'{"v":1,', b'{"v":2,')) if b'"data":{"number":2,' in line else line


def made_by_run(journal: Path) -> None:
    request = json.loads((journal / REQUEST).read_text())
    (journal / REQUEST).write_text(json.dumps({**request, "command": "run"}))


def test_a_journal_in_which_a_newer_version_wrote_is_not_gone_on_with(suites: Path) -> None:
    journal, run = spoiled(suites, "newer", without_record(newer))
    before = (journal / FILE).read_bytes()
    run_again = ("run", "cases/count_1", "--agent", "counter.py:Counter", *AGAIN, "--out", journal)
    why = "a newer version of Viva has written to it (1 line of a newer format)"
    for command, words in (
        (("suite", "--resume", journal), why),
        (run_again, "already contains the journal of a suite"),
        (run_again, why),  # as if `viva run` had made it
    ):
        done = viva(*command, cwd=suites)
        assert done.returncode == 2, done.stderr
        assert words in done.stderr
        assert (journal / FILE).read_bytes() == before
        if words is not why:
            made_by_run(journal)
    for form in ("console", "markdown", "html"):
        shown = viva("report", journal, "--format", form, "--out", "-", cwd=suites).stdout
        assert "1 line of a newer format" in shown
        assert "unreadable" not in shown
    facts = json.loads(viva("report", journal, "--format", "json", cwd=suites).stdout)
    assert (facts["torn_lines"], facts["newer_lines"]) == (0, 1)
    done = viva("judge", journal, *AGAIN, "--out", "newer-judged", cwd=suites)
    assert (done.returncode, f"{run}: round 2 of 4 is missing" in done.stdout) == (3, True)
    assert "1 line of a newer format" in done.stderr


def test_a_judging_in_which_a_newer_version_wrote_is_not_gone_on_with(suites: Path) -> None:
    assert viva("judge", "first", *AGAIN, "--out", "to-resume", cwd=suites).returncode == 0
    edit(suites / "to-resume", newer, seals=False)
    done = viva("judge", "--resume", "to-resume", cwd=suites)
    assert (done.returncode, "a newer version of Viva" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("module", "command"),
    [
        (suite, ("suite", "--resume", "first")),
        (judging, ("judge", "--resume", "j")),
        (replaying, ("replay", "--resume", "a")),
        (tracing, ("trace", "--resume", "t")),
    ],
)
def test_states_are_read_under_the_lock(
    suites: Path, module: object, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(suites)
    (suites / "said.json").write_text('[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]')
    begin = {
        "j": ("judge", "first", "--sandbox", "process"),
        "a": ("replay", "first", "--against", "counter.py:Counter", "--sandbox", "process"),
        "t": ("trace", "chat:said.json"),
    }
    if command[2] in begin:
        assert viva(*begin[command[2]], "--out", command[2], cwd=suites).returncode in (0, 3)
    read: list[Path] = []

    def reading(folder: Path, *arguments: object) -> object:
        with pytest.raises(JournalBusy), exclusive_writer(folder):
            pass
        read.append(folder)
        return stored_runs.read_run_states(folder)

    monkeypatch.setattr(module, "read_states_to_resume", reading)
    CliRunner().invoke(cli.viva, list(command))
    assert read == [suites / command[2]]


def test_two_resumes_at_once_hold_no_run_twice(tmp_path: Path) -> None:
    cases, agent = write_cases(tmp_path / "cases", 6), write_agent(tmp_path, free=3)
    first = start("suite", cases, "--agent", agent, "--sandbox", "process", "--out", "j", "--quiet", cwd=tmp_path)
    until((tmp_path / "waiting").exists, first)
    first.kill()
    first.communicate()
    (tmp_path / "go").touch()
    resumes = [start("suite", "--resume", "j", "--quiet", cwd=tmp_path) for _ in range(3)]
    ends = [(process.communicate(timeout=120)[1], process.returncode) for process in resumes]
    assert any(code == 0 for _, code in ends), ends
    assert all(code == 0 or (code == 2 and "another viva" in said) for said, code in ends), ends
    events = Counter((event.run, event.attempt) for event in scan(tmp_path / "j") if event.kind == "run")
    assert (len(events), set(events.values())) == (6, {1})


def test_what_another_process_began_meanwhile_is_not_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both commands found the folder empty; the other had ended by the time this one had its lock."""
    cases, agent = write_cases(tmp_path / "cases", 1), write_agent(tmp_path)
    command = ["suite", str(cases), "--agent", agent, "--sandbox", "process", "--out", str(tmp_path / "j")]
    locked = conduct.exclusive_writer

    def late(folder: Path) -> object:
        if not (folder / FILE).exists():
            assert viva(*command, cwd=tmp_path, process=True).returncode == 0
        return locked(folder)

    monkeypatch.setattr(conduct, "exclusive_writer", late)
    done = CliRunner().invoke(cli.viva, command)
    assert (done.exit_code, "already contains a journal" in done.output) == (2, True)
    assert len([event for event in scan(tmp_path / "j") if event.kind == "run"]) == 1
