"""The command `viva calibrate LABELS`: how far raters agree, and how far a judge agrees with people."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from viva.cli import completion
from viva.cli.judge_calibration import asks_models, judges_options, try_judges_on
from viva.cli.process import fail, report_user_errors
from viva.errors import SetupError
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE
from viva.judge.calibration.label_files import is_label_file, labels_in
from viva.judge.calibration.label_tables import MOST, Columns, GivenLabel, labels_of_table
from viva.plugins.parameters import split_list
from viva.records.codec import to_plain
from viva.regular_files import read_text
from viva.reports.console.agreement import agreement_report
from viva.statistics.agreement.alpha import EXTRA, is_available
from viva.statistics.agreement.given import (
    check_rater,
    claim_from,
    from_label_files,
    order_of,
    ratings_by_kind,
)
from viva.statistics.agreement.published import Check, check_claim
from viva.statistics.agreement.summary import AgreementFigures, agreement_figures

NAME = "viva calibrate"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of labels."""

    raters: tuple[str, ...]
    gold: str
    ordinal: bool
    order: tuple[str, ...]
    published: tuple[str, ...]


@click.command("calibrate")
@click.argument("paths", nargs=-1, metavar="[LABELS]...", shell_complete=completion.paths)
@click.option("--item", default="", metavar="COLUMN", help="Column of the item. [default: item, item_id or id]")
@click.option("--raters", default="", metavar="A,B,…", help="The raters, by column or name. [default: all]")
@click.option("--gold", default="", metavar="RATER", help="The rater whose labels are true.")
@click.option("--rater", default="", metavar="COLUMN", help="With a row for each label: column of the rater's name.")
@click.option("--label", default="", metavar="COLUMN", help="With a row for each label: column of the label.")
@click.option("--case", default="", metavar="COLUMN", help="Column of what groups items that go together.")
@click.option("--by", default="", metavar="COLUMN", help="Column of the kind of item: figures for each kind as well.")
@click.option("--ordinal", is_flag=True, help="The labels are grades: larger numbers are higher.")
@click.option("--order", default="", metavar="LOW,…,HIGH", help="The labels are grades in this order.")
@click.option(
    "--published",
    multiple=True,
    metavar="NAME=VALUE",
    help="Check a published figure: kappa=.268, kappa:ann,bob=.8, recall/hit=.9. Can be repeated.",
)
@judges_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of the report.")
@report_user_errors
def command(
    paths: tuple[str, ...],
    item: str,
    raters: str,
    gold: str,
    rater: str,
    label: str,
    case: str,
    by: str,
    ordinal: bool,
    order: str,
    published: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Show how far the raters in LABELS agree: kappa, Krippendorff's alpha, and accuracy against true labels.

    LABELS are label files of `viva label`, or CSV or JSON Lines with named columns: a row for each item and a column
    for each rater, or a row for each label (item, rater, label). Empty cells are gaps. The exit code is 1 if a
    published figure is not that of the labels.

    With --judge-model, models judge a labelled set (--set), or what people labelled in journals (LABELS JOURNAL), and
    the report says how good a judge each of them is. The exit code is 3 if a point got no verdict.
    """
    if asks_models(given):
        try_judges_on(paths, given, as_json=as_json)
    if not paths:
        fail(f"{NAME}: name a file with labels, or try judges: {NAME} --set builtin --judge-model openai:NAME.")
    columns = Columns(item, tuple(split_list(raters)), rater, label, case, by)
    asked = _Asked(columns.raters, gold, ordinal or bool(order), tuple(split_list(order)), published)
    figures, checks = _figures(_labels([Path(path) for path in paths], columns, gold), asked)
    if as_json:
        plain = {"figures": [to_plain(each, full=True) for each in figures], "published": [*map(_plain, checks)]}
        click.echo(json.dumps(plain))
    else:
        Console().print(agreement_report(figures, checks, gold, "" if is_available() else f"note: {EXTRA}"))
    raise SystemExit(EXIT_DONE if all(check.agrees for check in checks) else EXIT_BELOW)


def _labels(paths: Sequence[Path], columns: Columns, gold: str) -> list[GivenLabel]:
    """Return the labels of all files."""
    texts = {path: read_text(path, "the label file", MOST) for path in paths}
    others = [path for path, text in texts.items() if not is_label_file(text)]
    if not others:
        if any((columns.item, columns.rater, columns.label, columns.case, columns.by)):
            fail(f"{NAME}: --item, --rater, --label, --case and --by are for other files than label files of Viva.")
        found = from_label_files([label for path, text in texts.items() for label in labels_in(text, path)])
        kept = {*columns.raters, gold} if columns.raters else None
        return [each for each in found if kept is None or each.rater in kept]
    if len(texts) > 1:
        fail(f"{NAME}: only label files of Viva can be read together; {others[0]} is none.")
    return labels_of_table(texts[others[0]], others[0], columns, gold)


def _figures(labels: Sequence[GivenLabel], asked: _Asked) -> tuple[list[AgreementFigures], list[Check]]:
    if not labels:
        raise SetupError("there are no labels in these files.")
    tables = ratings_by_kind(labels, [*([asked.gold] if asked.gold else []), *asked.raters])
    every = tables[""]
    for flag, name in [("--gold", asked.gold), *(("--raters", rater) for rater in asked.raters)]:
        if name and not any(each.rater == name for each in labels):
            check_rater(every.only([rater for rater in every.raters if rater != name]), flag, name)
    order = order_of(every, asked.order) if asked.ordinal else None
    available = is_available()
    figures = [
        agreement_figures(table, kind=kind, order=order, gold=asked.gold, with_alpha=available)
        for kind, table in tables.items()
    ]
    return figures, [check_claim(claim_from(text, every, asked.gold), every) for text in asked.published]


def _plain(check: Check) -> dict[str, object]:
    return {"figure": check.claim.words(), "published": check.claim.value, **to_plain(check, full=True)}
