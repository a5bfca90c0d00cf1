"""Which models judged the scoring points of a suite, so that reports can say how far each can be trusted."""

from __future__ import annotations

from dataclasses import dataclass

from viva.judge.calibration.store import judge_prompts
from viva.records.run_record import RunRecord
from viva.records.verdict import is_model
from viva.records.wording import SCORING_POINTS

MOST_JUDGES = 100


@dataclass(frozen=True, slots=True)
class JudgeUse:
    """A model that judged scoring points, and how many runs."""

    model: str
    """Hostile text like all that a journal says."""
    prompts: tuple[tuple[str, str], ...]
    """Name and hash of each of its prompts for scoring points."""
    runs: int
    votes: int = 1
    """Maximum number of votes of each model on a point."""


class JudgeTallies:
    """Counts the runs whose scoring points a model judged, by model, prompts and votes."""

    def __init__(self) -> None:
        self._runs: dict[tuple[str, tuple[tuple[str, str], ...], int], int] = {}

    def add(self, record: RunRecord) -> None:
        """Add one run."""
        model = record.setting.judge_model
        if model is None or not _is_judged_by_model(record):
            return
        key = model, tuple(judge_prompts(record.setting.prompts).items()), record.setting.judge_votes
        if key in self._runs or len(self._runs) < MOST_JUDGES:
            self._runs[key] = self._runs.get(key, 0) + 1

    def uses(self) -> tuple[JudgeUse, ...]:
        """Return the judges, those of most runs first."""
        found = [JudgeUse(model, prompts, runs, votes) for (model, prompts, votes), runs in self._runs.items()]
        return tuple(sorted(found, key=lambda each: -each.runs))


def _is_judged_by_model(record: RunRecord) -> bool:
    return any(
        is_model(verdict.by)
        for insight in record.insights
        if insight.evaluator == SCORING_POINTS
        for verdict in insight.verdicts
    )
