"""Choosing a sandbox: quickly, with the reason and the remedy said, and without loading what is not used."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from viva.sandbox import SandboxUnavailable
from viva.sandbox.choice import choose


@pytest.fixture
def no_docker(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")


@pytest.fixture
def no_bwrap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None)


@pytest.mark.usefixtures("no_docker", "no_bwrap")
async def test_auto_falls_back_and_says_why_and_what_to_do() -> None:
    choice = await choose("auto")
    assert choice.sandbox.name == "process"
    assert "\n" not in choice.note
    for words in ("does NOT isolate", "DOCKER_HOST", "Start Docker", "bubblewrap is not installed", "apt-get install"):
        assert words in choice.note
    await choice.sandbox.close()


@pytest.mark.usefixtures("no_docker")
async def test_a_sandbox_asked_for_by_name_is_that_one_or_none() -> None:
    with pytest.raises(SandboxUnavailable) as caught:
        await choose("docker")
    assert "no Docker daemon answers" in caught.value.reason
    assert "DOCKER_HOST" in caught.value.remedy


@pytest.mark.usefixtures("no_bwrap")
async def test_bwrap_asked_for_and_not_there_says_how_to_get_it() -> None:
    with pytest.raises(SandboxUnavailable) as caught:
        await choose("bwrap")
    assert "install" in caught.value.remedy


async def test_an_unknown_kind_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match="dokcer"):
        await choose("dokcer")


async def test_process_needs_nothing_and_says_what_it_lacks() -> None:
    choice = await choose("process")
    assert choice.note == ""
    assert not choice.sandbox.isolates
    assert choice.sandbox.weaknesses


async def test_a_socket_that_nobody_serves_costs_one_connection(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "dead.sock"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
    monkeypatch.setattr(
        "viva.sandbox.docker.daemon.Daemon._connect", lambda *_: pytest.fail("loads the SDK, 150 ms, for nothing")
    )
    with pytest.raises(SandboxUnavailable, match="no Docker daemon answers"):
        await choose("docker")


async def test_something_else_on_the_socket_is_no_daemon(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "other.sock"
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(path))
        other.listen()

        def answer() -> None:
            while True:
                try:
                    connection, _ = other.accept()
                except OSError:
                    return
                with connection, contextlib.suppress(OSError):  # who only looked is gone already
                    connection.sendall(b"hello\n")

        threading.Thread(target=answer, daemon=True).start()
        monkeypatch.setenv("DOCKER_HOST", f"unix://{path}")
        with pytest.raises(SandboxUnavailable, match="not a working Docker daemon"):
            await choose("docker")
        other.shutdown(socket.SHUT_RDWR)


async def test_an_image_that_cannot_be_had_names_the_way_to_get_one() -> None:
    from tests.sandbox.conftest import sandbox_of

    await (await sandbox_of("docker")).close()
    with pytest.raises(SandboxUnavailable) as caught:
        # The port is one where nothing listens on this machine.
        await choose("docker", image="127.0.0.1:9/viva/none:1")
    assert "127.0.0.1:9/viva/none:1" in caught.value.reason
    assert "viva sandbox build" in caught.value.remedy


def test_importing_the_sandbox_loads_no_backend() -> None:
    code = (
        "import sys, viva.sandbox, viva.sandbox.interface, viva.sandbox.choice\n"
        "late = {'docker', 'requests', 'viva.sandbox.docker.backend', 'viva.sandbox.bwrap', 'packaging'}\n"
        "late &= set(sys.modules)\n"
        "assert not late, late"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=Path(__file__).parents[2])
