"""The command `viva trace SOURCE…`: imports recordings into a journal, and judges them."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from rich.console import Console, Group

from viva.cli.engine_options import engine_from, engine_options
from viva.cli.import_options import chosen_imports, import_options, import_sinks
from viva.cli.options import (
    call_option,
    concurrency_option,
    how_to_resume,
    max_examiner_faults_option,
    options_from,
    output_options,
    resume_command,
    resume_options,
    resumed_request,
    shared_options,
    tell_left_out,
    threshold_option,
)
from viva.cli.process import fail, report_user_errors, run_async
from viva.cli.stopping import STOPPED
from viva.cli.tracing.compare import Other, compare, find_other
from viva.cli.tracing.follow import Alarm, follow_options, make_alarm, refuse_without_follow, watch_from
from viva.cli.tracing.next import imported_only, next_steps
from viva.cli.tracing.outputs import Target, annotate_new, targets_of, write_outputs
from viva.errors import SharedSetupError
from viva.exam.option_declaration import Part
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.journal.paths import new_journal_folder, refuse_journal
from viva.journal.reader import read_records
from viva.records.codec import to_plain
from viva.records.wording import counted
from viva.reports.console.cross_agent import cross_agent_table
from viva.reports.console.run import run_report
from viva.reports.console.suite import figures_plain, suite_report
from viva.reports.console.whys import print_whole
from viva.reports.progress.reporter import ConsoleDisplay
from viva.statistics.summary import Figures, summarize
from viva.suites.conduct import Surroundings
from viva.suites.engines import LOCAL
from viva.suites.gate_checks import PlannedGates
from viva.suites.gates import Gates, gate, parse_gates, read_baseline
from viva.suites.importing import Import
from viva.suites.judging_gates.flips import joined_gates
from viva.suites.labels import parse_labels
from viva.suites.request import RecordingsRequest
from viva.suites.resuming.unread import unread_words
from viva.suites.tracing import trace_recordings
from viva.suites.watching import Poll, Watch
from viva.suites.watching import follow as follow_sources


@click.command("trace")
@click.argument("recordings", nargs=-1, metavar="[SOURCE]...")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Import at most N recordings.")
@import_options
@concurrency_option
@engine_options
@shared_options(Part.JUDGE)
@threshold_option
@resume_options("a trace")
@output_options
@call_option("--baseline", metavar="JOURNAL", help="Compare with an earlier journal.")
@call_option(
    "--max-drop",
    multiple=True,
    metavar="[EVALUATOR=]SCORE",
    help="With --baseline: exit with 1 if the mean score dropped by more. Can be repeated.",
)
@call_option(
    "--compare",
    "compared",
    metavar="OTHER",
    help="Compare with the same queries answered by another agent: a journal, or a SOURCE that is imported too.",
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    metavar="NAME=VALUE",
    help="Name the agent, version, framework or technique where the recordings do not. Can be repeated.",
)
@click.option(
    "--compare-label",
    "other_labels",
    multiple=True,
    metavar="NAME=VALUE",
    help="The same as --label, for the SOURCE of --compare.",
)
@call_option(
    "--to",
    multiple=True,
    metavar="phoenix[:…]",
    help="Also write the verdicts as annotations to the Phoenix server that was read, or phoenix:ADDRESS#PROJECT.",
)
@max_examiner_faults_option
@follow_options
@report_user_errors
def command(
    recordings: tuple[str, ...],
    limit: int | None,
    follow: bool,
    threshold: float,
    resume: Path | None,
    retry_errors: bool,
    out: Path | None,
    sinks: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    fail_under: tuple[str, ...],
    max_examiner_faults: float | None,
    baseline: str | None,
    max_drop: tuple[str, ...],
    compared: str | None,
    labels: tuple[str, ...],
    other_labels: tuple[str, ...],
    to: tuple[str, ...],
    **given: Any,
) -> None:
    """Import the recordings of each SOURCE into a journal, and judge them.

    A SOURCE is READER:LOCATION: chat:FILE reads conversations in the chat format, ufo:FOLDER the log folder of a
    desktop session, or a folder of such folders (`viva doctor` lists the readers). --rubric judges recordings by
    statements that should be true of them. Without --rubric and --evaluators, the reader decides: the score of a run is
    the reward in its recording, if it has one, and desktop sessions are judged by the evaluator `session`, which
    requires a model.
    """
    _check(recordings, resume, retry_errors, baseline, max_drop)
    if not follow:
        refuse_without_follow()
    other = None if compared is None else find_other(compared)
    if other_labels and (other is None or other.source is None):
        fail("viva trace: --compare-label requires --compare with a SOURCE.")
    engine = engine_from(given)
    gates, drops = parse_gates(fail_under), parse_gates(max_drop, "--max-drop")
    before = None if baseline is None else read_baseline(baseline, threshold)
    if resume is not None:
        folder, request = resumed_request(resume, RecordingsRequest, "trace", given)
    else:
        named = parse_labels(labels, "--label"), parse_labels(other_labels, "--compare-label")
        folder, request = _new(recordings, limit, out, given, other, named)
    targets = targets_of(to, request.recordings)
    display = ConsoleDisplay(Console(stderr=True), show=not (as_json or quiet))
    alarm = None
    found = Import()
    try:
        if follow:
            if limit is not None or retry_errors:
                fail("viva trace: --follow cannot be combined with --limit or --retry-errors.")
            if given["engine"] != LOCAL:
                fail("viva trace: --follow judges in this process and cannot be combined with --engine.")
            alarm = make_alarm(folder, given["alerts"], display.announce, display.warn)
            found.lost = _follow(
                request, folder, watch_from(given), gates, alarm, display, sinks, targets, resumed=resume is not None
            )
        else:
            around = Surroundings(display, import_sinks(request.recordings, sinks), engine=engine)
            planned = PlannedGates(floors=gates, drops=drops, baseline=before)
            resumed = resume is not None
            found = run_async(
                trace_recordings(request, folder, around, resumed=resumed, retry_errors=retry_errors, gates=planned)
            )
    except SharedSetupError as error:
        fail(f"viva: {error}{how_to_resume('trace', folder)}")
    except KeyboardInterrupt:
        again = " --follow, and repeat your --follow options" if follow else ""
        fail(f"viva: stopped. Finished runs are kept; to resume: {resume_command('trace', folder)}{again}", STOPPED)
    figures = summarize(read_records(folder, quick=True), threshold)
    if other is None and request.compared is not None:
        other = Other(source=request.compared)
    comparison = None if other is None else compare(folder, other)
    _report(figures, folder, comparison, found, as_json=as_json, quiet=quiet)
    tell_left_out(found.end, resume_command("trace", folder))
    whole = write_outputs(folder, targets, show=not (as_json or quiet))
    code, words = gate(figures, gates, before, drops if max_drop else None, max_examiner_faults)
    gated = bool(fail_under or max_drop) or max_examiner_faults is not None
    if gated and (unread := unread_words(folder)):
        code, words = joined_gates((code, words), (EXIT_NOT_SCORED, unread))
    if imported_only(figures, request, gated=gated):
        code, words = EXIT_DONE, "" if quiet else next_steps(figures, folder)
    if found.end.left_out or not whole:
        code = code or EXIT_NOT_SCORED
    if alarm is not None and alarm.exits and alarm.rang:
        code = EXIT_BELOW
    if words and not as_json:
        click.echo(words, err=True)
    raise SystemExit(code)


def _check(
    recordings: tuple[str, ...],
    resume: Path | None,
    retry_errors: bool,
    baseline: str | None,
    max_drop: tuple[str, ...],
) -> None:
    """Check that the options are compatible."""
    if bool(recordings) == (resume is not None):
        fail("viva trace: name what to import (viva trace chat:FILE), or a journal to resume (--resume JOURNAL).")
    if retry_errors and resume is None:
        fail("viva trace: --retry-errors requires --resume.")
    if bool(max_drop) != (baseline is not None):
        fail("viva trace: --baseline and --max-drop require each other.")


def _new(
    recordings: tuple[str, ...],
    limit: int | None,
    out: Path | None,
    given: dict[str, Any],
    other: Other | None,
    labels: tuple[Mapping[str, str], Mapping[str, str]],
) -> tuple[Path, RecordingsRequest]:
    compared = None if other is None else other.source
    folder = new_journal_folder(out, "trace")
    refuse_journal(folder)
    return folder, RecordingsRequest(
        command="trace",
        recordings=recordings if compared is None else (*recordings, compared),
        limit=limit,
        options=options_from(given),
        folder=os.getcwd(),
        labels=labels[0],
        compared=compared,
        compared_labels=labels[1],
        **chosen_imports(given),
    )


def _report(figures: Figures, folder: Path, comparison: Any, found: Import, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        beside: dict[str, Any] = {"notes": told} if (told := found.told()) else {}
        beside |= {"left_out": found.left_out, "reason": found.reason} if found.left_out else {}
        beside |= {} if comparison is None else {"comparison": to_plain(comparison, full=True)}
        click.echo(json.dumps({"journal": str(folder), "figures": figures_plain(figures), **beside}))
    elif quiet:
        mean = "none" if figures.suite.mean is None else f"{figures.suite.mean:.4f}"
        click.echo(f"{counted(figures.suite.runs, 'run')}, mean score {mean}")
    elif figures.suite.runs_all == 1:
        Console().print(run_report(next(iter(read_records(folder))), folder))
    else:
        print_whole(Console(), suite_report(figures, folder, again="viva trace"))
    if comparison is not None and not (as_json or quiet):
        Console().print(Group(*cross_agent_table(comparison)))


def _follow(
    request: RecordingsRequest,
    folder: Path,
    watch: Watch,
    gates: Gates,
    alarm: Alarm,
    display: ConsoleDisplay,
    sinks: tuple[str, ...],
    targets: Sequence[Target],
    *,
    resumed: bool,
) -> list[str]:
    # A look closes its sinks when it ends.
    def make_around() -> Surroundings:
        return Surroundings(display, import_sinks(request.recordings, sinks))

    def told(look: Poll) -> bool:
        if targets and look.new and (failed := annotate_new(folder, targets, frozenset(look.new))):
            display.warn(failed)
        return alarm.look(look)

    try:
        return run_async(follow_sources(request, folder, watch, gates, make_around, told, resumed=resumed))
    finally:
        alarm.close()
