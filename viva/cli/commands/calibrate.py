"""The command `viva calibrate LABELS`: how far raters agree, and how far a judge agrees with people."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from viva.cli import completion
from viva.cli.judge_calibration import asks_models, judges_options, refuse_without_models, try_judges_on
from viva.cli.labelling.decisive_accuracy import measure_decisive
from viva.cli.labelling.journal_calibration import calibrate_journals, refuse_empty
from viva.cli.labelling.reading import labels_of_text, read_label_text
from viva.cli.options import given_options
from viva.cli.process import fail, report_user_errors
from viva.cli.rater_gate import gate_on_kappa, min_kappa_option
from viva.errors import SetupError
from viva.exam.outcome import EXIT_BELOW
from viva.journal.reader import split_reference
from viva.judge.calibration.label_files import is_label_file
from viva.judge.calibration.label_tables import Columns, GivenLabel, labels_of_table
from viva.plugins.parameters import split_list
from viva.records.codec import to_plain
from viva.records.text import one_line
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
from viva.statistics.calibration.joining import with_conversations

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
@click.argument("paths", nargs=-1, metavar="[LABELS]... [JOURNAL]...", shell_complete=completion.paths)
@click.option("--item", default="", metavar="COLUMN", help="Column of the item. [default: item, item_id or id]")
@click.option("--raters", default="", metavar="A,B,…", help="The raters, by column or name. [default: all]")
@click.option("--gold", default="", metavar="RATER", help="The rater whose labels are true.")
@click.option("--rater", default="", metavar="COLUMN", help="With a row for each label: column of the rater's name.")
@click.option("--label", default="", metavar="COLUMN", help="With a row for each label: column of the label.")
@click.option("--case", default="", metavar="COLUMN", help="Column that groups items which belong together.")
@click.option(
    "--by", default="", metavar="COLUMN", help="Column of the kind of item, for figures of each kind as well."
)
@min_kappa_option
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
    min_kappa: float | None,
    ordinal: bool,
    order: str,
    published: tuple[str, ...],
    as_json: bool,
    **given: Any,
) -> None:
    """Show how far the raters in LABELS agree: kappa, Krippendorff's alpha, and accuracy against true labels.

    LABELS are label files of `viva label`, or CSV or JSON Lines with named columns: a row for each item and a column
    for each rater, or a row for each label (item, rater, label). Empty cells are gaps. With label files and JOURNALs,
    the judges of these are compared with the people, and the result is stored in calibrations.jsonl beside the first
    journal, where reports find it. The exit code is 1 if a published figure is not that of the labels,
    or kappa does not reach --min-kappa, and 3 if a labelled point got no verdict and there is a --min-kappa.

    With --judge-model, models judge a labelled set (--set), or what people labelled in journals (LABELS JOURNAL), and
    the report says how good a judge each of them is. The exit code is 3 if a point got no verdict. With --decisive,
    they find the step that decided each of a set of labelled failed runs.
    """
    if given["decisive"] is not None:
        measure_decisive(paths, given, as_json=as_json)
    if asks_models(given):
        try_judges_on(paths, given, as_json=as_json)
    refuse_without_models()
    if not paths:
        fail(f"{NAME}: name a file with labels, or try judges: {NAME} --set builtin --judge-model openai:NAME.")
    columns = Columns(item, tuple(split_list(raters)), rater, label, case, by)
    asked = _Asked(columns.raters, gold, ordinal or bool(order), tuple(split_list(order)), published)
    journals = [path for path in paths if split_reference(path)[0].is_dir()]
    texts = {Path(path): read_label_text(Path(path)) for path in paths if path not in journals}
    if not texts:
        fail(f"{NAME}: name a label file beside the journal; viva label {one_line(journals[0])} writes one.")
    if journals:
        _refuse_beside_journals()
        models = calibrate_journals(journals, texts, as_json=as_json, note=_note())
        raise SystemExit(gate_on_kappa(models.agreements, min_kappa, models.unjudged))
    if min_kappa is not None and not gold:
        fail(f"{NAME}: --min-kappa requires a journal, or --gold.")
    figures, checks = _figures(_labels(texts, columns, gold), asked)
    if as_json:
        plain = {"figures": [to_plain(each, full=True) for each in figures], "published": [*map(_plain, checks)]}
        click.echo(json.dumps(plain))
    else:
        Console().print(agreement_report(figures, checks, gold, _note()))
    against = {each.second: each.agreement for each in figures[0].pairs if each.first == gold}
    code = gate_on_kappa(against, min_kappa)
    raise SystemExit(code if all(check.agrees for check in checks) else EXIT_BELOW)


def _refuse_beside_journals() -> None:
    others = [flag for name, flag in given_options().items() if name not in ("paths", "min_kappa", "as_json")]
    if others:
        fail(f"{NAME}: {', '.join(others)} cannot be given with a journal.")


def _note() -> str:
    return "" if is_available() else f"note: {EXTRA}"


def _labels(texts: Mapping[Path, str], columns: Columns, gold: str) -> list[GivenLabel]:
    """Return the labels of all files."""
    others = [path for path, text in texts.items() if not is_label_file(text)]
    if not others:
        if any((columns.item, columns.rater, columns.label, columns.case, columns.by)):
            fail(f"{NAME}: --item, --rater, --label, --case and --by are for other files than label files of Viva.")
        labels = [label for path, text in texts.items() for label in labels_of_text(text, path)]
        refuse_empty(labels, texts)
        return _of_raters(from_label_files(with_conversations(labels)), columns.raters, gold)
    if len(texts) > 1:
        fail(f"{NAME}: only label files of Viva can be read together; {others[0]} is none.")
    return labels_of_table(texts[others[0]], others[0], columns, gold)


def _of_raters(labels: Sequence[GivenLabel], raters: Sequence[str], gold: str) -> list[GivenLabel]:
    """Return the labels of some raters; of all, if none is named."""
    every = ratings_by_kind(labels)[""]
    for flag, name in [*([("--gold", gold)] if gold else []), *(("--raters", rater) for rater in raters)]:
        check_rater(every, flag, name)
    kept = {*raters, gold} if raters else None
    return [each for each in labels if kept is None or each.rater in kept]


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
