"""The parts that decide without a sandbox: packing, reading answers, owners, package settings, the filter."""

from __future__ import annotations

import asyncio
import concurrent.futures
import errno
import json
import marshal
import os
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from viva.sandbox import (
    DependencyError,
    Ending,
    RunView,
    SandboxError,
    SandboxLimits,
    SandboxLost,
    WorkspaceTooLarge,
    bundle,
)
from viva.sandbox.archive import pack
from viva.sandbox.bundle import INSIDE, boot_frame
from viva.sandbox.connection import ServerConnection
from viva.sandbox.docker import ownership
from viva.sandbox.docker.backend import ContainerSpec, container_settings
from viva.sandbox.docker.container import _bridge
from viva.sandbox.docker.images import _builder_settings, split_tag
from viva.sandbox.inside import system_calls
from viva.sandbox.inside.files import Workspace, wipe
from viva.sandbox.inside.system_calls import filter_program
from viva.sandbox.inside.watch import Output
from viva.sandbox.interface import ConversationTooLarge, WorkspaceUnreadable
from viva.sandbox.packages import blame, key_of, normalised, package_source
from viva.sandbox.pool import ServerPool
from viva.sandbox.process import ProcessSandbox, parent_of_sessions
from viva.sandbox.session import ServerSession, read_result


class Answers:
    """A `Pipe` whose far end says what it is told to, as a server taken over by a check could."""

    def __init__(self, *frames: bytes) -> None:
        self._data = b"".join(frames)
        self.closed = False

    async def read(self, size: int) -> bytes:
        if len(self._data) < size:
            raise EOFError
        data, self._data = self._data[:size], self._data[size:]
        return data

    async def write(self, data: bytes) -> None:
        return None

    async def close(self) -> None:
        self.closed = True

    def last_words(self) -> str:
        return ""


def frame(kind: bytes, message: Any) -> bytes:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    return len(data).to_bytes(4, "big") + kind + data


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00\x00",
        b"\xff\xff\xff\xffV",
        frame(b"V", b"not json"),
        frame(b"V", b"\xff\xfe"),
        frame(b"V", [1, 2]),
        frame(b"V", {}),
        frame(b"V", {"ending": "excellent"}),
        frame(b"V", {"ending": "passed", "imported": "x" * 10}),
        frame(b"V", {"ending": "passed", "seconds": "long"}),
        frame(b"R", {"ending": "passed"}),
        frame(b"E", {"message": "I am broken"}),
    ],
)
async def test_an_answer_of_the_wrong_form_loses_the_session_and_never_passes(answer: bytes) -> None:
    pipe = Answers(answer)
    session = ServerSession(ServerConnection(pipe), SandboxLimits(), pipe.close)
    with pytest.raises(SandboxLost):
        await session.check("assert False")
    assert pipe.closed


def test_an_ending_is_cut_to_size() -> None:
    message = {"ending": "failed", "message": "x" * 99999, "output": "y" * 999999, "exception": "z" * 999}
    result = read_result(message, SandboxLimits(output_kb=1))
    assert result.ending is Ending.FAILED
    assert (len(result.message), len(result.output), len(result.exception or "")) == (8000, 1124, 200)


def test_an_ending_can_always_be_written_down() -> None:
    result = read_result({"ending": "failed", "message": "\ud800", "imported": ["\udc80.py"]}, SandboxLimits())
    assert (result.message, result.imported) == ("?", ("?.py",))


def test_packing_reads_nothing_that_changes_into_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The agent swaps a folder for a link between the look and the opening."""
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("hunter2")
    work = tmp_path / "work"
    (work / "folder").mkdir(parents=True)
    real_open = os.open

    def swapping_open(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if path == "folder" and not (work / "folder").is_symlink():
            (work / "folder").rmdir()
            (work / "folder").symlink_to(tmp_path / "secrets")
        return real_open(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", swapping_open)
    assert b"hunter2" not in pack(work, RunView(), max_mb=1)
    assert (work / "folder").is_symlink(), "the swap did happen"


def test_what_cannot_be_read_is_not_there_and_the_rest_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "good").write_text("ok")
    (tmp_path / "locked").write_text("hunter2")
    real_open = os.open

    def refusing_open(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if path == "locked":  # modes do not hold back root, who may run this test
            raise PermissionError(13, "Permission denied")
        return real_open(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", refusing_open)
    payload = pack(tmp_path, RunView(), max_mb=1)
    assert payload.endswith(b"ok")
    assert b"locked" not in payload
    with pytest.raises(SandboxError, match="cannot be read"):
        pack(tmp_path / "nowhere", RunView(), max_mb=1)


@pytest.mark.parametrize(
    ("target", "stays"),
    [
        ("kept", True),
        ("../kept", True),
        ("./../sub//kept", True),
        ("..", True),
        ("../..", False),
        ("/etc", False),
        ("../../work/kept", False),
        ("self/../../secret", False),  # `self` is a link to its own folder: this leads out
        ("folder/../kept", False),  # stays, but one cannot know without looking
    ],
)
def test_a_link_goes_in_only_when_its_words_prove_that_it_stays(tmp_path: Path, target: str, stays: bool) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "link").symlink_to(target)
    assert (b"sub/link" in pack(tmp_path, RunView(), max_mb=1)) is stays


def test_what_a_server_could_not_lay_out_speaks_about_the_agent(tmp_path: Path) -> None:
    """Left to the server it would be a lost session, and the run out of the averages."""
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(20):
        os.mkdir("d" * 200, dir_fd=descriptor)
        below = os.open("d" * 200, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    with pytest.raises(WorkspaceTooLarge, match="path"):
        pack(tmp_path, RunView(), max_mb=1)
    with pytest.raises(ConversationTooLarge, match="conversation"):
        pack(None, RunView(chat_history=[("human", "x" * 70_000_000)]), max_mb=1)


def _long_paths(folder: Path, name: bytes, files: int) -> None:
    """Make files below a path that is nearly as long as allowed."""
    descriptor = os.open(folder, os.O_RDONLY)
    for _ in range(3400 // (len(name) + 1)):
        os.mkdir(name, dir_fd=descriptor)
        below = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    for number in range(files):
        os.close(os.open(b"%d" % number, os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
    os.close(descriptor)


@pytest.mark.parametrize(
    ("name", "files"), [(b"\xff" * 250, 3600), ("\u00e9".encode() * 125, 3600), (b"x" * 250, 6000), (b"\n" * 250, 3600)]
)
def test_long_names_speak_about_the_agent_and_not_about_the_conversation(
    tmp_path: Path, name: bytes, files: int
) -> None:
    _long_paths(tmp_path, name, files)
    with pytest.raises(WorkspaceTooLarge, match="names of files"):
        pack(tmp_path, RunView(), max_mb=1)


def test_long_targets_of_links_speak_about_the_agent_too(tmp_path: Path) -> None:
    for number in range(4500):
        os.symlink("x/" * 2000, tmp_path / str(number))
    with pytest.raises(WorkspaceTooLarge, match="names of files and links"):
        pack(tmp_path, RunView(), max_mb=1)


@pytest.mark.parametrize("kind", ["files", "links that lead out", "pipes"])
def test_entries_are_counted_before_they_are_looked_at_and_those_that_are_left_out_count(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(60):
        place = tmp_path / str(number)
        if kind == "files":
            place.touch()
        elif kind == "pipes":
            os.mkfifo(place)
        else:
            place.symlink_to("/etc")
    looked: list[object] = []
    monkeypatch.setattr(os, "stat", lambda *a, **b: looked.append(a))
    with pytest.raises(WorkspaceTooLarge, match="more than 50 files"):
        pack(tmp_path, RunView(), max_mb=1, max_entries=50)
    assert not looked


@pytest.mark.parametrize("path", ["../out", "/etc/out", "a/../../out"])
def test_an_entry_that_climbs_out_is_not_laid_out(tmp_path: Path, path: str) -> None:
    header = json.dumps({"entries": [["f", path, 0o600, 1, 0]]}).encode()
    workspace = Workspace(memoryview(len(header).to_bytes(4, "big") + header + b"x"))
    with pytest.raises(ValueError, match="outside"):
        workspace.lay_out(str(tmp_path / "home"))
    assert not (tmp_path / "out").exists()


def test_wiping_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("ok")
    (tmp_path / "wiped" / "a" / "b").mkdir(parents=True)
    (tmp_path / "wiped" / "a" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "wiped" / "a" / "b" / "link").symlink_to(tmp_path / "kept")
    (tmp_path / "wiped" / "link").symlink_to("/")
    wipe(str(tmp_path / "wiped"))
    assert list((tmp_path / "wiped").iterdir()) == []
    assert (tmp_path / "kept" / "file").read_text() == "ok"


def test_wiping_follows_no_link_in_its_own_place(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").write_text("ok")
    (tmp_path / "session").symlink_to(tmp_path / "kept")
    wipe(str(tmp_path / "session"))
    assert (tmp_path / "kept" / "file").read_text() == "ok"
    assert (tmp_path / "session").is_dir()
    assert not (tmp_path / "session").is_symlink()


def test_output_within_its_size_is_whole() -> None:
    output = Output(10)
    for piece in (b"abc", b"", b"defgh"):
        output.add(piece)
    assert output.text() == "abcdefgh"
    output.add(b"0123456789" * 100)
    assert output.text() == "abcde\n[... 998 bytes left out ...]\n56789"


@pytest.mark.parametrize("how", ["a link", "a dangling link", "a file", "a fifo", "gone"])
def test_what_stands_in_the_workspaces_place_is_not_followed(tmp_path: Path, how: str) -> None:
    (tmp_path / "secrets").mkdir()
    (tmp_path / "secrets" / "key").write_text("hunter2")
    work = tmp_path / "work"
    if how == "a fifo":
        os.mkfifo(work)
    elif how == "a file":
        work.write_text("hunter2")
    elif how != "gone":
        work.symlink_to(tmp_path / ("secrets" if how == "a link" else "nowhere"))
    with pytest.raises(WorkspaceUnreadable):
        pack(work, RunView(), max_mb=1)


def test_the_users_own_links_above_the_workspace_are_followed(tmp_path: Path) -> None:
    (tmp_path / "disk" / "work").mkdir(parents=True)
    (tmp_path / "disk" / "work" / "answer").write_text("42")
    (tmp_path / "runs").symlink_to(tmp_path / "disk")
    assert b"42" in pack(tmp_path / "runs" / "work", RunView(), max_mb=1)


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EIO])
def test_a_machine_at_its_end_is_not_taken_for_an_empty_workspace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    (tmp_path / "answer").write_text("42")
    real_open = os.open

    def failing_open(path: Any, flags: int, *arguments: Any, **options: Any) -> int:
        if path == "answer":
            raise OSError(number, os.strerror(number))
        return real_open(path, flags, *arguments, **options)

    monkeypatch.setattr(os, "open", failing_open)
    with pytest.raises(SandboxError) as caught:
        pack(tmp_path, RunView(), max_mb=1)
    assert not isinstance(caught.value, WorkspaceUnreadable), "it says nothing about the agent"


def test_deep_folders_packed_at_once_do_not_take_all_descriptors(tmp_path: Path) -> None:
    for name in "abcdefgh":
        (tmp_path / name / Path(*["d"] * 190)).mkdir(parents=True)
    most = 0

    def work(name: str) -> bytes:
        return pack(tmp_path / name, RunView(), max_mb=1)

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(work, name) for name in "abcdefgh" * 4]
        while not all(one.done() for one in waiting):
            most = max(most, len(os.listdir("/proc/self/fd")))
    assert all(one.result() for one in waiting)
    assert most < 190 + 8 * 34 + 100


def run_filter(program: bytes, arch: int, number: int, argument: int, second: int = 0, third: int = 0) -> int:
    """Interpret the few BPF instructions that the filter is made of."""
    data = struct.pack("<IIQ6Q", number, arch, 0, argument, second, third, 0, 0, 0)
    lines = [struct.unpack("HBBI", program[at : at + 8]) for at in range(0, len(program), 8)]
    at = word = 0
    while True:
        code, true, false, value = lines[at]
        at += 1
        if code == 0x06:
            return int(value)
        if code == 0x20:
            word = struct.unpack_from("<I", data, value)[0]
        elif code == 0x05:
            at += value
        else:
            holds = {0x15: word == value, 0x35: word >= value, 0x45: bool(word & value)}[code]
            at += true if holds else false


@pytest.mark.parametrize(
    ("number", "argument", "allowed"),
    [
        (0, 0, True),  # read
        (57, 0, True),  # fork
        (56, 17, True),  # clone as fork does it
        (56, 0x3D0F00, True),  # clone as threads do it
        (56, 0x10000000 | 17, False),  # clone into a user namespace
        (435, 0, False),  # clone3
        (101, 0, False),  # ptrace
        (165, 0, False),  # mount
        (272, 0x10000000, False),  # unshare
        (250, 0, False),  # keyctl
        (41, 1, True),  # a Unix socket
        (41, 2, True),  # an internet socket, in a network namespace that leads nowhere
        (41, 17, False),  # a packet socket
        (41, 40, False),  # a socket to the hypervisor
        (0x40000000, 0, False),  # x32
    ],
)
def test_the_filter_forbids_what_it_says(number: int, argument: int, allowed: bool) -> None:
    program = filter_program("x86_64")
    assert program
    assert (run_filter(program, 0xC000003E, number, argument) == 0x7FFF0000) is allowed
    assert run_filter(program, 0x40000003, number, argument) != 0x7FFF0000, "32-bit calls are another table"


@pytest.mark.parametrize(
    ("number", "arguments", "allowed"),
    [
        (302, (0, 7), True),  # prlimit64 on itself, as setrlimit does it
        (302, (1, 7), False),
        (203, (0,), True),  # sched_setaffinity
        (203, (77,), False),
        (141, (0, 0, 5), True),  # setpriority, as nice does it
        (141, (0, 1, 5), False),
        (141, (2, 0, 5), False),  # all processes of the user
        (251, (1, 0), True),  # ioprio_set
        (251, (1, 1), False),
        (251, (3, 0), False),
        (41, (16, 3, 0), True),  # netlink ROUTE
        (41, (16, 3, 15), False),  # kernel events
        (41, (1, 1, 15), True),
        (72, (3, 1), True),  # fcntl
        (72, (3, 1026), False),  # a watch on a folder
        (294, (0,), False),  # inotify_init1
    ],
)
def test_the_filter_lets_a_program_reach_itself_only(number: int, arguments: tuple[int, ...], allowed: bool) -> None:
    program = filter_program("x86_64")
    assert program
    assert (run_filter(program, 0xC000003E, number, *arguments) == 0x7FFF0000) is allowed


@pytest.mark.parametrize(("machine", "column", "arch"), [("x86_64", 0, 0xC000003E), ("aarch64", 1, 0xC00000B7)])
def test_the_filter_refuses_every_call_of_its_table_and_no_other(machine: str, column: int, arch: int) -> None:
    program = filter_program(machine)
    assert program
    refused = {number for number in range(600) if run_filter(program, arch, number, 0, 0, 0) != 0x7FFF0000}
    conditional = {system_calls._SOCKET[column]}  # with all arguments zero, only a socket is of no family at all
    assert refused == {numbers[column] for numbers in system_calls._DENIED.values()} | {
        system_calls._CLONE3[column]
    } | conditional | {both[column] for both, arguments in system_calls._ON_ITSELF.values() if any(arguments.values())}


@pytest.mark.parametrize(("machine", "arch"), [("x86_64", 0xC000003E), ("aarch64", 0xC00000B7)])
def test_the_parts_of_the_filter_together_refuse_what_the_whole_refuses(machine: str, arch: int) -> None:
    whole, shared, last = (filter_program(machine, part) for part in ("whole", "shared", "last"))
    assert whole
    assert shared
    assert last
    for number in (*range(600), 0x40000000 + 101):
        for arguments in ((0, 0, 0), (1, 0, 0), (0, 1026, 0), (16, 3, 0), (16, 3, 15), (17, 0, 0), (0x10000000, 0, 0)):
            decided = [run_filter(part, arch, number, *arguments) for part in (whole, shared, last)]
            assert min(decided[1:]) == decided[0], (number, arguments)  # of several filters, the strictest decides
    assert run_filter(shared, 0x40000003, 0, 0) == run_filter(last, 0x40000003, 0, 0) == run_filter(whole, 3, 0, 0)


def test_an_unknown_machine_has_no_filter() -> None:
    assert filter_program("riscv64") is None
    assert filter_program("aarch64")


def test_a_living_owner_is_told_from_a_dead_one() -> None:
    ours = ownership.labels("session", "run-1")
    assert ours[ownership.RUN] == "run-1"
    assert not ownership.is_leftover(ours)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    start = ownership.start_of(dead.pid) or "1"
    dead.wait()
    assert ownership.is_leftover({**ours, ownership.PID: str(dead.pid), ownership.START: start})
    assert ownership.is_leftover({**ours, ownership.START: "1"}), "the same number, another process"
    assert not ownership.is_leftover({**ours, ownership.HOST: "elsewhere", ownership.START: "1"}), (
        "cannot be asked: lives"
    )
    assert not ownership.is_leftover({"some.other": "label"})
    assert not ownership.is_leftover(None)


def test_an_owner_that_cannot_be_seen_counts_as_living(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another user's process below a `/proc` that hides it, and any process where there is no `/proc`."""
    ours = {**ownership.labels("session"), ownership.START: "1"}
    assert ownership.is_leftover(ours)
    monkeypatch.setattr(ownership.os.path, "exists", lambda path: False)
    monkeypatch.setattr(ownership, "start_of", lambda pid: None)
    assert not ownership.is_leftover(ours)
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    assert ownership.is_leftover({**ours, ownership.PID: str(dead.pid)})
    assert ownership.is_leftover({**ours, ownership.PID: "9" * 30}), "no process has such a number"


def test_proxies_of_the_docker_configuration_do_not_reach_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their addresses hold passwords. The SDK adds them to whatever it creates, unless told not to."""
    import docker

    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    proxies = {"default": {"httpProxy": "http://me:hunter2@proxy:1"}}
    (tmp_path / "config.json").write_text(json.dumps({"proxies": proxies}))
    api = docker.APIClient(base_url="unix:///nonexistent", version="1.41")
    sent: list[Any] = []
    monkeypatch.setattr(api, "create_container_from_config", lambda config, *more: sent.append(config))
    api.create_container(**container_settings(api, ContainerSpec("image", SandboxLimits(), 1, None, "")))
    api.create_container(**_builder_settings(api, "image", local_index=False))
    assert len(sent) == 2
    assert "hunter2" not in repr(sent)
    api.create_container("image")
    assert "hunter2" in repr(sent), "else this test could not fail"


async def test_whoever_is_cancelled_while_a_server_starts_leaves_none_behind() -> None:
    started = asyncio.Event()
    pipe = Answers()

    async def start(environment: str, run_id: str) -> ServerConnection:
        started.set()
        await asyncio.sleep(0.05)
        return ServerConnection(pipe)

    pool = ServerPool(start, 1)
    taking = asyncio.create_task(pool.take(""))
    await started.wait()
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    await pool.close()
    assert pipe.closed


async def test_a_server_that_does_not_answer_is_replaced_without_waiting_for_its_end() -> None:
    closing = asyncio.Event()

    class Dead(Answers):
        async def close(self) -> None:
            closing.set()
            await asyncio.sleep(3600)

    pipes = [Dead(), Answers(frame(b"P", {}))]

    async def start(environment: str, run_id: str) -> ServerConnection:
        return ServerConnection(pipes.pop(0))

    pool = ServerPool(start, 1)
    pool.expect("")
    last = pipes[-1]
    async with asyncio.timeout(30):
        assert (await pool.take("")).pipe is last
        await closing.wait()


def test_requirements_are_pep_508_and_nothing_else() -> None:
    assert normalised(["b >= 1", "a[x]==2", "b>=1"]) == ["a[x]==2", "b>=1"]
    for bad in ("-r file", "--index-url http://x", "a b", "", "./folder", "a @ file:///etc", "a @ git+ssh://x/y"):
        with pytest.raises(DependencyError) as caught:
            normalised(["fine", bad])
        assert caught.value.requirement == bad
    for bad in (
        "evil.zip",
        "evil.tar.gz",
        "evil-1.0-py3-none-any.whl",
        "evil.tgz ; python_version > '3'",
        "x[y]@http://h/",
    ):
        with pytest.raises(DependencyError):
            normalised([bad])
    assert key_of("base", ["a", "b"]) != key_of("base", ["a"]) != key_of("other", ["a"])


def test_a_failed_installation_names_its_requirement_and_hides_passwords() -> None:
    said = "noise\nERROR: Could not find a version that satisfies nope from https://me:hunter2@index/simple\n"
    error = blame(["six>=1", "nope==3"], said)
    assert error.requirement == "nope==3"
    assert "hunter2" not in str(error)
    assert blame(["six", "six-more"], "ERROR: No matching distribution found for six-more").requirement == "six-more"
    assert blame(["a", "b"], "").requirement == "a, b"


def test_package_settings_come_from_files_then_from_the_environment(tmp_path: Path) -> None:
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = http://file/simple\ntimeout = 7\nfind-links = /here http://x\n"
    )
    (tmp_path / "ca.pem").write_text("CERTIFICATE")
    source = package_source(
        {
            "PIP_CONFIG_FILE": str(tmp_path / "pip.conf"),
            "PIP_INDEX_URL": "http://user:pass@127.0.0.1:3141/simple",
            "PIP_CERT": str(tmp_path / "ca.pem"),
            "https_proxy": "http://proxy:1",
            "SECRET_TOKEN": "hunter2",
        }
    )
    assert source.pip["index-url"] == "http://user:pass@127.0.0.1:3141/simple"
    assert source.pip["timeout"] == "7"
    assert source.pip["find-links"] == "http://x", "a folder of this machine means nothing elsewhere"
    assert source.proxies == {"https_proxy": "http://proxy:1"}
    assert source.certificates == "CERTIFICATE"
    assert source.is_local
    assert "hunter2" not in repr(source)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("python:3.12-slim", ("python", "3.12-slim")),
        ("python", ("python", "latest")),
        ("host:5000/a/b", ("host:5000/a/b", "latest")),
        ("host:5000/a/b:c", ("host:5000/a/b", "c")),
        ("python@sha256:00", ("python@sha256:00", None)),
    ],
)
def test_an_image_name_is_split_as_docker_does(name: str, parts: tuple[str, str | None]) -> None:
    assert split_tag(name) == parts


async def test_a_server_that_does_not_start_says_why() -> None:
    from viva.sandbox.process import ChildPipe

    pipe = await ChildPipe.start([sys.executable, "-c", "import sys; sys.exit('no such luck')"], {})
    with pytest.raises(SandboxError, match="no such luck"):
        await ServerConnection(pipe).start({})


@pytest.mark.parametrize("magic", [None, "", "00000000"])
async def test_a_server_starts_on_another_version_of_python_than_its_harness(
    magic: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`magic` is what tells versions apart, None that of this one: its server needs to compile nothing."""

    def frame(options: dict[str, Any]) -> bytes:
        whole = boot_frame(options)
        size = 4 + int.from_bytes(whole[:4], "big")
        boot = json.loads(whole[4:size])
        if magic is None:
            boot["modules"] = [(name, source and "no Python") for name, source in boot["modules"]]
        data = json.dumps(boot if magic is None else {**boot, "magic": magic}).encode()
        return len(data).to_bytes(4, "big") + data + whole[size:]

    monkeypatch.setattr("viva.sandbox.connection.boot_frame", frame)
    sandbox = ProcessSandbox()
    session = await sandbox.open(None, RunView())
    assert (await session.check("assert True")).ending is Ending.PASSED
    await session.close()
    await sandbox.close()


def test_modules_get_inside_as_they_are_whoever_else_loads_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest rewrites the assertions of plugins' modules, and Viva is one; coverage tools load modules, too."""

    def find_spec(name: str, *_: object) -> None:
        assert not name.startswith("viva."), name

    before = boot_frame({})
    bundle._code.cache_clear()
    with monkeypatch.context() as patch:
        for name, _ in bundle._files():
            patch.delitem(sys.modules, name, raising=False)
        patch.setattr(sys, "meta_path", [SimpleNamespace(find_spec=find_spec), *sys.meta_path])
        assert boot_frame({}) == before


def test_compiled_modules_name_no_path_of_this_machine() -> None:
    assert str(INSIDE.resolve()).encode() not in boot_frame({})
    assert str(INSIDE).encode() not in boot_frame({})


def test_a_tls_connection_is_carried_whole_in_both_directions(tmp_path: Path) -> None:
    """As to a daemon with TLS: more bytes than any buffer holds, both ways at once, then the end."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("no openssl to make a certificate with")
    certificate = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    certificate += ["-keyout", str(tmp_path / "key"), "-out", str(tmp_path / "cert")]
    subprocess.run(certificate, check=True, capture_output=True)
    server_side, client_side = socket.socketpair()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert", tmp_path / "key")

    def echo() -> None:
        with context.wrap_socket(server_side, server_side=True) as secure:
            while data := secure.recv(65536):
                secure.sendall(data)

    server = threading.Thread(target=echo, daemon=True)
    server.start()
    secure = ssl.create_default_context(cafile=str(tmp_path / "cert")).wrap_socket(
        client_side, server_hostname="localhost"
    )
    plain = _bridge(secure)
    plain.setblocking(True)
    sent, got = os.urandom(5_000_000), bytearray()

    def send() -> None:
        plain.sendall(sent)

    sender = threading.Thread(target=send)
    sender.start()
    while len(got) < len(sent):
        got += plain.recv(65536)
    sender.join()
    assert bytes(got) == sent
    plain.close()
    server.join(5)
    assert not server.is_alive(), "the end must arrive as well"


def test_folders_of_sessions_are_in_memory_if_it_has_the_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TMPDIR", "TEMP", "TMP"):
        monkeypatch.delenv(name, raising=False)
    usual = tempfile.gettempdir()
    free = shutil.disk_usage(tmp_path).free
    assert parent_of_sessions(1, str(tmp_path)) == str(tmp_path)
    assert parent_of_sessions(2 * free, str(tmp_path)) == usual
    assert parent_of_sessions(1, str(tmp_path / "missing")) == usual
    monkeypatch.setenv("TMPDIR", usual)  # whoever says where temporary files go has them there
    assert parent_of_sessions(1, str(tmp_path)) == usual


def test_the_servers_code_does_not_depend_on_who_loads_vivas_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    """pytest loads the modules of an installed Viva with a loader that cannot say what it compiles."""
    as_usual = marshal.loads(bundle._code.__wrapped__())

    class Opaque:
        def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
            return ModuleSpec(name, self, origin="opaque") if name.startswith("viva.") else None  # type: ignore[arg-type]

    for name in [name for name in sys.modules if name.startswith(("viva.sandbox.inside", "viva.cases.check_code"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Opaque(), *sys.meta_path])
    assert marshal.loads(bundle._code.__wrapped__()) == as_usual
