"""Suites that go on for minutes, journals of 100,000 rounds: nothing is lost on the screen, and memory stays flat."""

from __future__ import annotations

import faulthandler
import random
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.viva.reports.browser import Browser
from tests.viva.reports.made import keep_image, write_run
from tests.viva.viewer.conftest import Reader
from viva.journal.writer import Journal
from viva.records.run_record import Setting
from viva.records.transcript import Round, Step, StepKind
from viva.viewer.answers import runs_view
from viva.viewer.watched import WatchedJournal

Serve = Callable[..., Reader]
PAUSE = 0.05
"""Seconds between two rounds of the suite."""
MOST_GROWTH = 8_000_000
"""Bytes by which memory may grow in the second half of a suite, at most."""
_WATCH = """
  window.seen = new Set();
  const look = () => {
    for (const node of document.querySelectorAll(".round")) window.seen.add(Number(node.id.slice(6)));
    window.scrollTo(0, document.documentElement.scrollHeight);
    requestAnimationFrame(look);
  };
  look();
"""


def write_suite(folder: Path, end: float) -> tuple[int, int]:
    """Write rounds of the run `followed` and short runs beside it at a steady pace; return how many of each."""
    rounds = runs = 0
    with Journal(folder) as journal:
        while time.monotonic() < end:
            rounds += 1
            journal.append("round", "followed", 1, Round(rounds, f"question {rounds}", f"answer {rounds}"))
            if rounds % 5 == 0:
                runs += 1
                write_run(journal, f"case {runs}", hits=(runs % 3 > 0,))
            time.sleep(PAUSE)
    return rounds, runs


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, int]]:
    """A viewer in a process of its own: its address and the id of the process."""
    command = [sys.executable, "-m", "viva", "view", str(folder), "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip(), process.pid
        finally:
            process.terminate()


def memory(browser: Browser, pid: int) -> tuple[int, int]:
    """Bytes that the server and the page's scripts take."""
    status = Path(f"/proc/{pid}/status").read_text()
    server = next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmRSS"))
    for command in ("HeapProfiler.enable", "HeapProfiler.collectGarbage"):
        browser._call("/goog/cdp/execute", {"cmd": command, "params": {}})
    page = browser._call("/goog/cdp/execute", {"cmd": "Runtime.getHeapUsage", "params": {}})
    return server, int(page["usedSize"])


def follow(browser: Browser, address: str, folder: Path, seconds: float, pid: int | None) -> None:
    """Show a run while it is written; check that each of its rounds was on the screen, and count the other runs."""
    written: list[tuple[int, int]] = []
    browser.open(address + "#/0/run/followed")
    browser.until("document.querySelector('h1')")
    browser.run(_WATCH)
    writer = threading.Thread(target=lambda: written.append(write_suite(folder, time.monotonic() + seconds)))
    writer.start()
    before = None
    if pid is not None:
        time.sleep(seconds / 2)
        before = memory(browser, pid)
    writer.join()
    ((rounds, runs),) = written
    browser.until(f"window.seen.has({rounds})")
    missing = browser.run(
        f"return Array.from({{ length: {rounds} }}, (_, n) => n + 1).filter((n) => !window.seen.has(n))"
    )
    assert missing == []
    browser.until(f"document.getElementById('status').innerText.includes('{runs - runs // 3:,} passed')")
    browser.until(f"document.querySelector('form.talk output').textContent === '{rounds:,} rounds'")
    if pid is not None and before is not None:
        growth = [after - earlier for after, earlier in zip(memory(browser, pid), before, strict=True)]
        assert max(growth) < MOST_GROWTH, growth


def begin(folder: Path) -> None:
    with Journal(folder) as journal:
        journal.append("setting", "followed", 1, Setting(case="followed", agent="a"))


def test_no_round_is_lost_on_the_screen_while_a_suite_goes_on(tmp_path: Path, serve: Serve, browser: Browser) -> None:
    begin(tmp_path / "j")
    follow(browser, serve(tmp_path / "j").server.address, tmp_path / "j", 2.5, None)


@pytest.mark.soak
def test_no_round_is_lost_in_five_minutes_and_memory_stays_flat(tmp_path: Path, browser: Browser) -> None:
    faulthandler.cancel_dump_traceback_later()  # this one takes longer than a test may
    begin(tmp_path / "j")
    with served(tmp_path / "j") as (address, pid):
        follow(browser, address, tmp_path / "j", 300, pid)


def noise(number: int) -> bytes:
    """A picture of 1920 x 1080 pixels, as large as a screenshot is."""
    import struct
    import zlib

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\x00" + random.Random(number * 2000 + row).randbytes(64) * 90 for row in range(1080))
    head = struct.pack(">IIBBBBB", 1920, 1080, 8, 2, 0, 0, 0)
    pixels = zlib.compress(b"".join(rows), 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.mark.parametrize("steps", [12, pytest.param(300, marks=pytest.mark.soak)])
def test_every_picture_of_a_session_is_shown_whole(tmp_path: Path, serve: Serve, browser: Browser, steps: int) -> None:
    folder = tmp_path / "j"
    with Journal(folder) as journal:
        pictures = [keep_image(folder, noise(number)) for number in range(steps)]
        made = [Step(f"s{n}", StepKind.ACTION, tool="click", images=(name,)) for n, name in enumerate(pictures)]
        write_run(journal, "session", steps=made)
    reader = serve(folder)
    run = reader.json("api/0/runs")["rows"][0]["id"]
    browser.open(f"{reader.server.address}#/0/run/{run}")
    browser.until(f"document.querySelectorAll('.step img').length === {steps}")
    for place in (0, steps // 2, steps - 1):
        browser.run(f"document.querySelectorAll('.step img')[{place}].scrollIntoView()")
        browser.until(f"document.querySelectorAll('.step img')[{place}].naturalWidth === 1920")
        link = f"document.querySelectorAll('.step img')[{place}].parentElement"
        assert browser.run(f"return {link}.href") == browser.run(f"return {link}.firstChild.src")


@pytest.mark.parametrize(
    ("runs", "rounds"),
    [
        (40, 5),
        (1, 2000),
        pytest.param(2000, 50, marks=pytest.mark.soak),
        pytest.param(1, 100_000, marks=pytest.mark.soak),
    ],
)
def test_long_journals_open_and_their_last_rounds_are_reached(
    tmp_path: Path, serve: Serve, browser: Browser, runs: int, rounds: int
) -> None:
    with Journal(tmp_path / "j") as journal:
        for number in range(runs):
            write_run(journal, f"case {number}", said=[f"answer {each}" for each in range(1, rounds + 1)])
    watched = WatchedJournal(tmp_path / "j")
    watched.follow()
    shown = runs_view(watched, "score=1", "-rounds", runs - 1, 1)
    assert (shown["total"], shown["rows"][0]["rounds"]) == (runs, rounds)
    reader = serve(tmp_path / "j")
    while reader.server.journals[0].is_behind:
        time.sleep(0.05)
    browser.open(f"{reader.server.address}#/0/run/{shown['rows'][0]['id']}?round={rounds}")
    browser.until(f"document.getElementById('round-{rounds}')?.getBoundingClientRect().top < innerHeight")
    assert f"answer {rounds}" in browser.run(f"return document.getElementById('round-{rounds}').innerText")
