"""The evaluators that compare the tool calls of a trajectory with a reference trajectory, in five modes."""

from __future__ import annotations

from collections.abc import Sequence

from viva.errors import SetupError
from viva.judge.trajectory.decisions import calls, canonical, decisions, why_empty
from viva.judge.trajectory.insights import cannot_judge, nothing_to_judge, summarize
from viva.judge.trajectory.matching import ReferenceComparison, TooManyCalls, compare, is_in_order, is_strict
from viva.judge.trajectory.reference import (
    BUILT_IN,
    TRANSITIVE,
    ComparisonFailed,
    Likeness,
    NoReference,
    TrajectoryCall,
    by_function,
    read_reference,
)
from viva.plugins.import_strings import PluginError
from viva.plugins.kinds import Kind, load
from viva.records.evaluator import Context
from viva.records.text import counted, one_line
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Verdict

MATCH, MISMATCH = "match", "mismatch"
MOST_TOLD = 5
"""Calls that a reason names."""
COMPARISONS = Kind("comparison of arguments", "viva.argument_comparisons", {})


class TrajectoryMatch:
    """Compares the tools called, and their arguments, with `Context.reference`.

    Labels of a trajectory: `match` (1), `mismatch` (0). The named scores `precision` and `recall` tell how much of it
    matches, each where it is defined.
    """

    name = ""
    mode = ""
    needs = ("reference",)
    instant = True

    def __init__(self, match_arguments: str = "exact") -> None:
        """Args:
        match_arguments: `exact`, `partial`, `ignored`, or the import string of a function (`file.py:function`).

        Raises:
            SetupError: there is no such comparison, or it requires a package that is not installed.
        """
        self._like = find_likeness(match_arguments)

    async def evaluate(self, transcript: Transcript, context: Context) -> Insight:
        """Return one verdict on the trajectory; `error` if it has no reference, `skipped` if it is empty."""
        path = decisions(transcript)
        if (empty := why_empty(transcript, path)) is not None:
            return nothing_to_judge(self.name, context.subject, empty)
        if context.reference is None:
            words = (
                f"there is no reference trajectory for the subject {one_line(context.task or context.subject, 120)!r}"
            )
            return cannot_judge(self.name, context.subject, words)
        try:
            reference = read_reference(context.reference)
            made = [TrajectoryCall(each.tool, each.arguments) for each in calls(path)]
            found = compare(reference, made, self._like)
            matches = self._matches(reference, made, found)
        except (NoReference, TooManyCalls) as error:
            return cannot_judge(self.name, context.subject, str(error))
        except ComparisonFailed as error:
            return cannot_judge(self.name, context.subject, f"the comparison of arguments failed: {error}")
        verdict = Verdict(
            context.subject, self.name, MATCH if matches else MISMATCH, float(matches), reason=_reason(found, matches)
        )
        scores = {"precision": found.precision, "recall": found.recall}
        defined = {name: value for name, value in scores.items() if value is not None}
        return summarize(self.name, context.subject, [verdict], scores=defined)

    def _matches(
        self, reference: Sequence[TrajectoryCall], made: Sequence[TrajectoryCall], found: ReferenceComparison
    ) -> bool:
        raise NotImplementedError


class StrictMatch(TrajectoryMatch):
    """The same calls in the same order, and no others."""

    name = "match_strict"

    def _matches(
        self, reference: Sequence[TrajectoryCall], made: Sequence[TrajectoryCall], found: ReferenceComparison
    ) -> bool:
        return is_strict(reference, made, self._like)


class InOrderMatch(TrajectoryMatch):
    """The reference's calls in their order; others may lie between them."""

    name = "match_in_order"

    def _matches(
        self, reference: Sequence[TrajectoryCall], made: Sequence[TrajectoryCall], found: ReferenceComparison
    ) -> bool:
        return is_in_order(reference, made, self._like)


class AnyOrderMatch(TrajectoryMatch):
    """The same calls in any order, and no others."""

    name = "match_any_order"

    def _matches(
        self, reference: Sequence[TrajectoryCall], made: Sequence[TrajectoryCall], found: ReferenceComparison
    ) -> bool:
        return not found.missing and not found.unexpected


class SubsetMatch(TrajectoryMatch):
    """No call beyond the reference's; some may be missing."""

    name = "match_subset"

    def _matches(
        self, reference: Sequence[TrajectoryCall], made: Sequence[TrajectoryCall], found: ReferenceComparison
    ) -> bool:
        return not found.unexpected


class SupersetMatch(TrajectoryMatch):
    """All calls of the reference, in any order; there may be others."""

    name = "match_superset"

    def _matches(
        self, reference: Sequence[TrajectoryCall], made: Sequence[TrajectoryCall], found: ReferenceComparison
    ) -> bool:
        return not found.missing


def find_likeness(spec: str) -> Likeness:
    """Return a comparison of arguments by its name or import string.

    Raises:
        SetupError: there is none, or what it requires is not installed.
    """
    like = BUILT_IN.get(spec)
    if like is None:
        try:
            like = by_function(load(COMPARISONS, spec))
        except (PluginError, KeyError) as error:
            raise SetupError(
                f"--match-arguments takes exact, partial, ignored, package.module:function or file.py:function: {error}"
            ) from error
    if like not in TRANSITIVE:
        try:
            import munkres  # noqa: F401
        except ImportError as error:
            raise SetupError(
                f"--match-arguments {spec} requires the package munkres: pip install 'vivavoce[trajectory]'."
            ) from error
    return like


def _reason(found: ReferenceComparison, matches: bool) -> str:
    parts = [f"{counted(found.made, 'call')} made, {found.wanted} in the reference"]
    for what, calls_ in (("not made", found.missing), ("not in the reference", found.unexpected)):
        if calls_:
            named = "; ".join(_words(call) for call in calls_[:MOST_TOLD])
            more = f"; {len(calls_) - MOST_TOLD} more" if len(calls_) > MOST_TOLD else ""
            parts.append(f"{len(calls_)} {what}: {named}{more}")
    if not matches and len(parts) == 1:
        parts.append("they are the same, in another order")
    return ". ".join(parts)


def _words(call: TrajectoryCall) -> str:
    return one_line(f"{call.tool} {canonical(call.arguments)}", 160)
