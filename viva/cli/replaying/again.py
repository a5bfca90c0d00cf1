"""Asks another agent the stored questions, and reports how it did."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console

from viva.cli.options import resume_command, tell_left_out
from viva.cli.process import fail, run_async, separate_stdout
from viva.cli.stopping import STOPPED
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.journal.reader import read_records
from viva.records.run_record import RunRecord
from viva.records.text import one_line, printable
from viva.reports.console.run import run_report
from viva.reports.console.whys import quoted
from viva.sinks import make_sinks
from viva.suites.gates import gate
from viva.suites.request import JournalsRequest

if TYPE_CHECKING:
    from viva.statistics.summary import Figures
    from viva.suites.engine import SuiteEnd


def ask_again_and_report(
    folder: Path,
    request: JournalsRequest,
    sinks: tuple[str, ...],
    *,
    as_json: bool,
    resumed: bool = False,
    retry_errors: bool = False,
) -> None:
    """Have the questions of stored conversations asked again, print the result, and exit with its code.

    Args:
        folder: The journal of the new runs.
        request: What is asked, and of which agent.
        sinks: Where the completed runs go.
        as_json: Whether to print one JSON object.
        resumed: Whether the journal holds some of the runs already.
        retry_errors: Whether runs that ended with an error are done again.

    Raises:
        SystemExit: always, at the end.
    """
    # Imported here, because printing a conversation must not wait for what judging and running require.
    from viva.reports.progress.reporter import ConsoleDisplay
    from viva.statistics.summary import summarize
    from viva.suites.conduct import Surroundings
    from viva.suites.replaying import ask_again

    absolute = folder.absolute()  # an agent may change the working directory
    around = Surroundings(ConsoleDisplay(Console(stderr=True), show=not as_json), make_sinks(sinks))
    try:
        with separate_stdout():
            end = run_async(ask_again(request, folder, around, resumed=resumed, retry_errors=retry_errors))
    except KeyboardInterrupt:
        fail(f"viva: stopped. Finished runs are kept; to resume: viva replay --resume {quoted(str(folder))}", STOPPED)
    records = list(read_records(absolute))
    figures = summarize(records)
    _report_answers(records, figures, folder, end, as_json=as_json)
    if not as_json:
        _suggest_comparison(request, records, folder)
    for run_name, gap in end.conversations.gaps.items():
        click.echo(f"{one_line(run_name)}: {gap}, so its questions are not asked", err=as_json)
    tell_left_out(end, resume_command("replay", folder))
    code = gate(figures)[0]
    raise SystemExit(EXIT_NOT_SCORED if end.left_out_in_all and code == EXIT_DONE else code)


def _report_answers(
    records: Sequence[RunRecord], figures: Figures, folder: Path, end: SuiteEnd, *, as_json: bool
) -> None:
    from viva.reports.console.suite import figures_plain, suite_report
    from viva.reports.console.whys import print_whole
    from viva.reports.fork_words import forks_words

    forks = [record.setting.forked_from for record in records if record.setting.forked_from]
    if as_json:
        facts = {"ended": end.ended, "left_out": end.left_out_in_all, "reason": end.reasons}
        plain = {"journal": str(folder), **facts, "figures": figures_plain(figures)}
        click.echo(json.dumps({**plain, "forked": forks} if forks else plain))
    elif len(records) == 1:
        Console().print(run_report(records[0], folder))
    else:
        print_whole(Console(), suite_report(figures, folder, again="viva replay"))
        if forks:
            click.echo(forks_words(forks))


def _suggest_comparison(request: JournalsRequest, records: Sequence[RunRecord], folder: Path) -> None:
    """Print the command that compares the new runs with the old ones, if both have a single agent."""
    from viva.exam.stored_runs import read_run_states

    asked, only = request.journals[0]
    agents = {state.agent for state in read_run_states(asked, only).values()}
    if len(agents) == 1 and len({record.agent for record in records}) == 1:
        here = Path.cwd()
        shown = asked.relative_to(here) if asked.is_relative_to(here) else asked
        click.echo(printable(f"to compare: viva compare {shlex.quote(str(shown))} {shlex.quote(str(folder))}"))
