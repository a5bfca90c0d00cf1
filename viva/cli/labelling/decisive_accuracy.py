"""`viva calibrate --decisive FILE`: how often judges find the step that decided a failed run."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table
from rich.text import Text

from viva.cli.options import given_options
from viva.cli.process import fail, run_async
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.journal.paths import RUNS
from viva.judge.decisive.accuracy import FILE, DecisiveAccuracy, add_accuracy, store_beside
from viva.judge.decisive.labelled import LabelledRuns, TriedRun, measure, read_labelled_runs
from viva.models.factory import make_model
from viva.models.prices import parse_prices
from viva.models.roles import parse_role_limits
from viva.records.codec import to_plain
from viva.records.text import one_line
from viva.statistics.intervals import wilson

OWN = ("decisive", "judge_models", "prices", "max_output_tokens", "model_seconds", "cache")
NAME = "viva calibrate"


def measure_decisive(paths: Sequence[str], given: Mapping[str, Any], *, as_json: bool) -> NoReturn:
    """Have models find the decisive steps of labelled runs; print how often they are right, and exit.

    Args:
        paths: At most one journal, beside which the result is stored.
        given: The options.
        as_json: Whether to print JSON.
    """
    if others := [flag for name, flag in given_options().items() if name not in (*OWN, "paths", "as_json")]:
        fail(f"{NAME}: {', '.join(others)} cannot be given with --decisive.")
    specs = given["judge_models"]
    if not specs:
        fail(f"{NAME}: --decisive requires a judge: add --judge-model openai:NAME. It can be repeated.")
    if len(paths) > 1 or not all(Path(path).is_dir() for path in paths):
        fail(f"{NAME}: --decisive takes at most one journal, beside which the result is stored.")
    labelled = read_labelled_runs(given["decisive"])
    file = store_beside(Path(paths[0])) if paths else RUNS / FILE
    found = run_async(_measure(labelled, specs, given, show=not as_json))
    for accuracy, _ in found:
        if accuracy.unusable < accuracy.runs:
            add_accuracy(file, accuracy)
    if as_json:
        judges = [{**to_plain(each, full=True), "answers": [_plain(one) for one in tried]} for each, tried in found]
        click.echo(json.dumps({"runs": len(labelled.runs), "judges": judges, "stored": str(file)}))
    else:
        Console().print(_table(labelled, [each for each, _ in found]))
        click.echo(f"stored in {one_line(str(file))}, where the evaluator decisive_step finds it")
    raise SystemExit(EXIT_NOT_SCORED if any(each.unusable for each, _ in found) else EXIT_DONE)


async def _measure(
    labelled: LabelledRuns, specs: Sequence[str], given: Mapping[str, Any], *, show: bool
) -> list[tuple[DecisiveAccuracy, list[TriedRun]]]:
    prices = parse_prices(given["prices"])
    limits = parse_role_limits(given["max_output_tokens"], given["model_seconds"])
    models = [make_model(spec, prices=prices, cache=given["cache"]) for spec in specs]
    columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn())
    hidden = not (show and sys.stderr.isatty())
    try:
        with Progress(*columns, console=Console(stderr=True), transient=True, disable=hidden) as progress:
            task = progress.add_task("judging", total=len(labelled.runs) * len(models))
            return [
                await measure(limits.limited(model, "judge"), labelled, lambda _: progress.advance(task))
                for model in models
            ]
    finally:
        for model in models:
            await model.close()


def _table(labelled: LabelledRuns, judges: Sequence[DecisiveAccuracy]) -> Table:
    table = Table(show_edge=False, pad_edge=False, header_style="bold")
    table.add_column("judge", overflow="fold")
    for head in ("runs", "agent found (95 %)", "step found (95 %)", "within 1", "unsure", "unusable"):
        table.add_column(head, justify="right")
    for each in judges:
        table.add_row(
            Text(one_line(each.model, 60)),
            str(each.runs),
            _share(each.agents_right, each.runs),
            _share(each.steps_right, each.runs),
            f"{each.near / each.runs:.1%}",
            str(each.unsure),
            str(each.unusable),
        )
    table.add_row(
        "at random",
        str(len(labelled.runs)),
        f"{labelled.agents_by_chance:.2%}",
        f"{labelled.steps_by_chance:.2%}",
        "",
        "",
        "",
    )
    return table


def _share(right: int, runs: int) -> str:
    ends = wilson(right, runs)
    return f"{right / runs:.1%} ({ends.low:.0%}-{ends.high:.0%})"


def _plain(tried: TriedRun) -> dict[str, Any]:
    return {
        "run": tried.run.name,
        "agent": tried.run.agent,
        "step": tried.run.step,
        "answered": {"agent": tried.agent, "step": tried.step, "label": tried.label, "reason": tried.reason},
    }
