"""The layers on which a hit can rest: words or a step of the agent, one of its files, the environment, or a check."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from viva.cases import ScoringPoint
from viva.judge.evidence import FILE
from viva.records.transcript import ENVIRONMENT_ID
from viva.records.verdict import Label, Verdict

Layer = Literal["code", "environment", "file", "step", "said"]

WORDS_ALONE = "words-alone"
"""The flag of a model's hit for which it quotes only what the agent said, although more was there to go by."""
NEVER_AROSE = "condition-never-arose"
"""The flag of a model's hit on a statement whose condition never arose."""
NOT_SHOWN = "not-shown"
"""The flag of a hit that became `unsure`, because it does not rest on the layer that its point requires."""

OF_EVIDENCE = frozenset({WORDS_ALONE, NEVER_AROSE, NOT_SHOWN})

LAYER_WORDS: dict[Layer, str] = {
    "code": "checked by code",
    "environment": "recorded by the environment",
    "file": "shown by a file",
    "step": "shown by a step",
    "said": "said to the user",
}
_ROUND = re.compile(r"r[0-9]+")


def layer_of(verdict: Verdict) -> Layer | None:
    """Return the strongest layer on which a hit rests; None of another verdict, or if it has no evidence."""
    if verdict.label != Label.HIT:
        return None
    if verdict.by == "code":
        return "code"
    places = [evidence.where for evidence in verdict.evidence]
    if any(place.startswith(ENVIRONMENT_ID) for place in places):
        return "environment"
    if any(place.startswith(FILE) for place in places):
        return "file"
    if any(not _ROUND.fullmatch(place) for place in places):
        return "step"
    return "said" if places else None


def held_to_code(point: ScoringPoint, verdict: Verdict) -> Verdict:
    """Return the verdict; a model's hit on a point that must be checked by code becomes `unsure`."""
    if point.shown != "code" or verdict.by == "code" or verdict.label != Label.HIT:
        return verdict
    reason = f"{verdict.reason} [A hit must be checked by code, and only a model judged it.]"
    return replace(verdict, label=Label.UNSURE, score=None, reason=reason, flags=(*verdict.flags, NOT_SHOWN))
