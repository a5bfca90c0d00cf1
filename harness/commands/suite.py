"""`viva suite PATH…`: many cases, several agents, several trials, at once."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from harness.commands.options import (
    concurrency_option,
    exam_options,
    judge_options,
    options_from,
    output_options,
    refuse_beside_resume,
    resume_options,
)
from harness.commands.places import new_journal_folder, refuse_journal
from harness.commands.process import STOPPED, fail, run_async, stdout_kept_apart, told_plainly
from harness.counted import counted
from harness.figures.summary import Figures, summarize
from harness.outcome import EXIT_NOT_SCORED
from harness.suites.gates import gate, read_baseline
from harness.suites.plan import FILE as PLAN_FILE
from harness.suites.plan import Plan, load_plan
from harness.suites.run import Request, Result, run_suite
from records.stored import read_records
from records.text import one_line

# fmt: off
MAY_BE_SAID_ANEW = frozenset({
    "resume", "fresh", "retry_errors", "concurrency", "rooms", "model_calls", "attempts", "max_cost", "max_tokens",
    "max_time", "threshold", "as_json", "quiet", "fail_under", "baseline", "max_drop",
})
# fmt: on
"""What --resume takes beside it: nothing of this changes the exams. Others would be ignored, so they are refused."""


@click.command("suite")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="SPEC",
    help="May be given several times. [default: the bundled careful agent]",
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
@told_plainly
def command(paths: tuple[str, ...], agents: tuple[str, ...], **said: Any) -> None:
    """Run every case folder at or below each PATH with every agent, several times if asked, and report figures."""
    resume: Path | None = said["resume"]
    if bool(paths) == (resume is not None):
        both = ", not both" if paths else ""
        fail(f"viva suite: name case folders (viva suite cases/), or a suite to go on with (--resume JOURNAL){both}.")
    if (said["fresh"] or said["retry_errors"]) and resume is None:
        fail("viva suite: --fresh and --retry-errors go with --resume.")
    if (said["max_drop"] is None) != (said["baseline"] is None):
        fail("viva suite: --baseline and --max-drop go together.")
    request = _resumed(resume, said) if resume is not None else _new(paths, agents, said)
    # Before the exams: hours later would be late to hear that there is no such journal.
    baseline = read_baseline(said["baseline"], said["threshold"]) if said["baseline"] is not None else None
    console = Console(stderr=True)
    try:
        with stdout_kept_apart():
            result = run_async(run_suite(request, console, show=not (said["as_json"] or said["quiet"])))
    except KeyboardInterrupt:
        fail(f"viva: stopped. What is done is kept: viva suite --resume {request.folder}", STOPPED)
    figures = summarize(read_records(result.folder), said["threshold"])
    _report(result, figures, said)
    if result.end.left_out:
        words = (
            f"left out: {counted(result.end.left_out, 'run')}, {result.end.reason}. viva suite --resume {result.folder}"
        )
        console.print(Text(one_line(words, 500), style="yellow"), soft_wrap=True)
    raise SystemExit(_exit_code(result, figures, baseline, said))


def _new(paths: tuple[str, ...], agents: tuple[str, ...], said: dict[str, Any]) -> Request:
    options = options_from(said)
    folder = new_journal_folder(said["out"], "suite")
    if (folder / PLAN_FILE).exists():
        fail(f"viva suite: {folder} holds a journal already; go on with it (--resume {folder}) or name another --out.")
    refuse_journal(folder)
    plan = Plan(paths, agents, said["trials"], said["names"], said["tags"], options)
    return _request(folder, plan, said, resumed=False)


def _resumed(folder: Path, said: dict[str, Any]) -> Request:
    """The stored plan holds; only what does not change the exams may be said anew."""
    plan = load_plan(folder)
    folder = folder.absolute()
    if plan.folder and os.path.isdir(plan.folder):
        os.chdir(plan.folder)
    given = refuse_beside_resume(MAY_BE_SAID_ANEW, "a suite")
    anew = {name: said[name] for name in ("concurrency", "rooms", "model_calls") if name in given}
    return _request(folder, replace(plan, options=replace(plan.options, **anew)), said, resumed=True)


def _request(folder: Path, plan: Plan, said: dict[str, Any], *, resumed: bool) -> Request:
    return Request(
        folder,
        plan,
        resumed=resumed,
        fresh=said["fresh"],
        retry_errors=said["retry_errors"],
        attempts=said["attempts"],
        max_cost=said["max_cost"],
        max_tokens=said["max_tokens"],
        max_seconds=said["max_time"],
    )


def _report(result: Result, figures: Figures, said: dict[str, Any]) -> None:
    from harness.suites.console import figures_plain, suite_report

    if said["as_json"]:
        facts = {"ended": result.end.ended, "left_out": result.end.left_out, "reason": result.end.reason}
        click.echo(json.dumps({"journal": str(result.folder), **facts, "figures": figures_plain(figures)}))
        return
    if said["quiet"]:
        several = len(figures.agents) > 1
        for group in figures.agents if several else (figures.suite,):
            mean = "none" if group.mean is None else f"{group.mean:.4f}"
            click.echo(
                f"{f'{one_line(group.name, 200)}: ' if several else ''}{counted(group.runs, 'run')}, mean score {mean}"
            )
        return
    Console().print(suite_report(figures, result.folder))


def _exit_code(result: Result, figures: Figures, baseline: Figures | None, said: dict[str, Any]) -> int:
    code, words = gate(figures, said["fail_under"], baseline, said["max_drop"])
    if words and not said["as_json"]:
        click.echo(words, err=True)
    return EXIT_NOT_SCORED if result.end.left_out and code == 0 else code
