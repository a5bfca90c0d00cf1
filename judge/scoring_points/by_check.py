"""Judges scoring points by their checks without code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from viva.cases import ScoringPoint
from viva.cases.checks.data import CheckNode
from viva.cases.checks.reader import CheckMistake, check_of
from viva.cases.checks.uses import in_round
from viva.cases.checks.words import check_words
from viva.judge.checks.conversation import CheckedConversation
from viva.judge.checks.evaluation import evaluate_check
from viva.judge.scoring_points.verdicts import point_verdict
from viva.records.fault import Fault
from viva.records.text import storable
from viva.records.verdict import Label, Verdict

NOTHING_RECORDED = "nothing-recorded"
"""The flag of a miss that rests on no step having been recorded: the agent may not report its steps."""


@dataclass(frozen=True, slots=True)
class PreparedCheck:
    """A check that was read, and its words."""

    node: CheckNode
    words: str


def judge_by_check(point: ScoringPoint, subject: str, conversation: CheckedConversation) -> Verdict:
    """Return the verdict of a point with a check. A check that cannot be read is an `error`, not an exception."""
    try:
        check = _prepared(point.check or {}, point.round)
    except CheckMistake as error:
        reason = f"the check itself is broken: this version of Viva cannot read it: {error}"
        return point_verdict(subject, point, Label.ERROR, reason, fault=Fault.JUDGE)
    found = evaluate_check(check.node, conversation)
    got = storable(found.got)
    verdict = point_verdict(
        subject,
        point,
        found.label,
        f"wanted: {check.words}; got: {got}",
        evidence=tuple(replace(each, quote=storable(each.quote)) for each in found.evidence),
        flags=(NOTHING_RECORDED,) if found.assumed else (),
    )
    return replace(verdict, wanted=check.words, got=got)


def _prepared(form: Mapping[str, Any], number: int | None) -> PreparedCheck:
    try:
        return _by_text(json.dumps(form), number)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, CheckMistake):
            raise
        raise CheckMistake([(f"it is not JSON: {error}", ())]) from error


@lru_cache(maxsize=4096)
def _by_text(text: str, number: int | None) -> PreparedCheck:
    node = in_round(check_of(json.loads(text)), number)
    return PreparedCheck(node, check_words(node))
