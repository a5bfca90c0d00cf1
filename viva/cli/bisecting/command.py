"""The command `viva bisect JOURNAL#RUN-ID`: finds the round after which a failed conversation no longer succeeds."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from viva.cli import completion
from viva.cli.bisecting.result import bisect_and_report
from viva.cli.budget_options import spending_options
from viva.cli.options import (
    call_option,
    concurrency_option,
    given_options,
    options_from,
    out_option,
    resume_options,
    resumed_request,
    shared_options,
    single_option,
    sinks_option,
)
from viva.cli.parameter_types import NumberRange
from viva.cli.process import fail, report_user_errors
from viva.exam.examiners import MODEL, REPLAY, SCRIPT
from viva.exam.forking.fork import Means
from viva.exam.option_declaration import Part
from viva.journal.paths import derived_name, new_journal_folder, refuse_journal
from viva.journal.reader import split_reference
from viva.statistics.bisection.plan import MOST_RUNS
from viva.statistics.bisection.search import SearchRules
from viva.suites.bisecting.request import bisect_request
from viva.suites.engine import Budget
from viva.suites.request import BisectRequest


@click.command("bisect")
@click.argument("journal", required=False, shell_complete=completion.journals)
@click.option("--agent", metavar="SPEC", help="Have this agent continue. [default: the agent of the run]")
@click.option(
    "--trials",
    type=click.IntRange(1, MOST_RUNS),
    default=3,
    show_default=True,
    help="Number of forks after one round at a time.",
)
@click.option(
    "--confidence",
    type=NumberRange(0.5, 0.9999),
    default=0.95,
    show_default=True,
    help="Probability that the decisive round must reach.",
)
@call_option(
    "--max-runs", type=click.IntRange(1, MOST_RUNS), default=120, show_default=True, help="Maximum number of forks."
)
@spending_options("fork")
@click.option(
    "--point", metavar="ID", default="", help="A fork succeeds if this scoring point is hit, whatever its score."
)
@click.option(
    "--threshold",
    type=NumberRange(0, 1),
    default=1.0,
    show_default=True,
    help="Minimum score of a fork that succeeds, unless its case has a threshold.",
)
@click.option(
    "--fork-by",
    type=click.Choice(["state", "conversation", "replay"]),
    help="How the agent gets to the fork. [default: by the stored state, else by being given the conversation so far, "
    "else by replaying]",
)
@single_option("examiner")
@single_option("examiner_model")
@click.option(
    "--cases",
    multiple=True,
    type=click.Path(exists=True, resolve_path=True),
    metavar="FOLDER",
    help="Folder of cases whose data files are not in the journal. Can be repeated.",
)
@call_option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@resume_options("a bisection")
@concurrency_option
@shared_options(Part.AGENT, Part.SUITE, Part.JUDGE)
@out_option
@sinks_option
@report_user_errors
def command(
    journal: str | None,
    agent: str | None,
    trials: int,
    confidence: float,
    max_runs: int,
    max_cost: float | None,
    max_tokens: int | None,
    point: str,
    threshold: float,
    fork_by: Means | None,
    as_json: bool,
    resume: Path | None,
    retry_errors: bool,
    out: Path | None,
    sinks: tuple[str, ...],
    **given: Any,
) -> None:
    """Find the round after which the failed conversation JOURNAL#RUN-ID no longer succeeds."""
    budget = Budget(max_cost=max_cost, max_tokens=max_tokens)
    if resume is not None:
        target, request = resumed_request(resume, BisectRequest, "bisect", given)
        if "max_runs" in given_options():
            request = replace(request, plan=request.plan.limited_to(max_runs))
        bisect_and_report(
            target, request, sinks, as_json=as_json, budget=budget, resumed=True, retry_errors=retry_errors
        )
    if retry_errors:
        fail("viva bisect: --retry-errors requires --resume.")
    if journal is None:
        fail("viva bisect: name the conversation that failed: viva bisect JOURNAL#RUN-ID")
    if given["examiner"] not in (None, SCRIPT, MODEL, REPLAY):
        fail("viva bisect: --examiner must be one of script, model, replay.")
    folder, run = split_reference(journal)
    target = new_journal_folder(out, derived_name(folder, "bisect"))
    refuse_journal(target)
    rules = SearchRules(1, trials, confidence, max_runs)
    request = bisect_request(
        folder, run, options_from(given, agent), rules, threshold=threshold, point=point, fork_by=fork_by
    )
    bisect_and_report(target, replace(request, folder=os.getcwd()), sinks, as_json=as_json, budget=budget)
