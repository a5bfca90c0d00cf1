"""The statistics of some runs, and how they are computed from cells.

Only runs whose outcome counts are averaged. The others are counted in `excluded`, by whose fault they were.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from viva.records.transcript import NO_USAGE, Usage
from viva.statistics.cells import Cell
from viva.statistics.clustered import clustered_mean_interval, clustered_wilson
from viva.statistics.intervals import Interval, mean_interval, wilson
from viva.statistics.pass_k import mean_pass_k
from viva.statistics.usage_sum import UsageSum

Kind = Literal["suite", "agent", "case", "tag", "cell", "persona", "strategy", "setting"]
"""What runs are put together by: `case` and `cell` are of one case; `agent`, `tag`, `cell`, `persona` and `strategy` of
one agent; `setting` of one agent with one value of a setting, whatever its other settings are."""

FEWEST_CASES = 5
"""Minimum number of cases of an interval; fewer, whatever they show, do not generalize to other cases."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Holds the statistics of some runs. Rates, scores and interval ends are in [0, 1]; None if no run counts."""

    kind: Kind
    name: str
    """Agent, case, tag, persona or strategy; `CASE · AGENT` of a cell; empty for the suite. Hostile text like all
    that a case says."""
    agent: str | None = None
    """The agent of an agent, a tag, a cell, a persona or a strategy."""
    case: str | None = None
    """The case of a case or a cell."""
    tags: tuple[str, ...] = ()
    """The tags of a case or a cell."""
    cases: int = 0
    """Cases with at least one run that counts."""
    cases_left_out: int = 0
    """Cases of which no run counts: they are in no average."""
    runs: int = 0
    """Runs that count; scores and rates are taken over these."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Outcome (`examiner_error`, `judge_error`, `infra_error`) to runs; `unscored` for a scored run without a score,
    `skipped` for one in which the evaluator found nothing to judge."""
    target_errors: int = 0
    """Runs in which the agent failed; they are among `runs`."""
    mean: float | None = None
    """Mean score over the runs that count."""
    mean_interval: Interval | None = None
    """95 %: over cases where there are several (bootstrap), else over the runs of the one case (Student).

    None for the runs of several agents together: they are no sample of anything."""
    low: float | None = None
    """Mean of the runs' low bounds; what gates compare. Below `mean` where verdicts are open."""
    high: float | None = None
    """Mean of the runs' high bounds."""
    passes: int = 0
    """Runs whose low bound reaches the threshold."""
    pass_rate: float | None = None
    """`passes` / `runs`."""
    pass_rate_interval: Interval | None = None
    """95 %, Wilson; trials of one case are not counted as independent where there are several cases. None for several
    agents."""
    pass_at_k: Mapping[int, float] = field(default_factory=dict)
    """k to the chance that at least one of k trials passes, averaged over cells; up to the fewest trials of any."""
    pass_hat_k: Mapping[int, float] = field(default_factory=dict)
    """k to the chance that all of k trials pass (pass^k), as above."""
    flaky: bool = False
    """Whether any agent had mixed results over its trials of one case."""
    flaky_cases: int = 0
    """Number of flaky cases."""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """Usage by role, over all runs, excluded ones too: it was spent."""
    cost: float | None = None
    """US dollars of all roles over all runs; None if nobody reported any, or the price of any call is unknown."""
    cost_mean: float | None = None
    """US dollars per run, over all runs; None if unknown."""
    tokens: int | None = None
    """Input and output tokens of all roles over all runs; None if nobody reported any. A lower bound if not
    `tokens_known`."""
    tokens_mean: float | None = None
    """Tokens per run, over all runs; None if nobody reported any. A lower bound if not `tokens_known`."""
    seconds: float = 0.0
    """Wall-clock seconds, summed over all runs; less has passed where runs were held at once."""
    seconds_mean: float | None = None
    rounds: int = 0
    """Number of rounds, over all runs."""
    cached_answers: int = 0
    """Number of answers of models that were kept from before, over all runs; `usage` does not have them."""
    stops: Mapping[str, int] = field(default_factory=dict)
    """Stop reason to runs, over all runs."""

    @property
    def too_few(self) -> bool:
        """Return whether too few cases count for an interval; False for a single case."""
        return self.kind not in ("case", "cell") and 0 < self.cases < FEWEST_CASES

    @property
    def tokens_known(self) -> bool:
        """Return whether all tokens were reported; otherwise `tokens` and `tokens_mean` are unknown or lower bounds."""
        return self.tokens is not None and all(used.reported for used in self.usage.values())

    @property
    def runs_all(self) -> int:
        """Count all runs, excluded ones too."""
        return self.runs + sum(self.excluded.values())


class _Count(NamedTuple):
    """One cell of which runs count."""

    cell: Cell
    passed: int
    runs: int


def group_of(kind: Kind, name: str, cells: Sequence[Cell], threshold: float) -> Group:
    """Compute the statistics of some cells; see `Kind`."""
    counted = [_Count(cell, cell.passed(threshold), len(cell.scores)) for cell in cells if cell.scores]
    return Group(
        kind=kind,
        name=name,
        **_subject(kind, cells),
        **_counts(cells, counted),
        **_scores(counted),
        **_passes(counted),
        **_intervals(cells, counted),
        **_spent(cells),
    )


def _subject(kind: Kind, cells: Sequence[Cell]) -> dict[str, Any]:
    """What the group is about: its agent and case where there is one, and a case's tags."""
    of_one_case = kind in ("case", "cell")
    return {
        "agent": cells[0].agent if kind in ("agent", "tag", "cell", "persona", "strategy") else None,
        "case": cells[0].case if of_one_case else None,
        "tags": tuple(dict.fromkeys(tag for cell in cells for tag in cell.tags)) if of_one_case else (),
    }


def _counts(cells: Sequence[Cell], counted: Sequence[_Count]) -> dict[str, Any]:
    """How many cases and runs count, how many do not and why, and in how many the agent failed."""
    excluded = _sums(cell.excluded for cell in cells)
    with_runs = {each.cell.case for each in counted}
    return {
        "cases": len(with_runs),
        "cases_left_out": len({cell.case for cell in cells} - with_runs),
        "runs": sum(each.runs for each in counted),
        "excluded": excluded,
        "target_errors": sum(cell.target_errors for cell in cells),
    }


def _scores(counted: Sequence[_Count]) -> dict[str, Any]:
    """The mean score and the means of its bounds."""
    runs = sum(each.runs for each in counted)
    if not runs:
        return {}
    return {
        "mean": sum(sum(each.cell.scores) for each in counted) / runs,
        "low": sum(sum(each.cell.lows) for each in counted) / runs,
        "high": sum(sum(each.cell.highs) for each in counted) / runs,
    }


def _passes(counted: Sequence[_Count]) -> dict[str, Any]:
    """How many runs pass, how reliably over trials, and which cases are flaky."""
    runs, passed = sum(each.runs for each in counted), sum(each.passed for each in counted)
    flaky = {each.cell.case for each in counted if 0 < each.passed < each.runs}
    at, hat = mean_pass_k((each.runs, each.passed) for each in counted)
    return {
        "passes": passed,
        "pass_rate": passed / runs if runs else None,
        "pass_at_k": at,
        "pass_hat_k": hat,
        "flaky": bool(flaky),
        "flaky_cases": len(flaky),
    }


def _intervals(cells: Sequence[Cell], counted: Sequence[_Count]) -> dict[str, Any]:
    """The intervals of mean and pass rate; none for several agents, which are no sample of anything."""
    if not counted or len({cell.agent for cell in cells}) != 1:
        return {}
    return {"mean_interval": _mean_interval(counted), "pass_rate_interval": _rate_interval(counted)}


def _spent(cells: Sequence[Cell]) -> dict[str, Any]:
    """Money, tokens, time, rounds and ways to stop, over all runs."""
    stops = _sums(cell.stops for cell in cells)
    sums: dict[str, UsageSum] = {}
    for cell in cells:
        cell.add_usage_to(sums)
    usage = {role: found.total() for role, found in sums.items()}
    runs = sum(stops.values())
    spent = sum(usage.values(), NO_USAGE)
    cost, tokens = spent.known_cost, spent.known_tokens
    seconds = sum(cell.seconds for cell in cells)
    return {
        "usage": usage,
        "cost": cost,
        "cost_mean": cost / runs if cost is not None and runs else None,
        "tokens": tokens,
        "tokens_mean": tokens / runs if tokens is not None and runs else None,
        "seconds": seconds,
        "seconds_mean": seconds / runs if runs else None,
        "rounds": sum(cell.rounds for cell in cells),
        "cached_answers": sum(cell.cached_answers for cell in cells),
        "stops": stops,
    }


def _sums(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    """Add up what the mappings count."""
    found: dict[str, int] = {}
    for each in counts:
        for name, number in each.items():
            found[name] = found.get(name, 0) + number
    return found


def _mean_interval(counted: Sequence[_Count]) -> Interval:
    sums: dict[str, tuple[float, int]] = {}
    for cell, _, n in counted:
        total, count = sums.get(cell.case, (0.0, 0))
        sums[cell.case] = total + sum(cell.scores), count + n
    if len(sums) > 1:
        return clustered_mean_interval(list(sums.values()))
    return mean_interval([score for cell, _, _ in counted for score in cell.scores])


def _rate_interval(counted: Sequence[_Count]) -> Interval:
    sums: dict[str, tuple[int, int]] = {}
    for cell, c, n in counted:
        successes, count = sums.get(cell.case, (0, 0))
        sums[cell.case] = successes + c, count + n
    if len(sums) > 1:
        return clustered_wilson(list(sums.values()))
    return wilson(*next(iter(sums.values())))
