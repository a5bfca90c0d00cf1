"""Measures the viewer on large journals: the server's part, and in a real browser what a reader waits for.

usage: python -m bench.viewer JOURNAL

It prints one line of JSON with the seconds of the index, milliseconds of filters, and the peak memory of the server.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from bench.memory import peak_mb
from bench.report_journals import write_journal
from bench.table import Figure
from viva.journal.line_checksum import seal, unsealed
from viva.journal.lines import FILE
from viva.viewer.answers import run_view, runs_view
from viva.viewer.watched import WatchedJournal

ROUNDS, RUNS = 100_000, 50_000
FILTERS = ("score<1", 'agent~careful and rounds>1 and not case="case_1"', "status=unfinished or cost>0.5")
PAGES = Path(__file__).parents[1] / "viva" / "viewer" / "pages"
EXPORT_PAGES = PAGES.parent / "export" / "pages"
SHARED = Path(__file__).parents[1] / "viva" / "reports" / "page" / "templates"
_PAINT = "performance.getEntriesByName('first-contentful-paint')"
_JUMP = "const i = document.querySelector('form.talk input'); i.value = {0}; i.dispatchEvent(new Event('change'))"


def measure(folder: Path) -> dict[str, float]:
    """Index a journal, filter its runs and read the last rounds of its first run, as the server does."""
    journal = WatchedJournal(folder)
    began = time.perf_counter()
    journal.follow()
    index = time.perf_counter() - began
    filters = max(_milliseconds(lambda where=where: runs_view(journal, where, "-score", 0, 120)) for where in FILTERS)  # type: ignore[misc]
    run, listed = next(iter(journal.runs.items()))
    last = len(listed.places.rounds)
    rounds = _milliseconds(lambda: run_view(journal, run, max(0, last - 50), 50))
    return {"index_s": round(index, 3), "filter_ms": filters, "rounds_ms": rounds, "peak_mb": peak_mb()}


def _milliseconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(5):
        began = time.perf_counter()
        work()
        times.append((time.perf_counter() - began) * 1e3)
    return round(statistics.median(times), 2)


def _measured(folder: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.viewer", str(folder)], check=True, capture_output=True, text=True
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _exported(journal: Path, folder: Path) -> dict[str, float]:
    """Export a journal in a process of its own; return its seconds and memory, and the size of the largest file."""
    program = (
        "import json, sys; from pathlib import Path; from time import perf_counter; from bench.memory import peak_mb;"
        "from viva.viewer.export.exporting import write_export; from viva.viewer.watched import WatchedJournal;"
        "began = perf_counter(); journal = WatchedJournal(Path(sys.argv[1])); journal.follow();"
        "write_export([journal], Path(sys.argv[2])); print(json.dumps([perf_counter() - began, peak_mb()]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(journal), str(folder)], check=True, capture_output=True, text=True
    )
    seconds, memory = json.loads(done.stdout)
    largest = max(file.stat().st_size for file in folder.rglob("*") if file.is_file())
    return {"seconds": seconds, "peak_mb": memory, "largest_kb": largest / 1e3}


def _export_figures(found: dict[str, float]) -> list[Figure]:
    return [
        Figure("export of 100,000 rounds in 2,000 runs", found["seconds"], "s", 10),
        Figure("  memory", found["peak_mb"], "MB", 80),
        Figure("  its largest file", found["largest_kb"], "KB", 2000),
    ]


def _in_a_browser(folder: Path) -> list[Figure]:
    """Measure what a reader waits for: nothing where Chromium is missing."""
    try:
        from tests.viva.reports.browser import Browser, installed
    except ImportError:
        return []
    if not installed():
        print("  the viewer in a browser: needs chromium and chromedriver")
        return []
    command = [sys.executable, "-m", "viva", "view", str(folder), "--no-open"]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server,
        tempfile.TemporaryDirectory() as profile,
        Browser(Path(profile)) as browser,
    ):
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            browser.open(address)
            browser.until("document.querySelectorAll('a.row').length > 0")
            browser.until(f"{_PAINT}.length > 0")
            paint = browser.run(f"return {_PAINT}[0].startTime")
            browser.run("document.querySelector('a.row').click()")
            browser.until("document.querySelectorAll('.round').length > 0")
            jumps = [
                _until(browser, _JUMP.format(place), f"round-{place}") for place in (ROUNDS, ROUNDS // 2, 1, 77_777)
            ]
            shown = [_appended(browser, folder, ROUNDS + number) for number in range(1, 6)]
        finally:
            server.terminate()
    return [
        Figure("first paint", paint, "ms", 300),
        Figure("a jump within 100,000 rounds", statistics.median(jumps), "ms", 100),
        Figure("an appended round on the screen", statistics.median(shown[1:]), "ms", 150),
    ]


def _until(browser: object, script: str, element: str) -> float:
    """Run a script in the page; return the milliseconds until an element is there, by the page's own clock."""
    waits = (
        "const done = arguments[0], began = performance.now();"
        f"const look = () => document.getElementById('{element}') ? done(performance.now() - began)"
        " : requestAnimationFrame(look);"
    )
    return float(browser._call("/execute/async", {"script": f"{waits}{script};look()", "args": []}))  # type: ignore[attr-defined]


def _appended(browser: object, folder: Path, number: int) -> float:
    """Append a round to the run that is shown; return the milliseconds until it is on the screen."""
    with (folder / FILE).open("rb") as file:
        line = next(each for each in file if b'"event":"round"' in each)
    content = unsealed(line)
    assert content is not None
    browser.run(_JUMP.format(number - 1))  # type: ignore[attr-defined]
    waits = (
        f"window.seen = 0; const look = () => document.getElementById('round-{number}') ? window.seen = Date.now()"
        " : requestAnimationFrame(look); look()"
    )
    browser.run(waits)  # type: ignore[attr-defined]
    written = time.time()
    with (folder / FILE).open("ab") as file:
        file.write(seal(content.replace(b'"number":1,', b'"number":%d,' % number, 1)))
    browser.until("window.seen > 0")  # type: ignore[attr-defined]
    return float(browser.run("return window.seen")) - written * 1e3  # type: ignore[attr-defined]


def figures() -> list[Figure]:
    """Measure the server's part on three journals, and the page on the one with a single long run."""
    page, of_export = (sum(each.stat().st_size for each in folder.iterdir()) for folder in (PAGES, EXPORT_PAGES))
    loaded = page + sum((SHARED / name).stat().st_size for name in ("page.css", "run_parts.js"))
    with tempfile.TemporaryDirectory() as temporary:
        one, many, runs = (Path(temporary) / name for name in ("one", "many", "runs"))
        for folder, number, rounds in ((one, 1, ROUNDS), (many, 2000, ROUNDS // 2000)):
            command = [sys.executable, "-m", "bench.many", str(number), str(rounds), "50", "--out", str(folder)]
            subprocess.run(command, check=True, capture_output=True)
        write_journal(runs, RUNS)
        of_one, of_many, of_runs = _measured(one), _measured(many), _measured(runs)
        exported = _exported(many, Path(temporary) / "export")
        shown = _in_a_browser(one)
    return [
        Figure("index of 100,000 rounds in one run", of_one["index_s"], "s", 1),
        Figure("index of 100,000 rounds in 2,000 runs", of_many["index_s"], "s", 1),
        Figure("  memory of the server", of_many["peak_mb"], "MB", 60),
        Figure("the last 50 of 100,000 rounds", of_one["rounds_ms"], "ms", 100),
        Figure("index of 50,000 runs of 2 rounds", of_runs["index_s"], "s", 3),
        Figure("  memory of the server", of_runs["peak_mb"], "MB", 70),
        Figure("filters over 50,000 runs", of_runs["filter_ms"], "ms", 150),
        *_export_figures(exported),
        *shown,
        Figure(
            "the page's files in the wheel", page / 1e3, "KB", 80, note=f"{loaded / 1e3:.0f} KB with those of reports"
        ),
        Figure("what an export has in place of a server", of_export / 1e3, "KB", 27),
    ]


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
