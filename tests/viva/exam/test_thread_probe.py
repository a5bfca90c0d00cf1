"""How many threads there may be is found by starting them, whatever becomes of those."""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable
from typing import Any

import pytest

from viva.exam.requirements import threads

Start = Callable[..., int]


def probed(monkeypatch: pytest.MonkeyPatch, number: int, start: Callable[[Start, int], Start]) -> list[int]:
    """What the probe finds if the system starts each thread so; nothing if it does not end."""
    monkeypatch.setattr(threads, "END_SECONDS", 0.05)
    patched, found, real, count = threading.Event(), list[int](), _thread.start_new_thread, 0

    def started(function: Any, *arguments: Any) -> int:
        nonlocal count
        count += 1
        return start(real, count)(function, *arguments)

    def probe() -> None:
        patched.wait()
        found.append(threads._started(number))

    probing = threading.Thread(target=probe, daemon=True)
    probing.start()
    with monkeypatch.context() as patch:
        for module, name in ((_thread, "start_new_thread"), (threading, "_start_new_thread")):
            patch.setattr(module, name, started)
        patched.set()
        probing.join(5)
    return found


def test_all_threads_that_are_wanted_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probed(monkeypatch, 4, lambda real, count: real) == [4]


def test_threads_are_counted_up_to_the_one_that_the_system_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: Any) -> int:
        raise RuntimeError("can't start new thread")

    assert probed(monkeypatch, 4, lambda real, count: real if count < 3 else refused) == [2]


def test_a_thread_that_has_no_memory_to_begin_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    assert probed(monkeypatch, 4, lambda real, count: real if count < 3 else lambda *_: 0) == [4]
