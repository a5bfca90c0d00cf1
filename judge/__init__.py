"""Judges transcripts: scoring points by code and by model."""

from judge.scoring import ScoringPointsEvaluator

__all__ = ["ScoringPointsEvaluator"]
