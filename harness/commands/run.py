"""`viva run CASE`: one exam."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from adapters.connectors.python import FORMS
from adapters.errors import SetupError
from cases import Case, find_case, load_case
from harness.commands.options import exam_options, judge_options, options_from, output_options
from harness.commands.process import STOPPED, fail, report_user_errors, run_async, stdout_kept_apart
from harness.exam.examine import Run, examine
from harness.exam.journal_paths import new_journal_folder
from harness.exam.options import Options
from harness.exam.outcome import exit_code
from harness.exam.resources import Resources, build_resources
from harness.reports.run_console import run_report, score_line
from harness.reports.run_progress import RunProgress
from records.codec import to_plain
from records.journal import FILE, Journal, run_id, scan
from records.journal_lock import exclusive_writer
from records.run_record import RunRecord
from records.text import one_line


@click.command("run")
@click.argument("case")
@click.option(
    "--agent",
    metavar="SPEC",
    help=f"{FORMS}. [default: the bundled careful agent]",
)
@judge_options
@exam_options
@output_options
@report_user_errors
def command(
    case: str,
    agent: str | None,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    fail_under: float | None,
    **said: Any,
) -> None:
    """Examine an agent with CASE (a bundled case's name, or the path of a case folder), judge it, and report."""
    paper = load_case(find_case(case))
    options = options_from(said, agent)
    folder = new_journal_folder(out, paper.name)
    notices = Console(stderr=True)
    try:
        with stdout_kept_apart():
            # Absolute: an agent may change the working directory.
            record = run_async(_run(paper, options, folder.absolute(), notices, show=not (as_json or quiet)))
    except KeyboardInterrupt:
        fail(f"viva: stopped. The rounds so far are kept: viva replay {folder}", STOPPED)
    if as_json:
        click.echo(json.dumps({"journal": str(folder), "run": to_plain(record, full=True)}))
    elif quiet:
        click.echo(f"{one_line(record.subject, 80)} {record.outcome.value} {score_line(record)}")
    else:
        Console().print(run_report(record, folder))
    raise SystemExit(exit_code([record], fail_under))


async def _run(case: Case, options: Options, folder: Path, console: Console, *, show: bool) -> RunRecord:
    # First the resources: a mistake in them must not leave an empty journal behind, the newest for `viva replay`.
    resources = await build_resources(options, [case])
    try:
        with exclusive_writer(folder), Journal(folder) as journal:
            for notice in resources.notices:
                if show:
                    console.print(Text(f"note: {one_line(notice, 1000)}", style="yellow"), soft_wrap=True)
            with RunProgress(console, case.name, resources.limits(case).max_rounds, show=show) as progress:
                attempt = next_attempt(folder, case, resources)
                record = await examine(Run(case, resources, journal, attempt=attempt), progress.on_round)
                journal.sync()
                return record
    finally:
        await resources.close()


def next_attempt(folder: Path, case: Case, resources: Resources) -> int:
    """A run that the journal already holds is examined again as its next attempt; nothing is overwritten."""
    if not (folder / FILE).stat().st_size:
        return 1
    run = run_id(case.name, resources.agent.spec, 1)
    attempt = 0
    for event in scan(folder):
        if event.run != run:
            continue
        attempt = max(attempt, event.attempt)
        if event.kind == "setting" and event.data.get("case_hash", case.hash) != case.hash:
            raise SetupError(f"{folder} holds runs of another case called {case.name!r}; name another --out.")
    return attempt + 1
