"""`viva run CASE`: one exam."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from cases import Case, find_case, load_case
from harness.commands.options import (
    fail,
    judge_options,
    new_journal_folder,
    output_options,
    run_async,
    stdout_kept_apart,
    told_plainly,
)
from harness.console import run_report, score_line
from harness.one_writer import only_writer
from harness.outcome import exit_code
from harness.parts import Options, Parts, assemble
from harness.progress import RunProgress
from harness.run import Run, examine
from records.codec import to_plain
from records.journal import FILE, Journal, run_id, scan
from records.run import RunRecord
from records.text import one_line


@click.command("run")
@click.argument("case")
@click.option(
    "--agent",
    metavar="SPEC",
    help="module:Class, path/to/file.py:Class, or http(s)://host/v1#model. [default: the bundled careful agent]",
)
@click.option(
    "--examiner", metavar="KIND", help="script, model, or replay:JOURNAL. [default: model if one is given, else script]"
)
@click.option("--examiner-model", metavar="NAME", help="Model for the examiner alone.")
@judge_options
@click.option("--max-rounds", type=click.IntRange(1), help="Examiner messages at most. [default: the case's, else 15]")
@click.option(
    "--reply-timeout",
    type=click.FloatRange(0, min_open=True),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Longest wait for one reply.",
)
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Longest conversation. [default: the case's, else none]",
)
@click.option("--app-dir", metavar="FOLDER", help="Replaces the case's app_dir.")
@click.option("--allow-pre-command", is_flag=True, help="Let the case run its pre_command on this machine.")
@output_options
@told_plainly
def command(
    case: str,
    agent: str | None,
    examiner: str | None,
    examiner_model: str | None,
    judge: Any,
    model: str | None,
    judge_model: str | None,
    sandbox: Any,
    max_rounds: int | None,
    reply_timeout: float,
    timeout: float | None,
    app_dir: str | None,
    allow_pre_command: bool,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    fail_under: float | None,
) -> None:
    """Examine an agent with CASE (a bundled case's name, or the path of a case folder), judge it, and report."""
    paper = load_case(find_case(case))
    options = Options(
        agent,
        examiner,
        judge,
        model,
        examiner_model,
        judge_model,
        sandbox,
        max_rounds,
        reply_timeout,
        timeout,
        app_dir,
        allow_pre_command,
    )
    folder = new_journal_folder(out, paper.name)
    notices = Console(stderr=True)
    try:
        with stdout_kept_apart():
            # Absolute: an agent may change the working directory.
            record = run_async(_run(paper, options, folder.absolute(), notices, show=not (as_json or quiet)))
    except KeyboardInterrupt:
        fail(f"viva: stopped. The rounds so far are kept: viva replay {folder}", 130)
    if as_json:
        click.echo(json.dumps({"journal": str(folder), "run": to_plain(record)}))
    elif quiet:
        click.echo(f"{one_line(record.subject, 80)} {record.outcome.value} {score_line(record)}")
    else:
        Console().print(run_report(record, folder))
    raise SystemExit(exit_code([record], fail_under))


async def _run(case: Case, options: Options, folder: Path, console: Console, *, show: bool) -> RunRecord:
    # First the parts: a mistake in them must not leave an empty journal behind, the newest for `viva replay`.
    parts = await assemble(options, [case])
    try:
        with only_writer(folder), Journal(folder) as journal:
            for notice in parts.notices:
                if show:
                    console.print(Text(f"note: {one_line(notice, 1000)}", style="yellow"), soft_wrap=True)
            with RunProgress(console, case.name, parts.limits(case).max_rounds, show=show) as progress:
                attempt = next_attempt(folder, case, parts)
                record = await examine(Run(case, parts, journal, attempt=attempt), progress.on_round)
                journal.sync()
                return record
    finally:
        await parts.close()


def next_attempt(folder: Path, case: Case, parts: Parts) -> int:
    """A run that the journal already holds is examined again as its next attempt; nothing is overwritten."""
    if not (folder / FILE).stat().st_size:
        return 1
    run = run_id(case.name, parts.agent.spec, 1)
    return 1 + max((event.attempt for event in scan(folder) if event.run == run), default=0)
