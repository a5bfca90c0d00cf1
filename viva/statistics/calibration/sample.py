"""Chooses the scoring points that are worth a label first: doubtful ones, those that decide a gate, of all cases."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from viva.records.run_record import RunRecord
from viva.records.verdict import Label, Verdict, is_by_rule, is_model
from viva.records.wording import SCORING_POINTS
from viva.statistics.scores import passes, threshold_of

_DOUBTFUL = frozenset({"judges-disagree", "model-unsure", "quote-not-found"})
_VOTES, _GATE, _MODEL, _CASE = 2.0, 1.0, 0.5, 1.5
"""What disagreeing votes, a gate and a model as judge add, and what each point of the same case takes away."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One scoring point of one run, which may be labelled."""

    folder: Path
    run: str
    case: str
    place: int
    """Among the points of the run."""
    verdict: Verdict
    worth: float
    """How much its label would say about the judge."""

    @property
    def key(self) -> tuple[str, str]:
        """Return the run and the scoring point."""
        return self.run, self.verdict.criterion


def candidates(folder: Path, records: Iterable[RunRecord], threshold: float) -> Iterator[Candidate]:
    """Yield the judged scoring points of runs.

    Args:
        folder: The journal's folder.
        records: The runs.
        threshold: What a run's low bound must reach to pass, unless its case has a threshold of its own.
    """
    for record in records:
        for insight in record.insights:
            if insight.evaluator == SCORING_POINTS:
                for place, verdict in enumerate(insight.verdicts):
                    worth = _worth(verdict, insight.verdicts, threshold_of(record, threshold))
                    yield Candidate(folder, record.id, record.subject, place, verdict, worth)


def _worth(verdict: Verdict, verdicts: Sequence[Verdict], threshold: float) -> float:
    votes = Counter(vote.label for vote in verdict.votes)
    split = 1 - max(votes.values()) / votes.total() if votes else 0.0
    doubtful = verdict.label not in (Label.HIT, Label.MISS) or bool(_DOUBTFUL.intersection(verdict.flags))
    worth = _VOTES * max(2 * split, float(doubtful))
    worth += _GATE if _decides(verdict, verdicts, threshold) else 0.0
    return worth + (_MODEL if is_model(verdict.by) or any(is_model(vote.judge) for vote in verdict.votes) else 0.0)


def _decides(verdict: Verdict, verdicts: Sequence[Verdict], threshold: float) -> bool:
    """Whether the run would pass, or fail, if this verdict alone were the other way."""
    total = sum(each.weight for each in verdicts)
    others = sum(each.weight for each in verdicts if each is not verdict and each.label == Label.HIT)
    return total > 0 and passes(others / total, threshold) is not passes((others + verdict.weight) / total, threshold)


def sample(found: Iterable[Candidate], most: int | None) -> list[Candidate]:
    """Return the candidates that are most worth a label, spread over the cases and what the judge said.

    Without a maximum, all are returned, in an order that depends on no verdict. The same candidates give the same
    sample, so that labelling can be resumed. Those of one run come together, because their conversation has to be read
    once.

    Args:
        found: The candidates.
        most: Maximum number; None for all.
    """
    # A label on a point that nobody judged says nothing about a judge.
    left = sorted((each for each in found if most is None or not is_by_rule(each.verdict)), key=_by_lot)
    chosen: list[Candidate] = []
    cases: Counter[str] = Counter()
    said: Counter[str] = Counter()
    wanted = len(left) if most is None else min(most, len(left))
    if wanted == len(left):
        chosen, wanted = left, 0
    while len(chosen) < wanted:
        worths = [
            each.worth - _CASE * cases[each.case] - said[each.verdict.label] / max(1, len(chosen)) for each in left
        ]
        best = left.pop(worths.index(max(worths)))
        chosen.append(best)
        cases[best.case] += 1
        said[best.verdict.label] += 1
    if most is None:
        # In the order of the lots: whoever stops before the end must not have labelled the doubtful points alone.
        return sorted(chosen, key=lambda each: (_lot(each.run), each.place))
    runs: dict[tuple[Path, str], float] = {}
    for each in chosen:
        runs[each.folder, each.run] = max(each.worth, runs.get((each.folder, each.run), 0.0))
    return sorted(chosen, key=lambda each: (-runs[each.folder, each.run], _lot(each.run), each.place))


def _by_lot(each: Candidate) -> str:
    return _lot(f"{each.run}\n{each.verdict.criterion}")


def _lot(text: str) -> str:
    """Return a repeatable lot, so that neither the first runs nor the first points are preferred."""
    return hashlib.sha256(text.encode(errors="replace")).hexdigest()
