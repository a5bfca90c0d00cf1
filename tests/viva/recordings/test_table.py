"""One place finds the reader of a source: built in, by import string, or of an installed distribution."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.distributions import install
from viva.errors import SetupError
from viva.recordings.recording import Recording, RecordingError
from viva.recordings.table import load_reader, read_recordings

TALK = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
LOGS = """
from viva.recordings.recording import Recording
from viva.records.transcript import Round, Transcript

class Logs:
    def read(self, source, limit=9):
        for number, word in enumerate(source.split(",")[:limit], 1):
            transcript = Transcript((Round(1, None, word),), source="logs")
            yield Recording(transcript, place=f"{source}, word {number}", run_key=word, agent="logger")

class Breaks:
    def read(self, source):
        yield from Logs().read("a")
        raise KeyError(source)

class Skips:
    def read(self, source):
        rounds = (Round(0, "a"), Round(2, "b"))
        yield Recording(Transcript(rounds, source="logs"), place=source, run_key="1")

class Wrong:
    def read(self, source):
        return ["not a recording"]

class NoReader:
    pass
"""


@pytest.fixture(autouse=True)
def _path_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    names = {name.lower(): f"our_logs:{name}" for name in ("Logs", "Breaks", "Skips", "Wrong", "NoReader", "Missing")}
    site = install(tmp_path / "site", "our-logs", "0.3", {"our_logs": LOGS}, {"viva.readers": names})
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.chdir(site)
    monkeypatch.delitem(sys.modules, "our_logs", raising=False)
    return site


@pytest.mark.parametrize("reader", ["logs", "our_logs.py:Logs", "our_logs:Logs"])
def test_a_reader_from_elsewhere_is_used_by_name_and_by_import_string(reader: str, installed: Path) -> None:
    found = list(read_recordings(f"{reader}:x,y,z", limit=2))
    assert [(each.run_key, each.agent, each.transcript.rounds[0].agent) for each in found] == [
        ("x", "logger", "x"),
        ("y", "logger", "y"),
    ]
    assert (load_reader(f"{reader}:x").name, load_reader(f"{reader}:x").source) == (reader, "x")


def test_the_chat_reader_tells_runs_apart_and_keeps_what_it_has_no_name_for(tmp_path: Path) -> None:
    file = tmp_path / "talks.jsonl"
    lines = [
        {"traj": TALK, "task_id": 7, "trial": 0, "reward": 1, "info": {"seed": 3}},
        {"traj": TALK, "task_id": 7, "trial": 1},
        {"traj": TALK},
    ]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines) + json.dumps([TALK, TALK]))
    found = list(read_recordings(f"chat:{file}"))
    assert [each.run_key for each in found] == [
        "talks.jsonl, line 1, task 7, trial 0",
        "talks.jsonl, line 2, task 7, trial 1",
        "talks.jsonl, line 3",
        "talks.jsonl, line 4, element 1",
        "talks.jsonl, line 4, element 2",
    ]
    first = found[0]
    assert (first.subject, first.trial, first.reward, first.place) == ("7", 0, 1.0, f"{file}, line 1")
    assert (first.agent, first.agent_version, first.workspace, first.notes) == (None, None, None, ())
    assert first.transcript.attributes == {"recording": {"info": {"seed": 3}}}
    assert {each.transcript.source for each in found} == {"chat"}


def test_a_file_that_was_moved_holds_the_same_runs(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "talk.json").write_text(json.dumps([TALK, TALK]))
    one, two = (
        [each.run_key for each in read_recordings(f"chat:{tmp_path}/{name}/talk.json")] for name in ("one", "two")
    )
    assert one == two


MISTAKES = {
    "chatt:talk.json": r"there is no reader 'chatt', nor a module of that name. Did you mean chat\? There are chat, ",
    "talk.json": r"there is no reader 'talk.json'",
    "chat:": r"'chat:' names no source; write chat:SOURCE",
    "noreader:x": r"noreader is not a reader: it has no read\(source\)",
    "missing:x": r"reader 'missing' of our-logs 0.3 cannot be imported",
    "breaks:x": r"reader breaks failed on x: .*our_logs\.py:14: KeyError: 'x'",
    "wrong:x": r"reader wrong returned str, not a Recording",
    "skips:x": r"x: the reader skips numbers the rounds \[0, 2\]; they must be numbered from 1",
    "logs:x,x": r"x,x, word 2: duplicate run key 'x'",
    "chat:no-such-file.json": r"no-such-file.json: cannot be read",
}


@pytest.mark.parametrize("spec", MISTAKES)
def test_what_cannot_be_read_says_why(spec: str, installed: Path) -> None:
    with pytest.raises(SetupError, match=MISTAKES[spec]):
        list(read_recordings(spec))


def test_a_file_without_a_reader_is_told_how_to_be_named(tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    file.write_text(json.dumps([TALK]))
    with pytest.raises(
        SetupError, match=f"talk.json is named without a reader; write READER:{file}, for example chat:"
    ):
        list(read_recordings(str(file)))


def test_what_was_read_before_a_reader_failed_has_been_given(installed: Path) -> None:
    recordings = read_recordings("breaks:x")
    assert isinstance(next(recordings), Recording)
    with pytest.raises(RecordingError):
        next(recordings)


def test_an_option_that_a_reader_does_not_know_is_refused(installed: Path) -> None:
    with pytest.raises(RecordingError, match="unexpected keyword argument 'colour'"):
        list(read_recordings("logs:x", colour="red"))
