"""Builds the analyst's data: figures over all runs, and as many runs as fit, the worst and most different first."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from viva.judge.copies import Said
from viva.models.marks import new_mark
from viva.records.run_record import Outcome, RunRecord
from viva.records.text import counted, one_line
from viva.records.transcript import Transcript
from viva.records.verdict import Insight, Verdict
from viva.reports.console.trends import change_words, compared_words, name_words, scores_words
from viva.reports.facts import missed, usage_of
from viva.statistics.over_time.trend import Direction, Trends
from viva.statistics.scores import passes, primary_insight, score_of
from viva.statistics.summary import Figures

CHARACTERS_A_TOKEN = 3
"""A cautious estimate of the bytes per token: English has four, source code and other alphabets have fewer."""
TEXT = 400
"""Characters of one text in a run."""
TURNS = 6
"""Turns at the end of a conversation that are shown, besides the first message."""
LINE = 4_000
"""Characters of one run."""
FIGURES_SHARE = 0.3
MOST_ROWS = 25


@dataclass(frozen=True, slots=True)
class KnownRun:
    """One run that may be cited; a few words of each are kept, however many there are."""

    name: str
    """The id to cite: the run's, with `~2`, `~3`… where several runs have the same."""
    place: str
    """Where it was read from, so that a user finds it: the journal and the run's id."""
    task: str
    agent: str
    low: float
    """Sort key, the low bound of the score: 0 if the agent failed, whatever it had reached. 2 for a run that says
    nothing about the agent, so that it comes last."""
    flawless: bool = False
    """Whether it shows no fault: scored in full for certain, by an agent that did not fail."""


@dataclass(frozen=True, slots=True)
class Sampled:
    """One run that may be shown."""

    name: str
    record: RunRecord
    transcript: Transcript | None = None


@dataclass(frozen=True)
class Digest:
    """The data that is shown to the analyst."""

    figures: str
    runs: str
    shown: tuple[str, ...]
    """Ids of the runs that are shown."""
    marker: str
    """The mark at the beginning and end of the data; random, so that the data cannot contain it."""
    mark: str
    """The mark that an answer must carry."""

    @cached_property
    def said(self) -> Said:
        """Return the data in the forms in which copies of it are recognised."""
        return Said(f"{self.figures}\n{self.runs}")


class NamedRuns:
    """Gives every run an id of its own to be cited by."""

    def __init__(self) -> None:
        self.known: dict[str, KnownRun] = {}
        self._seen: Counter[str] = Counter()

    def next_name(self, record: RunRecord) -> str:
        """Return the id of the next run; the same runs in the same order get the same ids."""
        name = one_line(record.id, 120)
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{name}~{self._seen[name]}"

    def add(self, place: str, record: RunRecord) -> None:
        """Add a run and its place."""
        name, scored = self.next_name(record), score_of(record)
        low = 2.0 if scored is None else scored.low
        flawless = scored is not None and record.outcome is Outcome.SCORED and passes(scored.low, 1.0)
        self.known[name] = KnownRun(name, one_line(place, 300), record.subject, record.agent, low, flawless)


def choose(known: Iterable[KnownRun]) -> list[str]:
    """Order runs for a sample: one of each task and agent in turn, its worst first, then its best, and so on.

    What fits then holds failures of every task before a second one of any, and runs to compare them with.
    """
    cells: dict[tuple[str, str], list[KnownRun]] = {}
    for run in known:
        cells.setdefault((run.task, run.agent), []).append(run)
    queues = [_from_both_ends(sorted(cell, key=lambda run: run.low)) for cell in cells.values()]
    queues.sort(key=lambda queue: queue[0].low)
    turns = range(max(map(len, queues), default=0))
    return [queue[turn].name for turn in turns for queue in queues if turn < len(queue)]


def make_digest(
    figures: Figures,
    trends: Trends,
    ordered: Sequence[Sampled],
    context_tokens: int,
) -> Digest:
    """Build the digest from as many runs as fit.

    Args:
        figures: Over all runs.
        trends: Over all runs.
        ordered: The runs, the ones to show first at the front.
        context_tokens: Size of the whole.
    """
    room = context_tokens * CHARACTERS_A_TOKEN
    words = _figures(figures, trends)[: int(room * FIGURES_SHARE)]
    room -= len(words)
    lines: list[str] = []
    shown: list[str] = []
    for run in ordered:
        line = _line(run)
        if len(line) + 1 > room:
            break
        room -= len(line) + 1
        lines.append(line)
        shown.append(run.name)
    text = "\n".join(lines)
    marker = f"=== {new_mark(8)} ==="
    return Digest(words, text or "(No run fits.)", tuple(shown), marker, new_mark(4))


def _from_both_ends(runs: list[KnownRun]) -> list[KnownRun]:
    """Order: the worst, the best, the second worst, the second best…"""
    ends = [run for pair in zip(runs, reversed(runs), strict=True) for run in pair]
    return list(dict.fromkeys(ends))[: len(runs)] if len(runs) > 1 else runs


def _figures(figures: Figures, trends: Trends) -> str:
    return "\n".join(_figure_lines(figures, trends))


def _figure_lines(figures: Figures, trends: Trends) -> Iterator[str]:
    yield f"{counted(figures.suite.runs_all, 'run')}, {figures.suite.runs} that count"
    for direction in (Direction.REGRESSION, Direction.DROP, Direction.IMPROVEMENT):
        for trend in trends.of(direction)[:MOST_ROWS]:
            what = f"task {one_line(trend.task, 60)}, agent {one_line(trend.agent, 60)}, {name_words(trend)}"
            yield f"{direction.value}: {what}: {scores_words(trend)} ({change_words(trend)}), {compared_words(trend)}"
    for group in (*figures.agents[:MOST_ROWS], *sorted(figures.cells, key=lambda cell: cell.mean or 0.0)[:MOST_ROWS]):
        facts = [counted(group.runs, "run"), f"{group.target_errors} agent failures"]
        facts += [f"{name} {value:.3g}" for name, value in _means(group) if value is not None]
        facts += [f"{count} {kind}" for kind, count in group.excluded.items()]
        yield f"{group.kind} {one_line(group.name, 120)}: {', '.join(facts)}"
    for each in figures.evaluator_agents[:MOST_ROWS]:
        named = ", ".join(f"{one_line(name, 40)} {value:.2f}" for name, value in list(each.scores.items())[:12])
        mean = "none" if each.mean is None else f"{each.mean:.2f}"
        yield f"evaluator {one_line(each.name, 60)}, agent {one_line(each.agent or '', 60)}: mean {mean}; {named}"
    for error in figures.troubles[:MOST_ROWS]:
        yield f"error in {counted(error.runs, 'run')} ({error.outcome.value}): {one_line(error.words, 200)}"


def _means(group: Any) -> tuple[tuple[str, float | None], ...]:
    return (
        ("mean score", group.mean),
        ("pass rate", group.pass_rate),
        ("tokens per run" if group.tokens_known else "tokens per run, at least", group.tokens_mean),
        ("dollars per run", group.cost_mean),
        ("seconds per run", group.seconds_mean),
    )


def _line(run: Sampled) -> str:
    """Return one run as a line of JSON; the end of the conversation is kept first."""
    facts = _facts(run)
    turns = [] if run.transcript is None else _turns(run.transcript)
    while True:
        line = json.dumps({**facts, **({"conversation": turns} if turns else {})}, ensure_ascii=False)
        if len(line) <= LINE or not turns:
            return line if len(line) <= LINE else json.dumps(_few(facts), ensure_ascii=False)
        del turns[len(turns) // 2]


def _facts(run: Sampled) -> dict[str, Any]:
    record, metrics, used = run.record, run.record.metrics, usage_of(run.record)
    facts: dict[str, Any] = {
        "run": run.name,
        "task": one_line(record.subject, 120),
        "agent": one_line(record.agent, 120),
        "version": record.agent_version and one_line(record.agent_version, 60),
        "outcome": record.outcome.value,
        "score": record.score,
        "success": record.success,
        "stop": record.stop.value if record.stop else None,
        "rounds": record.rounds or None,
        "tokens" if used.reported else "tokens_at_least": used.known_tokens,
        "dollars": used.known_cost,
        "seconds": round(record.timing.seconds, 1) or None,
        "error": record.error and one_line(record.error, TEXT),
        "missed": [_point(each) for each in missed(record)[:5]],
        "hit": [one_line(each.statement or each.criterion, TEXT // 2) for each in _hits(record)[:5]],
        "judged": [_judged(insight) for insight in record.insights[:5]],
    }
    if metrics is not None:
        for name in ("tool_calls", "tool_failures", "aborts", "model_failures"):
            counts = list(getattr(metrics, name).items())[:20]
            facts[name] = {one_line(key, 60): count for key, count in counts}
    return {key: value for key, value in facts.items() if value not in (None, [], {}, "")}


def _point(verdict: Verdict) -> str:
    """Return the label of a point that was not a hit, its statement and the reason."""
    words = f"{verdict.statement or verdict.criterion}: {verdict.reason}"
    return one_line(f"({verdict.label}) {words}", TEXT)


def _hits(record: RunRecord) -> list[Verdict]:
    main = primary_insight(record)
    return [] if main is None else [verdict for verdict in main.verdicts if verdict.score == 1]


def _judged(insight: Insight) -> dict[str, Any]:
    scores = {one_line(name, 40): round(value, 3) for name, value in list(insight.scores.items())[:12]}
    found = {
        "by": one_line(insight.evaluator, 60),
        "label": one_line(insight.label, 40),
        "score": insight.score,
        "scores": scores,
        "summary": one_line(insight.summary, TEXT),
        "notes": [one_line(note, 160) for note in insight.notes[:4]],
    }
    return {key: value for key, value in found.items() if value not in (None, [], {}, "")}


def _few(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the shortest form of a run, if its facts alone are too long."""
    return {key: value for key, value in facts.items() if not isinstance(value, list | dict)}


def _turns(transcript: Transcript) -> list[str]:
    said: list[str] = []
    for round_ in transcript.rounds:
        if round_.examiner:
            said.append(f"user: {one_line(round_.examiner, TEXT)}")
        for step in round_.steps:
            if step.tool:
                end = f" failed: {one_line(step.error, 160)}" if step.error else ""
                said.append(f"tool {one_line(step.tool, 60)}{end}")
        if round_.agent:
            said.append(f"agent: {one_line(round_.agent, TEXT)}")
        if round_.error:
            said.append(f"(the agent failed: {one_line(round_.error, TEXT)})")
    return said if len(said) <= TURNS + 1 else [said[0], f"({len(said) - TURNS - 1} turns left out)", *said[-TURNS:]]
