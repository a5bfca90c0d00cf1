"""Turns what an evaluator returned into insights: a bool, a score, a label, named scores, verdicts or insights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from enum import Enum
from itertools import islice
from numbers import Real
from operator import attrgetter
from typing import Any, TypeVar

from viva.judge.trajectory.insights import summarize
from viva.records.codec import checked
from viva.records.text import storable
from viva.records.transcript import NO_USAGE
from viva.records.verdict import Insight, Label, Verdict
from viva.statistics.scores import LAST_BIT

T = TypeVar("T")

YES, NO, JUDGED = "yes", "no", "judged"
"""Labels of a bool, and of a score without a label."""
LONGEST_LABEL = 100
"""A longer text is no label, but for example what a model answered."""
MOST = 100_000
"""Maximum number of verdicts or insights, because a generator may never end."""


class NoJudgement(ValueError):
    """What an evaluator returned is no judgement. The message says why, after `it returned`."""


def insights_of(
    found: object, name: str, subject: str, own_name: str | None = None, *, trusted: bool = False
) -> tuple[Insight, ...]:
    """Return the insights that a returned value stands for.

    Args:
        found: What the evaluator returned.
        name: The evaluator's name.
        subject: The run's id.
        own_name: Another name that the evaluator may have written into its insights; it becomes `name`.
        trusted: Whether the types of an insight's fields need no check.

    Raises:
        NoJudgement: the value is not a judgement.
    """
    if type(found) is Insight and found.evaluator == name and (trusted or _is_plain(found)):
        for score in _scores_of(found):
            if type(score) is not float or not 0.0 <= score <= 1.0:
                _check(score)
        return (found,)
    if isinstance(found, Insight):
        return (_sound_insight(found, name, own_name or name, trusted=trusted),)
    if isinstance(found, Verdict):
        return _of_several(name, subject, (found,), own_name or name, trusted=trusted)
    value = _plain(found)
    if isinstance(value, Insight | Verdict):  # the value of an enum's member
        value = (value,)
    if isinstance(value, bool):
        return (_of_one(name, subject, YES if value else NO, float(value)),)
    if isinstance(value, Real):
        return (_of_one(name, subject, JUDGED, _score(value)),)
    if isinstance(value, str):
        return (_of_one(name, subject, _label(value), None),)
    if isinstance(value, Mapping):
        return (_of_scores(name, subject, value),)
    if isinstance(value, Iterable) and not isinstance(value, bytes | bytearray | Set):
        return _of_several(name, subject, tuple(islice(value, MOST + 1)), own_name or name, trusted=trusted)
    raise NoJudgement(f"{_words(found)}, which is not a judgement")


def _plain(found: object) -> object:
    """Return the value of an enum's member, or of a number of NumPy or another library, as Python's own."""
    if isinstance(found, Enum):
        return found.value
    if not isinstance(found, Real) and getattr(found, "shape", None) == ():
        return found.item()  # type: ignore[attr-defined]
    return found


def _of_one(name: str, subject: str, label: str, score: float | None) -> Insight:
    verdict = Verdict(subject, name, label, score)
    return Insight(name, subject, label, score, low=score, high=score, verdicts=(verdict,))


def _of_scores(name: str, subject: str, found: Mapping[Any, Any]) -> Insight:
    scores: dict[str, float] = {}
    for key, value in found.items():
        if not isinstance(key, str) or not key.strip():
            raise NoJudgement(f"a score named {key!r:.80}, and a name must be a text")
        score = _plain(value)
        if not isinstance(score, Real):
            raise NoJudgement(f"{_words(value)} for {key!r:.80}, and a named score must be a bool or between 0 and 1")
        scores[storable(str.__str__(key))] = _score(score)
    if not scores:
        raise NoJudgement("a mapping without scores")
    mean = math.fsum(scores.values()) / len(scores)
    return Insight(name, subject, JUDGED, mean, low=mean, high=mean, scores=scores)


def _of_several(
    name: str, subject: str, found: tuple[Any, ...], own_name: str, *, trusted: bool
) -> tuple[Insight, ...]:
    if len(found) > MOST:
        raise NoJudgement(f"more than {MOST:,} verdicts or insights")
    if not found:
        raise NoJudgement("no insight or verdict")
    if all(isinstance(each, Verdict) for each in found):
        insight = summarize(name, subject, tuple(map(_sound_verdict, found)))
        score, low, high = map(_clamped, (insight.score, insight.low, insight.high))
        return (replace(insight, score=score, low=low, high=high),)
    odd = [each for each in found if not isinstance(each, Insight)]
    if odd:
        raise NoJudgement(f"several values, of which one is {_words(odd[0])}; all must be Verdicts, or all Insights")
    insights = tuple(_sound_insight(each, name, own_name, trusted=trusted) for each in found)
    subjects = set()
    for each in insights:
        # A journal holds one insight for each evaluator and subject.
        if each.subject in subjects:
            raise NoJudgement(f"two insights about {each.subject!r:.80}")
        subjects.add(each.subject)
    return insights


def _sound_insight(insight: Insight, name: str, own_name: str, *, trusted: bool) -> Insight:
    # With another evaluator's name, it would replace that evaluator's insight in the journal.
    if insight.evaluator not in (name, own_name):
        raise NoJudgement(f"an insight with the name of the evaluator {insight.evaluator!r:.80}")
    if isinstance(insight.verdicts, Iterator):  # which can be read only once
        insight = replace(insight, verdicts=tuple(islice(insight.verdicts, MOST + 1)))
        if len(insight.verdicts) > MOST:
            raise NoJudgement(f"an insight with more than {MOST:,} verdicts")
    for score in _scores_of(insight):
        _check(score)
    sound = insight if trusted or _is_plain(insight) else _checked(Insight, insight)
    return sound if trusted or sound.evaluator == name else replace(sound, evaluator=name)


def _is_plain(insight: Insight) -> bool:
    """Return whether an insight is read as it is after it was written, without trying: each field is of its own type.

    Nearly all are, and a trial takes ten times as long. What has further data, evidence or usage is tried.
    """
    if type(insight) is not Insight or insight.usage is not NO_USAGE or type(insight.verdicts) is not tuple:
        return False
    if insight.details or insight.scores or insight.isolation != () or insight.notes != ():
        return False
    texts, numbers, scores = [*_TEXTS(insight)], [insight.seconds], [*_SCORES(insight)]
    for verdict in insight.verdicts:
        if type(verdict) is not Verdict or _REST(verdict) != _NO_REST:
            return False
        texts += _TEXTS_OF_VERDICT(verdict)
        numbers += _NUMBERS_OF_VERDICT(verdict)
        scores.append(verdict.score)
    if not _TEXT.issuperset(map(type, texts)) or not _NUMBER.issuperset(map(type, numbers)):
        return False
    if not _SCORE.issuperset(map(type, scores)):
        return False
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:  # lone surrogates
        return False
    return math.isfinite(sum(numbers))


_SCORES = attrgetter("low", "high", "score")
_TEXTS = attrgetter("evaluator", "subject", "label", "summary")
_TEXTS_OF_VERDICT = attrgetter("subject", "criterion", "label", "reason", "by", "statement", "wanted", "got")
_NUMBERS_OF_VERDICT = attrgetter("weight", "seconds")
_REST = attrgetter("evidence", "votes", "flags", "fault")
_NO_REST = (), (), (), None
_TEXT, _NUMBER, _SCORE = frozenset({str, Label}), frozenset({float}), frozenset({float, type(None)})


def _sound_verdict(verdict: Verdict) -> Verdict:
    _check(verdict.score)
    if not (isinstance(verdict.weight, int | float) and math.isfinite(verdict.weight) and verdict.weight > 0):
        raise NoJudgement(f"a verdict with a weight of {verdict.weight!r:.80}, and a weight must be above 0")
    return _checked(Verdict, verdict)


def _checked(kind: type[T], value: T) -> T:
    try:
        return checked(kind, value)
    except ValueError as error:
        raise NoJudgement(f"a wrong {kind.__name__}: {error}") from error


def _scores_of(insight: Insight) -> list[object]:
    scores = [insight.score, insight.low, insight.high, *[verdict.score for verdict in insight.verdicts]]
    if insight.scores:
        scores += insight.scores.values()
    return [score for score in scores if score is not None]


def _check(score: object) -> None:
    if score is not None and not _is_score(score):
        raise NoJudgement(f"a score of {score!r:.80}, and a score must be between 0 and 1")


def _score(value: Any) -> float:
    _check(value)
    return min(1.0, max(0.0, float(value)))


def _is_score(value: object) -> bool:
    return isinstance(value, int | float | Real) and -LAST_BIT <= value <= 1 + LAST_BIT  # type: ignore[operator]


def _clamped(value: float | None) -> float | None:
    return None if value is None else min(1.0, max(0.0, value))


def _label(text: str) -> str:
    label = storable(str.__str__(text))
    if not label.strip() or len(label) > LONGEST_LABEL or not label.isprintable():
        why = f"and a label has 1 to {LONGEST_LABEL} characters, on one line"
        raise NoJudgement(f"a text of {len(label):,} characters ({label!r:.80}), {why}")
    return label


def _words(value: object) -> str:
    return "None" if value is None else f"{type(value).__name__} ({value!r:.80})"
