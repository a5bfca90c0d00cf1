"""Decides whether a suite is good enough: by a floor, and by how far it fell behind an earlier one."""

from __future__ import annotations

from harness.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from harness.statistics.cells import passes
from harness.statistics.summary import Figures, summarize
from records.journal import JournalError
from records.journal_reader import read_records, split_reference
from records.text import one_line


def read_baseline(reference: str, threshold: float) -> Figures:
    """The figures of an earlier suite, to hold a new one against. Read them before the new suite begins.

    Raises:
        JournalError: there is no such journal, or nothing in it was scored.
    """
    folder, run = split_reference(reference)
    if run is not None:
        raise JournalError(f"--baseline takes the journal of a suite, not one run of it: {reference}.")
    figures = summarize(read_records(folder), threshold)
    if not figures.suite.runs:
        raise JournalError(f"the baseline {folder} holds no run that counts: there is nothing to compare with.")
    return figures


def gate(
    figures: Figures, fail_under: float | None, baseline: Figures | None, max_drop: float | None
) -> tuple[int, str]:
    """The exit code of a suite, and why in words (empty for 0).

    Both gates compare the low bound (points that are open count as missed), and hold every agent to it: a good one
    does not make up for another.

    Args:
        figures: Of the suite.
        fail_under: The mean score that each agent must reach.
        baseline: Of an earlier suite.
        max_drop: How far the low bound of the mean score, over the cases that both have, may fall below the baseline's.
    """
    suite = figures.suite
    if not suite.runs:
        return EXIT_NOT_SCORED, f"nothing was scored: {_apart(figures) or 'there was no run'}"
    words = [] if fail_under is None else _below(figures, fail_under)
    if baseline is not None and max_drop is not None:
        words.extend(_dropped(figures, baseline, max_drop))
    if words:
        return EXIT_BELOW, "; ".join(words)
    if suite.excluded:
        return EXIT_NOT_SCORED, f"not all could be scored: {_apart(figures)}"
    return EXIT_DONE, ""


def _apart(figures: Figures) -> str:
    """How many runs are in no average, by outcome, and the commonest reason of each."""
    why: dict[str, str] = {}
    for trouble in figures.troubles:
        why.setdefault(trouble.outcome.value, f" ({one_line(trouble.words, 200)})")
    return ", ".join(f"{number} {kind}{why.get(kind, '')}" for kind, number in figures.suite.excluded.items())


def _below(figures: Figures, fail_under: float) -> list[str]:
    """An agent of which nothing counts is below nothing: it stands apart."""
    words = []
    for agent in figures.agents:
        if agent.low is not None and not passes(agent.low, fail_under):
            whose = f" of {one_line(agent.name, 80)}" if len(figures.agents) > 1 else ""
            words.append(f"the mean score{whose} (low bound) is {agent.low:.4f}, below {fail_under:g}")
    return words


def _dropped(figures: Figures, baseline: Figures, max_drop: float) -> list[str]:
    """An agent that is in both is held against itself, so that another's rise cannot hide its fall."""
    before, now = _lows(baseline), _lows(figures)
    agents = sorted(before.keys() & now.keys())
    if agents:
        pairs = [(f"of {one_line(agent, 80)} ", before[agent], now[agent]) for agent in agents]
    else:
        pairs = [("", _over_agents(before), _over_agents(now))]
    words = []
    for whose, old_lows, new_lows in pairs:
        both = sorted(old_lows.keys() & new_lows.keys())
        if not both:
            words.append(f"the baseline has no case {whose}in common with this suite")
            continue
        old, new = (sum(lows[name] for name in both) / len(both) for lows in (old_lows, new_lows))
        if not passes(new, old - max_drop):
            fell = f"fell from {old:.4f} to {new:.4f}, by more than {max_drop:g}"
            words.append(f"the mean score {whose}over {len(both)} common cases {fell}")
    return words


def _lows(figures: Figures) -> dict[str, dict[str, float]]:
    """Agent to case to low bound, where anything was scored."""
    found: dict[str, dict[str, float]] = {}
    for cell in figures.cells:
        if cell.runs:
            found.setdefault(cell.agent or "", {})[cell.case or ""] = cell.low or 0.0
    return found


def _over_agents(lows: dict[str, dict[str, float]]) -> dict[str, float]:
    """Case to the mean over its agents."""
    cases: dict[str, list[float]] = {}
    for by_case in lows.values():
        for case, low in by_case.items():
            cases.setdefault(case, []).append(low)
    return {case: sum(found) / len(found) for case, found in cases.items()}
