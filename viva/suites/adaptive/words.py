"""Says what an adaptive suite has decided, by how many runs, and what a fixed number of trials would have taken."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from viva.adapters.connectors.spec import agent_label
from viva.errors import SetupError
from viva.journal.errors import JournalError
from viva.records.text import one_line
from viva.records.wording import counted
from viva.statistics.adaptive.until import Aim
from viva.suites.adaptive.decisions import AdaptiveDecision, Answer, decisions_in

MOST_NAMED = 5
UNEQUAL = (
    "cases have different numbers of trials: the decision weighs all cases alike, other figures weigh all runs alike"
)


def decision_lines(decisions: Sequence[AdaptiveDecision], why: str = "") -> list[str]:
    """Return the lines about all decisions; none if there is no decision.

    Args:
        decisions: The decisions.
        why: Why the suite stopped, if it did before a decision.
    """
    lines = [line for each in decisions for line in _lines(each, why)]
    return [*lines, UNEQUAL] if any(each.batches > 1 for each in decisions) else lines


def lines_about(folder: Path) -> list[str]:
    """Return the lines about the decisions in a journal; none if there is none, or if it cannot be read."""
    with contextlib.suppress(SetupError, JournalError):
        return decision_lines(decisions_in(folder))
    return []


def _lines(decision: AdaptiveDecision, why: str) -> Iterator[str]:
    yield f"--until {decision.until}: {_answer(decision)}"
    yield _cost(decision)
    if decision.answer is Answer.OPEN and (reason := _reason(decision, why)):
        yield reason
    if decision.bounds is not None:
        ends = f"{decision.bounds.low:.3f} and {decision.bounds.high:.3f}"
        yield (
            f"{counted(decision.excluded, 'run')} excluded and replaced by further trials of their cases; with them, "
            f"the estimate would be between {ends}"
        )


def _answer(decision: AdaptiveDecision) -> str:
    names = [one_line(agent_label(agent), 80) for agent in decision.agents]
    if decision.estimate is None or decision.interval is None:
        return f"{' and '.join(names)}: undecided, the first batch is not complete"
    low, high = decision.interval.low, decision.interval.high
    shown = f"{decision.estimate:.3f} (95 %: {low:.3f} to {high:.3f})"
    if len(names) == 2:
        shown = f"{decision.estimate:+.3f} (95 %: {low:+.3f} to {high:+.3f})"
        what = {
            Answer.FIRST: f"{names[0]} is better than {names[1]}",
            Answer.SECOND: f"{names[1]} is better than {names[0]}",
            Answer.EQUIVALENT: f"{names[0]} and {names[1]} differ by less than {decision.margin:g}",
        }.get(decision.answer, f"{names[0]} and {names[1]}: undecided")
        return f"{what}; difference in mean score {shown}"
    gate = decision.until.partition("=")[2]
    what = {
        Answer.ABOVE: f"surely above {gate}",
        Answer.BELOW: f"surely below {gate}",
        Answer.PRECISE: f"known to within {gate}",
    }.get(decision.answer, "undecided")
    cases = "this case" if decision.cases == 1 else f"these {counted(decision.cases, 'case')}"
    mean = "mean score (low bound)" if decision.until.startswith(Aim.GATE) else "mean score"
    return f"{names[0]} is {what}; {mean} of {cases} {shown}"


def _cost(decision: AdaptiveDecision) -> str:
    words = f"{counted(decision.runs, 'run')} in {counted(decision.batches, 'batch', 'batches')}"
    words += f"; fixed trials with the same error: {counted(decision.fixed_runs, 'run')}"
    if decision.fixed_runs_knowing is not None:
        words += f", or {decision.fixed_runs_knowing:,} if it had been known how scores vary"
    return words


def _reason(decision: AdaptiveDecision, why: str) -> str:
    if decision.missing:
        names = ", ".join(one_line(name, 100) for name in decision.missing[:MOST_NAMED])
        more = f" and {len(decision.missing) - MOST_NAMED} more" if decision.missing[MOST_NAMED:] else ""
        return f"undecided: no run of {names}{more} counts, so there is no score of all cases; see the errors below"
    if decision.due:
        return (
            f"undecided: the score is too close to {decision.until.partition('=')[2]} to be told from it at a margin "
            f"of {decision.margin:g}; a smaller --margin asks for more runs"
        )
    return why and f"undecided: {why}"
