"""How good a judge is on a labelled set: overall, by kind, by length, and where the agent talks to the judge."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from viva.judge.calibration.judging import TriedPoint
from viva.records.transcript import NO_USAGE, Usage
from viva.records.verdict import Label
from viva.statistics.agreement.by_label import Accuracy, accuracy_of, confusion_of
from viva.statistics.agreement.chance import chance_words, is_better_than_chance
from viva.statistics.agreement.kappa import RaterAgreement, agreement_of
from viva.statistics.agreement.ratings import Pair

LENGTHS = ((1_000, "under 1,000 characters"), (5_000, "1,000 to 4,999 characters"))
LONGEST = "5,000 characters or more"
_SEVERITY = {
    (Label.MISS, Label.HIT): 0,
    (Label.UNSURE, Label.HIT): 1,
    (Label.HIT, Label.MISS): 2,
    (Label.HIT, Label.UNSURE): 3,
}
"""True label and verdict, the worst first: points that an agent gets without having earned them."""
_MILDEST = 4


@dataclass(frozen=True, slots=True)
class PartOfSet:
    """A judge's figures on a part of a set."""

    name: str
    points: int
    accuracy: float
    agreement: RaterAgreement
    undue: float
    """The share of the weight of points that are not hits which the judge gave as hits; 0 without such points."""
    withheld: float
    """The share of the weight of true hits which the judge did not give; 0 without such points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeFigures:
    """A judge's figures on a whole set. A transcript's points are a cluster: they are right and wrong together."""

    judge: str
    """By which name the judge is shown; of several models of one name, what the user gave."""
    model: str
    """The model's name, as records of runs have it."""
    whole: PartOfSet
    honest: PartOfSet | None
    """On transcripts in which the agent does not talk to the judge; None without any."""
    hostile: PartOfSet | None
    """On those in which it does: there, `undue` is the weight gained by forging."""
    by_kind: tuple[PartOfSet, ...]
    """The worst first."""
    by_length: tuple[PartOfSet, ...]
    accuracy: Accuracy
    confusion: Mapping[str, Mapping[str, int]]
    """Points by true label, then by the judge's."""
    errors: int
    """Points without a verdict; they count as wrong."""
    points: tuple[TriedPoint, ...]
    """All points in the order of the set."""
    worst: tuple[TriedPoint, ...]
    """All points with a wrong verdict, the worst first."""
    usage: Usage
    """Of all judgements, those that were kept from earlier included."""
    paid: Usage
    """Of those that were made now."""
    seconds: float

    @property
    def beats_chance(self) -> bool:
        """Return whether the judge is better than chance: the interval of kappa lies above 0."""
        return is_better_than_chance(self._ends)

    @property
    def chance(self) -> str:
        """Return in words whether the judge is no better than chance, or not shown to be; empty if it is better."""
        return chance_words(self._ends, self.whole.points, self.whole.agreement.clusters)

    @property
    def _ends(self) -> tuple[float, float] | None:
        interval = self.whole.agreement.kappa_interval
        return None if interval is None else (interval.low, interval.high)


def judge_figures(judge: str, judged: Sequence[TriedPoint], model: str = "") -> JudgeFigures:
    """Return the figures of a judge.

    Args:
        judge: By which name it is shown.
        judged: What it said about each point; there must be one.
        model: The model's name, if it is another one.
    """
    pairs = [_pair(each) for each in judged]
    accuracy = accuracy_of(pairs)
    said = tuple(each for each in accuracy.labels if each.label != Label.ERROR)  # an error is no label
    return JudgeFigures(
        judge=judge,
        model=model or judge,
        whole=_part("all", judged),
        honest=next(_parts(judged, lambda each: "" if each.hostile else "not hostile"), None),
        hostile=next(_parts(judged, lambda each: "hostile" if each.hostile else ""), None),
        by_kind=tuple(sorted(_parts(judged, lambda each: each.kind), key=lambda part: (part.accuracy, part.name))),
        by_length=tuple(_parts(sorted(judged, key=lambda each: each.length), lambda each: _length(each.length))),
        accuracy=replace(accuracy, labels=said),
        confusion=confusion_of(pairs),
        errors=sum(each.verdict == Label.ERROR for each in judged),
        points=tuple(judged),
        worst=tuple(sorted((each for each in judged if not each.right), key=_how_bad)),
        usage=_used(judged),
        paid=_used([each for each in judged if not each.kept]),
        seconds=sum(each.seconds for each in judged),
    )


def _pair(judged: TriedPoint) -> Pair:
    return Pair(judged.cluster or judged.item, judged.truth, judged.verdict)


def _parts(judged: Sequence[TriedPoint], name_of: Callable[[TriedPoint], str]) -> Iterator[PartOfSet]:
    """Yield the figures of each part by its name, in the order of first occurrence; those without a name have none."""
    parts: dict[str, list[TriedPoint]] = {}
    for each in judged:
        parts.setdefault(name_of(each), []).append(each)
    yield from (_part(name, points) for name, points in parts.items() if name)


def _part(name: str, judged: Sequence[TriedPoint]) -> PartOfSet:
    hits = [each for each in judged if each.truth == Label.HIT]
    others = [each for each in judged if each.truth != Label.HIT]
    return PartOfSet(
        name,
        len(judged),
        sum(each.right for each in judged) / len(judged),
        agreement_of([_pair(each) for each in judged]),
        undue=_share(others, lambda each: each.verdict == Label.HIT),
        withheld=_share(hits, lambda each: each.verdict != Label.HIT),
    )


def _share(judged: Sequence[TriedPoint], counts: Callable[[TriedPoint], bool]) -> float:
    total = sum(each.weight for each in judged)
    return sum(each.weight for each in judged if counts(each)) / total if total else 0.0


def _length(characters: int) -> str:
    return next((name for most, name in LENGTHS if characters < most), LONGEST)


def _how_bad(judged: TriedPoint) -> tuple[int, float, str, str]:
    severity = _SEVERITY.get((Label(judged.truth), _label(judged.verdict)), _MILDEST)
    return severity, -judged.weight, judged.item, judged.criterion


def _label(verdict: str) -> Label:
    return Label(verdict) if verdict in tuple(Label) else Label.ERROR


def _used(judged: Sequence[TriedPoint]) -> Usage:
    return sum((each.usage for each in judged), NO_USAGE)
