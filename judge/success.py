"""The success evaluator: a check of the user's own says whether a run succeeded."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from viva.adapters.part_errors import describe_part
from viva.records.evaluator import Context
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Verdict, error_insight

SUCCESS = "success"
"""The evaluator's name; what it says becomes the `success` of the run's record."""
SUCCEEDED = "success"
FAILED = "failure"

SuccessPredicate = Callable[[Transcript], bool | Awaitable[bool]]
"""Tells whether a run succeeded, by its transcript and the metrics in it; plain or async."""


class SuccessEvaluator:
    """Asks a predicate. One that raises, or gives anything but a bool, is an error and no success."""

    name = SUCCESS
    needs = ()

    def __init__(self, predicate: SuccessPredicate) -> None:
        """Args:
        predicate: The check.
        """
        self._predicate = predicate

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Return one verdict on the run: 1 for a success, 0 for a failure."""
        try:
            said = self._predicate(transcript)
            if inspect.isawaitable(said):
                said = await said
        except (Exception, SystemExit) as error:
            return error_insight(
                self.name, context.subject, f"the success predicate raised {describe_part(error, self._predicate)}"
            )
        if not isinstance(said, bool):
            return error_insight(
                self.name, context.subject, f"the success predicate gave {type(said).__name__}, not a bool"
            )
        label, score = (SUCCEEDED, 1.0) if said else (FAILED, 0.0)
        verdict = Verdict(context.subject, self.name, label, score, reason="the success predicate says so")
        return Insight(self.name, context.subject, label, score, low=score, high=score, verdicts=(verdict,))
