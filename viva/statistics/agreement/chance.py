"""Says whether a judge is shown to be better than chance, and shown not to be: one rule and one wording everywhere."""

from __future__ import annotations

FEWEST_POINTS, FEWEST_CLUSTERS = 100, 20
"""The data that are required before a judge is called no better than chance. With fewer clusters, clustered intervals
are too narrow (Cameron, Gelbach and Miller 2008, "Bootstrap-based improvements for inference with clustered
errors")."""
NEGLIGIBLE = 0.2
"""The kappa below which agreement is "slight" at best (Landis and Koch 1977)."""
NOT_SHOWN = "not shown to be better than chance"
NO_BETTER = "no better than chance; its verdicts say nothing about an agent"


def is_better_than_chance(interval: tuple[float, float] | None) -> bool:
    """Return whether the whole interval of kappa is above 0.

    Args:
        interval: The interval of kappa; None if kappa is not defined.
    """
    return interval is not None and interval[0] > 0


def chance_words(interval: tuple[float, float] | None, points: int, clusters: int) -> str:
    """Return what kappa says about a judge; empty if it is better than chance.

    An interval that includes 0 does not show that kappa is 0: with few points, it includes nearly everything. A judge
    is called no better than chance only if there are enough data, and the interval also excludes an agreement worth
    mentioning.

    Args:
        interval: The interval of kappa; None if kappa is not defined.
        points: The points that kappa is about.
        clusters: The groups of points that count as one piece of evidence each, such as cases or transcripts.
    """
    if is_better_than_chance(interval):
        return ""
    if interval is None:
        return f"{NOT_SHOWN}: all labels and verdicts are the same; label both hits and misses"
    if points >= FEWEST_POINTS and clusters >= FEWEST_CLUSTERS and interval[1] < NEGLIGIBLE:
        return NO_BETTER
    return f"{NOT_SHOWN}: label more points, of more cases"
