"""The part of `viva calibrate` that asks models: judges are tried on a labelled set, or on what people labelled."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from viva.cli.labelling.journal_calibration import refuse_empty, refuse_unjoined
from viva.cli.labelling.reading import read_files
from viva.cli.options import given_options, single_option, stack
from viva.cli.process import fail, run_async
from viva.cli.stopping import STOPPED
from viva.exam.judging.calibration import try_judges
from viva.exam.kept_workspaces import find_workspace
from viva.exam.outcome import EXIT_DONE, EXIT_NOT_SCORED
from viva.journal.lines import Damage
from viva.journal.paths import RUNS
from viva.journal.reader import StoredRun, split_reference
from viva.judge.calibration.journal_items import set_of_journals
from viva.judge.calibration.judging import ITEMS_AT_ONCE, Judgements
from viva.judge.calibration.sets import LabelledSet, load_set
from viva.judge.calibration.store import BUILTIN, FILE, add_calibration, names_of, store_of
from viva.models.prices import parse_prices
from viva.models.roles import parse_role_limits
from viva.records.codec import to_plain
from viva.records.text import counted, one_line
from viva.reports.console.calibration import HARDER, stored_words
from viva.reports.console.judges import judges_report
from viva.reports.console.whys import print_whole
from viva.statistics.agreement.judges import JudgeFigures
from viva.statistics.calibration.figures import truths_of
from viva.statistics.calibration.joining import LabelJoin, read_labelled_points
from viva.statistics.calibration.tried import calibration_of_tried

P = ParamSpec("P")
T = TypeVar("T")
JUDGEMENTS = "judgements.jsonl"
OWN = (
    "set_name", "judge_models", "judgements", "concurrency", "decisive", "cache", "prices", "max_output_tokens",
    "model_seconds",
)  # fmt: skip
"""The options that only models require."""


def judges_options(function: Callable[P, T]) -> Callable[P, T]:
    """Add the options for trying judges."""
    return stack(
        click.option("--set", "set_name", metavar="NAME", help=f"Labelled set: {BUILTIN}, or a file or folder."),
        click.option(
            "--judge-model",
            "judge_models",
            multiple=True,
            metavar="NAME",
            help="Model to try as a judge: openai:NAME, or a JSON/YAML file. Can be repeated.",
        ),
        click.option(
            "--judgements",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help=f"Where judgements are kept, so that none is paid for twice. [default: {RUNS / JUDGEMENTS}]",
        ),
        click.option(
            "--concurrency",
            type=click.IntRange(1),
            default=ITEMS_AT_ONCE,
            show_default=True,
            help="Maximum number of transcripts that are judged concurrently.",
        ),
        click.option(
            "--decisive",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Measure how often judges find the decisive step of the labelled failed runs in this file.",
        ),
        single_option("cache"),
        single_option("prices"),
        single_option("max_output_tokens"),
        single_option("model_seconds"),
    )(function)


def asks_models(given: Mapping[str, Any]) -> bool:
    """Return whether judges are to be tried, by the options that were given."""
    return bool(given["set_name"] or given["judge_models"])


def try_judges_on(paths: Sequence[str], given: Mapping[str, Any], *, as_json: bool) -> None:
    """Have models judge a labelled set, or the labelled points of journals; print how good they are, and exit.

    Args:
        paths: Label files and journals; none with a set.
        given: The options.
        as_json: Whether to print JSON.
    """
    specs = given["judge_models"]
    if others := [flag for name, flag in given_options().items() if name not in (*OWN, "paths", "as_json")]:
        fail(f"viva calibrate: {', '.join(others)} cannot be given with --set or --judge-model.")
    if not specs:
        fail("viva calibrate: --set requires a judge: add --judge-model openai:NAME. It can be repeated.")
    if twice := [spec for spec, number in Counter(specs).items() if number > 1]:
        fail(f"viva calibrate: --judge-model {one_line(twice[0])} is given twice.")
    if given["set_name"] and paths:
        fail("viva calibrate: --set brings its own labels; leave out the label files, or --set.")
    labelled, people = (load_set(given["set_name"]), 0) if given["set_name"] else _set_of_labels(paths)
    file = given["judgements"] or RUNS / JUDGEMENTS
    try:
        with Judgements(file) as kept, _shown_progress(labelled, specs, show=not as_json) as on_judged:
            work = try_judges(
                labelled,
                specs,
                kept,
                prices=parse_prices(given["prices"]),
                cache=given["cache"],
                limits=parse_role_limits(given["max_output_tokens"], given["model_seconds"]),
                concurrency=given["concurrency"],
                on_judged=on_judged,
            )
            figures = run_async(work)
    except KeyboardInterrupt:
        fail(f"viva: stopped. What was judged is kept in {file}; the same command judges the rest.", STOPPED)
    store = _store(paths)
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    stored = [
        calibration_of_tried(each, labelled, people=people, at=at, journals=names_of(_journals(paths)))
        for each in figures
    ]
    stored = [each for each in stored if each.items]
    for each in stored:
        add_calibration(store, each)
    if as_json:
        click.echo(json.dumps({**_plain(labelled, figures), "stored": str(store) if stored else None}))
    else:
        print_whole(Console(), judges_report(labelled, figures))
        click.echo(stored_words(store) if stored else "nothing is stored: no judge gave a verdict")
    raise SystemExit(EXIT_NOT_SCORED if any(each.errors for each in figures) else EXIT_DONE)


def refuse_without_models() -> None:
    """Exit if an option was given that only models require."""
    if mine := [flag for name, flag in given_options().items() if name in OWN]:
        fail(f"viva calibrate: {', '.join(mine)} requires --judge-model.")


def _journals(paths: Sequence[str]) -> list[Path]:
    return [folder for folder, _ in map(split_reference, paths) if folder.is_dir()]


def _store(paths: Sequence[str]) -> Path:
    journals = _journals(paths)
    return store_of(journals[0]) if journals else RUNS / FILE


def _set_of_labels(paths: Sequence[str]) -> tuple[LabelledSet, int]:
    """Return what people labelled in journals as a labelled set, and how many people.

    The label of most of them is the right one.
    """
    journals = [path for path in paths if split_reference(path)[0].is_dir()]
    files = [Path(path) for path in paths if path not in journals]
    if not journals or not files:
        fail(
            "viva calibrate: --judge-model requires what it is to judge: --set builtin, or a label file and the "
            "journals of which it is, as in viva calibrate labels.jsonl runs/JOURNAL --judge-model openai:NAME."
        )
    given = read_files(files)
    refuse_empty(given, files, journals)
    join, damage = LabelJoin(given), Damage()
    labels, _ = read_labelled_points(join, map(split_reference, journals), damage)
    said = truths_of(labels)
    notes = [*join.notes(), *([f"{skipped} skipped"] if (skipped := damage.words()) else [])]
    refuse_unjoined(journals, given, labels, notes)
    truths = {point: truth.label for point, truth in said.items() if truth.label is not None}
    if undecided := len(said) - len(truths):
        notes.append(f"{counted(undecided, 'point')} left out: people are unsure, or evenly divided")
    hard = frozenset(point for point, truth in said.items() if truth.hard)
    if chosen := len(hard & truths.keys()):
        notes.append(f"{chosen} of {counted(len(truths), 'point')} were chosen as hard: {HARDER}")
    for words in notes:
        Console(stderr=True).print(Text(f"note: {words}", style="yellow"), soft_wrap=True)
    name = ", ".join(file.name for file in files)
    labelled = set_of_journals(name, truths, map(split_reference, journals), _files_of, hard=hard)
    return labelled, len({label.rater for label in labels})


def _files_of(run: StoredRun) -> Path | None:
    return find_workspace(run).folder


@contextlib.contextmanager
def _shown_progress(labelled: LabelledSet, specs: Sequence[str], *, show: bool) -> Iterator[Callable[[Any], None]]:
    """Show on a terminal how many points are judged; yields what is to be called with each."""
    columns = (TextColumn("judging"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    shown = show and sys.stderr.isatty()
    with Progress(*columns, console=Console(stderr=True), transient=True, disable=not shown) as progress:
        task = progress.add_task("judging", total=labelled.size * len(specs))
        yield lambda _: progress.advance(task)


def _plain(labelled: LabelledSet, figures: Sequence[JudgeFigures]) -> dict[str, Any]:
    judges = [
        {**to_plain(each, full=True), "beats_chance": each.beats_chance, "chance": each.chance} for each in figures
    ]
    return {"set": labelled.name, "digest": labelled.digest, "points": labelled.size, "judges": judges}
