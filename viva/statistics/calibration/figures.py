"""How far a judge agrees with people about scoring points: overall, by kind and by length, and where it does not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median_high

from viva.judge.calibration.label_files import LABELS, SAMPLE, HumanLabel
from viva.judge.calibration.store import Calibration, LabelShares
from viva.records.verdict import Label
from viva.statistics.agreement.by_label import Accuracy, accuracy_of, confusion_of
from viva.statistics.agreement.chance import chance_words
from viva.statistics.agreement.kappa import RaterAgreement, agreement_of
from viva.statistics.agreement.ratings import Pair
from viva.statistics.agreement.summary import AgreementFigures
from viva.statistics.calibration.majority import majority
from viva.statistics.calibration.points import JudgedPoint, JudgeIdentity
from viva.statistics.intervals import Interval

Key = tuple[str, str, str]
"""A run, the digest of its conversation, and a scoring point."""


@dataclass(frozen=True, slots=True)
class Truth:
    """What people say about one scoring point of one run."""

    label: str | None
    """`hit` or `miss`, whichever more people say; None if as many say either, or more than that are unsure."""
    said: Mapping[str, str]
    """Rater to label."""
    case: str
    hard: bool = False
    """Whether the point was chosen because it seemed hard to judge."""


@dataclass(frozen=True, slots=True)
class KindFigures:
    """How far a judge agrees with people about one kind of points."""

    kind: str
    accuracy: Accuracy
    agreement: RaterAgreement


@dataclass(frozen=True, slots=True)
class Disagreement:
    """One scoring point about which a judge and people disagree."""

    journal: Path
    run: str
    case: str
    criterion: str
    statement: str
    weight: float
    people: Mapping[str, str]
    """Rater to label."""
    true: str
    said: str
    reason: str
    """The judge's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeCalibration:
    """How far one judge agrees with people."""

    judge: JudgeIdentity
    labelled: int
    """Labelled points that are in its journals and about which people agree."""
    cases: int
    errors: int
    """Of the labelled points, those that it could not judge; they are in none of the figures."""
    undecided: int
    """Labelled points about which people are unsure, or disagree evenly; they are in none of the figures."""
    hard: int
    """Labelled points that it judged and that were chosen because they seemed hard: on all points, it does better."""
    faults: tuple[Disagreement, ...]
    """The points that it could not judge, with the reasons."""
    accuracy: Accuracy
    agreement: RaterAgreement
    confusion: Mapping[str, Mapping[str, int]]
    kinds: tuple[KindFigures, ...]
    disagreements: tuple[Disagreement, ...]
    """The worst first: a hit that people call a miss before others, then the larger weight."""

    @property
    def chance(self) -> str:
        """Return in words whether the judge is no better than chance, or not shown to be; empty if it is better."""
        return chance_words(_ends(self.agreement.kappa_interval), self.agreement.items, self.agreement.clusters)


def truths_of(labels: Iterable[HumanLabel]) -> dict[Key, Truth]:
    """Return what people say about each scoring point of each conversation.

    Args:
        labels: Those about the conversations of journals, as `LabelJoin` gives them.
    """
    said: defaultdict[Key, dict[str, str]] = defaultdict(dict)
    cases: dict[Key, str] = {}
    easy: set[Key] = set()
    for each in labels:
        if each.label is not None:
            key = each.run, each.conversation, each.criterion
            said[key][each.rater] = each.label
            cases[key] = each.case or cases.get(key, "")
            if each.chosen != SAMPLE:
                easy.add(key)
    return {
        key: Truth(majority(by_rater.values()), by_rater, cases[key], hard=key not in easy)
        for key, by_rater in said.items()
    }


def calibrate(truths: Mapping[Key, Truth], points: Iterable[JudgedPoint]) -> list[JudgeCalibration]:
    """Return how far each judge agrees with people, models first.

    Args:
        truths: What people say.
        points: What judges said; of two verdicts of one judge on one point, the last applies.
    """
    by_judge: defaultdict[JudgeIdentity, dict[Key, JudgedPoint]] = defaultdict(dict)
    for point in points:
        if (key := _key(point)) in truths:
            by_judge[point.judge][key] = point
    ordered = sorted(
        by_judge.items(), key=lambda item: (not item[0].is_model, item[0].name, item[0].votes, item[0].prompts)
    )
    return [_calibration(judge, truths, list(found.values())) for judge, found in ordered]


def _key(point: JudgedPoint) -> Key:
    return point.run, point.conversation, point.criterion


def _calibration(judge: JudgeIdentity, truths: Mapping[Key, Truth], points: Sequence[JudgedPoint]) -> JudgeCalibration:
    labelled = [point for point in points if truths[_key(point)].label is not None]
    judged = [point for point in labelled if point.label in LABELS]
    pairs = _pairs(truths, judged)
    return JudgeCalibration(
        judge=judge,
        labelled=len(labelled),
        cases=len({pair.cluster for pair in pairs}),
        errors=len(labelled) - len(judged),
        undecided=len(points) - len(labelled),
        hard=sum(truths[_key(point)].hard for point in judged),
        faults=tuple(_disagreements(truths, [point for point in labelled if point.label not in LABELS])),
        accuracy=accuracy_of(pairs),
        agreement=agreement_of(pairs),
        confusion=confusion_of(pairs),
        kinds=tuple(_kinds(truths, judged)),
        disagreements=tuple(_disagreements(truths, judged)),
    )


def _pairs(truths: Mapping[Key, Truth], points: Iterable[JudgedPoint]) -> list[Pair]:
    return [Pair(point.case, truths[_key(point)].label or "", point.label) for point in points]


def _kinds(truths: Mapping[Key, Truth], points: Sequence[JudgedPoint]) -> Iterable[KindFigures]:
    """Yield the figures of each kind of points, if there are points of both kinds."""
    if not points:
        return
    middle = median_high(point.length for point in points)
    splits: tuple[tuple[str, str, Callable[[JudgedPoint], bool]], ...] = (
        ("points with check or eval_code", "points without check or eval_code", lambda point: point.has_code),
        (
            f"shorter than {middle:,} characters",
            f"{middle:,} characters or more",
            lambda point: point.length < middle,
        ),
    )
    for first, second, is_first in splits:
        one = [point for point in points if is_first(point)]
        other = [point for point in points if not is_first(point)]
        if one and other:
            for kind, some in ((first, one), (second, other)):
                pairs = _pairs(truths, some)
                yield KindFigures(kind, accuracy_of(pairs), agreement_of(pairs))


def _disagreements(truths: Mapping[Key, Truth], points: Iterable[JudgedPoint]) -> list[Disagreement]:
    found = [
        Disagreement(
            journal=point.journal,
            run=point.run,
            case=point.case,
            criterion=point.criterion,
            statement=point.statement,
            weight=point.weight,
            people=truth.said,
            true=truth.label or "",
            said=point.label,
            reason=point.reason,
        )
        for point in points
        if (truth := truths[_key(point)]).label != point.label
    ]
    # An undeserved hit is the worst mistake: it lets an agent pass. What all people say counts before a majority.
    worst = {Label.HIT.value: 0, Label.MISS.value: 1}
    return sorted(found, key=lambda each: (worst.get(each.said, 2), len({*each.people.values()}), -each.weight))


def calibration_of(
    found: JudgeCalibration, people: AgreementFigures | None, *, source: str, digest: str, at: str, journals: str = ""
) -> Calibration:
    """Return a calibration as it is stored.

    Args:
        found: The figures of a judge that is a model.
        people: The agreement of the people; None if it is not known.
        source: The names of the label files.
        digest: Of the labels.
        at: When, in UTC.
        journals: The names of the journals.
    """
    alpha = people.alpha if people is not None else None
    return Calibration(
        found.judge.name,
        dict(found.judge.prompts),
        votes=found.judge.votes,
        hard=found.hard,
        items=found.accuracy.items,
        cases=found.cases,
        left_out=found.errors,
        source=source,
        journals=journals,
        digest=digest,
        people=len(people.raters) if people is not None else 0,
        confusion=found.confusion,
        accuracy=found.accuracy.share,
        accuracy_interval=_ends(found.accuracy.share_interval),
        kappa=found.agreement.kappa,
        kappa_interval=_ends(found.agreement.kappa_interval),
        alpha=alpha.alpha if alpha is not None else None,
        alpha_interval=_ends(alpha.interval) if alpha is not None else None,
        labels={each.label: LabelShares(each.precision, each.recall) for each in found.accuracy.labels},
        at=at,
    )


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    return None if interval is None else (interval.low, interval.high)
