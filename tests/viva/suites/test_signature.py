"""What a folder says was begun is gone on with where this user began it, else only with leave."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.viva.real_suites import viva, write_agent, write_cases
from viva.suites.resuming.signature import KEY_BYTES, SIGNATURE, key_file, read_signed, signed

AGENT = "def touch(): open('hurt', 'w')\ntouch()\nclass Evil:\n    def __init__(self, task_description): pass\n"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("held")
    cases, agent = write_cases(folder / "cases", 1), write_agent(folder)
    (folder / "evil.py").write_text(AGENT + "    def get_reply_from_agent(self, message): return 'x'\n")
    process = ("--sandbox", "process")
    (folder / "said.json").write_text('[{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]')
    for command in (
        ("suite", cases, "--agent", agent, *process, "--out", "suite", "--quiet"),
        ("judge", "suite", *process, "--out", "judge", "--quiet"),
        ("replay", "suite", "--against", agent, *process, "--out", "replay"),
        ("trace", "chat:said.json", "--out", "trace", "--quiet"),
    ):
        done = viva(*command, cwd=folder)
        assert done.returncode in (0, 3), done.stderr
    return folder


@pytest.fixture
def held(prepared: Path) -> Iterator[Path]:
    """A folder with what each command has begun; what a test changes in a plan is undone."""
    plans = {plan: plan.read_bytes() for plan in prepared.glob("*/request.json")}
    yield prepared
    for plan, content in plans.items():
        plan.write_bytes(content)


def change(folder: Path, name: str, how: Callable[[dict[str, Any]], object]) -> None:
    data = json.loads((folder / name).read_text())
    how(data)
    (folder / name).write_text(json.dumps(data))


@pytest.mark.parametrize(
    ("command", "name", "how", "shown"),
    [
        ("suite", "request.json", lambda data: data.update(agents=["evil.py:Evil"]), "agents evil.py:Evil"),
        (
            "suite",
            "request.json",
            lambda data: data["options"].update(allow_pre_command=True),
            "--allow-pre-command True",
        ),
        ("suite", "request.json", lambda data: data.pop(SIGNATURE), "--sandbox process"),
        ("suite", "request.json", lambda data: data.update({SIGNATURE: "0" * 64}), "--sandbox process"),
        ("suite", "request.json", lambda data: data.update({SIGNATURE: ["é"]}), "--sandbox process"),
        ("judge", "request.json", lambda data: data["options"].update(evaluators=["evil.py:Evil"]), "evil.py:Evil"),
        ("judge", "request.json", lambda data: data["options"].update(judge_model="evil.yaml"), "evil.yaml"),
        ("replay", "request.json", lambda data: data["options"].update(agent="evil.py:Evil"), "agent evil.py:Evil"),
        ("trace", "request.json", lambda data: data.update(recordings=["evil.py:Evil:x"]), "evil.py:Evil:x"),
        ("trace", "request.json", lambda data: data.update(folder="/\x1b[31m\u202eelsewhere"), "elsewhere"),
    ],
)
def test_what_a_stranger_chose_is_shown_and_not_run(
    held: Path, command: str, name: str, how: Callable[[dict[str, Any]], object], shown: str
) -> None:
    before = (held / command / name).read_text()
    try:
        change(held / command, name, how)
        done = viva(command, "--resume", command, cwd=held)
        assert done.returncode == 2, done.stderr
        assert "does not have your signature" in done.stderr
        assert shown in done.stderr
        assert done.stderr.rstrip("\n").isprintable()
        assert not (held / "hurt").exists()
    finally:
        (held / command / name).write_text(before)
    assert viva(command, "--resume", command, cwd=held).returncode in (0, 3)


def test_with_leave_it_is_gone_on_with_as_it_says(held: Path) -> None:
    change(held / "suite", "request.json", lambda data: data.pop(SIGNATURE))
    assert viva("suite", "--resume", "suite", cwd=held).returncode == 2
    done = viva("suite", "--resume", "suite", "--trust-plan", cwd=held)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "command",
    [("suite", "echo"), ("judge", "suite"), ("replay", "suite", "--against", "example:careful"), ("trace", "chat:x")],
)
def test_leave_to_go_on_is_refused_where_there_is_nothing_to_go_on_with(tmp_path: Path, command: list[str]) -> None:
    done = viva(*command, "--trust-plan", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, f"viva {command[0]}: --trust-plan requires --resume.\n")
    assert not list(tmp_path.iterdir())


def test_another_users_mark_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "one"))
    content = signed(b'{"b": 1, "a": [1.5, "\\u00e9"]}')
    (tmp_path / "request.json").write_bytes(content)
    assert read_signed(tmp_path, "request.json") == ({"b": 1, "a": [1.5, "é"]}, True)
    assert len(key_file().read_bytes()) == KEY_BYTES
    assert key_file().stat().st_mode & 0o777 == 0o600
    key_file().chmod(0o640)
    assert read_signed(tmp_path, "request.json")[1] is False
    key_file().chmod(0o600)
    assert read_signed(tmp_path, "request.json")[1] is True
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "two"))
    assert read_signed(tmp_path, "request.json")[1] is False
    signed(b"{}")
    assert read_signed(tmp_path, "request.json")[1] is False


def test_where_no_key_can_be_kept_nothing_is_signed_and_nothing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert json.loads(signed(b'{"a": 1}')) == {"a": 1}


@pytest.mark.parametrize("what", ["link", "pipe", "folder", "nested", "list"])
def test_a_plan_that_is_no_plain_file_is_refused_in_words(tmp_path: Path, what: str) -> None:
    file = tmp_path / "journal" / "request.json"
    file.parent.mkdir()
    if what == "link":
        (tmp_path / "real.json").write_bytes(signed(b'{"paths": ["echo"]}'))
        file.symlink_to(tmp_path / "real.json")
    elif what == "pipe":
        os.mkfifo(file)
    elif what == "folder":
        file.mkdir()
    else:
        file.write_text("[" * 100_000 if what == "nested" else "[]")
    done = viva("suite", "--resume", "journal", cwd=tmp_path)
    assert (done.returncode, "cannot be read" in done.stderr) == (2, True), done.stderr
