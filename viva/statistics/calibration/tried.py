"""Makes of a judge's figures on a labelled set the calibration that is stored, where reports find it."""

from __future__ import annotations

from pathlib import Path

from viva.judge.calibration.judging import TriedPoint
from viva.judge.calibration.sets import LabelledSet
from viva.judge.calibration.store import Calibration, LabelShares
from viva.judge.scoring_points.by_model import prompt_hashes
from viva.records.verdict import Label
from viva.statistics.agreement.by_label import accuracy_of, confusion_of
from viva.statistics.agreement.judges import JudgeFigures
from viva.statistics.agreement.kappa import agreement_of
from viva.statistics.agreement.ratings import Pair


def calibration_of_tried(
    figures: JudgeFigures, labelled: LabelledSet, *, people: int = 0, at: str = "", journals: str = ""
) -> Calibration:
    """Return the calibration of a judge on a labelled set. As in all stored ones, errors are in none of the figures.

    Args:
        figures: The judge's figures.
        labelled: The set.
        people: How many people labelled it; 0 if its labels are true by construction.
        at: When, in UTC.
        journals: The names of the journals that were labelled; empty for a set.
    """
    hard = {(item.id, each.point.id) for item in labelled.items for each in item.points if each.hard}
    pairs = [_pair(each) for each in figures.points if each.verdict != Label.ERROR]
    agreement, accuracy = agreement_of(pairs), accuracy_of(pairs)
    kappa_interval = agreement.kappa_interval
    return Calibration(
        figures.model,
        prompt_hashes(),
        items=len(pairs),
        hard=len({(each.item, each.criterion) for each in figures.points if each.verdict != Label.ERROR} & hard),
        cases=agreement.clusters,
        left_out=figures.errors,
        journals=journals,
        source=Path(labelled.name).name,
        digest=labelled.digest[:12],
        people=people,
        confusion=confusion_of(pairs),
        accuracy=accuracy.share,
        accuracy_interval=(accuracy.share_interval.low, accuracy.share_interval.high),
        kappa=agreement.kappa,
        kappa_interval=None if kappa_interval is None else (kappa_interval.low, kappa_interval.high),
        labels={each.label: LabelShares(each.precision, each.recall) for each in accuracy.labels},
        at=at,
    )


def _pair(judged: TriedPoint) -> Pair:
    return Pair(judged.cluster or judged.item, judged.truth, judged.verdict)
