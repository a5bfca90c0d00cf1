"""Several people's labels on a point give the same truth in calibrations and in corrected scores."""

from __future__ import annotations

import pytest

from viva.judge.calibration.label_files import HumanLabel
from viva.statistics.calibration import figures
from viva.statistics.corrected import truths


@pytest.mark.parametrize(
    ("said", "truth"),
    [
        (("hit",), "hit"),
        (("hit", "hit", "miss"), "hit"),
        (("miss", "unsure"), "miss"),
        (("hit", "miss"), None),
        (("hit", "unsure", "unsure"), None),
        (("hit", "hit", "unsure", "unsure"), "hit"),
        (("unsure",), None),
    ],
)
def test_the_majority_of_several_people_is_the_same_everywhere(said: tuple[str, ...], truth: str | None) -> None:
    labels = [HumanLabel(f"rater {number}", "a run", "a point", label) for number, label in enumerate(said)]
    (found,) = figures.truths_of(labels).values()
    assert found.label == truth
    corrected = truths.truths_of(labels)
    assert corrected.points == ({} if truth is None else {"a run": {"a point": truth == "hit"}})
    assert corrected.undecided == (truth is None)
