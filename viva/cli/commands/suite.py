"""The command `viva suite PATH…`: runs many cases, with several agents and several trials, concurrently."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from viva.adapters.connectors.spec import FORMS
from viva.cli import completion
from viva.cli.adaptive_options import refuse_other_gates, until_from, until_options
from viva.cli.budget_options import spending_options
from viva.cli.daily.filter_options import filter_options
from viva.cli.daily.watch import WatchedCommand, given_out, watch_and_exit, watch_option
from viva.cli.engine_options import engine_from, engine_options
from viva.cli.label_options import check_corrected, gate_with_labels, label_options, measured_from
from viva.cli.options import (
    call_option,
    concurrency_option,
    how_to_resume,
    max_examiner_faults_option,
    options_from,
    output_options,
    refuse_gate_without_agent,
    resume_command,
    resume_options,
    resumed_request,
    shared_options,
    tell_left_out,
    threshold_option,
)
from viva.cli.parameter_types import SECONDS
from viva.cli.process import fail, report_user_errors, run_async, separate_stdout
from viva.cli.project.suite_command import SuiteCommand, list_option
from viva.cli.project.used_file import suite_in_use, taken_from_file, trust_option
from viva.cli.stopping import STOPPED
from viva.errors import SharedSetupError
from viva.exam.examiners import with_chosen_names
from viva.exam.option_declaration import Part
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.filters.parsing import parse_filter
from viva.journal.paths import new_journal_folder, refuse_journal
from viva.journal.reader import read_records
from viva.records.text import one_line, printable
from viva.records.wording import counted
from viva.reports.console.suite import figures_plain, suite_report
from viva.reports.console.whys import print_whole
from viva.reports.progress.reporter import ConsoleDisplay
from viva.sinks import make_sinks
from viva.statistics.causes.names import CauseNames
from viva.statistics.summary import Figures, summarize
from viva.suites.adaptive.decisions import AdaptiveDecision, decisions_in
from viva.suites.adaptive.gate import decided_gate
from viva.suites.adaptive.words import decision_lines
from viva.suites.chosen.narrowing import NothingChosen, check_planned, narrow
from viva.suites.conduct import Surroundings
from viva.suites.engine import Budget, SuiteEnd
from viva.suites.gate_checks import PlannedGates
from viva.suites.gates import parse_gates, read_baseline
from viva.suites.plan import find_plan_cases
from viva.suites.request import SuiteRequest
from viva.suites.resuming.stored_request import holds_request
from viva.suites.suite import run_suite


@click.command("suite", cls=SuiteCommand)
@click.argument("paths", nargs=-1, metavar="[NAME|PATH]...", shell_complete=completion.suites)
@list_option
@trust_option
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="SPEC",
    help=f"Agent to test: {FORMS}. Can be repeated. [default: the bundled careful agent]",
)
@click.option(
    "--vary",
    multiple=True,
    metavar="NAME=VALUE,VALUE…",
    help="Setting of the agents that is varied: each agent is tested with each value, and with each combination. Can "
    "be repeated.",
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of runs of each case with each agent.",
)
@until_options
@concurrency_option
@engine_options
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="PATTERN",
    help="Run only cases whose name matches (shell pattern). Can be repeated.",
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Run only cases with this tag. Can be repeated.")
@filter_options("Only runs", since="JOURNAL|COMMIT")
@shared_options(Part.JUDGE, Part.EXAMINER, Part.AGENT, Part.SUITE)
@click.option(
    "--sandboxes",
    type=click.IntRange(1),
    default=max(2, os.cpu_count() or 2),
    show_default=True,
    help="Maximum number of concurrent sandboxes for checks.",
)
@spending_options("run")
@call_option(
    "--max-runs",
    type=click.IntRange(1),
    metavar="RUNS",
    help="Start no further run once the journal has this many.",
)
@call_option(
    "--max-time",
    type=SECONDS,
    metavar="SECONDS",
    help="Stop the suite after this time; see --resume.",
)
@threshold_option
@resume_options("a suite")
@call_option("--fresh", is_flag=True, help="With --resume: also repeat finished runs.")
@output_options
@watch_option
@call_option("--baseline", metavar="JOURNAL", help="Compare with an earlier suite.")
@call_option(
    "--max-drop",
    multiple=True,
    metavar="[EVALUATOR=]SCORE",
    help="With --baseline: exit with 1 if the mean score dropped by more. Can be repeated.",
)
@max_examiner_faults_option
@label_options
@call_option(
    "--labelled",
    metavar="JOURNAL",
    help="With --labels: the earlier journal that the labels are about, which shows how often the judge errs.",
)
@report_user_errors
def command(
    paths: tuple[str, ...],
    resume: Path | None,
    fresh: bool,
    retry_errors: bool,
    out: Path | None,
    max_cost: float | None,
    max_tokens: int | None,
    max_runs: int | None,
    max_time: float | None,
    threshold: float,
    sinks: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    fail_under: tuple[str, ...],
    max_examiner_faults: float | None,
    baseline: str | None,
    max_drop: tuple[str, ...],
    label_files: tuple[Path, ...],
    labelled: str | None,
    corrected: bool,
    watch: bool,
    **given: Any,
) -> None:
    """Run every case at or below each PATH with every agent, several times if requested, and report statistics.

    NAME is a suite of the nearest viva.yaml, whose options are used unless they are given here.
    """
    _check(paths, resume, baseline, max_drop, repeats=fresh or retry_errors)
    if watch:
        if resume is not None:
            fail("viva suite: --watch begins a new suite, and cannot be given with --resume.")
        watch_and_exit(_watched)
    if given["failed_in"] is not None:
        _refuse_baseline(baseline)
    engine = engine_from(given)
    gates, drops = parse_gates(fail_under), parse_gates(max_drop, "--max-drop")
    check_corrected(gates, label_files, corrected=corrected)
    if resume is None:
        refuse_gate_without_agent("suite", given["agents"], {"--fail-under": fail_under, "--max-drop": max_drop})
        folder, request = _new(paths, out, threshold, given)
    else:
        folder, request = resumed_request(resume, SuiteRequest, "suite", given)
        if request.chose_failures:
            _refuse_baseline(baseline)
    # Before the exams, so that a missing journal is reported now and not hours later.
    before = None if baseline is None else read_baseline(baseline, threshold)
    measured = measured_from(label_files, labelled, gated=corrected)
    planned = PlannedGates(floors=gates, drops=drops, baseline=before)
    console = Console(stderr=True)
    absolute = folder.absolute()  # an agent may change the working directory
    display = ConsoleDisplay(console, show=not (as_json or quiet))
    # Before standard output is redirected: a sink may write there.
    around = Surroundings(display, make_sinks(sinks), engine=engine)
    refuse_other_gates(request.until, {"--fail-under": fail_under, "--max-drop": max_drop, "--corrected": corrected})
    budget = Budget(max_cost=max_cost, max_tokens=max_tokens, max_runs=max_runs, max_seconds=max_time)
    resumed = resume is not None
    again = resume_command("suite", folder)
    try:
        with separate_stdout():
            end = run_async(
                run_suite(
                    replace(request, command="suite"), folder, around,
                    resumed=resumed, fresh=fresh, retry_errors=retry_errors, budget=budget, gates=planned,
                )
            )  # fmt: skip
    except SharedSetupError as error:
        fail(f"viva: {error}{how_to_resume('suite', folder)}")
    except KeyboardInterrupt:
        fail(f"viva: stopped. Finished runs are kept; to resume: {again}", STOPPED)
    figures = summarize(read_records(absolute, quick=True), threshold, measured=measured)
    figures = CauseNames([absolute]).in_figures(figures)
    decisions = decisions_in(absolute, request)
    _report(folder, end, figures, request.part_words, decisions, as_json=as_json, quiet=quiet)
    tell_left_out(end, again)
    if not end.left_out and end.reason is not None:
        words = f"{end.reason}. To resume with a higher limit: {again}"
        console.print(Text(one_line(words, 500), style="yellow"), soft_wrap=True)
    code, words = gate_with_labels(
        figures, gates, max_examiner_faults, corrected=corrected, baseline=before, drops=drops if max_drop else None
    )
    if words:
        click.echo(words, err=True)
    if request.until is not None and code == EXIT_DONE:
        code, words = decided_gate(request.until, decisions, figures, end.reasons or "")
        if words:
            click.echo(printable(words), err=True)
    raise SystemExit(EXIT_NOT_SCORED if end.left_out and code == EXIT_DONE else code)


def _check(
    paths: tuple[str, ...], resume: Path | None, baseline: str | None, max_drop: tuple[str, ...], *, repeats: bool
) -> None:
    """Check that the options are compatible."""
    if bool(paths) == (resume is not None):
        both = ", not both" if paths else ""
        named = "name case folders (viva suite cases/), a suite of viva.yaml (viva suite --list)"
        fail(f"viva suite: {named}, or a suite to resume (--resume JOURNAL){both}.")
    if repeats and resume is None:
        fail("viva suite: --fresh and --retry-errors require --resume.")
    if bool(max_drop) != (baseline is not None):
        fail("viva suite: --baseline and --max-drop require each other.")


def _refuse_baseline(baseline: str | None) -> None:
    """Refuse to compare with a baseline the cases that `--failed-in` chose, now or when the suite started."""
    if baseline is not None:
        fail(
            "viva suite: --failed-in and --baseline exclude each other: cases that were chosen because they failed do "
            "better the next time by chance alone."
        )


def _watched(context: click.Context) -> WatchedCommand:
    """Return what a command with these parameters watches."""
    given = context.params
    named = SuiteRequest(command="suite", paths=given["paths"], names=given["names"], tags=given["tags"])
    where: str | None = given["where"]
    if where is not None:
        check_planned(parse_filter(where))
    load = partial(find_plan_cases, named)
    return WatchedCommand(given["paths"], given["agents"], load, filters=True, where=where, out=given_out(context))


def _new(
    paths: tuple[str, ...], out: Path | None, threshold: float, given: Mapping[str, Any]
) -> tuple[Path, SuiteRequest]:
    folder = new_journal_folder(out, suite_in_use() or "suite")
    if holds_request(folder):
        fail(f"viva suite: {folder} already contains a journal; resume it (--resume {folder}) or choose another --out.")
    refuse_journal(folder)
    chosen = {name: given[name] for name in ("agents", "vary", "trials", "names", "tags")}
    options = with_chosen_names(options_from(given))
    taken = taken_from_file()
    until = until_from(given)
    request = SuiteRequest(command="suite", paths=paths, options=options, from_file=taken, until=until, **chosen)
    try:
        narrowed = narrow(request, threshold, given["where"], given["failed_in"], given["changed_since"])
    except NothingChosen as nothing:
        fail(f"viva suite: {nothing}", EXIT_DONE)
    for note in narrowed.notes:
        click.echo(printable(f"note: {note}"), err=True)
    return folder, narrowed.request


def _report(
    folder: Path,
    end: SuiteEnd,
    figures: Figures,
    part: str,
    decisions: Sequence[AdaptiveDecision],
    *,
    as_json: bool,
    quiet: bool,
) -> None:
    if part and not as_json:
        click.echo(printable(part), err=quiet)
    if decisions and not as_json:
        click.echo("\n".join(printable(line) for line in decision_lines(decisions, end.reasons or "")))
    if as_json:
        facts: dict[str, object] = {"ended": end.ended, "left_out": end.left_out, "reason": end.reasons}
        facts |= {"part": part} if part else {}
        facts |= {"decisions": [each.plain() for each in decisions]} if decisions else {}
        click.echo(json.dumps({"journal": str(folder), **facts, "figures": figures_plain(figures)}))
    elif quiet and not decisions:
        several = len(figures.agents) > 1
        for group in figures.agents if several else (figures.suite,):
            whose = f"{one_line(group.name, 200)}: " if several else ""
            mean = "none" if group.mean is None else f"{group.mean:.4f}"
            click.echo(f"{whose}{counted(group.runs, 'run')}, mean score {mean}")
    elif not quiet:
        print_whole(Console(), suite_report(figures, folder, again="viva suite"))
