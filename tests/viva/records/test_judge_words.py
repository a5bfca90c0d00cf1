"""Who judged is named in one way, wherever it is shown."""

from __future__ import annotations

import pytest

from viva.records.run_record import Setting
from viva.records.wording import judge_words


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        (Setting(judge="code"), "code"),
        (Setting(judge="code", judge_model="gpt-4o"), "code or model (gpt-4o)"),
        (Setting(judge="model", judge_model="gpt-4o"), "model (gpt-4o)"),
        (Setting(judge="both", judge_model="a + b", judge_votes=2), "code and model (a + b, 2 votes each)"),
        (Setting(judge="code", evaluators=("scoring_points", "fair")), "scoring_points by code, fair"),
        (
            Setting(judge="code", judge_model="gpt-4o", evaluators=("scoring_points", "alignment")),
            "scoring_points by code or model, alignment (gpt-4o)",
        ),
    ],
)
def test_who_judged_is_said_in_the_same_words_beside_other_evaluators(setting: Setting, words: str) -> None:
    assert judge_words(setting) == words
