"""A case's dependencies on every backend, from a package index of the tests' own on this machine's loopback."""

from __future__ import annotations

import asyncio
import hashlib
import http.server
import io
import json
import threading
import uuid
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from sandbox import DependencyError, Ending, RunView
from sandbox import ownership as owner
from sandbox.daemon import Daemon
from sandbox.docker import DockerSandbox
from sandbox.images import REPOSITORY
from sandbox.leftovers import prune

from .conftest import KINDS, sandbox_of

pytestmark = pytest.mark.asyncio(loop_scope="session")


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


@dataclass
class Index:
    """A package index in PEP 503's form, behind a user name and a password."""

    name: str = field(default_factory=lambda: "viva" + uuid.uuid4().hex[:8])
    password: str = field(default_factory=lambda: "pw" + uuid.uuid4().hex)
    asked: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://user:{self.password}@127.0.0.1:{self.port}/simple"

    def files(self) -> dict[str, bytes]:
        other = self.name + "other"
        return {
            f"{self.name}-1.0-py3-none-any.whl": wheel(self.name, "1.0", f"{other}>=2"),
            f"{self.name}-3.0-py3-none-any.whl": wheel(self.name, "3.0"),
            f"{other}-2.0-py3-none-any.whl": wheel(other, "2.0"),
        }


@pytest.fixture(scope="session")
def index() -> Iterator[Index]:
    index = Index()
    files = index.files()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            index.asked.append(self.path)
            leaf = self.path.rstrip("/").rpartition("/")[2]
            if "Authorization" not in self.headers:
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
            self.wfile.write(body)

        def log_message(self, *arguments: object) -> None:
            return None

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    index.port = server.server_address[1]
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
        room = await sandbox.open(None, RunView(), dependencies=wanted)
        result = await room.check(
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


@pytest.mark.parametrize("kind", KINDS)
async def test_a_requirement_that_cannot_be_had_is_named_before_the_conversation(kind: str, index: Index) -> None:
    sandbox = await sandbox_of(kind)
    try:
        for bad in (f"{index.name}==77", f"{index.name}missing", "not a requirement", "x @ file:///etc"):
            for get in (sandbox.provide, sandbox.prepare):
                with pytest.raises(DependencyError) as caught:
                    await get([f"{index.name}other", bad])
                assert caught.value.requirement == bad
                assert index.password not in str(caught.value)
    finally:
        await sandbox.close()


@pytest.mark.parametrize("kind", KINDS)
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
        assert labels[owner.image_key(owner.KIND)] == "dependencies"
        assert labels[owner.image_key(owner.PID)] == owner.labels("room")[owner.PID]
        assert not owner.is_ours(labels), "a stranger's container made from it would inherit them"
        room = await sandbox.open(None, RunView(), dependencies=[f"{index.name}other==2"])
        look = (
            f"import subprocess\nsought = ['grep', '-rsl', '{index.password}', '/opt', '/etc', '/root', '/var']\n"
            "assert not subprocess.run(sought, capture_output=True).stdout"
        )
        assert (await room.check(look)).ending is Ending.PASSED
        builders = await daemon.call("containers", all=True, filters={"label": f"{owner.KIND}=builder"})
        assert not [one for one in builders if one["Labels"][owner.PID] == labels[owner.PID]]
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
        room = await sandbox.open(None, RunView(), dependencies=wanted)
        assert (await room.check(f"import {index.name}other")).ending is Ending.PASSED
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
