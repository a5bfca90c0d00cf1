"""The figures of some runs, and how they are reckoned from cells.

Only runs whose outcome counts are averaged. The others are counted in `excluded`, by whose fault they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.statistics.cells import Cell
from harness.statistics.clustered import clustered_mean_interval, clustered_wilson
from harness.statistics.intervals import Interval, mean_interval, pass_at_k, pass_hat_k, wilson
from records.transcript import NO_USAGE, Usage

Kind = Literal["suite", "agent", "case", "tag", "cell"]
"""What runs are put together by: `case` and `cell` are of one case; `agent`, `tag` and `cell` of one agent."""

FEWEST_CASES = 5
"""Of fewer, whatever they show, nothing is said about cases like them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Figures of some runs. Rates, scores and interval ends are in [0, 1]; None where no run counts."""

    kind: Kind
    name: str
    """Agent, case or tag; `CASE · AGENT` of a cell; empty for the suite. Hostile text like all that a case says."""
    agent: str | None = None
    """For an agent, a tag and a cell."""
    case: str | None = None
    """For a case and a cell."""
    tags: tuple[str, ...] = ()
    """Of a case and a cell."""
    cases: int = 0
    """Cases with at least one run that counts."""
    cases_left_out: int = 0
    """Cases of which no run counts: they are in no average."""
    runs: int = 0
    """Runs that count; scores and rates are taken over these."""
    excluded: Mapping[str, int] = field(default_factory=dict)
    """Outcome (`examiner_error`, `judge_error`, `infra_error`) to runs; `unscored` for a scored run without a score."""
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
    """In how many cases."""
    usage: Mapping[str, Usage] = field(default_factory=dict)
    """By role, over all runs, excluded ones too: it was spent."""
    cost: float | None = 0.0
    """US dollars of all roles over all runs; None where the price of any call is unknown."""
    cost_mean: float | None = None
    """US dollars per run, over all runs; None where unknown."""
    tokens: int = 0
    """Input and output tokens of all roles over all runs."""
    tokens_mean: float | None = None
    seconds: float = 0.0
    """Wall-clock seconds, summed over all runs; less has passed where runs were held at once."""
    seconds_mean: float | None = None
    rounds: int = 0
    """Over all runs."""
    stops: Mapping[str, int] = field(default_factory=dict)
    """Stop reason to runs, over all runs."""

    @property
    def too_few(self) -> bool:
        """Whether so few cases count that nothing can be said of others like them; of one case alone nobody asks."""
        return self.kind not in ("case", "cell") and 0 < self.cases < FEWEST_CASES

    @property
    def runs_all(self) -> int:
        """Runs that count and those that do not."""
        return self.runs + sum(self.excluded.values())


def group_of(kind: Kind, name: str, cells: Sequence[Cell], threshold: float) -> Group:
    """The figures of some cells; see `Kind`."""
    counted = [(cell, cell.passed(threshold), len(cell.scores)) for cell in cells if cell.scores]
    excluded: Counter[str] = Counter()
    stops: Counter[str] = Counter()
    usage: dict[str, Usage] = {}
    for cell in cells:
        excluded.update(cell.excluded)
        stops.update(cell.stops)
        for role, used in cell.usage.items():
            usage[role] = usage.get(role, NO_USAGE) + used
    runs = sum(n for _, _, n in counted)
    everything = runs + excluded.total()
    passed = sum(c for _, c, _ in counted)
    with_runs = {cell.case for cell, _, _ in counted}
    flaky = {cell.case for cell, c, n in counted if 0 < c < n}
    cost = _cost(usage)
    tokens = sum(used.input_tokens + used.output_tokens for used in usage.values())
    seconds = sum(cell.seconds for cell in cells)
    most = min((n for _, _, n in counted), default=0)
    of_one_agent = len({cell.agent for cell in cells}) == 1
    of_one_case = kind in ("case", "cell")
    return Group(
        kind=kind,
        name=name,
        agent=cells[0].agent if kind in ("agent", "tag", "cell") else None,
        case=cells[0].case if of_one_case else None,
        tags=tuple(dict.fromkeys(tag for cell in cells for tag in cell.tags)) if of_one_case else (),
        cases=len(with_runs),
        cases_left_out=len({cell.case for cell in cells} - with_runs),
        runs=runs,
        excluded=dict(excluded),
        target_errors=sum(cell.target_errors for cell in cells),
        mean=sum(sum(cell.scores) for cell in cells) / runs if runs else None,
        mean_interval=_mean_interval(counted) if runs and of_one_agent else None,
        low=sum(sum(cell.lows) for cell in cells) / runs if runs else None,
        high=sum(sum(cell.highs) for cell in cells) / runs if runs else None,
        passes=passed,
        pass_rate=passed / runs if runs else None,
        pass_rate_interval=_rate_interval(counted) if runs and of_one_agent else None,
        pass_at_k={k: sum(pass_at_k(n, c, k) for _, c, n in counted) / len(counted) for k in range(1, most + 1)},
        pass_hat_k={k: sum(pass_hat_k(n, c, k) for _, c, n in counted) / len(counted) for k in range(1, most + 1)},
        flaky=bool(flaky),
        flaky_cases=len(flaky),
        usage=usage,
        cost=cost,
        cost_mean=cost / everything if cost is not None and everything else None,
        tokens=tokens,
        tokens_mean=tokens / everything if everything else None,
        seconds=seconds,
        seconds_mean=seconds / everything if everything else None,
        rounds=sum(cell.rounds for cell in cells),
        stops=dict(stops),
    )


def _cost(usage: Mapping[str, Usage]) -> float | None:
    total = 0.0
    for used in usage.values():
        if used.cost is None:
            return None
        total += used.cost
    return total


def _mean_interval(counted: Sequence[tuple[Cell, int, int]]) -> Interval:
    sums: dict[str, tuple[float, int]] = {}
    for cell, _, n in counted:
        total, count = sums.get(cell.case, (0.0, 0))
        sums[cell.case] = total + sum(cell.scores), count + n
    if len(sums) > 1:
        return clustered_mean_interval(list(sums.values()))
    return mean_interval([score for cell, _, _ in counted for score in cell.scores])


def _rate_interval(counted: Sequence[tuple[Cell, int, int]]) -> Interval:
    sums: dict[str, tuple[int, int]] = {}
    for cell, c, n in counted:
        successes, count = sums.get(cell.case, (0, 0))
        sums[cell.case] = successes + c, count + n
    if len(sums) > 1:
        return clustered_wilson(list(sums.values()))
    return wilson(*next(iter(sums.values())))
