"""Gates on rates: those of trajectories, and the examiner's faults.

Rates of trajectories are compared by the low bound, in which everything unsure or not judged counts as wrong, and so
does a run in which the agent failed.
"""

from __future__ import annotations

from viva.exam.outcome import EXIT_BELOW, EXIT_DONE, EXIT_NOT_SCORED
from viva.records.text import one_line
from viva.records.wording import beyond, counted, fall_words, limit_words
from viva.statistics.scores import LAST_BIT, passes
from viva.statistics.summary import Figures
from viva.statistics.trajectory_figures import Rate
from viva.suites.repeated_runs import counted_before

FAULTS_OPTION = "--max-examiner-faults"


def rates_below(figures: Figures, name: str, floor: float) -> list[str]:
    """Return the agents whose rate is below a floor; `rate_missing` returns those of which nothing was judged."""
    words = []
    for agent, rate in _rates(figures, name).items():
        low = rate.low or 0.0
        if not passes(low, floor):
            whose = f" of {one_line(agent, 80)}" if len(figures.agents) > 1 else ""
            shown = f"{beyond(low, floor)}, below {limit_words(floor)}{_failed(rate)}"
            words.append(f"the rate{whose} by {name} (low bound) is {shown}")
    return words


def rates_dropped(figures: Figures, baseline: Figures, name: str, max_drop: float) -> list[str]:
    """Compare each agent with itself if both journals have it, and all runs of both otherwise."""
    now, before = _rates(figures, name), _rates(baseline, name)
    if not now:
        return []
    both = sorted(now.keys() & before.keys())
    if both:
        pairs = [(f" of {one_line(agent, 80)}", before[agent], now[agent]) for agent in both]
    else:
        old, new = (each.trajectories.rate(name) if each.trajectories else None for each in (baseline, figures))
        if old is None or old.low is None or new is None or new.low is None:
            return [f"the baseline has no rate by {name}"]
        pairs = [("", old, new)]
    words = []
    for whose, old, new in pairs:
        low_before, low = old.low or 0.0, new.low or 0.0
        if not passes(low, low_before - max_drop):
            words.append(f"the rate{whose} by {name} {fall_words(low_before, low, max_drop)}{_failed(new)}")
    return words


def _failed(rate: Rate) -> str:
    """Return in words what the agent's failures have to do with a low bound; empty if there are none."""
    if not rate.failed:
        return ""
    verb = "counts" if rate.failed == 1 else "count"
    return f" (the agent failed in {counted(rate.failed, 'run')}, which {verb} as wrong)"


def rate_missing(figures: Figures, name: str) -> str:
    """Return what was not judged for a rate with a gate; empty if everything was, in every run of every agent."""
    rates = {each.agent: each.rate(name) for each in figures.trajectory_agents}
    if not any(rates.values()):
        return f"{name} judged no run"
    words = []
    for agent in figures.agents:
        rate = rates.get(agent.name)
        whose = f" of {one_line(agent.name, 80)}" if len(figures.agents) > 1 else ""
        if rate is None:
            words.append(f"{name} judged no run{whose}")
            continue
        if left := agent.runs_all - rate.runs:
            words.append(f"{name} did not judge {left} of {counted(agent.runs_all, 'run')}{whose}")
        if rate.low is None:
            left = rate.unsure + rate.errors + rate.skipped
            words.append(f"{name} judged nothing{whose}: {counted(left, 'verdict')} without a score")
        elif rate.errors:
            words.append(f"{name} could not judge everything{whose}: {counted(rate.errors, 'error')}")
    return "; ".join(words)


def _rates(figures: Figures, name: str) -> dict[str, Rate]:
    """Return the rate of each agent of which there is something to compare."""
    rates = ((each.agent or "", each.rate(name)) for each in figures.trajectory_agents)
    return {agent: rate for agent, rate in rates if rate is not None and rate.low is not None}


def faults_above(figures: Figures, most: float | None) -> list[str]:
    """Return in words that the examiner was at fault too often; empty if it was not, or without a gate.

    Args:
        figures: The statistics.
        most: The maximum fault rate, in [0, 1]; None without a gate.
    """
    examiner = figures.examiner
    if most is None or examiner is None or examiner.rate is None or examiner.rate <= most + LAST_BIT:
        return []
    exams = f"{examiner.unfair} of {counted(examiner.exams, 'exam')}"
    shown = beyond(examiner.rate, most)
    return [f"the examiner was at fault in {exams}, a rate of {shown}, above {limit_words(most)}"]


def faults_missing(figures: Figures, most: float | None) -> list[str]:
    """Return in words that nobody knows whether the fault rate is above the gate; empty if it is known, or without one.

    An exam whose requested review failed, or on which the evaluator failed, may be unfair: the gate passes only if it
    would with all of them.
    """
    if most is None:
        return []
    examiner = figures.examiner
    if examiner is None or not examiner.exams + examiner.failed:
        when = "it is judged if a model examines, or with --evaluators exam"
        return [f"{FAULTS_OPTION}: the examiner was judged in no exam; {when}"]
    reviews, failures = examiner.open - examiner.failed, examiner.failed
    if not examiner.exams:
        return [f"{FAULTS_OPTION}: the examiner was judged in no exam: {counted(failures, 'exam')} could not be judged"]
    if not examiner.open or examiner.unfair + examiner.open <= (most + LAST_BIT) * (examiner.exams + failures):
        return []
    words = [f"{counted(reviews, 'exam')} got no usable review"] if reviews else []
    words += [f"{counted(failures, 'exam')} could not be judged"] if failures else []
    return [f"{FAULTS_OPTION}: {' and '.join(words)}, so that the fault rate may be above {limit_words(most)}"]


def gate_on_examiner(figures: Figures, most: float | None) -> tuple[int, str]:
    """Return the exit code of this gate alone, and the reason in words (empty for 0)."""
    if above := faults_above(figures, most):
        return EXIT_BELOW, above[0]
    missing = faults_missing(figures, most) + ([] if most is None else counted_before(figures))
    return (EXIT_NOT_SCORED, "; ".join(missing)) if missing else (EXIT_DONE, "")
