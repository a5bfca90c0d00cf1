"""Has models judge the scoring points of one run: points concurrently, the votes on one point one after the other."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Sequence

from viva.cases import ScoringPoint
from viva.judge.scoring_points.by_model import ModelJudge
from viva.judge.scoring_points.panel import jury_name
from viva.judge.scoring_points.voting import is_settled, verdict_of_votes
from viva.records.transcript import NO_USAGE, Usage
from viva.records.verdict import Verdict

POINTS_AT_ONCE = 8
"""Maximum number of scoring points of one run that are judged concurrently."""


class Jury:
    """Judges the scoring points of one run with one or several models, each of which votes once or several times."""

    def __init__(self, judges: Sequence[ModelJudge], votes: int, subject: str) -> None:
        """Args:
        judges: The judges of this run, one for each model.
        votes: Maximum number of votes of each model on one scoring point.
        subject: The run's id.
        """
        self._subject = subject
        self._votes = votes
        self._jurors = [_Juror(judge) for judge in judges]
        self._name = jury_name(each.model.name for each in judges)

    @property
    def usage(self) -> Usage:
        """Return what all votes so far have used."""
        return sum((each.judge.model.usage for each in self._jurors), NO_USAGE)

    async def judge(self, points: Sequence[ScoringPoint]) -> list[Verdict]:
        """Return the verdicts in the order of the points."""
        slots = asyncio.Semaphore(POINTS_AT_ONCE)
        return list(await asyncio.gather(*(self._judge(point, slots) for point in points)))

    async def _judge(self, point: ScoringPoint, slots: asyncio.Semaphore) -> Verdict:
        planned = len(self._jurors) * self._votes
        cast: list[Verdict] = []
        for vote in range(1, self._votes + 1):
            for juror in self._order(point):
                if not is_settled([each.label for each in cast], planned):
                    cast.append(await juror.vote(point, vote, slots))
        return cast[0] if planned == 1 else verdict_of_votes(self._subject, point, cast, planned, self._name)

    def _order(self, point: ScoringPoint) -> list[_Juror]:
        """Return who votes first: another model for each point, because the last ones may not be asked any more."""
        start = zlib.crc32(f"{self._subject}\0{point.id}".encode(errors="replace")) % len(self._jurors)
        return self._jurors[start:] + self._jurors[:start]


class _Juror:
    """One model. If the transcript is long, the first question is asked alone: the others find its prompt cached."""

    def __init__(self, judge: ModelJudge) -> None:
        self.judge = judge
        self._first = asyncio.Lock() if judge.is_long else None

    async def vote(self, point: ScoringPoint, vote: int, slots: asyncio.Semaphore) -> Verdict:
        if self._first is not None:
            async with self._first:
                if self._first is not None:
                    verdict = await self.judge.judge(point, vote)
                    self._first = None
                    return verdict
        async with slots:
            return await self.judge.judge(point, vote)
