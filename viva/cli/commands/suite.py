"""The command `viva suite PATH…`: runs many cases, with several agents and several trials, concurrently."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from viva.adapters.connectors.spec import FORMS
from viva.cli import completion
from viva.cli.engine_options import ENGINE_OPTIONS, engine_from, engine_options
from viva.cli.options import (
    concurrency_option,
    options_from,
    output_options,
    refuse_beside_resume,
    resume_options,
    shared_options,
    threshold_option,
    trusts_plan,
)
from viva.cli.process import fail, report_user_errors, run_async, separate_stdout
from viva.cli.stopping import STOPPED
from viva.errors import SharedSetupError
from viva.exam.options import Options, Part
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.journal.paths import new_journal_folder, refuse_journal
from viva.journal.reader import read_records
from viva.records.text import one_line
from viva.records.wording import counted
from viva.reports.console.suite import figures_plain, suite_report
from viva.reports.console.whys import print_whole
from viva.reports.progress.reporter import ConsoleDisplay
from viva.sinks import make_sinks
from viva.statistics.summary import Figures, summarize
from viva.suites.conduct import Surroundings
from viva.suites.engine import SuiteEnd
from viva.suites.gates import gate, parse_gates, read_baseline
from viva.suites.plan import FILE as PLAN_FILE
from viva.suites.plan import Plan, plan_to_resume
from viva.suites.suite import Request, run_suite

# fmt: off
ALLOWED_WITH_RESUME = frozenset({
    "resume", "fresh", "retry_errors", "concurrency", "sandboxes", "model_calls", "attempts", "max_cost", "max_tokens",
    "max_time", "threshold", "sinks", "as_json", "quiet", "fail_under", "baseline", "max_drop",
}) | ENGINE_OPTIONS
# fmt: on
"""The options allowed with --resume: they do not change the exams. Others would be ignored, so they are rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """The values on the command line; each field is the option of that name."""

    paths: tuple[str, ...]
    agents: tuple[str, ...]
    trials: int
    names: tuple[str, ...]
    tags: tuple[str, ...]
    options: Options
    """The options of a single exam."""
    max_cost: float | None
    max_tokens: int | None
    max_time: float | None
    threshold: float
    resume: Path | None
    fresh: bool
    retry_errors: bool
    out: Path | None
    sinks: tuple[str, ...]
    as_json: bool
    quiet: bool
    fail_under: tuple[str, ...]
    baseline: str | None
    max_drop: tuple[str, ...]
    engine: str
    ray_address: str | None
    ray_workers: int | None

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> CommandLine:
        """Read click's parameters."""
        own = {field.name: values[field.name] for field in fields(cls) if field.name != "options"}
        return cls(**own, options=options_from(values))


@click.command("suite")
@click.argument("paths", nargs=-1, metavar="[PATH]...", shell_complete=completion.cases)
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="SPEC",
    help=f"Agent to test: {FORMS}. Can be repeated. [default: the bundled careful agent]",
)
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Number of runs of each case with each agent.",
)
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
@shared_options(Part.JUDGE, Part.EXAMINER, Part.AGENT, Part.SUITE)
@click.option(
    "--sandboxes",
    type=click.IntRange(1),
    default=max(2, os.cpu_count() or 2),
    show_default=True,
    help="Maximum number of concurrent sandboxes for checks.",
)
@click.option(
    "--max-cost",
    type=click.FloatRange(0, min_open=True),
    metavar="DOLLARS",
    help="Start no further run once this much has been spent.",
)
@click.option(
    "--max-tokens",
    type=click.IntRange(1),
    metavar="TOKENS",
    help="Start no further run once this many tokens have been used.",
)
@click.option(
    "--max-time",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Stop the suite after this time; see --resume.",
)
@threshold_option
@resume_options("a suite")
@click.option("--fresh", is_flag=True, help="With --resume: also repeat finished runs.")
@output_options
@click.option("--baseline", metavar="JOURNAL", help="Compare with an earlier suite.")
@click.option(
    "--max-drop",
    multiple=True,
    metavar="[EVALUATOR=]SCORE",
    help="With --baseline: exit with 1 if the mean score dropped by more. Can be repeated.",
)
@report_user_errors
def command(**values: Any) -> None:
    """Run every case at or below each PATH with every agent, several times if requested, and report statistics."""
    line = CommandLine.parse(values)
    _check(line)
    engine = engine_from(values)
    gates, drops = parse_gates(line.fail_under), parse_gates(line.max_drop, "--max-drop")
    request = _new(line) if line.resume is None else _resumed(line.resume, line)
    # Before the exams, so that a missing journal is reported now and not hours later.
    baseline = None if line.baseline is None else read_baseline(line.baseline, line.threshold)
    console = Console(stderr=True)
    absolute = request.folder.absolute()  # an agent may change the working directory
    display = ConsoleDisplay(console, show=not (line.as_json or line.quiet))
    around = Surroundings(
        display, make_sinks(line.sinks), engine=engine
    )  # before standard output is redirected: one may write there
    try:
        with separate_stdout():
            end = run_async(run_suite(request, around))
    except SharedSetupError as error:
        fail(f"viva: {error}\nTo resume: viva suite --resume {request.folder}")
    except KeyboardInterrupt:
        fail(f"viva: stopped. Finished runs are kept; to resume: viva suite --resume {request.folder}", STOPPED)
    figures = summarize(read_records(absolute), line.threshold)
    _report(request.folder, end, figures, line)
    if end.left_out:
        left = counted(end.left_out, "run")
        words = f"left out: {left}, {end.reason}. To resume: viva suite --resume {request.folder}"
        console.print(Text(one_line(words, 500), style="yellow"), soft_wrap=True)
    code, words = gate(figures, gates, baseline, drops if line.max_drop else None)
    if words:
        click.echo(words, err=True)
    raise SystemExit(EXIT_NOT_SCORED if end.left_out and code == EXIT_DONE else code)


def _check(line: CommandLine) -> None:
    """Check that the options are compatible."""
    if bool(line.paths) == (line.resume is not None):
        both = ", not both" if line.paths else ""
        fail(f"viva suite: name case folders (viva suite cases/), or a suite to resume (--resume JOURNAL){both}.")
    if (line.fresh or line.retry_errors) and line.resume is None:
        fail("viva suite: --fresh and --retry-errors require --resume.")
    if bool(line.max_drop) != (line.baseline is not None):
        fail("viva suite: --baseline and --max-drop require each other.")


def _new(line: CommandLine) -> Request:
    folder = new_journal_folder(line.out, "suite")
    if (folder / PLAN_FILE).exists():
        fail(f"viva suite: {folder} already contains a journal; resume it (--resume {folder}) or choose another --out.")
    refuse_journal(folder)
    plan = Plan(line.paths, line.agents, line.trials, line.names, line.tags, line.options)
    return _request(folder, plan, line, resumed=False)


def _resumed(folder: Path, line: CommandLine) -> Request:
    """Return a request that resumes the stored plan; only options that do not change the exams can be replaced."""
    plan = plan_to_resume(folder, trusted=trusts_plan())
    folder = folder.absolute()
    if plan.folder and os.path.isdir(plan.folder):
        os.chdir(plan.folder)
    given = refuse_beside_resume(ALLOWED_WITH_RESUME, "a suite")
    own = ("concurrency", "sandboxes", "model_calls", "attempts")
    changed = {name: getattr(line.options, name) for name in own if name in given}
    return _request(folder, replace(plan, options=replace(plan.options, **changed)), line, resumed=True)


def _request(folder: Path, plan: Plan, line: CommandLine, *, resumed: bool) -> Request:
    return Request(
        folder,
        plan,
        resumed=resumed,
        fresh=line.fresh,
        retry_errors=line.retry_errors,
        max_cost=line.max_cost,
        max_tokens=line.max_tokens,
        max_seconds=line.max_time,
    )


def _report(folder: Path, end: SuiteEnd, figures: Figures, line: CommandLine) -> None:
    if line.as_json:
        facts = {"ended": end.ended, "left_out": end.left_out, "reason": end.reason}
        click.echo(json.dumps({"journal": str(folder), **facts, "figures": figures_plain(figures)}))
    elif line.quiet:
        several = len(figures.agents) > 1
        for group in figures.agents if several else (figures.suite,):
            whose = f"{one_line(group.name, 200)}: " if several else ""
            mean = "none" if group.mean is None else f"{group.mean:.4f}"
            click.echo(f"{whose}{counted(group.runs, 'run')}, mean score {mean}")
    else:
        print_whole(Console(), suite_report(figures, folder, again="viva suite"))
