"""Makes the pictures of the documentation from real runs: `python -m docs.pictures`."""

from __future__ import annotations

import asyncio
import base64
import io
import re
import sys
import tempfile
import threading
from pathlib import Path

from PIL import Image, ImageChops
from rich.console import Console, RenderableType

from tests.viva.reports.browser import Browser
from viva.cases import find_case
from viva.journal.reader import read_records
from viva.reports.console.run import run_report
from viva.reports.console.suite import suite_report
from viva.reports.journals import joined
from viva.reports.page import report as page
from viva.statistics.summary import summarize
from viva.suites.conduct import Surroundings
from viva.suites.request import SuiteRequest
from viva.suites.suite import run_suite
from viva.viewer.server import Viewer
from viva.viewer.watched import WatchedJournal

IMAGES = Path(__file__).parent / "images"


async def forgetful() -> None:
    """The report of an agent that loses count."""
    case = find_case("sum_1_to_50")
    request = SuiteRequest(command="suite", paths=(str(case),), agents=("example:forgetful",))
    with tempfile.TemporaryDirectory() as folder:
        await run_suite(request, Path(folder), Surroundings())
        (record,) = read_records(Path(folder))
    report = run_report(record, Path("runs/20261120-101500-sum_1_to_50-3f2a"))
    _draw(report, "make eval AGENT=example:forgetful", "report.svg")


async def report_page() -> None:
    """The top of the report page of a suite with two agents, in Chromium."""
    agents = ("example:careful", "example:forgetful")
    cases = (str(Path(__file__).parents[1] / "cases"),)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "runs" / "first"
        await run_suite(SuiteRequest(command="suite", paths=cases, agents=agents, trials=3), folder, Surroundings())
        file = Path(scratch) / "report.html"
        with file.open("w", encoding="utf-8", newline="") as out:
            page.write(joined([str(folder)], 1.0), out)
        with Browser(Path(scratch) / "profile") as window:
            window.scheme("light")
            window.width(1100)
            window.go(file)
            _photograph(window, "page")


async def views() -> None:
    """Four views of the viewer, of the bundled cases with two agents, in Chromium."""
    agents = ("example:careful", "example:forgetful")
    cases = (str(Path(__file__).parents[1] / "cases"),)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "runs" / "first"
        await run_suite(SuiteRequest(command="suite", paths=cases, agents=agents, trials=3), folder, Surroundings())
        journal = WatchedJournal(folder)
        journal.follow()
        server = Viewer([journal])
        threading.Thread(target=server.serve_forever, daemon=True).start()
        careful, forgetful = (
            next(journal.matching(f"case=mean_of_a_column and agent~{name}")).run for name in ("careful", "forgetful")
        )
        with Browser(Path(scratch) / "profile") as window:
            window.scheme("light")
            for name, view, shown, width in (
                ("viewer-grid", "grid", ".dot", 1100),
                ("viewer-run", f"run/{forgetful}", ".round", 1100),
                ("viewer-beside", f"beside?runs={careful},{forgetful}", ".beside .round", 1100),
                ("viewer-phone", f"run/{forgetful}", ".round", 390),
            ):
                window.width(width)
                window.open(f"{server.address}#/0/{view}")
                window.until(f"document.querySelectorAll('{shown}').length > 0")
                _photograph(window, name)
        server.shutdown()
        server.server_close()


def _photograph(window: Browser, name: str) -> None:
    picture = window.run_command("Page.captureScreenshot", {"format": "png"})["data"]
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    empty = Image.new("RGB", image.size, image.getpixel((2, image.height - 2)))
    *_, bottom = ImageChops.difference(image, empty).getbbox() or (0, 0, 0, image.height)
    image.crop((0, 0, image.width, min(image.height, bottom + 20))).quantize(48).save(
        IMAGES / f"{name}.png", optimize=True
    )


def trajectories(journal: Path) -> None:
    """The report of traces that were judged: `python -m docs.pictures JOURNAL`."""
    _draw(suite_report(summarize(read_records(journal)), Path("runs/traced")), "viva trace", "trajectories.svg")


def _draw(report: RenderableType, title: str, name: str) -> None:
    console = Console(record=True, width=100, file=io.StringIO(), force_terminal=True)
    console.print(report)
    svg = console.export_svg(title=title)
    # No font from a server: the page must work, and look alike, without a network.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL).replace("Fira Code, monospace", "monospace")
    svg = svg.replace("Fira Code", "monospace")
    (IMAGES / name).write_text(re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE))


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    if len(sys.argv) > 1:
        trajectories(Path(sys.argv[1]))
    else:
        asyncio.run(forgetful())
        asyncio.run(report_page())
        asyncio.run(views())
