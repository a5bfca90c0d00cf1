"""What an agent requests is served in its workspace only, within the policy, and Viva records what it saw."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.connectors.acp.scripted_sessions import do, seen, session
from tests.adapters.connectors.child.child_connectors import is_alive, until
from tests.warm.interpreters import fresh_interpreters
from viva.adapters.agent_state import load_state, save_state
from viva.adapters.connectors import workspace_files
from viva.adapters.connectors.acp import connection, messages
from viva.adapters.connectors.acp.variables import recorded_variables
from viva.adapters.connectors.child import supervised
from viva.adapters.connectors.child.program import Program
from viva.adapters.connectors.workspace_files import FileRefused, read_text, write_text
from viva.adapters.environment import EnvironmentLog
from viva.errors import AgentError, SetupError
from viva.judge.steps import parts_of, step_text
from viva.records.trajectory import surroundings, tool_calls
from viva.records.transcript import Step, StepKind

READ, WRITE, PERMISSION = "fs/read_text_file", "fs/write_text_file", "session/request_permission"
OPTIONS = [
    {"optionId": "always", "name": "Always", "kind": "allow_always"},
    {"optionId": "yes", "name": "Yes", "kind": "allow_once"},
    {"optionId": "no", "name": "No", "kind": "reject_once"},
]


def asks(kind: str | None, options: Any = None) -> list[Any]:
    call = {"toolCallId": "1", "title": "Do it", **({} if kind is None else {"kind": kind})}
    return ["ask", PERMISSION, {"toolCall": call, "options": OPTIONS if options is None else options}]


async def results(opened: Any, *actions: list[Any]) -> list[Any]:
    reply = await do(opened, *actions, ["say results"])
    found: list[Any] = json.loads(reply.text)
    return found


async def test_files_are_read_and_written_and_recorded(workspace: Path) -> None:
    path = str(workspace / "deep" / "a.txt")
    async with session(workspace) as opened:
        found = await results(
            opened,
            ["ask", WRITE, {"path": path, "content": "one\ntwo\nthree\n"}],
            ["ask", READ, {"path": path}],
            ["ask", READ, {"path": path, "line": 2, "limit": 1}],
            ["ask", READ, {"path": str(workspace / "none.txt")}],
        )
        steps = await seen(opened)
    assert found[:3] == [{}, {"content": "one\ntwo\nthree\n"}, {"content": "two\n"}]
    assert found[3]["code"] == -32002
    assert [step.tool for step in steps] == [WRITE, READ, READ, READ]
    assert {step.recorded_by for step in steps} == {"environment"}
    assert steps[0].tool_input == {"path": path, "content": "one\ntwo\nthree\n"}
    assert steps[1].result == "one\ntwo\nthree\n"
    assert "No such file" in str(steps[3].error)


async def test_large_answers_at_once_are_not_mixed(workspace: Path) -> None:
    (workspace / "large.txt").write_text("x" * 300_000)
    async with session(workspace) as opened:
        reply = await do(opened, ["read at once", str(workspace / "large.txt"), 8])
    assert json.loads(reply.text) == [300_000] * 8


def outside(workspace: Path) -> dict[str, str]:
    secret = workspace.parent / "secret.txt"
    secret.write_text("secret")
    (workspace.parent / "folder").mkdir()
    (workspace.parent / "folder" / "secret.txt").write_text("secret")
    (workspace / "link.txt").symlink_to(secret)
    (workspace / "linked").symlink_to(workspace.parent / "folder")
    os.mkfifo(workspace / "pipe")
    return {
        "absolute": str(secret),
        "dots": f"{workspace}/../secret.txt",
        "dots within": f"{workspace}/linked/../../secret.txt",
        "sibling": f"{workspace}2/secret.txt",
        "link": str(workspace / "link.txt"),
        "linked folder": str(workspace / "linked" / "secret.txt"),
        "relative": "link.txt",
        "pipe": str(workspace / "pipe"),
        "folder": str(workspace),
        "nul": f"{workspace}/a\0b",
        "device": "/dev/zero",
        "process": "/proc/self/environ",
    }


def test_no_path_leads_out_of_the_workspace(workspace: Path) -> None:
    for name, path in outside(workspace).items():
        with pytest.raises(FileRefused):
            read_text(workspace, path)
        with pytest.raises(FileRefused):
            write_text(workspace, path, "changed")
        assert (workspace.parent / "secret.txt").read_text() == "secret", name
    assert (workspace.parent / "folder" / "secret.txt").read_text() == "secret"


def test_a_workspace_that_became_a_link_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    workspace.rmdir()
    workspace.symlink_to(tmp_path / "other")
    with pytest.raises(FileRefused):
        write_text(workspace, str(workspace / "a.txt"), "x")
    assert list((tmp_path / "other").iterdir()) == []


def test_sizes_of_files_are_limited(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workspace_files, "MOST_BYTES", 1024 * 1024)
    path = workspace / "large.txt"
    path.write_text("x" * (1024 * 1024 + 1))
    with pytest.raises(FileRefused, match="more than 1 MiB"):
        read_text(workspace, str(path))
    with pytest.raises(FileRefused, match="more than 1 MiB"):
        write_text(workspace, str(path), "x" * (1024 * 1024 + 1))
    (workspace / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileRefused, match="not UTF-8"):
        read_text(workspace, str(workspace / "binary"))


async def test_a_command_runs_in_the_workspace_and_is_recorded(workspace: Path) -> None:
    (workspace / "sub").mkdir()
    command = {"command": "sh", "args": ["-c", "pwd; echo $NAME; echo bad >&2; exit 3"]}
    async with session(workspace) as opened:
        found = await results(
            opened,
            [
                "ask",
                "terminal/create",
                {**command, "cwd": str(workspace / "sub"), "env": [{"name": "NAME", "value": "here"}]},
            ],
            ["ask", "terminal/wait_for_exit", {"terminalId": "terminal1"}],
            ["ask", "terminal/output", {"terminalId": "terminal1"}],
            ["ask", "terminal/release", {"terminalId": "terminal1"}],
            ["ask", "terminal/output", {"terminalId": "terminal1"}],
        )
        steps = await seen(opened)
    assert found[0] == {"terminalId": "terminal1"}
    assert found[1] == {"exitCode": 3, "signal": None}
    assert found[2]["output"] == f"{workspace}/sub\nhere\nbad\n"
    assert found[3] == {}
    assert "no terminal" in found[4]["message"]
    (step,) = steps
    assert (step.tool, step.recorded_by) == ("terminal/create", "environment")
    asked = {"command": "sh -c 'pwd; echo $NAME; echo bad >&2; exit 3'"}
    assert step.tool_input == asked, "a check of the arguments is about the command alone"
    assert dict(surroundings(step)) == {"cwd": str(workspace / "sub"), "env": {"NAME": "here"}}
    shown = step_text(parts_of(step)).splitlines()
    assert shown[2:4] == [f"cwd: {workspace}/sub", 'env: {"NAME": "here"}'], "they decide what is run, too"
    assert step.result == f"{workspace}/sub\nhere\nbad\n"
    assert step.attributes["exitCode"] == 3


async def test_a_command_has_its_secrets_and_the_record_only_their_names(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAIL_PASSWORD", "open sesame")
    given = {"DB_PASSWORD": "hunter2", "npm_auth_token": "npm_x", "NO_TOKEN": "", "URL": "x?p=open sesame"}
    variables = [{"name": name, "value": value} for name, value in given.items()]
    command = {"command": "sh", "args": ["-c", "printenv DB_PASSWORD npm_auth_token URL > given"], "env": variables}
    refused = {"command": "no-such-program-anywhere", "args": ["x"], "env": variables}
    async with session(workspace) as opened:
        wait = ["ask", "terminal/wait_for_exit", {"terminalId": "terminal1"}]
        await results(opened, ["ask", "terminal/create", command], wait, ["ask", "terminal/create", refused])
        steps = await seen(opened)
    assert (workspace / "given").read_text().split("\n")[:3] == ["hunter2", "npm_x", "x?p=open sesame"]
    hidden = {"DB_PASSWORD": "[DB_PASSWORD]", "npm_auth_token": "[npm_auth_token]", "URL": "x?p=[MAIL_PASSWORD]"}
    assert [step.attributes["env"] for step in steps] == [{**given, **hidden}] * 2


async def test_a_command_may_have_a_whole_environment_and_the_record_says_what_it_leaves_out(workspace: Path) -> None:
    given = {f"NAME{number}": f"{number} " * number for number in range(300)}
    variables = [{"name": name, "value": value} for name, value in given.items()]
    script = "from os import environ as e; print(sum(len(e[f'NAME{n}']) for n in range(300)))"
    asked = {"command": sys.executable, "args": ["-c", script], "env": variables}
    async with session(workspace) as opened:
        with fresh_interpreters():  # the system limits what a process is started with
            wait = ["ask", "terminal/wait_for_exit", {"terminalId": "terminal1"}]
            await results(opened, ["ask", "terminal/create", asked], wait)
        (step,) = await seen(opened)
    assert step.result == f"{sum(map(len, given.values()))}\n"
    assert sum(map(len, given.values())) > 128 * 1024, "more than the system passes on in one argument"
    env, cut = step.attributes["env"], step.attributes["env_cut"]
    assert list(env) == list(given)
    assert sum(len(name) + len(value) for name, value in env.items()) <= 32_768
    assert env["NAME9"] == given["NAME9"]
    digest = hashlib.sha256(given["NAME299"].encode()).hexdigest()
    assert env["NAME299"] == f"[1,196 characters, SHA-256 {digest}]"
    assert cut == f"{sum(env[name] != given[name] for name in given)} values as digests, 0 further variables left out"
    assert f"env_cut: {cut}" in step_text(parts_of(step))


async def test_many_variables_that_are_given_again_are_recorded_once(workspace: Path) -> None:
    many = [{"name": f"NAME{number}", "value": "x" * 100} for number in range(20)]
    few = [{"name": "NAME", "value": "x"}]
    given = (many, many, few, few, [*many, *few])
    async with session(workspace) as opened:
        for number, variables in enumerate(given, 1):
            ask = ["ask", "terminal/create", {"command": "sh", "args": ["-c", "echo $NAME0"], "env": variables}]
            await results(opened, ask, ["ask", "terminal/wait_for_exit", {"terminalId": f"terminal{number}"}])
        steps = await seen(opened)
    recorded = [step.attributes["env"] for step in steps]
    assert recorded[1] == f"the same as in step {steps[0].id}, sh -c 'echo $NAME0'"
    whole = [{each["name"]: each["value"] for each in variables} for variables in given]
    assert [*recorded[:1], *recorded[2:]] == [*whole[:1], *whole[2:]]


def test_names_of_variables_that_have_no_room_are_counted_and_values_are_not_mixed() -> None:
    given = {f"NAME{'x' * 1000}{number}": "1" for number in range(50)}
    found = recorded_variables(given)
    assert set(found["env"].items()) < set(given.items())
    assert found["env_cut"] == f"0 values as digests, {50 - len(found['env'])} further variables left out"
    odd = {"A": "\n", "B": "", "C": "\n\nx\n", "D": "https://me:word", "E": "y@z", "F": "https://me:word@host\n"}
    assert recorded_variables(odd) == {"env": {**odd, "F": "https://[password]@host\n"}}
    assert recorded_variables({}) == {}


@pytest.mark.parametrize("filling", ["\1", '"', "é", "x"])
def test_no_variable_is_lost_in_the_cut_of_a_step_whatever_the_others_hold(filling: str) -> None:
    log = EnvironmentLog()
    given = {"A": filling * 15_000, "BASH_ENV": "evil.sh", "Z": filling * 15_000, filling * 3_000: "1"}
    log.record(Step("", StepKind.ACTION, attributes=recorded_variables(given)))
    (step,) = log.take_now()
    assert step.attributes["env"]["BASH_ENV"] == "evil.sh"
    for name in set(given) & set(step.attributes["env"]):
        digest = hashlib.sha256(given[name].encode()).hexdigest()
        assert step.attributes["env"][name] in (given[name], f"[15,000 characters, SHA-256 {digest}]")


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (["sh", "-c", "$X_TOKENS"], "X_TOKENS"),
        (["/bin/bash", "--norc", "-ec", ' "${X_TOKENS}" --now'], "X_TOKENS"),
        (["env", "dash", "-c", "exec sh -c '$X_TOKENS'"], "X_TOKENS"),
        (["git", "status"], "GIT_CONFIG_KEY_0"),
        (["bash", "-c", "my_key"], "BASH_FUNC_my_key%%"),
    ],
)
def test_what_a_command_runs_is_recorded_although_the_variable_is_called_a_secret(
    command: list[str], name: str
) -> None:
    given = {name: "cp /secret/solution answers.txt", "API_TOKEN": "abc"}
    assert recorded_variables(given, command) == {"env": {**given, "API_TOKEN": "[API_TOKEN]"}}


@pytest.mark.parametrize(
    "command",
    [
        ["sh", "-c", 'curl -H "Authorization: Bearer $MY_KEY" "http://host/?a=1&$MY_KEY"'],
        ["sh", "-c", 'echo "$MY_KEY" > key; MY_KEY=$MY_KEY ./x'],
        ["sh", "-c", 'eval "$MY_KEY"'],
        ["git", "-c", "$MY_KEY", "fetch"],
        ["bash", "x.sh", "$MY_KEY"],
        ["bash", "-c", './deploy.sh -c "$MY_KEY"; run-sh -vc $MY_KEY'],
    ],
)
@pytest.mark.parametrize(
    "value", ["hunter2", "correct horse; battery | staple", "-----BEGIN KEY-----\na/b\n", "Bearer x"]
)
def test_a_secret_that_a_command_uses_is_not_recorded(command: list[str], value: str) -> None:
    assert recorded_variables({"MY_KEY": value}, command) == {"env": {"MY_KEY": "[MY_KEY]"}}


async def test_output_beyond_the_limit_loses_its_beginning(workspace: Path) -> None:
    async with session(workspace) as opened:
        found = await results(
            opened,
            ["ask", "terminal/create", {"command": "echo 0123456789", "outputByteLimit": 5}],
            ["ask", "terminal/wait_for_exit", {"terminalId": "terminal1"}],
            ["ask", "terminal/output", {"terminalId": "terminal1"}],
            ["ask", "terminal/create", {"command": "echo 0123456789", "outputByteLimit": 0}],
            ["ask", "terminal/wait_for_exit", {"terminalId": "terminal2"}],
            ["ask", "terminal/output", {"terminalId": "terminal2"}],
        )
        steps = await seen(opened)
    assert (found[2]["output"], found[2]["truncated"]) == ("6789\n", True)
    assert (found[5]["output"], found[5]["truncated"]) == ("", True)
    assert [step.result for step in steps] == ["0123456789\n"] * 2, "the agent's limit is none of the record's"
    assert not any(step.attributes["truncated"] for step in steps)


async def test_a_command_can_be_killed_and_read_afterwards(workspace: Path) -> None:
    async with session(workspace) as opened:
        found = await results(
            opened,
            ["ask", "terminal/create", {"command": "sh", "args": ["-c", "echo first; sleep 600"]}],
            ["sleep", 0.5],
            ["ask", "terminal/output", {"terminalId": "terminal1"}],
            ["ask", "terminal/kill", {"terminalId": "terminal1"}],
            ["ask", "terminal/output", {"terminalId": "terminal1"}],
        )
    assert found[1]["exitStatus"] is None
    assert found[3]["output"] == "first\n"
    assert found[3]["exitStatus"]["signal"] == "SIGKILL"


@pytest.mark.parametrize(("number", "name"), [(40, "signal 40"), (9, "SIGKILL"), (64, "SIGRTMAX")])
async def test_a_command_that_ends_by_any_signal_is_recorded(workspace: Path, number: int, name: str) -> None:
    (workspace / "data.csv").write_text("1,2\n")
    async with session(workspace) as opened:
        found = await results(
            opened,
            ["ask", "terminal/create", {"command": "sh", "args": ["-c", f"rm data.csv; kill -{number} $$"]}],
            ["ask", "terminal/wait_for_exit", {"terminalId": "terminal1"}],
            ["ask", "terminal/output", {"terminalId": "terminal1"}],
        )
        (step,) = await seen(opened)
    assert found[1] == found[2]["exitStatus"] == {"exitCode": None, "signal": name}
    assert "rm data.csv" in step.tool_input["command"]
    assert step.attributes["signal"] == name


async def test_no_command_outlives_the_run(workspace: Path) -> None:
    script = "echo $$ > pid; (setsid sleep 600 & echo $! > daemon); sleep 600"
    async with session(workspace) as opened:
        await results(opened, ["ask", "terminal/create", {"command": "sh", "args": ["-c", script]}])
        assert await until(lambda: (workspace / "daemon").exists() and (workspace / "daemon").read_text().strip())
        running = [step for step in await seen(opened) if step.attributes.get("running")]
    assert len(running) == 1
    for name in ("pid", "daemon"):
        assert not is_alive(int((workspace / name).read_text()))


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"command": "no-such-program-anywhere", "args": ["x"]}, "there is no program"),
        ({"command": "pwd", "cwd": "/"}, "outside of the session's working directory"),
        ({"command": "pwd", "cwd": "$W/linked"}, "link"),
        ({"command": ""}, "not text"),
        ({"command": "env", "env": [{"name": "A=B", "value": "1"}]}, "names and values"),
        ({"command": "env", "env": [{"name": f"A{n}", "value": "1" * 100_000} for n in range(80)]}, "too long"),
        ({"command": "env", "env": [{"name": "A", "value": "1" * 200_000}]}, "too long"),
        ({"command": "env", "outputByteLimit": -1}, "not a count"),
        ({"command": "sh", "args": 5}, "args is not a list"),
        ({"command": "sh", "args": "-c"}, "args is not a list"),
        ({"command": "sh", "args": {"-c": 1}}, "args is not a list"),
        ({"command": "env", "env": 5}, "env is not a list"),
        ({"command": "env", "env": {"A": "1"}}, "env is not a list"),
    ],
)
async def test_a_command_that_cannot_be_run_is_refused(workspace: Path, request_: dict[str, Any], words: str) -> None:
    (workspace / "linked").symlink_to("/")
    asked = json.loads(json.dumps(request_).replace("$W", str(workspace)))
    async with session(workspace) as opened:
        with fresh_interpreters():  # the system limits what a process is started with
            (found,) = await results(opened, ["ask", "terminal/create", asked])
    assert found["code"] == -32602
    assert words in json.dumps(found)


async def test_terminals_are_limited(workspace: Path) -> None:
    async with session(workspace) as opened:
        found = await results(opened, *[["ask", "terminal/create", {"command": "sleep 600"}]] * 17)
    assert "16 terminals are open" in found[16]["message"]


async def test_terminals_are_limited_also_if_they_are_asked_for_at_once(workspace: Path) -> None:
    async with session(workspace) as opened:
        found = await results(opened, ["ask all", "terminal/create", {"command": "sleep 600"}, 40])
    assert sum("terminalId" in each for each in found) == 16
    assert sum("16 terminals are open" in each.get("message", "") for each in found) == 24


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
async def test_no_terminal_that_is_asked_for_at_the_end_outlives_the_run(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised, "KILL_SECONDS", 0.5)
    async with session(workspace) as opened:
        # It takes a while to end the first one, in which others begin.
        await results(opened, ["ask", "terminal/create", {"command": "sh", "args": ["-c", STOPS_SUPERVISOR]}])
        (workspace / "go").touch()
        assert await until((workspace / "pid").exists)
        await do(opened, ["request", "terminal/create", {"command": "sleep", "args": ["612.25"]}, 15], ["say", "x"])
        assert await opened.close() is None
    assert not with_argument("612.25")


@pytest.mark.parametrize("end", ["ended by itself", "killed"])
async def test_a_command_that_runs_for_several_turns_is_one_call_and_all_of_its_output_is_recorded(
    workspace: Path, end: str
) -> None:
    wait = "until [ -e {} ]; do sleep 0.02; done"
    script = f"echo first; {wait.format('go')}; echo second; touch said; {wait.format('end')}"
    async with session(workspace) as opened:
        await results(opened, ["ask", "terminal/create", {"command": "sh", "args": ["-c", script]}])
        (call,) = await seen(opened)
        await do(opened, ["say", "It runs."])
        (workspace / "go").touch()
        assert await until((workspace / "said").exists)
        await do(opened, ["say", "It runs."])
        between = await seen(opened)
        if end == "killed":
            await results(opened, ["ask", "terminal/kill", {"terminalId": "terminal1"}])
        else:
            (workspace / "end").touch()
            await results(opened, ["ask", "terminal/wait_for_exit", {"terminalId": "terminal1"}])
        last = await seen(opened)
    assert (call.tool, call.attributes["running"]) == ("terminal/create", True)
    further = (*between, *last)
    assert 1 <= len(further) <= 3, "a turn in which it wrote nothing has no step of it"
    assert "".join(step.result or "" for step in (call, *further)) == "first\nsecond\n"
    assert tool_calls((call, *further)) == (call,)
    assert {(step.tool, step.tool_input, step.parent_id) for step in further} == {(None, None, call.id)}
    assert "sh -c 'echo first" in (further[0].observation or "")
    ended = further[-1].attributes
    assert (ended["signal"], ended["exitCode"]) == (("SIGKILL", None) if end == "killed" else (None, 0))


async def test_a_command_that_began_after_the_last_answer_and_still_runs_is_recorded_once(workspace: Path) -> None:
    async with session(workspace) as opened:
        await results(opened, ["ask", "terminal/create", {"command": "sleep 600"}])
        assert [step.tool_input for step in await seen(opened)] == [{"command": "'sleep 600'"}]
        late = {"command": "sh", "args": ["-c", "touch begun; sleep 600"]}
        await do(opened, ["say", "Done."], ["after", "terminal/create", late, str(workspace / "answered")])
        await seen(opened)
        assert await until((workspace / "answered").exists)
        await opened.close()
        (step,) = opened.environment.take_now()
    assert (step.tool, step.attributes["running"]) == ("terminal/create", True)
    assert step.tool_input == {"command": "sh -c 'touch begun; sleep 600'"}


async def test_a_command_that_was_being_started_at_the_end_is_recorded_as_one_that_may_have_begun(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = Program._begin

    async def slow(self: Program, start: Any) -> None:
        await begin(self, start)
        await asyncio.sleep(3600)  # it runs, and Viva has not noticed it yet

    async with session(workspace) as opened:
        monkeypatch.setattr(Program, "_begin", slow)
        late = {"command": "sh", "args": ["-c", "touch begun; sleep 600"]}
        await do(opened, ["say", "Done."], ["after", "terminal/create", late])
        await seen(opened)
        assert await until((workspace / "begun").exists)
        await opened.close()
        (step,) = opened.environment.take_now()
    assert step.tool == "terminal/create"
    assert step.tool_input == {"command": "sh -c 'touch begun; sleep 600'"}
    assert "may have been carried out" in str(step.error)


async def test_nothing_is_served_after_the_end(workspace: Path) -> None:
    async with session(workspace) as opened:
        opened.environment.end()
        (found,) = await results(opened, ["ask", "terminal/create", {"command": "touch begun"}])
        assert not await seen(opened)
    assert "the run is over" in json.dumps(found)
    assert not (workspace / "begun").exists()


def with_argument(word: str) -> list[str]:
    """The ids of processes with an argument."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            if word.encode() in file.read_bytes().split(b"\0"):
                found.append(file.parent.name)
    return found


STOPS_SUPERVISOR = "until [ -e go ]; do sleep 0.05; done; kill -STOP $PPID; echo $$ > pid; sleep 600"
"""Stops its supervisor once there is a file `go`: one that is stopped while it starts a command starts none."""
OUTPUT_HELD_OPEN = """
env -i setsid sleep 600 &
echo $! > daemon
kill -9 $PPID
"""
"""Leaves a process that cannot be found any more and holds the output open, and kills its supervisor."""


@pytest.fixture
def daemon(workspace: Path) -> Iterator[Path]:
    file = workspace / "daemon"
    yield file
    # A test that failed early has left no daemon, or not its number yet: its own failure is the one to be shown.
    pid = file.read_text().strip() if file.exists() else ""
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a daemon in its own session escapes")
async def test_a_command_whose_output_stays_open_keeps_no_agent_alive(
    workspace: Path, daemon: Path, tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    async with session(workspace, "--pid", str(pids)) as opened:
        await results(opened, ["ask", "terminal/create", {"command": "sh", "args": ["-c", OUTPUT_HELD_OPEN]}])
        await do(opened, ["stderr", "I am still here."], ["say", "x"])
        assert await until(lambda: daemon.exists() and daemon.read_text().strip())
        assert await opened.close() is None
        assert not any(is_alive(int(pid)) for pid in pids.read_text().split())
        assert opened.printed["stderr"] == "I am still here."


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a daemon in its own session escapes")
@pytest.mark.parametrize("end", ["terminal/kill", "terminal/release"])
async def test_a_command_whose_output_stays_open_can_be_ended(workspace: Path, daemon: Path, end: str) -> None:
    command = {"command": "sh", "args": ["-c", f"echo first; {OUTPUT_HELD_OPEN}"]}
    async with session(workspace) as opened:
        made = await results(opened, ["ask", "terminal/create", command])
        assert made == [{"terminalId": "terminal1"}]
        assert await until(lambda: daemon.exists() and daemon.read_text().strip())
        found = await results(
            opened,
            ["ask", end, {"terminalId": "terminal1"}],
            ["ask", "terminal/output", {"terminalId": "terminal1"}],
        )
    assert found[0] == {}
    if end == "terminal/kill":
        assert found[1]["output"] == "first\n"
    else:
        assert "no terminal" in found[1]["message"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a daemon in its own session escapes")
async def test_a_command_that_stops_its_supervisor_keeps_no_agent_alive(
    workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(supervised, "KILL_SECONDS", 0.2)
    monkeypatch.setattr(connection, "EXIT_SECONDS", 0.1)
    pids = tmp_path / "pids"
    async with session(workspace, "--pid", str(pids)) as opened:
        await results(opened, ["ask", "terminal/create", {"command": "sh", "args": ["-c", STOPS_SUPERVISOR]}])
        (workspace / "go").touch()
        assert await until(lambda: (workspace / "pid").exists() and (workspace / "pid").read_text().strip())
        assert await opened.close() is None
    for pid in (*pids.read_text().split(), (workspace / "pid").read_text()):
        assert not is_alive(int(pid))


async def test_without_a_session_nothing_is_served(tmp_path: Path) -> None:
    """Neither before there is one, nor while another is loaded."""
    folders = [tmp_path / name for name in ("first", "second", "sessions")]
    for folder in folders:
        folder.mkdir()
    options = ("--early", "--offers", "load", "--sessions", str(folders[2]))
    async with session(folders[0], *options) as opened:
        state = await save_state(opened)
    assert state is not None
    async with session(folders[1], *options) as opened:
        assert await load_state(opened, json.loads(state))
        assert await seen(opened) == ()
    answers = (folders[1] / "early.jsonl").read_text().splitlines()
    assert len(answers) == 2
    assert all("no such session" in each for each in answers)
    assert not (folders[1] / "early.txt").exists()


@pytest.mark.parametrize(("permissions", "chosen"), [(None, "yes"), ("allow", "yes"), ("deny", "no")])
async def test_permissions_are_answered_by_the_policy_and_recorded(
    workspace: Path, permissions: str | None, chosen: str
) -> None:
    async with session(workspace, permissions=permissions) as opened:
        (found,) = await results(opened, asks("execute"))
        (step,) = await seen(opened)
    assert found == {"outcome": {"outcome": "selected", "optionId": chosen}}
    assert (step.tool, step.recorded_by) == (PERMISSION, "environment")
    assert step.result == f"{'deny' if chosen == 'no' else 'allow'}: {chosen}"
    assert step.tool_input == {"toolCallId": "1", "title": "Do it", "kind": "execute"}


async def test_a_case_that_is_asked_decides_by_kind_of_call_and_permits_nothing_by_default(workspace: Path) -> None:
    config = {"permissions": {"edit": "allow", "execute": "deny"}}
    async with session(workspace, config=config, permissions="ask-case") as opened:
        told = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "Edit", "kind": "edit"}
        found = await results(opened, asks("edit"), asks("execute"), asks("fetch"), ["update", told], asks(None))
    assert [each["outcome"]["optionId"] for each in found] == ["yes", "no", "no", "yes"]
    async with session(workspace, permissions="ask-case") as opened:
        (found,) = await results(opened, asks("read"))
    assert found["outcome"]["optionId"] == "no"
    async with session(workspace, config={"permissions": "allow"}, permissions="ask-case") as opened:
        (found,) = await results(opened, asks("read"))
    assert found["outcome"]["optionId"] == "yes"


@pytest.mark.parametrize(
    ("permissions", "words"),
    [({"exec": "allow"}, "did you mean execute"), ({"edit": "maybe"}, "neither allow nor deny"), (3, "neither")],
)
async def test_permissions_of_a_case_that_mean_nothing_are_its_mistake(
    workspace: Path, permissions: object, words: str
) -> None:
    with pytest.raises(SetupError, match=words):
        async with session(workspace, config={"permissions": permissions}, permissions="ask-case"):
            raise AssertionError


async def test_without_a_fitting_option_the_request_is_cancelled(workspace: Path) -> None:
    async with session(workspace) as opened:
        first, second = await results(opened, asks("edit", OPTIONS[2:]), asks("edit", "nonsense"))
    assert first == second == {"outcome": {"outcome": "cancelled"}}


async def test_what_the_policy_denies_is_neither_offered_nor_served(workspace: Path) -> None:
    path = str(workspace / "a.txt")
    async with session(workspace, permissions="deny") as opened:
        found = await results(
            opened,
            ["ask", WRITE, {"path": path, "content": "x"}],
            ["ask", READ, {"path": path}],
            ["ask", "terminal/create", {"command": "touch", "args": [path]}],
        )
        steps = await seen(opened)
    offered = json.loads((workspace / "capabilities.json").read_text())
    assert offered == {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
    assert all("deny" in each["message"] for each in found)
    assert len(steps) == 3
    assert all("deny" in str(step.error) for step in steps)
    assert not Path(path).exists()


async def test_unknown_requests_and_sessions_are_refused_and_the_turn_goes_on(workspace: Path) -> None:
    async with session(workspace) as opened:
        first, second = await results(
            opened, ["ask", "no/such_method", {}], ["ask", READ, {"sessionId": "another", "path": "/x"}]
        )
    assert first["code"] == -32601
    assert "no such session" in json.dumps(second)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
async def test_an_agent_cannot_do_more_than_can_be_recorded(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viva.adapters.environment.MOST_STEPS", 1)
    path = str(workspace / "a.txt")
    async with session(workspace) as opened:
        first, second = await results(
            opened, ["ask", WRITE, {"path": path, "content": "1"}], ["ask", WRITE, {"path": path, "content": "2"}]
        )
    assert first == {}
    assert "record" in json.dumps(second)
    assert Path(path).read_text() == "1"


async def test_long_answers_to_requests_at_once_do_not_mix(workspace: Path) -> None:
    path = workspace / "a.txt"
    path.write_text("x" * 1_000_000)
    async with session(workspace) as opened:
        found = await results(opened, ["ask at once", READ, {"path": str(path)}, 20])
    assert found == [[1_000_000] * 20]


async def test_answers_that_are_not_read_take_little_memory(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = workspace / "a.txt"
    path.write_text("x" * 4_000_000)
    made = 0

    def counted(*arguments: Any) -> str:
        nonlocal made
        made += 1
        return read_text(*arguments)

    monkeypatch.setattr("viva.adapters.connectors.acp.client.read_text", counted)
    async with session(workspace) as opened:
        asking = asyncio.ensure_future(results(opened, ["ask at once", READ, {"path": str(path)}, 30, 3.0]))
        await until(lambda: made > 0)
        await asyncio.sleep(1.0)
        assert made <= 2, "one answer is being written, and the next one waits for it"
        assert await asking == [[4_000_000] * 30]
    assert made == 30


async def test_requests_of_much_content_that_stay_open_are_cut_off(
    workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(messages, "MOST_OPEN_BYTES", 4 * 1024 * 1024)
    path = workspace / "a.txt"
    path.write_text("x" * 1_000_000)
    async with session(workspace) as opened:
        # The first answers wait for the agent, which reads none, so nothing that it asks after them is answered.
        wide = {"path": str(path), "more": "y" * 1_000_000}
        with pytest.raises(AgentError, match="its open requests have more than 4 MiB"):
            await results(opened, ["ask at once", READ, wide, 30, 60.0])
