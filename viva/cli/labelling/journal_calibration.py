"""Compares the judges of journals with what people say in label files, and stores the result."""

from __future__ import annotations

import hashlib
import json
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.console import Console
from rich.text import Text

from viva.cli.labelling.reading import labels_of_text
from viva.errors import SetupError
from viva.journal.lines import Damage
from viva.journal.reader import split_reference
from viva.judge.calibration.label_files import HumanLabel
from viva.judge.calibration.store import add_calibration, names_of, store_of
from viva.records.codec import to_plain
from viva.records.text import one_line
from viva.reports.console.calibration import calibration_report
from viva.reports.console.whys import print_whole, quoted
from viva.statistics.agreement.alpha import is_available
from viva.statistics.agreement.given import from_label_files, ratings_by_kind
from viva.statistics.agreement.kappa import RaterAgreement
from viva.statistics.agreement.summary import agreement_figures
from viva.statistics.calibration.figures import JudgeCalibration, calibrate, calibration_of, truths_of
from viva.statistics.calibration.joining import LabelJoin, read_labelled_points


@dataclass(frozen=True, slots=True)
class CalibratedModels:
    """Holds what a gate compares of the models that judged, by name."""

    agreements: Mapping[str, RaterAgreement]
    unjudged: Mapping[str, int]
    """Labelled points on which a model gave no verdict: they are in no agreement."""


def calibrate_journals(
    journals: Sequence[str], texts: Mapping[Path, str], *, as_json: bool, note: str
) -> CalibratedModels:
    """Compare the judges of journals with people, store and print it, and return how far each model agrees.

    Args:
        journals: `FOLDER` or `FOLDER#RUN-ID`.
        texts: The text of each label file.
        as_json: Whether to print JSON.
        note: What else to say.

    Raises:
        SetupError: no label is about a judged point of these journals.
        JournalError: there is no journal.
    """
    given = [label for path, text in texts.items() for label in labels_of_text(text, path)]
    refuse_empty(given, texts, journals)
    join, damage = LabelJoin(given), Damage()
    labels, points = read_labelled_points(join, map(split_reference, journals), damage)
    notes = list(join.notes())
    refuse_unjoined(journals, given, labels, notes)
    judges = calibrate(truths_of(labels), points)
    if not judges:
        raise SetupError(f"nothing judged the labelled points in {', '.join(map(one_line, journals))}.")
    people = agreement_figures(ratings_by_kind(from_label_files(labels))[""], with_alpha=is_available())
    store = store_of(split_reference(journals[0])[0])
    digest = hashlib.sha256("\n".join(texts.values()).encode()).hexdigest()[:12]
    named = names_of(split_reference(journal)[0] for journal in journals)
    source, at = ", ".join(path.name for path in texts), time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    stored = [
        calibration_of(each, people, source=source, digest=digest, at=at, journals=named)
        for each in judges
        if each.judge.is_model and each.accuracy.items
    ]
    for each in stored:
        add_calibration(store, each)
    if as_json:
        plain = {"judges": [to_plain(each, full=True) for each in judges], "people": to_plain(people, full=True)}
        click.echo(json.dumps({**plain, "notes": notes, "stored": str(store) if stored else None}))
    else:
        several = people if len(people.raters) > 1 else None
        print_whole(Console(), calibration_report(judges, several, store if stored else None, note))
    _tell(notes, damage)
    models = _named_models(judges)
    agreements = {name: each.agreement for name, each in models.items()}
    return CalibratedModels(agreements, {name: each.errors for name, each in models.items()})


def refuse_empty(labels: Sequence[HumanLabel], paths: Iterable[Path], journals: Sequence[str] = ()) -> None:
    """Raise SetupError if the label files hold no labels."""
    if not labels:
        names = ", ".join(one_line(str(path)) for path in paths)
        folder = quoted(one_line(journals[0])) if journals else "JOURNAL"
        raise SetupError(f"there are no labels in {names} (or all are taken back); viva label {folder} writes some.")


def refuse_unjoined(
    journals: Sequence[str], given: Sequence[HumanLabel], joined: Sequence[HumanLabel], notes: Sequence[str]
) -> None:
    """Raise SetupError if no label is about a conversation in the journals.

    Args:
        journals: The journals.
        given: The labels of all files.
        joined: Those about a conversation in the journals.
        notes: What became of the others, in words.
    """
    if not joined:
        where = ", ".join(map(one_line, journals))
        runs = ", ".join([*dict.fromkeys(one_line(each.run, 60) for each in given)][:3])
        raise SetupError(
            f"no label is about a conversation in {where} ({'; '.join(notes)}); they are of the runs {runs}."
        )


def _named_models(judges: Iterable[JudgeCalibration]) -> dict[str, JudgeCalibration]:
    """Return the judges that are models, by name; the same model with other prompts or votes is another judge."""
    found: dict[str, JudgeCalibration] = {}
    names: Counter[str] = Counter()
    for each in judges:
        if each.judge.is_model:
            name = each.judge.name if each.judge.votes == 1 else f"{each.judge.name} ({each.judge.votes} votes)"
            names[name] += 1
            found[name if names[name] == 1 else f"{name} (with other prompts, {names[name]})"] = each
    return found


def _tell(notes: Sequence[str], damage: Damage) -> None:
    skipped = damage.words()
    for words in (*notes, *([f"{skipped} skipped"] if skipped else [])):
        Console(stderr=True).print(Text(f"note: {words}", style="yellow"), soft_wrap=True)
