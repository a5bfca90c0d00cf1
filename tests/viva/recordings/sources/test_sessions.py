"""Inspect's logs and the session files of coding agents are read by their documented forms, and nothing is lost."""

from __future__ import annotations

import json
import random
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import package
from viva.recordings.files import packed
from viva.recordings.recording import Recording, RecordingError
from viva.recordings.sessions import inspect_logs, inspect_repeats
from viva.recordings.table import read_recordings
from viva.records.trajectory import trajectory

RECORDED = Path(__file__).parent / "recorded"
"""`inspect.eval` is made with inspect-ai and its mock model by `make/inspect_log.py`, whose script is the truth."""


def steps(recording: Recording) -> list[tuple[str | None, Any, str | None, str | None]]:
    """The steps in which tools were used."""
    return [(s.tool, s.tool_input, s.result, s.error) for s in trajectory(recording.transcript) if s.tool is not None]


def tokens(recording: Recording) -> tuple[int, int]:
    usage = recording.transcript.usage["target"]
    return usage.input_tokens, usage.output_tokens


def write(path: Path, lines: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_a_log_that_inspect_wrote_is_read_whole() -> None:
    package("backports.zstd")
    check_inspect(list(read_recordings(f"inspect:{RECORDED}/inspect.eval")))


def check_inspect(found: list[Recording]) -> None:
    """Compare what was read with the script that made the log."""
    rome, two = found
    assert (rome.subject, rome.trial, rome.reward, two.subject, two.reward) == ("rome", 1, 1.0, "two", 0.0)
    assert rome.transcript.system == "You are a weatherman."
    assert rome.transcript.rounds[0].examiner == "How warm is Rome?"
    assert steps(rome) == [("get_weather", {"city": "Rome"}, "25 degrees in Rome", None)]
    assert steps(two) == [
        ("get_weather", {"city": "Oslo"}, "25 degrees in Oslo", None),
        ("get_weather", {"city": "Atlantis"}, "", "no such city"),
    ]
    assert two.transcript.rounds[0].agent == "Oslo has 25 degrees; Atlantis does not exist."
    assert tokens(rome) == tokens(two) == (200, 20)
    assert [tool["function"]["name"] for tool in rome.transcript.tools] == ["get_weather"]
    assert rome.transcript.attributes["inspect"]["scores"]["includes"]["value"] == "C"


def sample(**more: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "attachment://a1"}, {"role": "assistant", "content": "Yes"}]
    return {"id": 7, "epoch": 2, "messages": messages, "attachments": {"a1": "Is it so?"}, "events": [], **more}


def log_of(path: Path, *samples: dict[str, Any], form: str = "eval") -> Path:
    header = {"version": 2, "eval": {"task": "t", "model": "m"}}
    if form == "json":
        path.write_text(json.dumps({**header, "samples": list(samples)}))
        return path
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        for number, each in enumerate(samples):
            archive.writestr(f"samples/{number}_epoch_1.json", json.dumps(each))
    return path


@pytest.mark.parametrize("form", ["eval", "json"])
def test_older_logs_of_inspect_are_read_too(tmp_path: Path, form: str) -> None:
    log = log_of(tmp_path / f"log.{form}", sample(scores={"s": {"value": 0.25}}), form=form)
    (recording,) = read_recordings(f"inspect:{log}")
    assert (recording.subject, recording.trial, recording.reward) == ("7", 2, 0.25)
    assert (recording.transcript.rounds[0].examiner, recording.transcript.rounds[0].agent) == ("Is it so?", "Yes")


def test_an_uncertain_score_of_inspect_says_so(tmp_path: Path) -> None:
    several = sample(uuid="a", scores={"one": {"value": "C"}, "two": {"value": "I"}})
    unclear = sample(uuid="b", scores={"one": {"value": {"a": 1}}})
    found = list(read_recordings(f"inspect:{log_of(tmp_path / 'l.eval', several, unclear, sample(uuid='c'))}"))
    assert [each.reward for each in found] == [1.0, None, None]
    assert found[0].notes == ("a sample has several scores (one, two); the first is the reward",)
    assert "is neither a number nor one of" in found[1].notes[0]
    assert found[2].notes == ("samples without a score have no reward",)


@pytest.mark.parametrize("content", [b"PK\x05\x06", b"PK\x03\x04" + b"x" * 50, b"{}", b'{"eval": 1}', b"", b"[1]"])
def test_what_is_no_log_of_inspect_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "log.eval").write_bytes(content)
    with pytest.raises(RecordingError, match=r"log\.eval"):
        list(read_recordings(f"inspect:{tmp_path / 'log.eval'}"))


@pytest.mark.parametrize("form", ["eval", "json"])
@pytest.mark.parametrize("attached", ["x" * 1000, ["x" * 1000], {"x": "x" * 1000}], ids=["text", "list", "object"])
@pytest.mark.parametrize("where", ["a message", "messages", "input"])
def test_attachments_that_are_named_too_often_are_refused(
    tmp_path: Path, form: str, attached: Any, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_repeats, "MOST_ATTACHED", 20_000)

    def named(times: int) -> dict[str, Any]:
        parts = [{"type": "text", "text": "attachment://a"}] * times
        message = {"role": "user", "content": parts}
        if where == "messages":
            return sample(attachments={"a": attached}, messages=[{"role": "user", "content": [each]} for each in parts])
        if where == "input":
            return sample(attachments={"a": attached}, input=[message])
        return sample(attachments={"a": attached}, messages=[message])

    assert len(list(read_recordings(f"inspect:{log_of(tmp_path / f'few.{form}', named(15), form=form)}"))) == 1
    log = log_of(tmp_path / f"many.{form}", named(100), form=form)
    with pytest.raises(RecordingError, match=rf"many\.{form}, sample 7, epoch 2: .*more than 20,000 characters"):
        list(read_recordings(f"inspect:{log}"))


@pytest.mark.parametrize("form", ["eval", "json"])
def test_what_many_samples_repeat_is_limited_for_the_whole_log(
    tmp_path: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "MOST_RATIO", 2)
    monkeypatch.setattr(packed, "MOST_FREE", 50_000)
    messages = [{"role": "user", "content": [{"type": "text", "text": "attachment://a"}] * 30}]
    samples = [sample(epoch=n, attachments={"a": "x" * 1000}, messages=messages) for n in range(1, 5)]
    log = log_of(tmp_path / f"log.{form}", *samples[:3], form=form)
    assert len(list(read_recordings(f"inspect:{log}"))) == 3
    with pytest.raises(RecordingError, match="sample 7, epoch 4: it repeats what the log holds once"):
        list(read_recordings(f"inspect:{log_of(tmp_path / f'more.{form}', *samples, form=form)}"))


def test_a_long_name_in_the_header_is_not_repeated_without_a_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "MOST_RATIO", 2)
    monkeypatch.setattr(packed, "MOST_FREE", 100_000)
    log = tmp_path / "log.json"
    samples = [sample(epoch=epoch) for epoch in range(1000)]
    log.write_text(json.dumps({"eval": {"task": "t" * 100_000}, "samples": samples}))
    with pytest.raises(RecordingError, match="it repeats what the log holds once"):
        list(read_recordings(f"inspect:{log}"))


def test_an_archive_whose_members_unpack_to_too_much_together_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "MOST_FREE", 1 << 20)
    large = [sample(epoch=epoch, store=" " * 300_000) for epoch in range(1, 9)]
    assert len(list(read_recordings(f"inspect:{log_of(tmp_path / 'few.eval', *large[:3])}"))) == 3
    with pytest.raises(RecordingError, match=r"many\.eval: it unpacks to more than 200 times its size"):
        list(read_recordings(f"inspect:{log_of(tmp_path / 'many.eval', *large)}"))


def test_an_archive_that_packs_as_well_as_archives_do_may_have_any_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(packed, "MOST_FREE", 1 << 16)
    noise = random.Random(0)
    large = [sample(epoch=epoch, store=noise.randbytes(1000).hex() * 25) for epoch in range(1, 9)]
    log = log_of(tmp_path / "log.eval", *large)
    assert log.stat().st_size * 20 < sum(len(json.dumps(each)) for each in large)
    assert len(list(read_recordings(f"inspect:{log}"))) == 8


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_no_more_of_a_member_is_unpacked_than_is_allowed(
    tmp_path: Path, method: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inspect_logs, "MOST_DOCUMENT", 1 << 20)
    noise = random.Random(0)
    with zipfile.ZipFile(tmp_path / "log.eval", "w", method) as archive:
        archive.writestr("header.json", b"".join(noise.randbytes(64) * 1024 for _ in range(512)))
    tracemalloc.start()
    try:
        with pytest.raises(RecordingError, match=r"header\.json is larger than 1 MiB"):
            list(read_recordings(f"inspect:{tmp_path / 'log.eval'}"))
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("form", ["eval", "json"])
@pytest.mark.parametrize("levels", [100, 300, 600, 900, 5000])
def test_a_sample_that_is_nested_deeply_is_read_or_refused_with_its_file(
    tmp_path: Path, form: str, levels: int
) -> None:
    text = json.dumps({"eval": {"task": "t"}, "samples": [sample(messages=[{"role": "user", "content": "DEEP"}])]})
    text = text.replace('"DEEP"', "[" * levels + "]" * levels)
    if form == "json":
        (tmp_path / "log.json").write_text(text)
    else:
        with zipfile.ZipFile(tmp_path / "log.eval", "w") as archive:
            archive.writestr("header.json", '{"eval": {"task": "t"}}')
            archive.writestr("samples/1_epoch_1.json", text[text.index("[{") + 1 : -2])
    try:
        assert len(list(read_recordings(f"inspect:{tmp_path / f'log.{form}'}"))) == 1
    except RecordingError as error:
        assert f"log.{form}" in str(error)  # noqa: PT017 - both are right, depending on the version of Python
        assert levels > 100
    else:
        assert levels < 5000


def line(number: int, role: str, content: Any, **more: Any) -> dict[str, Any]:
    """One line of a session of Claude Code."""
    message: dict[str, Any] = {"role": role, "content": content}
    if role == "assistant":
        usage = {"input_tokens": 10, "cache_creation_input_tokens": 20, "cache_read_input_tokens": 70}
        message |= {"id": f"msg_{number}", "model": "claude-x", "usage": {**usage, "output_tokens": 10}}
    made = {
        "parentUuid": f"u{number - 1}" if number else None,
        "isSidechain": False,
        "type": role,
        "message": message,
        "uuid": f"u{number}",
        "timestamp": f"2026-01-01T00:00:{number:02}.000Z",
        "sessionId": "session-1",
        "cwd": "/home/somebody/project",
        "version": "2.1.0",
    }
    message |= more.pop("message", {})
    return {**made, **more}


def use(key: str, name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": key, "name": name, "input": given}


def used(key: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": key, "content": content, **more}


CLAUDE = [
    {"type": "summary", "summary": "Fix the build", "leafUuid": "u9"},
    line(0, "user", "The build is red. Fix it."),
    line(1, "assistant", [{"type": "thinking", "thinking": "I look first.", "signature": "x"}]),
    line(2, "assistant", [{"type": "text", "text": "Let me see."}], message={"id": "msg_1"}),
    line(3, "assistant", [use("t1", "Bash", command="make")], message={"id": "msg_1"}),
    line(4, "assistant", [use("t2", "Read", file_path="a.py")], message={"id": "msg_1"}),
    line(5, "user", [used("t1", "Exit code 2", is_error=True)]),
    line(6, "user", [used("t2", [{"type": "text", "text": "x = 1"}])]),
    line(7, "user", "<local-command-caveat>", isMeta=True),
    line(8, "assistant", [{"type": "text", "text": "It is fixed."}]),
    line(9, "user", [{"type": "text", "text": "And the docs?"}]),
    line(10, "assistant", [use("t3", "Task", prompt="write docs")]),
    line(20, "user", "write docs", isSidechain=True, agentId="sub1", parentUuid=None),
    line(21, "assistant", [{"type": "text", "text": "Docs written."}], isSidechain=True, agentId="sub1"),
    line(11, "user", [used("t3", [{"type": "text", "text": "Docs written."}])]),
    line(12, "assistant", [{"type": "text", "text": "Done."}]),
]


def test_a_session_of_claude_code_is_read_whole(tmp_path: Path) -> None:
    main, sub = read_recordings(f"claude_code:{write(tmp_path / 'session-1.jsonl', CLAUDE)}")
    assert [(round_.examiner, round_.agent) for round_ in main.transcript.rounds] == [
        ("The build is red. Fix it.", "It is fixed."),
        ("And the docs?", "Done."),
    ]
    assert steps(main) == [
        ("Bash", {"command": "make"}, "Exit code 2", "Exit code 2"),
        ("Read", {"file_path": "a.py"}, "x = 1", None),
        ("Task", {"prompt": "write docs"}, "Docs written.", None),
    ]
    assert trajectory(main.transcript)[0].thought == "I look first.\nLet me see."
    assert tokens(main) == (400, 40), "the four lines of one answer report its tokens four times"
    assert (main.run_key, main.agent, main.agent_version) == ("session-1", "Claude Code", "2.1.0")
    assert "lines that are not messages, counted and left out (summary: 1)" in main.transcript.notes
    assert (sub.run_key, sub.agent) == ("session-1.sub1", "Claude Code, sub-agent")
    assert (sub.transcript.rounds[0].examiner, sub.transcript.rounds[0].agent) == ("write docs", "Docs written.")


def wrapped(kind: str, number: int = 0, **payload: Any) -> dict[str, Any]:
    """One line of a session of Codex."""
    return {"timestamp": f"2026-01-01T00:00:{number:02}.000Z", "type": kind, "payload": payload}


def message(role: str, text: str) -> dict[str, Any]:
    part = {"type": "output_text" if role == "assistant" else "input_text", "text": text}
    return {"type": "message", "role": role, "content": [part]}


def counted(given: int, said: int) -> dict[str, Any]:
    usage = {"input_tokens": given, "cached_input_tokens": 5, "output_tokens": said, "total_tokens": given + said}
    return wrapped("event_msg", type="token_count", info={"total_token_usage": usage, "last_token_usage": usage})


CODEX = [
    wrapped("session_meta", id="s-1", cli_version="0.90.0", cwd="/home/somebody/project", originator="codex_cli"),
    wrapped("turn_context", model="gpt-x", approval_policy="never"),
    wrapped("response_item", **message("developer", "Be careful.")),
    wrapped("response_item", **message("user", "<environment_context>linux</environment_context>")),
    wrapped("event_msg", type="user_message", message="List the files."),
    wrapped("response_item", **message("user", "List the files.")),
    wrapped("response_item", type="reasoning", summary=[{"type": "summary_text", "text": "I use ls."}]),
    wrapped("response_item", type="function_call", name="shell", arguments='{"command": ["ls"]}', call_id="c1"),
    wrapped("response_item", type="custom_tool_call", name="apply_patch", input="*** Begin", call_id="c2"),
    counted(100, 10),
    wrapped("response_item", type="function_call_output", call_id="c1", output="Exit code: 0\nOutput:\na.py"),
    wrapped(
        "response_item",
        type="custom_tool_call_output",
        call_id="c2",
        output=json.dumps({"output": "no such file", "metadata": {"exit_code": 1, "duration_seconds": 0.1}}),
    ),
    wrapped("response_item", **message("assistant", "There is a.py.")),
    wrapped("event_msg", type="agent_message", message="There is a.py."),
    counted(200, 20),
]


def test_a_session_of_codex_is_read_whole(tmp_path: Path) -> None:
    (recording,) = read_recordings(f"codex:{write(tmp_path / 'rollout-1.jsonl', CODEX)}")
    (round_,) = recording.transcript.rounds
    assert (round_.examiner, round_.agent) == ("List the files.", "There is a.py.")
    assert steps(recording) == [
        ("shell", {"command": ["ls"]}, "Exit code: 0\nOutput:\na.py", None),
        ("apply_patch", "*** Begin", "no such file", "exit code 1"),
    ]
    assert trajectory(recording.transcript)[0].thought == "I use ls."
    assert tokens(recording) == (300, 30)
    assert "Be careful." in (recording.transcript.system or "")
    assert (recording.run_key, recording.agent_version) == ("s-1", "0.90.0")
    assert recording.transcript.rounds[0].steps[0].model == "gpt-x"


@pytest.mark.parametrize("agent", ["claude_code", "codex"])
def test_a_session_that_the_agent_itself_wrote_is_read_whole(agent: str) -> None:
    check_agent(agent, list(read_recordings(f"{agent}:{RECORDED}/{agent}.jsonl")))


def check_agent(agent: str, found: list[Recording]) -> None:
    """Compare what was read with the script of the model (`make/scripted_streams.py`)."""
    (recording,) = found
    (round_,) = recording.transcript.rounds
    assert (round_.examiner, (round_.agent or "").splitlines()[-1]) == ("List the files.", "There is one file, a.py.")
    first, second = steps(recording)
    asked = {
        "claude_code": [("Bash", {"command": "ls", "description": "List"}), ("Read", {"file_path": "/nowhere/b.py"})],
        "codex": [("exec_command", {"cmd": "ls"}), ("exec_command", {"cmd": "cat nowhere.py"})],
    }
    assert [first[:2], second[:2]] == asked[agent]
    assert "a.py" in (first[2] or "")
    assert first[3] is None
    assert second[3] is not None
    assert trajectory(recording.transcript)[0].thought == "I look."
    assert tokens(recording) == (200, 20)


def test_an_older_session_of_codex_is_read_too(tmp_path: Path) -> None:
    lines = [{"id": "s-0", "timestamp": "2025-05-01T00:00:00Z", "instructions": None}, {"record_type": "state"}]
    lines += [line["payload"] for line in CODEX if line["type"] == "response_item"]
    (recording,) = read_recordings(f"codex:{write(tmp_path / 'rollout-0.jsonl', lines)}")
    assert [round_.examiner for round_ in recording.transcript.rounds] == ["List the files."]
    assert len(steps(recording)) == 2


@pytest.mark.parametrize(("reader", "good"), [("claude_code", CLAUDE), ("codex", CODEX)])
def test_a_folder_of_sessions_is_read_and_other_files_are_no_sessions(
    tmp_path: Path, reader: str, good: list[dict[str, Any]]
) -> None:
    write(tmp_path / "one" / "a.jsonl", good)
    write(tmp_path / "other.jsonl", [{"a": 1}])
    with (tmp_path / "one" / "a.jsonl").open("a") as file:
        file.write("{torn\n")
    found = list(read_recordings(f"{reader}:{tmp_path}"))
    assert len(found) == (2 if reader == "claude_code" else 1)
    assert "lines of a.jsonl left out because they are not JSON objects: 1" in found[0].notes
    with pytest.raises(RecordingError, match=r"other\.jsonl: not a session of C"):
        list(read_recordings(f"{reader}:{tmp_path / 'other.jsonl'}"))


@pytest.mark.parametrize("reader", ["claude_code", "codex"])
@pytest.mark.parametrize("value", [None, 5, "x", [], {}, [5], [{"type": 3}], {"a": 1}, [[]], True])
def test_odd_values_are_no_error(tmp_path: Path, reader: str, value: Any) -> None:
    lines = CLAUDE if reader == "claude_code" else CODEX
    holder = "message" if reader == "claude_code" else "payload"
    keys = [(each, key) for each in lines for key in each.get(holder, {}) if key not in ("type", "role")]
    hurt = [{**each, holder: {**each[holder], key: value}} for each, key in keys]
    found = list(read_recordings(f"{reader}:{write(tmp_path / 'x.jsonl', [*lines, *hurt])}"))
    assert found
