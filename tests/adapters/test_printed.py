"""What an agent prints is kept for its own run, bounded, and is still printed."""

from __future__ import annotations

import asyncio
import io
import os
import sys
from collections.abc import Iterator
from unittest import mock

import pytest

from viva.adapters.calls import IN_AGENT, called
from viva.adapters.printed import CUT, LIMIT, keep_printed
from viva.adapters.threads import AgentThread
from viva.records.redact import SHORTEST_END


async def test_concurrent_runs_do_not_mix(capsys: pytest.CaptureFixture[str]) -> None:
    async def run(number: int) -> dict[str, str]:
        with keep_printed() as printed:
            thread = AgentThread("agent", True)
            for _ in range(3):
                called(lambda: print(f"task {number}"))
                await asyncio.sleep(0)
                await thread.call(lambda: print(f"thread {number}", file=sys.stderr))
            thread.release()
        return printed.texts()

    before = sys.stdout, sys.stderr
    found = await asyncio.gather(*(run(number) for number in range(5)))
    assert found == [{"stdout": f"task {n}\n" * 3, "stderr": f"thread {n}\n" * 3} for n in range(5)]
    assert (sys.stdout, sys.stderr) == before
    shown = capsys.readouterr()
    assert (shown.out.count("task"), shown.err.count("thread")) == (15, 15)


@pytest.fixture
def _in_agent() -> Iterator[None]:
    token = IN_AGENT.set(True)
    yield
    IN_AGENT.reset(token)


def test_what_viva_prints_is_not_the_agents() -> None:
    with keep_printed() as printed:
        print("suite: round 1 of at most 15, 32 s")
        called(lambda: print("mine"))
    assert printed.texts() == {"stdout": "mine\n"}


@pytest.mark.usefixtures("_in_agent")
def test_what_is_printed_outside_of_a_run_is_not_kept() -> None:
    with keep_printed() as printed:
        print("inside")
    print("outside")
    assert printed.texts() == {"stdout": "inside\n"}


@pytest.mark.usefixtures("_in_agent")
@pytest.mark.parametrize("piece", [1, 1000, 5 * LIMIT])
def test_the_end_is_kept_and_the_cut_is_marked(piece: int) -> None:
    text = "".join(f"{number:09d}\n" for number in range(LIMIT // 2))
    with mock.patch.object(sys, "stdout", io.StringIO()), keep_printed() as printed:
        for start in range(0, len(text), piece):
            sys.stdout.write(text[start : start + piece])
    assert printed.texts() == {"stdout": CUT + text[-LIMIT:]}


@pytest.mark.usefixtures("_in_agent")
def test_a_text_within_the_limit_is_whole() -> None:
    with mock.patch.object(sys, "stdout", io.StringIO()), keep_printed() as printed:
        sys.stdout.write("x" * LIMIT)
    assert printed.texts() == {"stdout": "x" * LIMIT}


@pytest.mark.usefixtures("_in_agent")
def test_secrets_are_not_kept() -> None:
    with (
        mock.patch.dict(os.environ, {"SOME_API_KEY": "sk-very-secret"}),
        mock.patch.object(sys, "stdout", io.StringIO()),
        keep_printed() as printed,
    ):
        print("key sk-very-secret \ud800")
        assert printed.texts() == {"stdout": "key [SOME_API_KEY] \\ud800\n"}


@pytest.mark.usefixtures("_in_agent")
@pytest.mark.parametrize("left", range(1, len("sk-very-secret")))
def test_a_cut_within_a_secret_leaves_no_part_of_it(left: int) -> None:
    with (
        mock.patch.dict(os.environ, {"SOME_API_KEY": "sk-very-secret"}),
        mock.patch.object(sys, "stdout", io.StringIO()),
        keep_printed() as printed,
    ):
        print("x" * LIMIT + "sk-very-secret" + "." * (LIMIT - left - 1))
        rest = printed.texts()["stdout"].removeprefix(CUT).rstrip(".\n")
    assert len(rest) < SHORTEST_END, rest


def test_the_stream_is_otherwise_the_same() -> None:
    with keep_printed():
        assert sys.stdout.encoding
        assert sys.stdout.writable()
        sys.stdout.writelines(["a", "b\n"])
        sys.stdout.close()
        print("still open", flush=True)
        with pytest.raises(TypeError):
            sys.stdout.write(b"x")  # type: ignore[arg-type]


def test_a_stream_that_an_agent_replaced_stays() -> None:
    other = io.StringIO()
    with mock.patch.object(sys, "stdout", sys.stdout):
        with keep_printed():
            sys.stdout = other
        assert sys.stdout is other
