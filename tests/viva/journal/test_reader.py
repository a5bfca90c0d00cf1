"""Runs read back: interleaved, repeated, judged again, unfinished, or asked for by name."""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from tests.journals import edit
from viva.journal.reader import StoredRun, read_conversation_lines, read_records, read_runs, split_reference
from viva.journal.writer import FILE, Damage, Journal, JournalError
from viva.records import Insight, Outcome, Round, RunRecord, Setting, StopReason, Transcript, Usage


def record(run: str, score: float, attempt: int = 1) -> RunRecord:
    return RunRecord(run, "echo", "me", Outcome.SCORED, score, attempt=attempt)


def begin(journal: Journal, run: str, rounds: int, attempt: int = 1) -> None:
    journal.append("setting", run, attempt, Setting(case="echo", agent=f"attempt {attempt}"))
    for number in range(1, rounds + 1):
        journal.append("round", run, attempt, Round(number, f"ask {attempt}.{number}", run))


def conclude(journal: Journal, run: str, score: float, attempt: int = 1) -> None:
    journal.append("transcript", run, attempt, Transcript(stop=StopReason.FINISHED, kick_off="hello"))
    journal.append("insight", run, attempt, Insight("points", run, "done", score))
    journal.append("run", run, attempt, record(run, score, attempt))


def asked(stored: StoredRun) -> list[str | None]:
    return [each.examiner for each in stored.transcript.rounds]


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_interleaved_runs_come_apart_again(
    tmp_path_factory: pytest.TempPathFactory, lengths: list[int], order: random.Random
) -> None:
    folder = tmp_path_factory.mktemp("journal")
    waiting: dict[str, list[tuple[str, object]]] = {
        f"run-{index}": [
            ("setting", Setting(case=f"run-{index}")),
            *[("round", Round(number, f"{index}.{number}")) for number in range(1, length + 1)],
            ("transcript", Transcript(stop=StopReason.FINISHED)),
            ("run", record(f"run-{index}", index / 10)),
        ]
        for index, length in enumerate(lengths)
    }
    ended = []
    with Journal(folder) as journal:
        while waiting:
            name = order.choice(sorted(waiting))
            kind, value = waiting[name].pop(0)
            journal.append(kind, name, 1, value)
            if not waiting[name]:
                ended.append(name)
                del waiting[name]
    runs = list(read_runs(folder))
    assert [stored.id for stored in runs] == ended
    for stored in runs:
        index = int(stored.id.split("-")[1])
        assert asked(stored) == [f"{index}.{number}" for number in range(1, lengths[index] + 1)]
        assert stored.setting.case == stored.id
        assert stored.ended
        assert stored.record == record(stored.id, index / 10)
    assert list(read_records(folder)) == [stored.record for stored in runs]


def test_the_newest_attempt_counts_and_keeps_nothing_of_the_older_ones(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        begin(journal, "run", 5)
        conclude(journal, "run", 0.1)
        begin(journal, "run", 2, attempt=2)
        journal.append("round", "run", 1, Round(6, "a straggler of attempt 1"))
        conclude(journal, "run", 0.9, attempt=2)
    (stored,) = read_runs(tmp_path)
    assert stored.attempt == 2
    assert asked(stored) == ["ask 2.1", "ask 2.2"]
    assert stored.setting.agent == "attempt 2"
    assert stored.record == record("run", 0.9, 2)
    assert list(read_records(tmp_path)) == [record("run", 0.9, 2)]


def test_what_earlier_attempts_and_judgings_cost_counts(tmp_path: Path) -> None:
    def spent(attempt: int, target: int, judge: int) -> RunRecord:
        usage = {"target": Usage(target, calls=1, cost=0.5), "judge": Usage(judge, calls=1, cost=0.25)}
        return replace(record("run", 0.5, attempt), usage=usage)

    with Journal(tmp_path) as journal:
        journal.append("run", "other", 1, replace(record("other", 1.0), usage={"target": Usage(7)}))
        for each in (spent(1, 10, 0), spent(2, 100, 1), spent(2, 100, 2)):
            journal.append("run", "run", each.attempt, each)
    other, run = read_records(tmp_path)
    assert other.usage == {"target": Usage(7)}
    assert run.usage["target"].input_tokens == 110, "the second attempt's conversation was held once"
    assert run.usage["judge"].input_tokens == 3, "and judged twice"
    assert (run.usage["target"].cost, run.usage["judge"].cost, run.usage["judge"].calls) == (1.0, 0.75, 3)
    edit(
        tmp_path,
        lambda line: line.replace(b'"usage":{"target":{"input_tokens":10,', b'"usage":{"target":{"input_tokens":"x",'),
    )
    assert [each.score for each in read_records(tmp_path)] == [1.0, 0.5]


def test_an_attempt_that_broke_off_is_not_taken_for_the_one_before(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        begin(journal, "run", 5)
        conclude(journal, "run", 0.1)
        begin(journal, "run", 3, attempt=2)
    (stored,) = read_runs(tmp_path)
    assert (stored.attempt, len(stored.transcript.rounds)) == (2, 3)
    assert not stored.ended
    assert stored.record is None
    assert stored.insights == ()


def test_judged_again_in_place_the_last_word_of_each_evaluator_counts(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        begin(journal, "run", 2)
        conclude(journal, "run", 0.1)
        journal.append("insight", "run", 1, Insight("fairness", "run", "fair", 1.0))
        journal.append("insight", "run", 1, Insight("points", "run", "done", 0.8))
        journal.append("run", "run", 1, record("run", 0.8))
    (stored,) = read_runs(tmp_path)
    assert {insight.evaluator: insight.score for insight in stored.insights} == {"points": 0.8, "fairness": 1.0}
    assert stored.record == record("run", 0.8)
    assert list(read_records(tmp_path)) == [record("run", 0.8)]


def test_insights_of_one_evaluator_on_different_subjects_all_survive(tmp_path: Path) -> None:
    first, second = Insight("session", "r1", "no", 0.0), Insight("session", "r2", "yes", 1.0)
    with Journal(tmp_path) as journal:
        begin(journal, "run", 2)
        for insight in (first, second, replace(first, label="yes", score=1.0)):
            journal.append("insight", "run", 1, insight)
    (stored,) = read_runs(tmp_path)
    assert stored.insights == (replace(first, label="yes", score=1.0), second)


def test_a_run_that_broke_off_keeps_its_rounds_and_is_not_ended(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        begin(journal, "killed", 22)
        begin(journal, "done", 1)
        conclude(journal, "done", 1.0)
        begin(journal, "cancelled", 3)
        journal.append("transcript", "cancelled", 1, Transcript(stop=StopReason.CANCELLED))
        begin(journal, "unjudged", 4)
        journal.append("transcript", "unjudged", 1, Transcript(stop=StopReason.MAX_ROUNDS))
    runs = {stored.id: stored for stored in read_runs(tmp_path)}
    assert {name: (len(stored.transcript.rounds), stored.ended) for name, stored in runs.items()} == {
        "killed": (22, False),
        "done": (1, True),
        "cancelled": (3, False),
        "unjudged": (4, True),
    }
    assert [name for name, stored in runs.items() if stored.record] == ["done"]
    assert [each.id for each in read_records(tmp_path)] == ["done"]


@pytest.mark.parametrize("stop", [None, *StopReason, StopReason("of tomorrow")])
@pytest.mark.parametrize("source", ["viva", "chat"])
def test_only_a_conversation_that_viva_held_can_be_unfinished(
    tmp_path: Path, source: str, stop: StopReason | None
) -> None:
    transcript = Transcript(source=source, stop=stop)
    assert transcript.ended == (source == "chat" or stop not in (None, StopReason.CANCELLED))
    with Journal(tmp_path) as journal:
        begin(journal, "run", 1)
        journal.append("transcript", "run", 1, transcript)
    (stored,) = read_runs(tmp_path)
    (lines,) = read_conversation_lines(tmp_path)
    assert stored.ended == stored.transcript.ended == lines.ended == transcript.ended


def test_a_run_whose_last_line_is_torn_is_handed_out_without_it(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        begin(journal, "run", 3)
        conclude(journal, "run", 1.0)
        begin(journal, "other", 1)
    content = (tmp_path / FILE).read_bytes()
    torn = content.index(b'"event":"run"') + 60
    end = content.index(b"\n", torn)
    (tmp_path / FILE).write_bytes(content[:torn] + content[end:])
    damage = Damage()
    runs = {stored.id: stored for stored in read_runs(tmp_path, damage=damage)}
    assert set(runs) == {"run", "other"}
    assert len(runs["run"].transcript.rounds) == 3
    assert runs["run"].ended
    assert runs["run"].record is None
    assert damage.torn == 1
    damage = Damage()
    assert list(read_records(tmp_path, damage)) == []
    assert damage.torn == 1


@pytest.mark.parametrize("run", ["first", "second"])
def test_one_run_can_be_asked_for_by_its_id(tmp_path: Path, run: str) -> None:
    with Journal(tmp_path) as journal:
        for name in ("first", "second"):
            begin(journal, name, 2)
            conclude(journal, name, 1.0)
    folder, name = split_reference(f"{tmp_path}#{run}")
    assert (folder, name) == (tmp_path, run)
    (stored,) = read_runs(folder, name)
    assert stored.id == run
    assert {each.agent for each in stored.transcript.rounds} == {run}


def test_a_reference_with_a_mark_in_the_folders_name_is_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "c#5"
    folder.mkdir()
    assert split_reference(str(folder)) == (folder, None)
    assert split_reference(f"{folder}#run") == (folder, "run")
    assert split_reference(str(tmp_path)) == (tmp_path, None)


def test_an_unknown_run_is_said_with_those_that_are_there(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for index in range(7):
            begin(journal, f"run-{index}", 1)
    with pytest.raises(JournalError, match=r"holds no run 'nine'\. It has: run-0, .*, run-4 and 2 more\."):
        list(read_runs(tmp_path, "nine"))
    (tmp_path / "empty").mkdir()
    with Journal(tmp_path / "empty"):
        pass
    assert list(read_runs(tmp_path / "empty")) == []
    with pytest.raises(JournalError, match="The journal is empty"):
        list(read_runs(tmp_path / "empty", "nine"))


def test_run_ids_with_odd_characters_are_found_too(tmp_path: Path) -> None:
    names = ["plain", 'a"quote', "back\\slash", "ünï\ncode", "\ud800", ""]
    with Journal(tmp_path) as journal:
        for name in names:
            begin(journal, name, 1)
            conclude(journal, name, 1.0)
    assert [stored.id for stored in read_runs(tmp_path)] == names
    for name in names:
        assert [stored.id for stored in read_runs(tmp_path, name)] == [name]


def test_an_event_of_another_shape_is_counted_and_costs_only_itself(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        begin(journal, "run", 2)
        for kind in ("setting", "round", "transcript", "insight", "run"):
            journal.append(kind, "run", 1, {"number": "many", "stop": 5, "case": 5, "evaluator": []})
        begin(journal, "other", 1)
    damage = Damage()
    runs = {stored.id: stored for stored in read_runs(tmp_path, damage=damage)}
    assert damage.torn == 5
    assert {name: len(stored.transcript.rounds) for name, stored in runs.items()} == {"run": 2, "other": 1}
    damage = Damage()
    assert list(read_records(tmp_path, damage)) == []
    assert damage.torn == 1


def test_rounds_that_stand_twice_are_told_once(tmp_path: Path) -> None:
    """A copy that was broken off and begun again writes the first lines twice."""
    with Journal(tmp_path) as journal:
        begin(journal, "run", 3)
        begin(journal, "run", 4)
        conclude(journal, "run", 1.0)
    (stored,) = read_runs(tmp_path)
    assert [each.number for each in stored.transcript.rounds] == [1, 2, 3, 4]


def test_lines_are_handed_out_for_copying_without_verdicts(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        begin(journal, "run", 2)
        conclude(journal, "run", 1.0)
    (stored,) = read_runs(tmp_path, keep_lines=True)
    kinds = [json.loads(line)["event"] for line in stored.lines.splitlines()]
    assert kinds == ["setting", "round", "round", "transcript"]
    assert next(read_runs(tmp_path)).lines == b""


def test_what_the_transcript_event_says_stands_beside_the_rounds(tmp_path: Path) -> None:
    ending = Transcript(
        source="viva", kick_off="hello", stop=StopReason.TIMEOUT, notes=("slow",), usage={"target": Usage(calls=2)}
    )
    with Journal(tmp_path) as journal:
        journal.append("round", "run", 1, Round(1, "ask"))
        journal.append("transcript", "run", 1, ending)
    (stored,) = read_runs(tmp_path)
    assert stored.transcript == replace(ending, rounds=(Round(1, "ask"),))
