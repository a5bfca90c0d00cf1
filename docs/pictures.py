"""Makes the pictures of the documentation from real runs: `python docs/pictures.py`."""

from __future__ import annotations

import asyncio
import io
import re
import sys
import tempfile
from pathlib import Path

from rich.console import Console, RenderableType

from viva.cases import find_case
from viva.journal.reader import read_records
from viva.reports.console.run import run_report
from viva.reports.console.suite import suite_report
from viva.statistics.summary import summarize
from viva.suites.conduct import Surroundings
from viva.suites.request import SuiteRequest
from viva.suites.suite import run_suite

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


def trajectories(journal: Path) -> None:
    """The report of traces that were judged: `python docs/pictures.py JOURNAL`."""
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
