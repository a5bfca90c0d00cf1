"""Decides whether a suite passes its gates: a minimum score, and a maximum drop from an earlier suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from viva.errors import SetupError
from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.journal.reader import read_records, split_reference
from viva.journal.writer import JournalError
from viva.judge.trajectory import SKIPPED
from viva.records.text import one_line
from viva.records.wording import beyond, counted, fall_words, limit_words
from viva.statistics.evaluators import EvaluatorStatistics
from viva.statistics.groups import Group
from viva.statistics.scores import UNSCORED, passes
from viva.statistics.summary import Figures, summarize
from viva.statistics.trajectory_figures import RATES
from viva.suites.rate_gates import faults_above, faults_missing, rate_missing, rates_below, rates_dropped
from viva.suites.repeated_runs import counted_before

CaseLows = dict[str, dict[str, float]]
"""The mean of the low bounds, by agent and case."""


@dataclass(frozen=True, slots=True)
class Gates:
    """The limits of gates, each in [0, 1]: minimum mean scores, or maximum drops."""

    primary: float | None = None
    """The limit of the primary evaluator, which decides the scores of the runs."""
    evaluators: Mapping[str, float] = field(default_factory=dict)
    """The limits of other evaluators, by name. For trajectory evaluators and the combined accuracies, they apply to the
    rate over steps or traces."""

    @property
    def are_set(self) -> bool:
        """Return whether there is a limit."""
        return self.primary is not None or bool(self.evaluators)


def parse_gates(values: Sequence[str], option: str = "--fail-under") -> Gates:
    """Read gates from the values of a repeatable option.

    Args:
        values: Each is `VALUE`, for the primary evaluator, or `EVALUATOR=VALUE`.
        option: The name of the option.

    Raises:
        SetupError: a value has another form, is not within [0, 1], or is given twice for the same evaluator.
    """
    primary: float | None = None
    named: dict[str, float] = {}
    for text in values:
        name, mark, number = text.rpartition("=")
        name = name.strip()
        if mark and not name:
            raise SetupError(f"{option} {text!r}: no evaluator before the =; use VALUE or EVALUATOR=VALUE.")
        if name in named or (not mark and primary is not None):
            raise SetupError(f"{option} is given twice for {f'the evaluator {name!r}' if mark else 'the run score'}.")
        value = _gate_value(number, text, option)
        if mark:
            named[name] = value
        else:
            primary = value
    return Gates(primary, named)


def _gate_value(number: str, text: str, option: str) -> float:
    try:
        value = float(number)
    except ValueError:
        raise SetupError(
            f"{option} {text!r}: {number.strip()!r} is not a number; use VALUE or EVALUATOR=VALUE."
        ) from None
    if not 0 <= value <= 1:
        raise SetupError(f"{option} {text!r}: {number.strip()} is not between 0 and 1.")
    return value


def read_baseline(reference: str, threshold: float) -> Figures:
    """Read the statistics of an earlier suite as a baseline. Call this before the new suite starts.

    Raises:
        JournalError: there is no such journal, or nothing in it was scored.
    """
    folder, run = split_reference(reference)
    if run is not None:
        raise JournalError(f"--baseline requires the journal of a suite, not a single run: {reference}.")
    figures = summarize(read_records(folder, quick=True), threshold)
    if not figures.suite.runs:
        raise JournalError(f"the baseline {folder} holds no counted run: there is nothing to compare with.")
    return figures


def gate(
    figures: Figures,
    fail_under: Gates | float | None = None,
    baseline: Figures | None = None,
    max_drop: Gates | float | None = None,
    max_examiner_faults: float | None = None,
    *,
    corrected: bool = False,
) -> tuple[int, str]:
    """Return the exit code of a suite, and the reason in words (empty for 0).

    Both gates compare the low bound (unresolved points count as missed) of every agent: a good agent does not make up
    for a bad one. If an evaluator with a gate did not judge every run, the suite could not be scored.

    Args:
        figures: The statistics of the suite.
        fail_under: The minimum mean score of each agent, by the primary evaluator or by others.
        baseline: The statistics of an earlier suite.
        max_drop: The maximum drop of the mean low bound from the baseline, over the cases that both have.
        max_examiner_faults: The maximum share of exams in which the examiner may have been at fault.
        corrected: Whether the floor of the primary evaluator is for corrected scores, which are not compared here.
    """
    suite = figures.suite
    floors, drops = _gates(fail_under), _gates(max_drop if baseline is not None else None)
    of_runs = _has_gates_of_runs(floors, drops)
    faults = faults_above(figures, max_examiner_faults)
    if faults and not suite.runs:
        return EXIT_BELOW, faults[0]
    if not suite.runs and (of_runs or not figures.trajectories):
        return EXIT_NOT_SCORED, f"nothing was scored: {_excluded(figures) or 'no runs'}"
    below = faults if floors.primary is None or corrected else [*faults, *_below(figures, floors.primary)]
    for name, floor in floors.evaluators.items():
        below += rates_below(figures, name, floor) if name in RATES else _below(figures, floor, name)
    if baseline is not None and drops.primary is not None:
        below += _dropped(case_lows(figures), case_lows(baseline), drops.primary)
    for name, drop in drops.evaluators.items():
        if baseline is not None and name in RATES:
            below += rates_dropped(figures, baseline, name, drop)
        elif baseline is not None and (now := case_lows(figures, name)):
            below += _dropped(now, case_lows(baseline, name), drop, name)
    missing = [
        words
        for name in dict.fromkeys((*floors.evaluators, *drops.evaluators))
        if (words := rate_missing(figures, name) if name in RATES else _missing(figures, name))
    ]
    # Runs with nothing to judge need no score; if all gates are rates over steps, neither do runs with unresolved
    # steps only.
    missing += faults_missing(figures, max_examiner_faults)
    if floors.are_set or drops.are_set or max_examiner_faults is not None:
        missing += counted_before(figures)
    if suite.excluded.keys() - ({SKIPPED} if of_runs else {SKIPPED, UNSCORED}):
        missing.append(f"some runs could not be scored: {_excluded(figures)}")
    if below:
        return EXIT_BELOW, "; ".join((*below, *missing) if floors.evaluators or drops.evaluators else below)
    return (EXIT_NOT_SCORED, "; ".join(missing)) if missing else (EXIT_DONE, "")


def _has_gates_of_runs(floors: Gates, drops: Gates) -> bool:
    """Return whether runs must have scores; not if all gates are rates of trajectories."""
    named = {*floors.evaluators, *drops.evaluators}
    return floors.primary is not None or drops.primary is not None or not named or not named <= set(RATES)


def _gates(given: Gates | float | None) -> Gates:
    return given if isinstance(given, Gates) else Gates(given)


def _excluded(figures: Figures) -> str:
    """Return how many runs are excluded from the averages, by outcome, and the most common reason of each."""
    why: dict[str, str] = {}
    for group in figures.troubles:
        why.setdefault(group.outcome.value, f" ({one_line(group.words, 200)})")
    for skipped in figures.skipped:
        why.setdefault(SKIPPED, f" ({one_line(skipped.words, 200)})")
    return ", ".join(f"{number} {kind}{why.get(kind, '')}" for kind, number in figures.suite.excluded.items())


def _missing(figures: Figures, name: str) -> str:
    """Return what an evaluator with a gate did not judge; empty if it judged every run."""
    found = next((each for each in figures.evaluators if each.name == name), None)
    shown = repr(one_line(name, 80))
    if found is None:
        names = ", ".join(one_line(each.name, 80) for each in figures.evaluators[:12])
        known = f"the evaluators are {names}" if names else "no run has an evaluator"
        return f"the evaluator {shown} judged no run: {known}"
    left = figures.suite.runs_all - found.judged
    if not found.judged:
        return f"the evaluator {shown} judged none of {counted(left, 'run')}"
    return f"the evaluator {shown} did not judge {left} of {counted(figures.suite.runs_all, 'run')}" if left else ""


def _below(figures: Figures, floor: float, evaluator: str | None = None) -> list[str]:
    """Return the agents below a floor; an agent without a counted run is skipped, as its runs are excluded."""
    words = []
    by = _by(evaluator)
    for agent, low in _agent_lows(figures, evaluator).items():
        if not passes(low, floor):
            whose = f" of {one_line(agent, 80)}" if len(figures.agents) > 1 else ""
            shown = beyond(low, floor)
            words.append(f"the mean score{whose}{by} (low bound) is {shown}, below {limit_words(floor)}")
    return words


def _dropped(now: CaseLows, before: CaseLows, max_drop: float, evaluator: str | None = None) -> list[str]:
    """Compare each agent with itself if both suites have it, so that another's rise cannot hide its drop."""
    by = _by(evaluator)
    if not before:
        return [f"the baseline has no score{by}"]
    agents = sorted(before.keys() & now.keys())
    if agents:
        pairs = [(f"of {one_line(agent, 80)} ", before[agent], now[agent]) for agent in agents]
    else:
        pairs = [("", _over_agents(before), _over_agents(now))]
    words = []
    for whose, old_lows, new_lows in pairs:
        both = sorted(old_lows.keys() & new_lows.keys())
        if not both:
            words.append(f"the baseline has no case {whose}in common with this suite{by}")
            continue
        old, new = (sum(lows[name] for name in both) / len(both) for lows in (old_lows, new_lows))
        if not passes(new, old - max_drop):
            fell = fall_words(old, new, max_drop)
            words.append(f"the mean score {whose}over {counted(len(both), 'common case')}{by} {fell}")
    return words


def _by(evaluator: str | None) -> str:
    return "" if evaluator is None else f" by {one_line(evaluator, 80)}"


def _agent_lows(figures: Figures, evaluator: str | None = None) -> dict[str, float]:
    """Return the mean of the low bounds of each agent with a scored run."""
    if evaluator is None:
        return {agent.name: agent.low for agent in figures.agents if agent.low is not None}
    found = (each for each in figures.evaluator_agents if each.name == evaluator)
    return {each.agent or "": each.low for each in found if each.low is not None}


def case_lows(figures: Figures, evaluator: str | None = None) -> CaseLows:
    """Return the low bound by agent and case, if anything was scored."""
    cells: Sequence[EvaluatorStatistics] | Sequence[Group] = figures.cells
    if evaluator is not None:
        cells = [each for each in figures.evaluator_cells if each.name == evaluator]
    found: CaseLows = {}
    for cell in cells:
        if cell.low is not None:
            found.setdefault(cell.agent or "", {})[cell.case or ""] = cell.low
    return found


def _over_agents(lows: CaseLows) -> dict[str, float]:
    """Return the mean over all agents for each case."""
    cases: dict[str, list[float]] = {}
    for by_case in lows.values():
        for case, low in by_case.items():
            cases.setdefault(case, []).append(low)
    return {case: sum(found) / len(found) for case, found in cases.items()}
