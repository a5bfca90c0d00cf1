"""The figures of a suite: scores, rates and their intervals by suite, agent, case, tag and cell, from records.

Only runs whose outcome counts are averaged. The others are counted in `excluded`, by whose fault they were.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from harness.figures.cells import Cell, gather, natural
from harness.figures.clustered import clustered_mean_interval, clustered_wilson
from harness.figures.statistics import Interval, mean_interval, pass_at_k, pass_hat_k, wilson
from harness.setting_words import judge_words, sandbox_words
from records.run import RunRecord
from records.text import one_line
from records.transcript import NO_USAGE, Usage

__all__ = ["Figures", "Group", "Interval", "Kind", "group_of", "summarize"]

Kind = Literal["suite", "agent", "case", "tag", "cell"]


@dataclass(frozen=True, slots=True)
class Group:
    """Figures of some runs. Rates, scores and interval ends are in [0, 1]; None where no run counts."""

    kind: Kind
    name: str
    """Agent, case or tag; `CASE · AGENT` of a cell; empty for the suite. Hostile text like all that a case says."""
    agent: str | None = None
    """For an agent and a cell."""
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
    """95 %: over cases where there are several (bootstrap), else over the runs of the one case (Student)."""
    low: float | None = None
    """Mean of the runs' low bounds; what gates compare. Below `mean` where verdicts are open."""
    high: float | None = None
    """Mean of the runs' high bounds."""
    passes: int = 0
    """Runs whose low bound reaches the threshold."""
    pass_rate: float | None = None
    """`passes` / `runs`."""
    pass_rate_interval: Interval | None = None
    """95 %, Wilson; trials of one case are not counted as independent where there are several cases."""
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
    def runs_all(self) -> int:
        """Runs that count and those that do not."""
        return self.runs + sum(self.excluded.values())


@dataclass(frozen=True, slots=True)
class Held:
    """How some runs were held and judged; in words that are safe to show."""

    examiner: str
    judge: str
    sandbox: str
    """Says so where it does not isolate; empty where no check ran."""
    viva: str
    """Version."""
    runs: int = 0


@dataclass(frozen=True, slots=True)
class Figures:
    """All figures of a stream of records; the groups of each kind in natural order of their names."""

    threshold: float
    """A run passes when its low bound reaches this."""
    suite: Group
    agents: tuple[Group, ...] = ()
    cases: tuple[Group, ...] = ()
    tags: tuple[Group, ...] = ()
    cells: tuple[Group, ...] = ()
    """One for each case and agent, by case, then agent."""
    held: tuple[Held, ...] = ()
    """How all runs were held, what most were first."""


def summarize(records: Iterable[RunRecord], threshold: float = 1.0) -> Figures:
    """The figures of a stream of records; a few numbers are kept of each run.

    Args:
        records: Any number, in any order; the newest attempt of each run only, as `records.stored.read_records` gives.
        threshold: A run passes when its low bound reaches this.
    """
    held: Counter[Held] = Counter()
    ordered = gather(_watched(records, held))

    def groups(kind: Kind, names: Mapping[str, Sequence[Cell]]) -> tuple[Group, ...]:
        return tuple(group_of(kind, name, names[name], threshold) for name in sorted(names, key=natural))

    by_agent: dict[str, list[Cell]] = {}
    by_case: dict[str, list[Cell]] = {}
    by_tag: dict[str, list[Cell]] = {}
    for cell in ordered:
        by_agent.setdefault(cell.agent, []).append(cell)
        by_case.setdefault(cell.case, []).append(cell)
        for tag in cell.tags:
            by_tag.setdefault(tag, []).append(cell)
    return Figures(
        threshold,
        group_of("suite", "", ordered, threshold),
        groups("agent", by_agent),
        groups("case", by_case),
        groups("tag", by_tag),
        tuple(group_of("cell", f"{cell.case} · {cell.agent}", [cell], threshold) for cell in ordered),
        tuple(replace(each, runs=runs) for each, runs in held.most_common()),
    )


def _watched(records: Iterable[RunRecord], held: Counter[Held]) -> Iterator[RunRecord]:
    for record in records:
        setting = record.setting
        held[
            Held(
                one_line(setting.examiner, 80), judge_words(setting), sandbox_words(setting), one_line(setting.viva, 20)
            )
        ] += 1
        yield record


def group_of(kind: Kind, name: str, cells: Sequence[Cell], threshold: float) -> Group:
    """The figures of some cells; for the kinds `case` and `cell` they are of one case."""
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
    one = cells[0] if kind in ("case", "cell") else None
    return Group(
        kind,
        name,
        name if kind == "agent" else one.agent if one and kind == "cell" else None,
        one.case if one else None,
        tuple(dict.fromkeys(tag for cell in cells for tag in cell.tags)) if one else (),
        len(with_runs),
        len({cell.case for cell in cells} - with_runs),
        runs,
        dict(excluded),
        sum(cell.target_errors for cell in cells),
        sum(sum(cell.scores) for cell in cells) / runs if runs else None,
        _mean_interval(counted) if runs else None,
        sum(sum(cell.lows) for cell in cells) / runs if runs else None,
        sum(sum(cell.highs) for cell in cells) / runs if runs else None,
        passed,
        passed / runs if runs else None,
        _rate_interval(counted) if runs else None,
        {k: sum(pass_at_k(n, c, k) for _, c, n in counted) / len(counted) for k in range(1, most + 1)},
        {k: sum(pass_hat_k(n, c, k) for _, c, n in counted) / len(counted) for k in range(1, most + 1)},
        bool(flaky),
        len(flaky),
        usage,
        cost,
        cost / everything if cost is not None and everything else None,
        tokens,
        tokens / everything if everything else None,
        seconds,
        seconds / everything if everything else None,
        sum(cell.rounds for cell in cells),
        dict(stops),
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
