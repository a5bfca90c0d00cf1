"""The attack battery on the backends that isolate. VIVA_WRITE_ATTACKS=1 makes a full run (`-m ""`) put its table in
the docs."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import platform
import re
import secrets
import socket
import subprocess
import threading
import zipfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from textwrap import shorten
from typing import Any

import pytest
import pytest_asyncio

from tests.sandbox.conftest import missing
from viva.sandbox import CheckResult, Ending, RunView, Sandbox, SandboxLimits, SandboxLost, SandboxSession
from viva.sandbox.inside.layers import MANY_FILES

from .attacks import ATTACKS, PRELUDE, Attack
from .attacks.data import DATA
from .attacks.server import SERVER

ISOLATING = ("docker", "bwrap")
DOCS = Path(__file__).parents[2] / "docs" / "sandbox.md"
LIMITS = SandboxLimits(
    seconds=2, cpu_seconds=1, memory_mb=128, processes=24, open_files=128, file_mb=32, disk_mb=64, output_kb=8
)
# What is no matter of time has enough of it: a busy machine must not decide how an attack ends.
PATIENT = replace(LIMITS, seconds=30, cpu_seconds=20)
OUTCOMES: dict[str, dict[str, str]] = {}
INSIDE_THE_SERVER = (*SERVER, *DATA)
"""Attacks that the server itself withstands, which is the same in every sandbox: in one of them outside of a soak."""
COPY, LAYER = "copy", "layer"
"""What an attack has: a copy of the workspace, or a layer over one that all checks of its run share. Only the source of
a check decides that it gets a layer, so for these tests every source does."""
ON_FILES = re.compile("disk|inode|nameless|every file system|deep to name|without a name|that stay")
"""Attacks that are made on a layer outside of a soak, too, with those on the workspace."""


@dataclass
class Host:
    """What there is to be had on this machine: all of it the test's own."""

    folder: Path
    marker: str = field(default_factory=lambda: "viva" + secrets.token_hex(8))
    neighbour: str = field(default_factory=lambda: "neighbour" + secrets.token_hex(8))
    tcp: int = 0
    udp: int = 0
    heard: list[str] = field(default_factory=list)

    @property
    def unix(self) -> str:
        return str(self.folder / "listener")

    @property
    def abstract(self) -> str:
        return "\0" + self.marker

    @property
    def addresses(self) -> list[str]:
        found = subprocess.run(["hostname", "-I"], capture_output=True, text=True).stdout.split()
        return ["127.0.0.1", *(one for one in found if re.fullmatch(r"[\d.]+", one))]

    @property
    def secret(self) -> Path:
        return self.folder / self.marker


@pytest.fixture(scope="session")
def host(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Host]:
    """Listeners of every kind, a secret file and a secret environment variable."""
    host = Host(tmp_path_factory.mktemp("host"))
    host.secret.write_text(host.marker)
    os.environ["VIVA_TEST_SECRET"] = host.marker
    with contextlib.ExitStack() as stack:
        for family, kind, address in [
            (socket.AF_INET, socket.SOCK_STREAM, ("0.0.0.0", 0)),
            (socket.AF_INET, socket.SOCK_DGRAM, ("0.0.0.0", 0)),
            (socket.AF_UNIX, socket.SOCK_STREAM, host.unix),
            (socket.AF_UNIX, socket.SOCK_STREAM, host.abstract),
        ]:
            listener = stack.enter_context(socket.socket(family, kind))
            listener.bind(address)  # type: ignore[arg-type]
            if kind == socket.SOCK_STREAM:
                listener.listen()
            if family == socket.AF_INET:
                setattr(host, "tcp" if kind == socket.SOCK_STREAM else "udp", listener.getsockname()[1])
            threading.Thread(target=listen, args=(listener, host.heard), daemon=True).start()
        os.chmod(host.folder, 0o777)
        yield host
    del os.environ["VIVA_TEST_SECRET"]


def listen(listener: socket.socket, heard: list[str]) -> None:
    with contextlib.suppress(OSError):
        while True:
            if listener.type == socket.SOCK_STREAM:
                connection, _ = listener.accept()
                connection.close()
            else:
                listener.recv(65536)
            heard.append(str(listener.getsockname()))


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def neighbour(
    box: Sandbox, host: Host, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[SandboxSession]:
    """Another run, open all the while, with something to hide and to lose."""
    folder = tmp_path_factory.mktemp("neighbour")
    (folder / "private").write_text(host.neighbour)
    session = await box.open(folder, RunView(), run_id="neighbour")
    yield session
    await session.close()


@pytest.fixture
def workspace(attack: Attack, host: Host, form: str, tmp_path: Path) -> Iterator[Path]:
    """What the hostile agent left: with many files, where it is to be shared."""
    work = tmp_path / "work"
    (work / "sub").mkdir(parents=True)
    for number in range(MANY_FILES if form == LAYER else 0):
        (work / "sub" / f"{number}").touch()
    (work / "absolute").symlink_to(host.secret)
    (work / "upwards").symlink_to("../../../../../../.." + str(host.secret))
    (work / "folder").symlink_to(host.folder)
    (tmp_path / "original").write_text("untouched")
    os.link(tmp_path / "original", work / "hard")
    os.mkfifo(work / "fifo")
    with contextlib.suppress(PermissionError):
        os.mknod(work / "device", 0o600 | 0o020000, os.makedev(1, 5))
    for name in (b"new\nline", b"\xff\xfe", b"x" * 255):
        (work / os.fsdecode(name)).touch()
    (work / "sparse").touch()
    os.truncate(work / "sparse", 1_000_000)
    (work / "loop").symlink_to("loop")
    (work / "self").symlink_to(".")
    (work / "indirect").symlink_to("self/../../original")
    depth = work / "deep" / Path(*["d" * 60] * 40)
    depth.mkdir(parents=True)
    (depth / "file").touch()
    depth.chmod(0o500)
    for name, content in attack.files.items():
        (work / name).write_bytes(content.encode() if isinstance(content, str) else made(content))
    with socket.socket(socket.AF_UNIX) as planted:
        planted.bind(str(work / "socket"))
        yield work
    assert (tmp_path / "original").read_text() == "untouched", "a hard link led out of the sandbox"


@cache
def made(content: bytes) -> bytes:
    """Bombs are made here rather than kept in the repository."""
    if content == b"GZIP BOMB":  # of many parts, each the same
        return gzip.compress(bytes(20_000_000), compresslevel=1) * 30
    if not content.startswith(b"ZIP "):
        return content
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        if content == b"ZIP MODULE":
            archive.writestr("answer.py", "x = 1")
        elif content == b"ZIP BOMB":
            for number in range(20):
                archive.writestr(f"{number}", bytes(20_000_000))
        else:
            archive.writestr("../../../../tmp/climbed", "x")
            archive.writestr("/tmp/climbed", "x")
    return buffer.getvalue()


def _cases() -> Iterator[Any]:
    for form in (COPY, LAYER):
        for kind in ISOLATING:
            for attack in ATTACKS:
                long = kind == "bwrap" and attack in INSIDE_THE_SERVER
                if form == LAYER:
                    long = kind == "docker" or not (attack.group == "workspace" or ON_FILES.search(attack.name))
                name = f"{attack.name}-{kind}" + ("-layer" if form == LAYER else "")
                yield pytest.param(kind, form, attack, id=name, marks=[pytest.mark.soak] * long)


@pytest.mark.asyncio(loop_scope="session")
@pytest.mark.parametrize(("kind", "form", "attack"), list(_cases()), indirect=["kind"], scope="session")
async def test_attack(
    box: Sandbox,
    kind: str,
    form: str,
    attack: Attack,
    host: Host,
    workspace: Path,
    neighbour: SandboxSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if attack.machine not in ("", platform.machine()):
        pytest.skip(f"written for {attack.machine}")
    code = attack.code
    if not attack.bare:
        names = ("tcp", "udp", "unix", "abstract", "addresses", "marker", "neighbour")
        values = {name: getattr(host, name) for name in names} | {"secret": str(host.secret)}
        code = PRELUDE + re.sub(r"\{(\w+)(!r)?\}", lambda m: (repr if m[2] else str)(values[m[1]]), code).replace(
            "{{", "{"
        ).replace("}}", "}")
    await box.prepare()
    session: Any = await box.open(workspace, RunView(), run_id="attack")
    if form == LAYER:
        monkeypatch.setattr("viva.sandbox.session.uses_files_plainly", lambda code: True)
        code = code.replace("os.rename('/box/work', '/box/old')", "__import__('shutil').rmtree('/box/work')")
        if not session._has_layers:
            await session.close()
            missing("layers", "the kernel has no overlays for users")
    try:
        timed = {"limit", "timeout"} & set(attack.endings)
        result = await session.check(code, LIMITS if timed else PATIENT)
        if form == COPY:
            note(kind, attack, result)
        # On a busy machine the clock may stop a bomb before the limit that it heads for.
        allowed = {*attack.endings, *(["timeout"] if "limit" in attack.endings else [])}
        assert result.ending in allowed, result
        assert not attack.flagged or result.imported, "the agent's code ran and nobody says so"
        assert "SUCCEEDED" not in result.message + result.output
        assert not host.heard, "a listener of the host was reached"
        honest = await session.check(HONEST, PATIENT)
        assert honest.ending is Ending.PASSED, f"the next check was reached: {honest}"
        lie = await session.check("assert 1 == 2", PATIENT)
        assert lie.ending is Ending.FAILED, "the server was made to lie"
    except SandboxLost as lost:
        pytest.fail(f"the session was lost: {lost}")
    finally:
        await session.close()
    alive = await neighbour.check(f"assert open('private').read() == {host.neighbour!r}")
    assert alive.ending is Ending.PASSED, "the neighbour was harmed"


HONEST = """
import glob, os, time
assert open('hard').read() == 'untouched' and os.path.isdir('sub')
assert len([name for name in os.listdir('/proc') if name.isdigit()]) <= 2, 'a process was left'
assert not glob.glob('/tmp/*') and not glob.glob('/dev/shm/*'), 'a file was left'
assert sorted(os.listdir('/box')) == ['home', 'temporary', 'work'], 'a file was left'
for place in ('/box', '/tmp', '/dev/shm'):
    assert os.stat(place).st_mtime > 1e9 < os.stat(place).st_atime and not os.listxattr(place), 'left on ' + place
for room in map(os.statvfs, ('/tmp', '/dev/shm')): assert room.f_bfree == room.f_blocks, 'a nameless file was left'
assert not os.listdir('/box/home') + os.listdir('/box/temporary'), 'a file was left'
for folder in ('/var/tmp', '/run', '/dev/mqueue', '/home', '/opt'): assert not os.path.exists(folder + '/planted')
if os.path.exists('/proc/sysvipc/shm'): assert len(open('/proc/sysvipc/shm').readlines()) == 1, 'shared memory was left'
before = os.path.exists('/tmp/heartbeat'); time.sleep(0.02); assert not os.path.exists('/tmp/heartbeat')
assert sum(map(os.path.getsize, map('sub/'.__add__, os.listdir('sub')))) == 0, 'a shared file was changed'
open('mine', 'w').write('ok'); assert json.loads('[1]') == [1]
"""


def note(kind: str, attack: Attack, result: CheckResult) -> None:
    """One cell of the table: what the attack met with."""
    if result.ending is Ending.PASSED and result.imported:
        text = "passed, flagged: the agent's code ran in the check"
    elif result.ending is Ending.PASSED:
        said = [line for line in result.output.splitlines() if line.startswith("refused: ")]
        text = "refused: " + said[-1].split(": ", 2)[-1] if said else "held"
    else:
        text = f"{result.ending}: {result.message or result.exception or ''}"
    text = re.sub(r"viva[0-9a-f]{16}|/tmp/\S+|\(.*\)", "...", text)
    text = re.sub(r"(.)\1{9,}", r"\1\1\1...", text)
    text = re.sub(r"[^ -~]", "?", text).replace("|", "/").replace("`", "'")
    OUTCOMES.setdefault(attack.name, {})[kind] = shorten(text, 90, placeholder=" …")


def table() -> str:
    lines = ["| | attack | docker | bwrap |", "|---|---|---|---|"]
    for attack in ATTACKS:
        cells = " | ".join(OUTCOMES.get(attack.name, {}).get(kind, "not run") for kind in ISOLATING)
        lines.append(f"| {attack.group} | {attack.name} | {cells} |")
    return "\n".join(lines)


BETWEEN = re.compile(r"(<!-- attacks: made by the tests -->\n).*(\n<!-- end of attacks -->)", re.DOTALL)


@pytest.fixture(scope="module", autouse=True)
def _write_the_docs() -> Iterator[None]:
    """After the last attack, where it is asked for."""
    yield
    if os.environ.get("VIVA_WRITE_ATTACKS"):
        assert len(OUTCOMES) == len(ATTACKS), "write the table from a full run"
        DOCS.write_text(BETWEEN.sub(lambda match: match[1] + table() + match[2], DOCS.read_text()))


def test_the_docs_list_exactly_these_attacks() -> None:
    match = BETWEEN.search(DOCS.read_text())
    assert match, "docs/sandbox.md has lost its table of attacks"
    rows = [line.split(" | ") for line in match[0].splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert [row[1] for row in rows] == [attack.name for attack in ATTACKS]
    assert all("not run" not in cell for row in rows for cell in row)


def test_the_battery_is_large_and_its_names_are_unique() -> None:
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS) >= 40
