"""`viva replay JOURNAL`: prints a stored conversation."""

from __future__ import annotations

import json
import shlex
import time
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from adapters.errors import SetupError
from harness.commands.options import (
    agent_memory_option,
    allow_pre_command_option,
    concurrency_option,
    given_options,
    isolate_option,
    judge_options,
    options_from,
    out_option,
    reply_timeout_option,
    resume_options,
    resumed_sources,
)
from harness.commands.process import STOPPED, fail, report_user_errors, run_async, stdout_kept_apart
from harness.exam.journal_paths import derived_name, new_journal_folder, newest_journal, refuse_journal
from harness.exam.outcome import exit_code
from harness.reports.run_console import print_end, print_round, run_report, score_line
from harness.suites.sources import Sources, sources_of
from records.codec import to_plain
from records.journal import Damage
from records.journal_reader import StoredRun, read_records, read_runs, split_reference
from records.text import one_line, printable

WORDS_PER_SECOND = 4.0
"""Silent reading takes 240 words a minute (Brysbaert 2019, Journal of Memory and Language 109)."""
LONGEST_PAUSE = 12.0
MAY_BE_SAID_ANEW = frozenset({"resume", "retry_errors", "concurrency", "as_json"})
PRINTING = frozenset({"journal", "pace", "speed", "as_json"})
"""Options that say something without --against."""


@click.command("replay")
@click.argument("journal", required=False)
@click.option("--pace", is_flag=True, help="Print at reading pace.")
@click.option(
    "--speed", type=click.FloatRange(0.1, 100), default=1.0, show_default=True, help="With --pace: times faster."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object for each run.")
@click.option("--against", metavar="SPEC", help="Ask another agent the stored questions again, and judge it.")
@resume_options("an --against")
@concurrency_option
@reply_timeout_option
@isolate_option
@agent_memory_option
@allow_pre_command_option
@judge_options
@out_option
@report_user_errors
def command(
    journal: str | None,
    pace: bool,
    speed: float,
    as_json: bool,
    against: str | None,
    resume: Path | None,
    retry_errors: bool,
    out: Path | None,
    **said: Any,
) -> None:
    """Print the conversations in JOURNAL: a folder, or FOLDER#RUN-ID for one run. [default: the newest under runs/]"""
    if retry_errors and resume is None:
        fail("viva replay: --retry-errors goes with --resume.")
    if resume is not None:
        target, sources = resumed_sources(resume, "replay", MAY_BE_SAID_ANEW, said)
        _ask_again(target, sources, as_json=as_json, resumed=True, retry_errors=retry_errors)
        return
    folder, run = split_reference(journal) if journal else (newest_journal(), None)
    if against is not None:
        target = new_journal_folder(out, derived_name(folder, "against"))
        refuse_journal(target)
        _ask_again(target, sources_of("replay", [(folder, run)], options_from(said, against)), as_json=as_json)
        return
    if not pace and "speed" in given_options():
        fail("viva replay: --speed goes with --pace.")
    others = [option for name, option in given_options().items() if name not in PRINTING]
    if others:
        fail(f"viva replay: {', '.join(others)} goes with --against.")
    console, damage = Console(), Damage()
    stored = None
    for stored in read_runs(folder, run, damage):
        if as_json:
            click.echo(
                json.dumps({"run": stored.id, "attempt": stored.attempt, "transcript": to_plain(stored.transcript)})
            )
        else:
            print_run(console, stored, speed if pace else None)
    if stored is None and not damage.torn:
        raise SetupError(f"{folder} holds no run yet.")
    if damage.torn or damage.unknown:
        words = (
            f"note: {damage.torn} torn lines skipped, {damage.unknown} lines of a newer format (first: {damage.lines})"
        )
        click.echo(printable(words), err=True)


def print_run(console: Console, stored: StoredRun, speed: float | None = None) -> None:
    """A whole conversation and how it ended; at reading pace where a speed is given."""
    setting = stored.setting
    title = f"{one_line(setting.case or stored.id, 60)} · {one_line(setting.agent, 80)}"
    console.print(Rule(Text(title), align="left"))
    for round_ in stored.transcript.rounds:
        print_round(console, round_)
        if speed:
            words = len(f"{round_.examiner or ''} {round_.agent or ''}".split())
            time.sleep(min(words / WORDS_PER_SECOND, LONGEST_PAUSE) / speed)
    print_end(console, stored.transcript)
    if stored.record is not None:
        console.print(Text(f"{stored.record.outcome.value}, {score_line(stored.record)}", style="bold"))


def _ask_again(
    folder: Path, sources: Sources, *, as_json: bool, resumed: bool = False, retry_errors: bool = False
) -> None:
    # What judging and running need is loaded only here: printing a conversation must not wait for it.
    from harness.exam.stored_runs import read_stored_states
    from harness.reports.suite_console import figures_plain, suite_report
    from harness.statistics.summary import summarize
    from harness.suites.against import ask_again

    work = ask_again(
        sources, folder, Console(stderr=True), resumed=resumed, retry_errors=retry_errors, show=not as_json
    )
    try:
        with stdout_kept_apart():
            run_async(work)
    except KeyboardInterrupt:
        fail(f"viva: stopped. What is done is kept: viva replay --resume {folder}", STOPPED)
    records = list(read_records(folder))
    figures = summarize(records)
    if as_json:
        click.echo(json.dumps({"journal": str(folder), "figures": figures_plain(figures)}))
    elif len(records) == 1:
        Console().print(run_report(records[0], folder))
    else:
        Console().print(suite_report(figures, folder))
    asked, only = sources.journals[0]
    agents = {held.setting.agent for held in read_stored_states(asked, only).values()}
    if not as_json and len(agents) == 1 and len({record.agent for record in records}) == 1:
        here = Path.cwd()
        shown = asked.relative_to(here) if asked.is_relative_to(here) else asked
        click.echo(printable(f"side by side: viva compare {shlex.quote(str(shown))} {shlex.quote(str(folder))}"))
    raise SystemExit(exit_code(records, None))
