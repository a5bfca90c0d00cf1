"""The gate of an adaptive suite: its decision, which no other gate goes with."""

from __future__ import annotations

from collections.abc import Sequence

from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.statistics.adaptive.until import Aim, Until
from viva.statistics.summary import Figures
from viva.suites.adaptive.decisions import AdaptiveDecision, Answer, exit_code
from viva.suites.adaptive.words import decision_lines
from viva.suites.repeated_runs import counted_before


def decided_gate(
    until: Until, decisions: Sequence[AdaptiveDecision], figures: Figures, why: str = ""
) -> tuple[int, str]:
    """Return the exit code of an adaptive suite, and the reason in words (empty for 0).

    Args:
        until: The decision that was asked for.
        decisions: What was decided.
        figures: The statistics of the suite.
        why: Why the suite stopped, if it did before a decision.
    """
    code = exit_code(decisions)
    if code != EXIT_DONE:
        answer = Answer.BELOW if code == EXIT_BELOW else Answer.OPEN
        lines = decision_lines([each for each in decisions if each.answer is answer], why)
        return code, lines[0] if lines else f"--until {until}: undecided{why and f', {why}'}"
    if until.aim is Aim.GATE and (before_requeued := counted_before(figures)):
        return EXIT_NOT_SCORED, "; ".join(before_requeued)
    return EXIT_DONE, ""


def exclusive_words(until: str, others: Sequence[str]) -> str:
    """Return why a decision and other gates exclude each other.

    Args:
        until: The name of the option or keyword with the decision.
        others: Those of the other gates.
    """
    return (
        f"{until} and {' and '.join(others)} exclude each other: the number of trials depends on results, so that only "
        f"the decision itself is valid. {until} gate=SCORE is a gate."
    )
