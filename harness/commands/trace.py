"""The command `viva trace SOURCE…`: imports recordings into a journal, and judges them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from adapters.readers.table import READERS
from harness.commands.options import (
    concurrency_option,
    options_from,
    output_options,
    resume_options,
    resumed_sources,
    shared_options,
    threshold_option,
)
from harness.commands.process import STOPPED, fail, report_user_errors, run_async
from harness.exam.journal_paths import new_journal_folder, refuse_journal
from harness.exam.options import Part
from harness.reports.progress import ConsoleDisplay
from harness.reports.run_console import run_report
from harness.reports.suite_console import figures_plain, suite_report
from harness.sinks import make_sinks
from harness.statistics.summary import Figures, summarize
from harness.suites.conduct import Surroundings
from harness.suites.gates import gate, parse_gates, read_baseline
from harness.suites.sources import Sources
from harness.suites.tracing import trace_sources
from harness.wording import counted
from records.journal_reader import read_records
from records.plugins import split
from records.sink import Sink

# fmt: off
ALLOWED_WITH_RESUME = frozenset({
    "resume", "retry_errors", "concurrency", "sinks", "threshold", "as_json", "quiet", "fail_under", "baseline",
    "max_drop",
})
# fmt: on


@click.command("trace")
@click.argument("recordings", nargs=-1, metavar="[SOURCE]...")
@click.option("--limit", type=click.IntRange(1), metavar="N", help="Import at most N recordings.")
@click.option(
    "--mapping",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="How the recordings name things, for logs of other agents in the shape of UFO's.",
)
@concurrency_option
@shared_options(Part.JUDGE)
@threshold_option
@resume_options("a trace")
@output_options
@click.option("--baseline", metavar="JOURNAL", help="Compare with an earlier journal.")
@click.option(
    "--max-drop",
    multiple=True,
    metavar="[EVALUATOR=]SCORE",
    help="With --baseline: exit with 1 if the mean score dropped by more. Can be repeated.",
)
@report_user_errors
def command(
    recordings: tuple[str, ...],
    limit: int | None,
    mapping: str | None,
    threshold: float,
    resume: Path | None,
    retry_errors: bool,
    out: Path | None,
    sinks: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    fail_under: tuple[str, ...],
    baseline: str | None,
    max_drop: tuple[str, ...],
    **given: Any,
) -> None:
    """Import the recordings of each SOURCE into a journal, and judge them.

    A SOURCE is READER:LOCATION: chat:FILE reads conversations in the chat format, ufo:FOLDER the log folder of a
    desktop session or a tree of them (`viva doctor` lists the readers). Without --evaluators, the score of a run is the
    reward in its recording, and desktop sessions are judged by the evaluator session, which requires a model.
    """
    _check(recordings, resume, retry_errors, baseline, max_drop)
    gates, drops = parse_gates(fail_under), parse_gates(max_drop, "--max-drop")
    before = None if baseline is None else read_baseline(baseline, threshold)
    if resume is not None:
        folder, sources = resumed_sources(resume, "trace", ALLOWED_WITH_RESUME, given)
    else:
        folder, sources = _new(recordings, limit, mapping, out, given)
    display = ConsoleDisplay(Console(stderr=True), show=not (as_json or quiet))
    around = Surroundings(display, [*make_sinks(sinks), *_evaluation_log(sources, sinks)])
    try:
        run_async(trace_sources(sources, folder, around, resumed=resume is not None, retry_errors=retry_errors))
    except KeyboardInterrupt:
        fail(f"viva: stopped. Finished runs are kept; to resume: viva trace --resume {folder}", STOPPED)
    figures = summarize(read_records(folder), threshold)
    _report(figures, folder, as_json=as_json, quiet=quiet)
    code, words = gate(figures, gates, before, drops if max_drop else None)
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
    recordings: tuple[str, ...], limit: int | None, mapping: str | None, out: Path | None, given: dict[str, Any]
) -> tuple[Path, Sources]:
    folder = new_journal_folder(out, "trace")
    refuse_journal(folder)
    options = options_from(given)
    sources = Sources("trace", recordings=recordings, limit=limit, options=options, mapping=mapping, folder=os.getcwd())
    return folder, sources


def _report(figures: Figures, folder: Path, *, as_json: bool, quiet: bool) -> None:
    if as_json:
        click.echo(json.dumps({"journal": str(folder), "figures": figures_plain(figures)}))
    elif quiet:
        mean = "none" if figures.suite.mean is None else f"{figures.suite.mean:.4f}"
        click.echo(f"{counted(figures.suite.runs, 'run')}, mean score {mean}")
    elif figures.suite.runs_all == 1:
        Console().print(run_report(next(iter(read_records(folder))), folder))
    else:
        Console().print(suite_report(figures, folder))


def _evaluation_log(sources: Sources, sinks: tuple[str, ...]) -> list[tuple[str, Sink]]:
    """Return the sink that writes into the folders of UFO's sessions, as UFO does; none where the user named a file."""
    split_specs = [split(READERS, spec) for spec in sources.recordings]
    folders = [Path(source) for reader, source in split_specs if reader == "ufo"]
    if not folders or any(spec.partition(":")[0] == "evaluation_log" for spec in sinks):
        return []
    from harness.sinks.evaluation_log import EvaluationLogSink

    return [("evaluation_log", EvaluationLogSink(sources=folders))]
