"""`viva suite PATH…`: many cases, several agents, several trials, at once."""

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

from adapters.connectors.python import FORMS
from harness.commands.options import (
    concurrency_option,
    exam_options,
    judge_options,
    options_from,
    output_options,
    refuse_beside_resume,
    resume_options,
)
from harness.commands.process import STOPPED, fail, report_user_errors, run_async, stdout_kept_apart
from harness.exam.journal_paths import new_journal_folder, refuse_journal
from harness.exam.options import Options
from harness.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from harness.statistics.summary import Figures, summarize
from harness.suites.gates import gate, read_baseline
from harness.suites.plan import FILE as PLAN_FILE
from harness.suites.plan import Plan, load_plan
from harness.suites.suite import Request, Result, run_suite
from harness.wording import counted
from records.journal_reader import read_records
from records.text import one_line

# fmt: off
MAY_BE_SAID_ANEW = frozenset({
    "resume", "fresh", "retry_errors", "concurrency", "rooms", "model_calls", "attempts", "max_cost", "max_tokens",
    "max_time", "threshold", "as_json", "quiet", "fail_under", "baseline", "max_drop",
})
# fmt: on
"""What --resume takes beside it: nothing of this changes the exams. Others would be ignored, so they are refused."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What was asked for on the command line; each field is the option of that name."""

    paths: tuple[str, ...]
    agents: tuple[str, ...]
    trials: int
    names: tuple[str, ...]
    tags: tuple[str, ...]
    options: Options
    """All options that one exam has, too."""
    attempts: int
    max_cost: float | None
    max_tokens: int | None
    max_time: float | None
    threshold: float
    resume: Path | None
    fresh: bool
    retry_errors: bool
    out: Path | None
    as_json: bool
    quiet: bool
    fail_under: float | None
    baseline: str | None
    max_drop: float | None

    @classmethod
    def on(cls, line: Mapping[str, Any]) -> Said:
        """Read click's parameters."""
        own = {field.name: line[field.name] for field in fields(cls) if field.name != "options"}
        return cls(**own, options=options_from(line))


@click.command("suite")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="SPEC",
    help=f"{FORMS}. May be given several times. [default: the bundled careful agent]",
)
@click.option("--trials", type=click.IntRange(1), default=1, show_default=True, help="Exams for each case and agent.")
@concurrency_option
@click.option(
    "--name", "names", multiple=True, metavar="PATTERN", help="Only cases whose name matches (shell pattern)."
)
@click.option("--tag", "tags", multiple=True, metavar="TAG", help="Only cases with this tag.")
@judge_options
@exam_options
@click.option(
    "--sandboxes",
    "rooms",
    type=click.IntRange(1),
    default=max(2, os.cpu_count() or 2),
    show_default=True,
    help="Sandboxes at once, in which checks run.",
)
@click.option(
    "--model-calls", type=click.IntRange(1), default=64, show_default=True, help="Calls at once to one provider."
)
@click.option(
    "--attempts",
    type=click.IntRange(1),
    default=3,
    show_default=True,
    help="Attempts where examiner, sandbox or provider failed.",
)
@click.option(
    "--max-cost", type=click.FloatRange(0, min_open=True), metavar="DOLLARS", help="Begin no run beyond this."
)
@click.option("--max-tokens", type=click.IntRange(1), metavar="TOKENS", help="Begin no run beyond this.")
@click.option(
    "--max-time", type=click.FloatRange(0, min_open=True), metavar="SECONDS", help="Stop after this; --resume goes on."
)
@click.option(
    "--threshold", type=click.FloatRange(0, 1), default=1.0, show_default=True, help="Score from which a run passes."
)
@resume_options("a suite")
@click.option("--fresh", is_flag=True, help="With --resume: hold finished runs again, too.")
@output_options
@click.option("--baseline", metavar="JOURNAL", help="Compare with an earlier suite.")
@click.option(
    "--max-drop",
    type=click.FloatRange(0, 1),
    metavar="SCORE",
    help="With --baseline: exit with 1 if the mean score fell by more.",
)
@report_user_errors
def command(**line: Any) -> None:
    """Run every case folder at or below each PATH with every agent, several times if asked, and report figures."""
    said = Said.on(line)
    _check(said)
    request = _new(said) if said.resume is None else _resumed(said.resume, said)
    # Before the exams: hours later would be late to hear that there is no such journal.
    baseline = None if said.baseline is None else read_baseline(said.baseline, said.threshold)
    console = Console(stderr=True)
    try:
        with stdout_kept_apart():
            result = run_async(run_suite(request, console, show=not (said.as_json or said.quiet)))
    except KeyboardInterrupt:
        fail(f"viva: stopped. What is done is kept: viva suite --resume {request.folder}", STOPPED)
    figures = summarize(read_records(result.folder), said.threshold)
    _report(result, figures, said)
    if result.end.left_out:
        left = counted(result.end.left_out, "run")
        words = f"left out: {left}, {result.end.reason}. viva suite --resume {result.folder}"
        console.print(Text(one_line(words, 500), style="yellow"), soft_wrap=True)
    code, words = gate(figures, said.fail_under, baseline, said.max_drop)
    if words:
        click.echo(words, err=True)
    raise SystemExit(EXIT_NOT_SCORED if result.end.left_out and code == EXIT_DONE else code)


def _check(said: Said) -> None:
    """See that what was said goes together."""
    if bool(said.paths) == (said.resume is not None):
        both = ", not both" if said.paths else ""
        fail(f"viva suite: name case folders (viva suite cases/), or a suite to go on with (--resume JOURNAL){both}.")
    if (said.fresh or said.retry_errors) and said.resume is None:
        fail("viva suite: --fresh and --retry-errors go with --resume.")
    if (said.max_drop is None) != (said.baseline is None):
        fail("viva suite: --baseline and --max-drop go together.")


def _new(said: Said) -> Request:
    folder = new_journal_folder(said.out, "suite")
    if (folder / PLAN_FILE).exists():
        fail(f"viva suite: {folder} holds a journal already; go on with it (--resume {folder}) or name another --out.")
    refuse_journal(folder)
    plan = Plan(said.paths, said.agents, said.trials, said.names, said.tags, said.options)
    return _request(folder, plan, said, resumed=False)


def _resumed(folder: Path, said: Said) -> Request:
    """The stored plan holds; only what does not change the exams may be said anew."""
    plan = load_plan(folder)
    folder = folder.absolute()
    if plan.folder and os.path.isdir(plan.folder):
        os.chdir(plan.folder)
    given = refuse_beside_resume(MAY_BE_SAID_ANEW, "a suite")
    anew = {name: getattr(said.options, name) for name in ("concurrency", "rooms", "model_calls") if name in given}
    return _request(folder, replace(plan, options=replace(plan.options, **anew)), said, resumed=True)


def _request(folder: Path, plan: Plan, said: Said, *, resumed: bool) -> Request:
    return Request(
        folder,
        plan,
        resumed=resumed,
        fresh=said.fresh,
        retry_errors=said.retry_errors,
        attempts=said.attempts,
        max_cost=said.max_cost,
        max_tokens=said.max_tokens,
        max_seconds=said.max_time,
    )


def _report(result: Result, figures: Figures, said: Said) -> None:
    from harness.reports.suite_console import figures_plain, suite_report

    if said.as_json:
        facts = {"ended": result.end.ended, "left_out": result.end.left_out, "reason": result.end.reason}
        click.echo(json.dumps({"journal": str(result.folder), **facts, "figures": figures_plain(figures)}))
    elif said.quiet:
        several = len(figures.agents) > 1
        for group in figures.agents if several else (figures.suite,):
            whose = f"{one_line(group.name, 200)}: " if several else ""
            mean = "none" if group.mean is None else f"{group.mean:.4f}"
            click.echo(f"{whose}{counted(group.runs, 'run')}, mean score {mean}")
    else:
        Console().print(suite_report(figures, result.folder))
