"""The journal: what is appended can be read, long texts included, and copied; memory does not grow with the file."""

from __future__ import annotations

import hashlib
import json
import tempfile
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.examples import examples
from viva.journal.long_texts import TEXT_LIMIT, restore_texts
from viva.journal.reader import read_runs
from viva.journal.writer import FILE, FORMAT, LINE_LIMIT, Damage, Journal, JournalError, raw_lines, run_id, scan
from viva.records import Insight, Outcome, Round, RunRecord, Setting, Step, Transcript, codec
from viva.records.codec import decode, to_plain
from viva.records.text import storable

hostile = st.text(st.characters() | st.sampled_from('\n\r\0\x1b\x85\u2028\u2029\ufeff\ud800"\\{}'), max_size=60)


def read_round(folder: Path) -> Round:
    """The only round of a journal, with its long texts."""
    (event,) = scan(folder)
    return decode(Round, restore_texts(folder, event.data))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["round", "insight", "run"]), hostile, hostile), max_size=8))
def test_events_come_back_in_order_whatever_they_say(said: list[tuple[str, str, str]]) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with Journal(folder) as journal:
            for number, (kind, run, words) in enumerate(said, 1):
                journal.append(kind, run, number, Round(number, words, words[::-1]))
        damage = Damage()
        events = list(scan(folder, damage))
        assert (damage.torn, damage.unknown) == (0, 0)
        assert [(event.kind, event.run, event.attempt) for event in events] == [
            (kind, run, number) for number, (kind, run, _) in enumerate(said, 1)
        ]
        for event, (_, _, words) in zip(events, said, strict=True):
            assert decode(Round, event.data).examiner == storable(words)
            assert decode(Round, event.data).agent == storable(words[::-1])


@settings(max_examples=examples(60), deadline=None)
@given(hostile, hostile)
def test_every_event_is_one_line_of_json_by_itself(run: str, words: str) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        with Journal(Path(temporary)) as journal:
            journal.append("round", run, 1, Round(1, words))
            journal.append("round", run, 1, Round(2, words))
        *lines, rest = (Path(temporary) / FILE).read_bytes().split(b"\n")
        assert rest == b""
        assert [json.loads(line)["v"] for line in lines] == [FORMAT, FORMAT]


@settings(max_examples=examples(60), deadline=None)
@given(hostile, hostile, st.integers(1, 10**6), st.sampled_from([("", ""), ("terse", ""), ("", "probe"), ('é"', "x")]))
def test_ids_of_runs_stay_those_of_earlier_journals(
    subject: str, agent: str, trial: int, role: tuple[str, str]
) -> None:
    identity = json.dumps([subject, agent, trial, *(role if any(role) else ())])
    digest = hashlib.sha256(identity.encode()).hexdigest()[: 12 if subject.endswith("]") else 8]
    assert run_id(subject, agent, trial, *role).endswith(f"-{digest}")


@settings(max_examples=examples(25), deadline=None)
@given(
    st.tuples(hostile, hostile, hostile, hostile),
    st.tuples(*[st.sampled_from([0, 1, TEXT_LIMIT + 1, 2 * LINE_LIMIT])] * 4),
)
def test_texts_beyond_the_limit_are_kept_whole_beside_the_journal(
    seeds: tuple[str, str, str, str], lengths: tuple[int, int, int, int]
) -> None:
    said, asked, result, note = (
        (seed or "x") * (length // max(len(seed), 1) + 1) for seed, length in zip(seeds, lengths, strict=True)
    )
    step = Step("s1", result=result, attributes={"a/b~c": [{"": note}]})
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with Journal(folder) as journal:
            journal.append("round", "run", 1, Round(1, asked, said, (step,)))
        again = read_round(folder)
        assert again.agent == storable(said)
        assert again.examiner == storable(asked)
        assert again.steps[0].result == storable(result)
        assert again.steps[0].attributes == {"a/b~c": [{"": storable(note)}]}
        assert not list(folder.rglob("*.part"))


def test_a_long_reply_is_cut_with_a_mark_in_the_line_and_written_once(tmp_path: Path) -> None:
    said = "z\r\n" * 200_000
    with Journal(tmp_path) as journal:
        for number in (1, 2, 3):
            journal.append("round", "run", 1, Round(number, "ask", said))
    assert (tmp_path / FILE).stat().st_size < 4 * TEXT_LIMIT * 2
    assert len(list((tmp_path / "texts").iterdir())) == 1
    for event in scan(tmp_path):
        assert "cut here: 600,000 characters" in event.data["agent"]
    assert [each.agent for stored in read_runs(tmp_path) for each in stored.transcript.rounds] == [said] * 3


def test_a_lost_text_file_leaves_the_cut_text_standing(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        journal.append("round", "run", 1, Round(1, "ask", "z" * 600_000))
    for file in (tmp_path / "texts").iterdir():
        file.unlink()
    assert read_round(tmp_path).agent.startswith("zzz")  # type: ignore[union-attr]


SECRET = "the content of another file"


@pytest.mark.parametrize(
    "texts",
    [
        {"/agent": "../secret.txt"},
        {"/agent": "texts/../../secret.txt"},
        {"/agent": "{outside}"},
        {"/agent": "texts/link.txt"},
        {"/agent": "journal.jsonl"},
        {"/agent": "texts"},
        {"/agent": "texts/\0"},
        {"/agent": "texts/loop"},
        {"/agent": 5},
        {"/agent": None},
        {"/agent/deeper": "texts/sound.txt"},
        {"/steps/7/result": "texts/sound.txt"},
        {"/steps/x": "texts/sound.txt"},
        {"/number": "texts/sound.txt"},
        {"/invented": "texts/sound.txt"},
        {"": "texts/sound.txt"},
        {"agent": "texts/latin.txt"},
        {"/agent": "texts/latin.txt"},
        ["/agent", "texts/sound.txt"],
        "texts/sound.txt",
        7,
        None,
    ],
)
def test_a_strangers_journal_makes_viva_read_nothing_but_its_own_texts(tmp_path: Path, texts: Any) -> None:
    folder = tmp_path / "journal"
    (folder / "texts").mkdir(parents=True)
    (tmp_path / "secret.txt").write_text(SECRET)
    (folder / "texts" / "link.txt").symlink_to(tmp_path / "secret.txt")
    (folder / "texts" / "loop").symlink_to("loop")
    (folder / "texts" / "sound.txt").write_text("sound")
    (folder / "texts" / "latin.txt").write_bytes(b"\xff\xfe")
    if isinstance(texts, dict):
        texts = {
            key: value.replace("{outside}", str(tmp_path / "secret.txt")) if isinstance(value, str) else value
            for key, value in texts.items()
        }
    data = {**to_plain(Round(1, "ask", "tell")), "_texts": texts}
    line = {"v": 1, "event": "round", "run": "run", "attempt": 1, "data": data}
    (folder / FILE).write_text(json.dumps(line) + "\n")
    damage = Damage()
    (stored,) = read_runs(folder, damage=damage)
    assert [(each.number, each.examiner, each.agent) for each in stored.transcript.rounds] == [(1, "ask", "tell")]
    assert damage.torn == 0


def test_copied_lines_bring_their_long_texts_along(tmp_path: Path) -> None:
    said = "wörds\n" * 100_000
    with Journal(tmp_path / "old") as journal:
        journal.append("round", "run", 1, Round(1, "ask", said))
        journal.append("round", "run", 1, Round(2, "ask", "short"))
    (stored,) = read_runs(tmp_path / "old", keep_lines=True)
    with Journal(tmp_path / "new") as journal:
        journal.copy_lines(stored.lines, stored.folder)
        journal.copy_lines(b"", stored.folder)
    (copied,) = read_runs(tmp_path / "new")
    assert copied.transcript == stored.transcript
    assert copied.transcript.rounds[0].agent == said


def test_reopening_a_journal_adds_to_it(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        with Journal(tmp_path) as journal:
            journal.append("round", "run", 1, Round(number))
            journal.close()
    assert [event.data["number"] for event in scan(tmp_path)] == [1, 2, 3]


def test_kinds_that_are_not_wanted_are_left_out(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for kind in ("setting", "round", "round", "run"):
            journal.append(kind, "run", 1, Round(1))
    with (tmp_path / FILE).open("a") as file:
        # Another writer's spacing is as good as ours.
        file.write('{ "v": 1, "event": "round", "run": "other", "attempt": 1, "data": {} }\n')
        file.write('{ "v": 1, "event": "run", "run": "other", "attempt": 1, "data": {} }\n')
    wanted = scan(tmp_path, kinds=frozenset({"round"}))
    assert [(event.kind, event.run) for event in wanted] == [("round", "run"), ("round", "run"), ("round", "other")]


def test_a_long_journal_is_read_in_constant_memory(tmp_path: Path) -> None:
    """Twenty thousand lines, 20 MB: neither reader may hold more than one run of them at once."""
    with Journal(tmp_path) as journal:
        for run in range(400):
            for number in range(1, 51):
                journal.append("round", f"run-{run}", 1, Round(number, "ask", "x" * 900))
    assert (tmp_path / FILE).stat().st_size > 18_000_000
    list(scan(tmp_path, kinds=frozenset()))
    tracemalloc.start()
    try:
        assert sum(1 for _ in scan(tmp_path)) == 20_000
        scanned = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        assert sum(len(stored.transcript.rounds) for stored in read_runs(tmp_path)) == 20_000
        gathered = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert scanned < 300_000
    assert gathered < 1_000_000


def test_what_writing_takes_is_built_when_the_journal_is_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codec, "_ADAPTERS", {})
    record = RunRecord("run", "case", "agent", Outcome.SCORED, 1.0)
    with Journal(tmp_path) as journal:
        monkeypatch.delattr(codec, "TypeAdapter")
        for value in (Setting(), Round(1), Transcript(), Insight("judge", "run", "hit", 1.0), record):
            journal.append("event", "run", 1, value)
    assert len(list(scan(tmp_path))) == 5


def test_line_numbers_and_offsets_are_those_of_the_file(tmp_path: Path) -> None:
    with Journal(tmp_path) as journal:
        for number in (1, 2):
            journal.append("round", "run", 1, Round(number, "ä"))
    content = (tmp_path / FILE).read_bytes()
    for number, offset, line in raw_lines(tmp_path):
        assert content[offset : offset + len(line)] == line
        assert content[:offset].count(b"\n") == number - 1


def test_a_missing_journal_is_said_in_words_that_help(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "odd" / FILE).mkdir(parents=True)
    with pytest.raises(JournalError, match=r"is not a journal: it has no journal\.jsonl"):
        list(scan(tmp_path))
    with pytest.raises(JournalError, match="there is no folder"):
        list(read_runs(tmp_path / "nowhere"))
    with pytest.raises(JournalError, match="is a file; a journal is the folder that contains"):
        list(scan(tmp_path / "file"))
    with pytest.raises(JournalError, match=r"cannot read .*: Is a directory"):
        list(scan(tmp_path / "odd"))


def test_events_that_are_appended_at_once_are_those_appended_one_by_one(tmp_path: Path) -> None:
    long = "x" * (LINE_LIMIT + 1)
    events: list[tuple[str, object]] = [
        ("insight", Insight("points", "run", "hit", 1.0, summary="ä\n\u2028")),
        ("insight", Insight("brevity", "run", "miss", 0.0, summary=long)),
        ("run", RunRecord("run", "echo", "me", Outcome.SCORED, 1.0)),
    ]
    with Journal(tmp_path / "one") as one, Journal(tmp_path / "several") as several:
        for kind, value in events:
            one.append(kind, "run", 1, value)
        several.append_all("run", 1, events)
    assert (tmp_path / "several" / FILE).read_bytes() == (tmp_path / "one" / FILE).read_bytes()
    (text,) = (tmp_path / "several" / "texts").iterdir()
    assert text.read_text() == long
