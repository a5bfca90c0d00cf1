"""`viva judge JOURNAL…`: scores stored conversations again, by the same judge or another; no agent is needed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from cases import find_case, load_case
from harness.commands.options import (
    concurrency_option,
    judge_options,
    options_from,
    output_options,
    resume_options,
    resumed_sources,
)
from harness.commands.process import STOPPED, fail, report_user_errors, run_async
from harness.exam.journal_paths import derived_name, new_journal_folder, newest_journal, refuse_journal
from harness.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED, exit_code
from harness.reports.run_console import run_report, score_line
from harness.reports.suite_console import suite_report
from harness.statistics.summary import summarize
from harness.suites.judging import Before, judge_sources
from harness.suites.sources import Sources, sources_of
from records.codec import to_plain
from records.journal_reader import read_records, split_reference
from records.run_record import RunRecord
from records.text import one_line

MAY_BE_SAID_ANEW = frozenset({"resume", "retry_errors", "concurrency", "as_json", "quiet", "fail_under"})


@click.command("judge")
@click.argument("journals", nargs=-1, metavar="[JOURNAL]...")
@click.option("--case", "mended", metavar="CASE", help="Judge by this case instead of the stored one of the same name.")
@concurrency_option
@judge_options
@resume_options("a judging")
@output_options
@report_user_errors
def command(
    journals: tuple[str, ...],
    mended: str | None,
    resume: Path | None,
    retry_errors: bool,
    out: Path | None,
    as_json: bool,
    quiet: bool,
    fail_under: float | None,
    **said: Any,
) -> None:
    """Score the conversations in each JOURNAL again (default: the newest under runs/) into a journal of its own."""
    if retry_errors and resume is None:
        fail("viva judge: --retry-errors goes with --resume.")
    if resume is not None:
        folder, sources = resumed_sources(resume, "judge", MAY_BE_SAID_ANEW, said)
    else:
        folder, sources = _new(journals, mended, out, said)
    show = not (as_json or quiet)
    work = judge_sources(
        sources, folder, Console(stderr=True), resumed=resume is not None, retry_errors=retry_errors, show=show
    )
    try:
        before = run_async(work)
    except KeyboardInterrupt:
        fail(f"viva: stopped. What is judged is kept: viva judge --resume {folder}", STOPPED)
    for run in before.not_ended:
        click.echo(f"{one_line(run)}: the conversation did not end, so it is not judged", err=as_json)
    if before.damage.torn:
        Console(stderr=True).print(Text(f"note: {before.damage.torn} torn lines skipped", style="yellow"))
    records = sorted(read_records(folder), key=_place(before))
    if as_json:
        click.echo(json.dumps({"journal": str(folder), "runs": [to_plain(record, full=True) for record in records]}))
    else:
        _report(records, before, folder, quiet=quiet)
    code = exit_code(records, fail_under)
    raise SystemExit(EXIT_NOT_SCORED if before.not_ended and code == EXIT_DONE else code)


def _new(journals: tuple[str, ...], mended: str | None, out: Path | None, said: dict[str, Any]) -> tuple[Path, Sources]:
    places = [split_reference(journal) for journal in journals] or [(newest_journal(), None)]
    paper = load_case(find_case(mended)) if mended is not None else None
    folder = new_journal_folder(out, derived_name(places[0][0], "judged"))
    refuse_journal(folder)
    return folder, sources_of("judge", places, options_from(said), paper)


def _place(before: Before) -> Any:
    """Sort key: the order of the journals that were read, not that in which judges came to an end."""
    order = {run: place for place, run in enumerate(before.order)}
    return lambda record: order.get(record.id, len(order))


def _report(records: list[RunRecord], before: Before, folder: Path, *, quiet: bool) -> None:
    console = Console()
    for record in records:
        score, words = before.scores.get(record.id, (record.score, ""))
        if len(records) == 1 and not quiet:
            console.print(run_report(record, folder))
        elif quiet or score != record.score:
            click.echo(f"{one_line(record.id)} {record.outcome.value} {score_line(record)}")
        if score != record.score:
            click.echo(f"{one_line(record.id)}: the score was {words}")
    if len(records) > 1 and not quiet:
        console.print(suite_report(summarize(records), folder))
