"""Decides by votes: what the majority is, when it cannot change any more, and the verdict that follows.

An `error` is no vote. The most frequent label wins, and a tie is `unsure`. Where no more than half of the planned votes
are usable, there is no verdict: whatever failed may have failed for one kind of answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from viva.cases import ScoringPoint
from viva.judge.scoring_points.layers import OF_EVIDENCE
from viva.judge.scoring_points.verdicts import point_verdict
from viva.records.fault import Fault
from viva.records.text import counted
from viva.records.verdict import Label, Verdict, Vote

DIFFER = "votes-differ"
"""The flag of a verdict whose votes do not agree."""


def elected(labels: Sequence[str], planned: int) -> Label:
    """Return the label that some votes come to.

    Args:
        labels: Those of the votes that were cast, `error` for one that failed.
        planned: Number of votes that were to be cast.
    """
    usable = Counter(label for label in labels if label != Label.ERROR)
    if 2 * usable.total() <= planned:
        return Label.ERROR
    most = max(usable.values())
    first, *others = [label for label, number in usable.items() if number == most]
    return Label.UNSURE if others else Label(first)


def is_settled(labels: Sequence[str], planned: int) -> bool:
    """Return whether the votes that are left cannot change what the majority is, whatever they are."""
    left = planned - len(labels)
    if left <= 0:
        return True
    count = Counter(label for label in labels if label != Label.ERROR)
    if 2 * (count.total() + left) <= planned:
        return True  # too few can become usable
    if 2 * count.total() <= planned:
        return False  # if all that are left fail, there is no verdict
    hit, miss, unsure = (count[label] for label in (Label.HIT, Label.MISS, Label.UNSURE))
    if hit > max(miss, unsure) + left or miss > max(hit, unsure) + left:
        return True
    # Neither can come out first alone: `unsure` wins, or there is a tie.
    return hit + left <= max(miss, unsure) and miss + left <= max(hit, unsure)


def verdict_of_votes(subject: str, point: ScoringPoint, cast: Sequence[Verdict], planned: int, by: str) -> Verdict:
    """Return the verdict on a scoring point; all votes are kept in it with their reasons.

    Args:
        subject: The run's id.
        point: The scoring point.
        cast: The verdict of each vote, in the order in which they were cast.
        planned: Number of votes that were to be cast at most.
        by: The name of the models together.
    """
    votes = tuple(Vote(each.by, each.label, each.reason) for each in cast)
    label = elected([each.label for each in cast], planned)
    usable = [each for each in cast if each.label != Label.ERROR]
    differ = (DIFFER,) if len({each.label for each in usable}) > 1 else ()
    if label is Label.ERROR:
        return _without_majority(subject, point, cast, planned, by, votes)
    winners = [each for each in usable if each.label == label]
    if not winners or _is_tie(usable):
        reason = f"the votes are tied ({_counts(usable)}): {_first_reasons(usable)}"
        flags = tuple(dict.fromkeys(flag for each in cast for flag in each.flags))
        return replace(point_verdict(subject, point, Label.UNSURE, reason, by=by, flags=(*flags, *differ)), votes=votes)
    first = winners[0]
    share = "" if len(winners) == len(usable) else f" [{len(winners)} of {counted(len(usable), 'vote')}]"
    return replace(first, reason=f"{first.reason}{share}", by=by, flags=(*_flags_of(winners), *differ), votes=votes)


def _flags_of(winners: Sequence[Verdict]) -> tuple[str, ...]:
    """Return the flags of a verdict: what it rests on is what the first vote for it rests on, whose evidence it has."""
    first, *others = winners
    more = (flag for each in others for flag in each.flags if flag not in OF_EVIDENCE)
    return tuple(dict.fromkeys((*first.flags, *more)))


def _without_majority(
    subject: str, point: ScoringPoint, cast: Sequence[Verdict], planned: int, by: str, votes: tuple[Vote, ...]
) -> Verdict:
    errors = [each for each in cast if each.label == Label.ERROR]
    # A provider's failure may be over when the run is judged again.
    first = next((each for each in errors if each.fault == Fault.INFRA), errors[0])
    reason = f"too few votes are usable ({len(cast) - len(errors)} of {planned}): {first.reason}"
    return replace(point_verdict(subject, point, Label.ERROR, reason, by=by), fault=first.fault, votes=votes)


def _is_tie(usable: Sequence[Verdict]) -> bool:
    (_, most), *others = Counter(each.label for each in usable).most_common()
    return any(number == most for _, number in others)


def _counts(usable: Sequence[Verdict]) -> str:
    return ", ".join(f"{number} {label}" for label, number in Counter(each.label for each in usable).items())


def _first_reasons(usable: Sequence[Verdict]) -> str:
    first = {each.label: each for each in reversed(usable)}
    return " | ".join(f"{each.by} says {each.label}: {each.reason}" for each in reversed(first.values()))
