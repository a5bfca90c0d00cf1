"""Judges transcripts: scoring points by code and by model."""

from judge.scoring_points.scoring import ScoringPointsEvaluator

__all__ = ["ScoringPointsEvaluator"]
