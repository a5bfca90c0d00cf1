"""What an agent requests is served in its workspace only, within the policy, and Viva records what it saw."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.adapters.connectors.acp.scripted_sessions import do, seen, session
from tests.adapters.connectors.child.child_connectors import is_alive, until
from viva.adapters.connectors import workspace_files
from viva.adapters.connectors.acp import messages
from viva.adapters.connectors.workspace_files import FileRefused, read_text, write_text
from viva.errors import AgentError, SetupError

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
    assert step.result == f"{workspace}/sub\nhere\nbad\n"
    assert step.attributes["exitCode"] == 3


async def test_output_beyond_the_limit_loses_its_beginning(workspace: Path) -> None:
    async with session(workspace) as opened:
        found = await results(
            opened,
            ["ask", "terminal/create", {"command": "echo 0123456789", "outputByteLimit": 5}],
            ["ask", "terminal/wait_for_exit", {"terminalId": "terminal1"}],
            ["ask", "terminal/output", {"terminalId": "terminal1"}],
        )
    assert (found[2]["output"], found[2]["truncated"]) == ("6789\n", True)


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
        ({"command": "env", "outputByteLimit": -1}, "not a count"),
    ],
)
async def test_a_command_that_cannot_be_run_is_refused(workspace: Path, request_: dict[str, Any], words: str) -> None:
    (workspace / "linked").symlink_to("/")
    asked = json.loads(json.dumps(request_).replace("$W", str(workspace)))
    async with session(workspace) as opened:
        (found,) = await results(opened, ["ask", "terminal/create", asked])
    assert words in json.dumps(found)


async def test_terminals_are_limited(workspace: Path) -> None:
    async with session(workspace) as opened:
        found = await results(opened, *[["ask", "terminal/create", {"command": "sleep 600"}]] * 17)
    assert "16 terminals are open" in found[16]["message"]


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
