"""Has a conversation bisected, and reports what was found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NoReturn

import click
from rich.console import Console

from viva.cli.process import fail, run_async, separate_stdout
from viva.cli.stopping import STOPPED
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.records.text import one_line
from viva.reports.console.whys import quoted
from viva.sinks import make_sinks
from viva.statistics.bisection.plan import BisectionFinding, read_bisection
from viva.suites.engine import Budget
from viva.suites.request import BisectRequest


def bisect_and_report(
    folder: Path,
    request: BisectRequest,
    sinks: tuple[str, ...],
    *,
    as_json: bool,
    budget: Budget,
    resumed: bool = False,
    retry_errors: bool = False,
) -> NoReturn:
    """Have a conversation bisected, print the result, and exit with its code.

    Args:
        folder: The journal of the forks.
        request: What is to be found.
        sinks: Where the completed runs go.
        as_json: Whether to print one JSON object.
        budget: What the forks may use.
        resumed: Whether the journal holds some of the forks already.
        retry_errors: Whether forks that could not be scored are made again.

    Raises:
        SystemExit: always, at the end.
    """
    from viva.reports.bisection.console import bisection_report
    from viva.reports.bisection.words import bisection_plain
    from viva.reports.progress.reporter import ConsoleDisplay
    from viva.suites.bisecting.bisect import bisect
    from viva.suites.conduct import Surroundings

    absolute = folder.absolute()  # an agent may change the working directory
    around = Surroundings(ConsoleDisplay(Console(stderr=True), show=not as_json), make_sinks(sinks))
    again = f"to resume: viva bisect --resume {quoted(str(folder))}"
    try:
        with separate_stdout():
            end = run_async(
                bisect(request, absolute, around, resumed=resumed, retry_errors=retry_errors, budget=budget)
            )
    except KeyboardInterrupt:
        fail(f"viva: stopped. Finished forks are kept; {again}", STOPPED)
    found = read_bisection(absolute)
    if found is None:
        fail(f"viva bisect: {absolute} holds no forks.")
    if as_json:
        click.echo(json.dumps({**bisection_plain(found, folder), "stopped": end.reason}))
    else:
        Console().print(bisection_report(found, folder))
    if end.reason is not None:
        click.echo(f"stopped: {one_line(end.reason, 300)}; {again}", err=True)
    raise SystemExit(EXIT_NOT_SCORED if found.finding is BisectionFinding.NOT_DECIDED else EXIT_DONE)
