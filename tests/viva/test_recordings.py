"""Recordings go through import, journal, replay, judge, report and export, and lose nothing on the way."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import signal
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, fields, replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.recordings import TAU, tau_conversations
from tests.viva.conftest import Desk
from tests.viva.real_suites import until
from tests.viva.viva_command import clean_environment, run_viva
from viva.journal.kept_files import is_kept_name, read_sound
from viva.journal.reader import StoredRun, read_records, read_runs
from viva.journal.writer import FILE, observed_run_id, scan
from viva.recordings.recording import Recording
from viva.recordings.table import read_recordings
from viva.records.codec import decode, encode
from viva.records.run_record import RunRecord
from viva.records.transcript import Round, Step, Transcript, Usage
from viva.records.usage import with_usage

READERS = Path(__file__).with_name("recorded_systems.py")
EVALUATOR = """
import asyncio
from viva.records.verdict import Evidence, Insight, Verdict
from viva.journal.kept_files import read_sound


class Looks:
    "Sees whether what the transcript names can be had; one verdict for each step with pictures."

    name = "looks"
    needs = ()

    async def evaluate(self, transcript, context):
        verdicts, seen = [], 0
        for round_ in transcript.rounds:
            for step in round_.steps:
                found = [name for name in step.images if read_sound(context.folder, name) is not None]
                seen += len(found)
                if step.images:
                    score = len(found) / len(step.images)
                    verdicts.append(Verdict(step.id, self.name, "seen" if score == 1 else "partly", score))
        final = sum(read_sound(context.folder, name) is not None for name in transcript.images)
        summary = f"{seen} pictures of steps, {final} final ones"
        return Insight(self.name, context.subject, "looked", 1.0, summary=summary, verdicts=tuple(verdicts))


class Slow:
    name = "slow"

    async def evaluate(self, transcript, context):
        await asyncio.sleep(0.05)
        return Insight(self.name, context.subject, "done", 1.0)
"""
Lines = list[dict[str, Any]]


def shape(transcript: Transcript, content: Callable[[str], str]) -> Transcript:
    """The same transcript with each picture's name replaced by what `content` says of it."""

    def named(images: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(content, images))

    rounds = tuple(
        replace(
            round_,
            images=named(round_.images),
            steps=tuple(replace(step, images=named(step.images)) for step in round_.steps),
        )
        for round_ in transcript.rounds
    )
    return replace(transcript, rounds=rounds, images=named(transcript.images))


def given(recording: Recording) -> Transcript:
    """What a journal should hold of a recording: all of it, its usage summed up, its pictures by their content."""

    def content(image: str) -> str:
        if image.startswith("data:"):
            import base64

            return hashlib.sha256(base64.b64decode(image.partition(",")[2])).hexdigest()
        path = (recording.workspace or Path()) / image
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else image

    transcript = with_usage(recording.transcript)
    rewarded = {} if recording.reward is None else {"reward": recording.reward}
    notes = tuple(dict.fromkeys((*transcript.notes, *recording.notes)))
    return storable(shape(replace(transcript, attributes={**transcript.attributes, **rewarded}, notes=notes), content))


def storable(transcript: Transcript) -> Transcript:
    """As JSON can hold it: it has no lone surrogates."""
    return decode(Transcript, json.loads(encode(transcript)))


def held(run: StoredRun) -> Transcript:
    """What a journal holds of a run, with its pictures by their content."""

    def content(image: str) -> str:
        found = read_sound(run.folder, image) if is_kept_name(image) else None
        return hashlib.sha256(found).hexdigest() if found is not None else image

    return shape(run.transcript, content)


def differing(left: Any, right: Any, path: str = "") -> list[str]:
    """The fields in which two records differ; each is compared by itself, so that a loss is named."""
    if type(left) is not type(right):
        return [f"{path}: {left!r} / {right!r}"[:300]]
    if hasattr(left, "__dataclass_fields__"):
        pairs = [(field.name, getattr(left, field.name), getattr(right, field.name)) for field in fields(left)]
        return [found for name, one, other in pairs for found in differing(one, other, f"{path}.{name}")]
    if isinstance(left, tuple) and len(left) == len(right):
        pairs = [(str(number), *both) for number, both in enumerate(zip(left, right, strict=True))]
        return [found for name, one, other in pairs for found in differing(one, other, f"{path}[{name}]")]
    return [] if left == right else [f"{path}: {left!r} / {right!r}"[:300]]


def spec(name: str, folder: Path) -> str:
    return f"{READERS}:{name}:{folder if name == 'Desktop' else name.lower()}"


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A working folder with a journal `journal` of all made recordings, judged by a reward and by looks."""
    desk = Desk(tmp_path_factory.mktemp("recorded"))
    (desk.folder / "session").mkdir()
    (desk.folder / "own.py").write_text(EVALUATOR)
    specs = [spec(name, desk.folder / "session") for name in ("Spans", "Desktop", "Events")]
    done = desk.viva(
        "trace", *specs, "--evaluators", "own.py:Looks,reward", "--out", "journal", "--sink", "jsonl:sent.jsonl",
        expect=3,
    )  # fmt: skip
    assert "3 spans" not in done.stdout
    return desk


@pytest.fixture(scope="module")
def recordings(imported: Desk) -> list[Recording]:
    """What the readers gave."""
    names = ("Spans", "Desktop", "Events")
    return [each for name in names for each in read_recordings(spec(name, imported.folder / "session"))]


def by_place(folder: Path) -> dict[str, StoredRun]:
    return {run.setting.place: run for run in read_runs(folder)}


# `round_count` is the journal's own; what an agent `printed`, its `state`, what Viva recorded itself, also late, and
# what a case has `given` are known only where Viva ran it.
OF_LIVE_RUNS = ("round_count", "printed", "state", "recorded_by", "late_steps", "given")


def test_the_made_recordings_fill_every_field_that_a_transcript_has(recordings: list[Recording]) -> None:
    transcripts = [each.transcript for each in recordings]
    rounds = [round_ for transcript in transcripts for round_ in transcript.rounds]
    steps = [step for round_ in rounds for step in round_.steps]
    usages = [each.usage for each in (*rounds, *steps)]
    for kind, parts in (
        (Transcript, transcripts),
        (Round, rounds),
        (Step, steps),
        (Usage, usages),
        (Recording, recordings),
    ):
        for field in (each for each in fields(kind) if each.name not in OF_LIVE_RUNS):
            assert any(getattr(part, field.name) != _default(field) for part in parts), f"{kind.__name__}.{field.name}"


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def test_what_was_recorded_is_in_the_journal_field_by_field(imported: Desk, recordings: list[Recording]) -> None:
    runs = by_place(imported.folder / "journal")
    assert len(runs) == len(recordings) == 5
    for each in recordings:
        run = runs[each.place]
        assert differing(given(each), held(run)) == []
        assert run.ended
        setting = run.setting
        assert (setting.case, setting.agent) == (each.subject, each.agent or "recorded")
        assert setting.agent_version == each.agent_version
        if each.workspace is None:
            assert setting.workspace is None
        else:  # its files are in the journal
            assert setting.workspace is not None
            kept = {path.name for path in (imported.folder / "journal" / setting.workspace).iterdir()}
            assert kept == {path.name for path in each.workspace.iterdir()}
        assert run.record is not None
        assert (run.record.trace_id, run.record.stop) == (each.transcript.trace_id, each.transcript.stop)
        assert run.record.rounds == len(each.transcript.rounds)
        assert run.record.usage["target"] == with_usage(each.transcript).usage["target"]


def test_values_that_viva_does_not_know_stay_what_they_are(imported: Desk) -> None:
    runs = by_place(imported.folder / "journal")
    assert runs["spans, trace 1"].transcript.rounds[0].steps[3].kind == "handoff"
    assert runs["events, session a"].transcript.stop == "quota_exceeded"
    done = imported.viva("replay", "journal", expect=0)
    assert "torn" not in done.stderr
    assert "stopped: quota_exceeded" in done.stdout


def test_two_observed_runs_of_one_task_are_two_runs(imported: Desk) -> None:
    records = list(read_records(imported.folder / "journal"))
    assert Counter(record.subject for record in records) == {"rain": 2, "mail": 1, "fix": 2}
    assert len({record.id for record in records}) == 5
    assert {record.id for record in records if record.subject == "rain"} == {
        observed_run_id("trace-1", "rain"),
        observed_run_id("trace-2", "rain"),
    }
    assert {(record.subject, record.trial) for record in records} == {
        ("rain", 1), ("rain", 2), ("mail", 2), ("fix", 1), ("fix", 2),
    }  # fmt: skip


def test_a_replay_prints_all_that_was_said_and_gives_all_of_it_as_json(imported: Desk) -> None:
    runs = {run.id: run for run in read_runs(imported.folder / "journal")}
    lines: Lines = [
        json.loads(line) for line in imported.viva("replay", "journal", "--json", expect=0).stdout.splitlines()
    ]
    assert len(lines) == 5
    for line in lines:
        assert differing(runs[line["run"]].transcript, decode(Transcript, line["transcript"])) == []
    shown = imported.viva("replay", "journal", expect=0).stdout
    for words in ("Will it rain?", "Ask the index.", "Timeout: 30 s", "Send a mail.", "the user closed the session"):
        assert words in shown
    assert shown.count("final picture") == 2
    assert "did not end" not in shown
    assert "verdict" in shown.partition("click_input")[2][:600]
    assert "\x1b" not in shown


def test_judging_into_a_new_journal_takes_pictures_and_texts_along(imported: Desk, recordings: list[Recording]) -> None:
    out = f"judged-{len(list(imported.folder.iterdir()))}"
    done = imported.viva("judge", "journal", "--evaluators", "own.py:Looks", "--out", out, "--json", expect=3)
    runs = by_place(imported.folder / out)
    for each in recordings:
        assert differing(given(each), held(runs[each.place])) == []
    summaries = {run["subject"]: run["insights"][0]["summary"] for run in json.loads(done.stdout)["runs"]}
    assert summaries["mail"] == "4 pictures of steps, 2 final ones"
    looked = runs[f"{imported.folder / 'session'}/request.log"].insights[0]
    assert [(verdict.subject, verdict.score) for verdict in looked.verdicts] == [("1", 1.0), ("1.1", 1.0), ("1.2", 0.5)]
    kept = {file.name for file in (imported.folder / out / "images").iterdir()}
    assert kept == {file.name for file in (imported.folder / "journal" / "images").iterdir()}
    assert len(kept) == 5
    compared = imported.viva("compare", "journal", out, expect=0).stdout
    assert compared.count("No significant difference") == 3


def test_without_a_named_evaluator_a_judging_repeats_the_stored_ones_where_it_may(imported: Desk) -> None:
    done = imported.viva("judge", "journal", "--out", "refused", expect=2)
    assert "judged by an evaluator 'looks', which is not installed here" in " ".join(done.stderr.split())
    imported.viva("judge", "journal", "--evaluators", "reward", "--out", "rewarded", "--quiet", expect=3)
    again = imported.viva("judge", "rewarded", "--out", "again", "--json", expect=3)
    scores = Counter(run["score"] for run in json.loads(again.stdout)["runs"])
    assert scores == {0.75: 1, 1.0: 1, 0.0: 1, None: 2}


def test_every_report_format_shows_every_recorded_run(imported: Desk) -> None:
    records = {record.id: record for record in read_records(imported.folder / "journal")}

    def report(kind: str) -> str:
        text: str = imported.viva("report", "journal", "--format", kind, "--out", "-", expect=0).stdout
        return text

    table = list(csv.DictReader(io.StringIO(report("csv"))))
    assert {row["run"] for row in table} == set(records)
    assert {row["tokens"] for row in table if row["case_file"] == "rain"} == {"1287", "unknown"}
    for row in table:
        (looks,) = (insight for insight in records[row["run"]].insights if insight.evaluator == "looks")
        counts = records[row["run"]].outcome.counts and looks.score is not None
        score = f"{looks.score:.6g}" if counts else ""
        assert (row["looks label"], row["looks score"]) == (looks.label, score)
        assert row["looks summary"] == looks.summary
    document = json.loads(report("json"))
    for run in document["runs"]:
        record = records[run["id"]]
        assert decode(RunRecord, run) == record
        assert run["primary"] == "looks"
    tests = list(ElementTree.fromstring(report("junit")).iter("testcase"))
    assert len(tests) == 5
    for text in (report("markdown"), report("console"), report("html")):
        assert "looks" in text
        assert "rain" in text
        assert "$0.0000" not in text
        assert "\x1b" not in text
    page = report("html")
    for words in (
        "Will it rain?",
        "A window called Mail.",
        "1. search 2. answer",
        "send a mail",
        "handoff",
        "You are a planner.",
    ):
        assert words in page, words
    assert "<script>alert(1)" not in page
    assert page.count("data:image/png;base64,") >= 5


def test_a_sink_gets_every_record_once_as_the_journal_has_it(imported: Desk) -> None:
    sent = [json.loads(line) for line in (imported.folder / "sent.jsonl").read_text().splitlines()]
    assert len(sent) == 5
    records = {record.id: record for record in read_records(imported.folder / "journal")}
    assert {line["id"]: decode(RunRecord, line) for line in sent} == records


def test_tokens_and_cost_that_nobody_reported_are_unknown_on_the_console(imported: Desk) -> None:
    run = observed_run_id("trace-2", "rain")
    shown = imported.viva("report", f"journal#{run}", expect=0).stdout
    assert "tokens and cost unknown" in shown
    assert "$0.0000" not in shown.partition("looks")[0]
    assert "at most 0" not in shown
    assert "not ended" not in shown
    assert "spans, trace 2" in shown


def test_a_picture_from_outside_the_recordings_folder_is_not_read(desk: Desk) -> None:
    from tests.viva.recorded_systems import picture

    (desk.folder / "private.png").write_bytes(picture(1))
    content = [{"type": "image_url", "image_url": {"url": str(desk.folder / "private.png")}}]
    (desk.folder / "talk.json").write_text(json.dumps([{"role": "user", "content": content}]))
    desk.viva("trace", "chat:talk.json", "--out", "journal", expect=0)
    assert not (desk.folder / "journal" / "images").exists()
    (run,) = read_runs(desk.folder / "journal")
    assert run.transcript.rounds[0].images == (str(desk.folder / "private.png"),)


# The 100 conversations of tau-bench, and files like them.


def talks(desk: Desk, rewards: list[float | None], name: str = "talks.jsonl", task: int | None = None) -> str:
    lines = []
    for number, reward in enumerate(rewards):
        talk = [{"role": "user", "content": f"{number}?"}, {"role": "assistant", "content": f"{number}!"}]
        lines.append({"traj": talk, "task_id": number if task is None else task, "trial": number, "reward": reward})
    (desk.folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return f"chat:{name}"


@pytest.fixture(scope="module")
def tau(tmp_path_factory: pytest.TempPathFactory) -> tuple[Desk, list[Recording], Mapping[str, Any]]:
    """The 100 conversations, imported."""
    recordings = tau_conversations()
    desk = Desk(tmp_path_factory.mktemp("tau"))
    (desk.folder / "own.py").write_text(EVALUATOR)
    done = desk.viva("trace", f"chat:{TAU}", "--out", "journal", "--json", expect=0)
    return desk, recordings, json.loads(done.stdout)


Tau = tuple[Desk, list[Recording], Mapping[str, Any]]


def test_what_is_known_of_the_hundred_conversations_is_what_a_trace_says(tau: Tau) -> None:
    suite = tau[2]["figures"]["suite"]
    assert (suite["runs"], suite["excluded"]) == (100, {})
    found = [round(value, 3) for _, value in sorted(suite["pass_hat_k"].items())]
    assert found == [0.31, 0.193, 0.17, 0.16]
    assert suite["tokens_mean"] is None


def test_the_hundred_conversations_are_in_the_journal_field_by_field(tau: Tau) -> None:
    desk, recordings, _ = tau
    runs = by_place(desk.folder / "journal")
    assert len(runs) == 100
    for each in recordings:
        run = runs[each.place]
        assert differing(given(each), held(run)) == []
        assert run.record is not None
        assert (run.record.subject, run.record.trial, run.record.score) == (each.subject, each.trial, each.reward)


def test_the_hundred_conversations_go_through_replay_judge_report_and_compare(tau: Tau) -> None:
    desk, recordings, _ = tau
    lines = desk.viva("replay", "journal", "--json", expect=0).stdout.splitlines()
    texts = Counter(json.dumps(decode(Transcript, json.loads(line)["transcript"]).rounds[0].examiner) for line in lines)
    assert texts == Counter(json.dumps(each.transcript.rounds[0].examiner) for each in recordings)
    desk.viva("judge", "journal", "--evaluators", "reward,own.py:Slow", "--out", "judged", "--quiet", expect=0)
    before, after = (by_place(desk.folder / name) for name in ("journal", "judged"))
    for place, run in before.items():
        assert differing(run.transcript, after[place].transcript) == []
        assert run.record is not None
        assert (judged := after[place].record) is not None
        assert (judged.score, len(judged.insights)) == (run.record.score, 2)
    for kind in ("console", "csv", "json", "junit", "markdown", "html"):
        desk.viva("report", "judged", "--format", kind, "--out", f"report.{kind}", expect=0)
        assert (desk.folder / f"report.{kind}").stat().st_size > 500
    compared = desk.viva("compare", "journal", "judged", expect=0).stdout
    assert "25 cases in both" in compared
    assert "0 better, 0 worse" in compared
    assert "tokens per run        │ unknown │ unknown" in compared
    asked = desk.viva("replay", "journal", "--against", "example:careful", "--out", "against", expect=2)
    assert "because it has no case" in asked.stderr


def test_a_trace_goes_on_after_a_kill_and_judges_each_run_once(desk: Desk) -> None:
    (desk.folder / "own.py").write_text(EVALUATOR)
    source = talks(desk, [1.0] * 60)
    file = desk.folder / "journal" / FILE
    command = ("trace", source, "--evaluators", "own.py:Slow", "--concurrency", "1", "--out", "journal")
    process = desk.start(*command)
    until(lambda: file.exists() and file.read_bytes().count(b'"event":"run"') >= 5, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = len(list(read_records(desk.folder / "journal")))
    assert 5 <= before < 60
    done = desk.viva("trace", "--resume", "journal", "--json", expect=0)
    assert json.loads(done.stdout)["figures"]["suite"]["runs"] == 60
    counts = Counter(event.run for event in scan(desk.folder / "journal") if event.kind == "run")
    assert (len(counts), set(counts.values())) == (60, {1})


def test_a_trace_that_was_killed_while_it_imported_imports_the_rest(desk: Desk) -> None:
    source = talks(desk, [1.0, 0.0, 1.0, 1.0])
    desk.viva("trace", source, "--out", "whole", expect=0)
    desk.viva("trace", source, "--out", "journal", expect=0)
    file = desk.folder / "journal" / FILE
    lines = file.read_bytes().splitlines(keepends=True)
    # The second recording has its setting and one half of its round.
    second = next(run for run in read_runs(desk.folder / "journal") if run.setting.case == "1").id.encode()
    begun = [number for number, line in enumerate(lines) if second in line]
    file.write_bytes(b"".join(lines[: begun[1]]) + lines[begun[1]][:40])
    desk.viva("trace", "--resume", "journal", "--quiet", expect=0)
    one, other = (by_place(desk.folder / name) for name in ("whole", "journal"))
    assert list(one) == list(other)
    for place, run in one.items():
        assert differing(run.transcript, other[place].transcript) == []
        assert (run.record and run.record.score) == (other[place].record and other[place].record.score)


def test_no_more_than_the_limit_is_imported_and_nothing_after_it_is_read(desk: Desk) -> None:
    source = talks(desk, [1.0, 0.0, 1.0])
    with (desk.folder / "talks.jsonl").open("a") as file:
        file.write("{broken\n")
    desk.viva("trace", source, "--limit", "3", "--out", "journal", expect=0)
    assert [record.score for record in read_records(desk.folder / "journal")] == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("others", [1, 2])
def test_a_compared_source_that_is_listed_too_takes_nothing_from_the_limit(desk: Desk, others: int) -> None:
    compared = talks(desk, [0.0, 0.0, 0.0], "compared.jsonl")
    listed = [talks(desk, [1.0, 1.0, 1.0], f"own_{number}.jsonl") for number in range(others)]
    command = ("trace", listed[0], compared, *listed[1:], "--compare", compared, "--limit", "2", "--out", "journal")
    desk.viva(*command, expect=0)
    assert [record.score for record in read_records(desk.folder / "journal")] == [1.0, 1.0, 0.0, 0.0]


def test_a_resumed_import_repeats_no_trial_where_the_source_gives_only_what_is_new(desk: Desk) -> None:
    file = desk.folder / "talks.jsonl"
    talk = json.dumps({"messages": [{"role": "user", "content": "?"}], "task_id": 7, "reward": 1.0})
    file.write_text(f"{talk}\n{talk}\n")
    desk.viva("trace", "chat:talks.jsonl", "--out", "journal", expect=0)
    file.write_text(f"\n\n{talk}\n{talk}\n")
    desk.viva("trace", "--resume", "journal", "--quiet", expect=0)
    trials = [record.trial for record in read_records(desk.folder / "journal")]
    assert sorted(trials) == [1, 2, 3, 4]


def test_the_history_counts_a_recording_that_was_judged_again_once_and_a_new_one_under_its_name(desk: Desk) -> None:
    source = talks(desk, [1.0, 0.0])
    desk.viva("trace", source, "--out", "journal", expect=0)
    desk.viva("judge", "journal", "--out", "judged", "--quiet", expect=0)
    assert json.loads(desk.viva("history", "journal", "judged", "--json", expect=0).stdout)["runs"] == 2
    file = desk.folder / "talks.jsonl"
    file.write_text(file.read_text().replace("0!", "nothing"))
    desk.viva("trace", source, "--out", "later", expect=0)
    assert json.loads(desk.viva("history", "journal", "judged", "later", "--json", expect=0).stdout)["runs"] == 3


def test_files_of_one_name_hold_runs_of_their_own_and_one_file_named_twice_is_one(desk: Desk) -> None:
    for name in ("a", "b"):
        (desk.folder / name).mkdir()
        talks(desk, [1.0, 0.0], f"{name}/talks.jsonl", task=7)
    sources = ("chat:a/talks.jsonl", "chat:b/talks.jsonl", "chat:a/talks.jsonl")
    desk.viva("trace", *sources, "--out", "journal", expect=0)
    records = list(read_records(desk.folder / "journal"))
    assert sorted(record.setting.place for record in records) == [
        f"{name}/talks.jsonl, line {line}" for name in ("a", "b") for line in (1, 2)
    ]
    desk.viva("trace", "--resume", "journal", expect=0)
    assert len(list(read_records(desk.folder / "journal"))) == 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{broken\n", "talks.jsonl, line 1"),
        ('{"traj": 5}\n', "talks.jsonl, line 1"),
        ("", "the file is empty"),
        (None, "talks.jsonl: cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_leaves_no_journal_behind(desk: Desk, text: str | None, words: str) -> None:
    if text is not None:
        (desk.folder / "talks.jsonl").write_text(text)
    done = desk.viva("trace", "chat:talks.jsonl", "--out", "journal", expect=2)
    assert words in " ".join(done.stderr.split())
    assert not (desk.folder / "journal").exists()


def test_no_journal_is_made_where_one_of_several_readers_is_not_there(desk: Desk) -> None:
    done = desk.viva("trace", talks(desk, [1.0]), "chatt:talks.jsonl", "--out", "journal", expect=2)
    assert "there is no reader 'chatt'" in done.stderr
    assert not (desk.folder / "journal").exists()


def test_a_file_that_breaks_in_the_middle_is_gone_on_with_when_it_is_mended(desk: Desk) -> None:
    source = talks(desk, [1.0, 0.0, 1.0])
    file = desk.folder / "talks.jsonl"
    whole = file.read_text().splitlines(keepends=True)
    file.write_text("".join((*whole[:2], "{broken\n")))
    done = desk.viva("trace", source, "--out", "journal", expect=2)
    told = " ".join(done.stderr.split())
    assert "talks.jsonl, line 3" in told
    assert "The 2 recordings before it are in" in told
    file.write_text("".join(whole))
    desk.viva("trace", "--resume", "journal", expect=0)
    assert [record.score for record in read_records(desk.folder / "journal")] == [1.0, 0.0, 1.0]


def test_gates_hold_recordings_as_they_hold_exams(desk: Desk) -> None:
    source, worse = talks(desk, [1.0, 1.0, 0.0, 1.0]), talks(desk, [0.0, 1.0, 0.0, 1.0], "worse.jsonl")
    desk.viva("trace", source, "--out", "journal", "--fail-under", "0.75", expect=0)
    desk.viva("trace", source, "--out", "below", "--fail-under", "0.8", expect=1)
    desk.viva("trace", source, "--out", "named", "--fail-under", "reward=0.8", expect=1)
    gated = ("--baseline", "journal", "--max-drop")
    desk.viva("trace", worse, "--out", "fell", *gated, "0.1", expect=1)
    desk.viva("trace", worse, "--out", "held", *gated, "0.3", expect=0)
    desk.viva("trace", talks(desk, [1.0, None]), "--out", "open", expect=3)


def test_a_recording_can_be_piped_in(desk: Desk) -> None:
    talks(desk, [1.0, 0.0])
    with (desk.folder / "talks.jsonl").open() as file:
        done = run_viva(
            *("trace", "chat:/dev/stdin", "--out", "journal", "--quiet"),
            cwd=desk.folder, env=clean_environment(), input=file.read(), capture_output=True, encoding="utf-8",
            timeout=120, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "2 runs, mean score 0.5000\n"), done.stderr
