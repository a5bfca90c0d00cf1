"""Whether a process lives: asked by locks, temporary files and leftovers, which must not be taken from the living."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from viva.processes import process_is_alive, signal_name


def test_a_process_lives_until_it_was_waited_for() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        assert process_is_alive(child.pid)
        child.kill()
    assert not process_is_alive(child.pid)


def test_a_process_of_another_user_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, signal: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "kill", refuse)
    assert process_is_alive(1)


def test_an_id_that_no_process_can_have_is_that_of_none() -> None:
    assert not process_is_alive(10**30)


@pytest.mark.parametrize("number", range(1, 65))
def test_every_signal_has_a_name(number: int) -> None:
    assert signal_name(number)


def test_a_signal_without_a_name_is_told_by_its_number() -> None:
    assert (signal_name(9), signal_name(40)) == ("SIGKILL", "signal 40")
