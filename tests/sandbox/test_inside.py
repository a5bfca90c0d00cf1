"""Parts of the server inside: what its forks do not have, how its file systems are mounted, and how it answers."""

from __future__ import annotations

import ctypes
import errno
import os
import signal
import sys

import pytest

from viva.sandbox.inside import frames, hardening, namespaces

linux = pytest.mark.skipif(sys.platform != "linux", reason="advice about forks is Linux's")


@linux
def test_the_servers_copy_of_the_workspace_is_not_in_its_forks() -> None:
    data = memoryview(bytearray(b"x" * (4 << 20)))
    before = hardening.forks_memory(0)
    kept = hardening.keep_from_forks(data)
    assert kept > 3 << 20
    after = hardening.forks_memory(kept)
    assert all(less < more - (3 << 20) for less, more in zip(after, before, strict=True)), "no check may use it instead"
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGSEGV, signal.SIG_DFL)
        os._exit(data[2 << 20])
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGSEGV
    assert data[2 << 20] == ord("x")


@linux
def test_nothing_else_comes_where_the_copy_was_and_is_missing_from_forks() -> None:
    bytearray(8 << 20)  # once this was given back, memory of less is taken from the heap, where it is used again
    data = memoryview(bytearray(4 << 20))
    assert hardening.keep_from_forks(data) > 0
    where = ctypes.addressof(ctypes.c_char.from_buffer(data))
    del data
    others = [bytearray(4 << 20) for _ in range(8)]
    assert where not in [ctypes.addressof(ctypes.c_char.from_buffer(each)) for each in others]


def test_what_shares_its_pages_with_others_stays_in_forks() -> None:
    assert hardening.keep_from_forks(memoryview(bytearray(1000))) == 0
    assert hardening.keep_from_forks(memoryview(b"x" * (4 << 20))) == 0


@pytest.mark.parametrize(("number", "mounted"), [(0, True), (errno.EINVAL, False), (errno.EPERM, None)])
def test_a_kernel_without_large_pieces_mounts_a_file_system_of_pages(
    monkeypatch: pytest.MonkeyPatch, number: int, mounted: bool | None
) -> None:
    asked: list[str] = []

    def mount(source: str, place: str, kind: str | None, flags: int, data: str = "") -> None:
        asked.append(data)
        if number and "huge=" in data:
            raise OSError(number, "mount")

    monkeypatch.setattr(namespaces, "mount", mount)
    box = namespaces.FileSystem("/box", 16, holds_workspace=True)
    if mounted is None:
        with pytest.raises(OSError, match="mount"):
            namespaces.refresh([box], first=True)
    else:
        namespaces.refresh([box, namespaces.FileSystem("/tmp", 8, holds_workspace=False)], first=True)
        assert ["huge=" in data for data in asked] == ([True, False] if mounted else [True, False, False])


def test_frames_that_wait_for_the_next_one_are_written_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[bytes] = []

    def write(descriptor: int, data: bytes) -> int:
        written.append(data)
        return len(data)

    monkeypatch.setattr(os, "write", write)
    frames.send(b"W", {"nonce": "1"}, with_next=True)
    assert written == []
    frames.send(b"R", {})
    assert written == [b'\0\0\0\x0eW{"nonce": "1"}' + b"\0\0\0\x02R{}"]
