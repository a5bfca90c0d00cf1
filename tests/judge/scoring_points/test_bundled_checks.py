"""The checks of bundled cases say what their statements say, whichever way a talk with a model examiner takes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from viva.cases import find_case, load_case
from viva.judge import ScoringPointsEvaluator
from viva.records.evaluator import Context
from viva.records.transcript import Round, Transcript
from viva.sandbox.choice import choose

ASKS, ANSWERS = "Which column of measurements.csv do you mean?", "The mean of height_cm is 171.25."


@pytest.mark.parametrize(
    ("said", "labels"),
    [
        ([ASKS, ANSWERS], ["hit", "hit"]),
        (["I am sorry, I do not understand that.", ASKS, ANSWERS], ["hit", "hit"]),
        ([ASKS, ANSWERS, "You are welcome!"], ["hit", "hit"]),
        ([ANSWERS, ASKS], ["miss", "hit"]),
        (["The mean is 60.2. Did you mean another column?", ANSWERS], ["miss", "hit"]),
        ([ASKS, "The mean of height_cm is 171.52."], ["hit", "miss"]),
        (["Which file?"], ["miss", "miss"]),
    ],
)
async def test_mean_of_a_column_asks_for_the_column_first_in_whichever_round_that_is(
    said: list[str], labels: list[str], tmp_path: Path
) -> None:
    case = load_case(find_case("mean_of_a_column"))
    shutil.copy(case.folder / "measurements.csv", tmp_path)
    talk = Transcript(tuple(Round(number, "Go on.", words) for number, words in enumerate(said, 1)))
    sandbox = (await choose("process")).sandbox
    try:
        evaluator = ScoringPointsEvaluator("code", sandbox, None)
        insight = await evaluator.evaluate(talk, Context("run", case, tmp_path))
    finally:
        await sandbox.close()
    assert [verdict.label for verdict in insight.verdicts] == labels
