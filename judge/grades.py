"""The evaluator `grades`: the verdicts of a recording are those that its graders left in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.judge.registry import Need
from viva.recordings.numbers import finite
from viva.records.evaluator import Context
from viva.records.text import one_line
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Label, Verdict

NO_GRADES = "no-grades"
"""The label of a recording that nobody graded: it is not scored, and nothing went wrong."""
OPEN = "a grade without pass or fail"


class GradesEvaluator:
    """Reads grades from a recording: a grader that says `pass` is a hit, and a number alone is `unsure`."""

    name = "grades"
    needs = (Need.RECORDING,)

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Return one verdict for each grader; none of them is a hit unless the recording says that it passed."""
        grades = _mapping(transcript.attributes.get("grades"))
        passes = _mapping(transcript.attributes.get("passes"))
        names = list(dict.fromkeys([*grades, *passes]))
        if not names:
            reason = "the recording has no grades"
            verdict = Verdict(context.subject, self.name, NO_GRADES, None, reason=reason, by="recording")
            return Insight(self.name, context.subject, NO_GRADES, None, summary=reason, verdicts=(verdict,))
        verdicts = tuple(_verdict(context.subject, name, grades.get(name), passes.get(name)) for name in names)
        hits = sum(verdict.label == Label.HIT for verdict in verdicts)
        unsure = sum(verdict.label == Label.UNSURE for verdict in verdicts)
        low, high = hits / len(verdicts), (hits + unsure) / len(verdicts)
        label = Label.UNSURE if unsure else Label.HIT if hits == len(verdicts) else Label.MISS
        return Insight(
            self.name,
            context.subject,
            label,
            None if unsure == len(verdicts) else low if not unsure else hits / (len(verdicts) - unsure),
            low=low,
            high=high,
            summary=f"{hits} of {len(verdicts)} graders passed it{f', {unsure} left it open' if unsure else ''}",
            verdicts=verdicts,
            details={"grades": dict(grades)},
        )


def _mapping(value: Any) -> Mapping[str, Any]:
    return {str(key): each for key, each in value.items()} if isinstance(value, Mapping) else {}


def _verdict(subject: str, name: str, grade: Any, passed: Any) -> Verdict:
    number = finite(grade)
    words = "" if number is None else f"graded {number:g}"
    if isinstance(passed, bool):
        label, score = (Label.HIT, 1.0) if passed else (Label.MISS, 0.0)
        reason = ", ".join(part for part in (words, "passed" if passed else "failed") if part)
    else:
        label, score = Label.UNSURE, None
        reason = ", ".join(part for part in (words, OPEN) if part)
    return Verdict(
        subject, one_line(name, 200), label, score, reason=f"in the recording: {reason}", by="recording", statement=name
    )
