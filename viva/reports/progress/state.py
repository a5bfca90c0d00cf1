"""What has happened in a suite so far: runs done, the score of each agent, faults, cost, and the running runs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from viva.adapters.connectors.spec import agent_label
from viva.exam.subscribers import RunHeader
from viva.records.run_record import Outcome, RunRecord
from viva.records.text import one_line
from viva.records.transcript import NO_USAGE, Usage
from viva.records.wording import cost_words, counted, played_words, usage_words
from viva.statistics.scores import score_of

MOST_AGENTS = 50
"""Agents with a tally of their own; untrusted journals can name any number."""
MOST_IN_LINE = 6
"""Maximum number of agents in a plain line."""


@dataclass(slots=True)
class Running:
    """One run that has started and not ended."""

    header: RunHeader
    agent: str
    """Short name of the agent."""
    began: float
    rounds: int = 0

    def name(self) -> str:
        """Return the case or task, with the trial and attempt unless they are the first, persona and strategy."""
        header = self.header
        more = [f"trial {header.trial}"] if header.trial > 1 else []
        more += [words] if (words := played_words(header.persona, header.strategy)) else []
        more += [f"attempt {header.attempt}"] if header.attempt > 1 else []
        return ", ".join([one_line(header.subject, 70), *more])

    def stage(self) -> str:
        """Return the round, out of the maximum if there is one; a run that has no rounds left to conduct is judged."""
        if not self.header.max_rounds:
            return f"round {self.rounds}" if self.rounds else "judging"
        return f"round {self.rounds} of {self.header.max_rounds}" if self.rounds else "starting"


@dataclass(slots=True)
class AgentTally:
    """What one agent has reached so far."""

    label: str
    """Short name, different from those of the other agents."""
    done: int = 0
    faults: Counter[Outcome] = field(default_factory=Counter)
    _scores: float = 0.0
    _scored: int = 0

    def add(self, record: RunRecord) -> None:
        """Add one run that ended."""
        self.done += 1
        if record.outcome is not Outcome.SCORED:
            self.faults[record.outcome] += 1
        if (scored := score_of(record)) is not None:
            self._scores += scored.score
            self._scored += 1

    @property
    def score(self) -> float | None:
        """Return the mean score of the runs that count; None if there is none."""
        return self._scores / self._scored if self._scored else None


@dataclass(slots=True)
class Progress:
    """Counts what happens. Each event costs the same, however many runs there are."""

    total: int = 0
    """Number of runs to do now."""
    done_before: int = 0
    """Number of runs that were already finished."""
    done: int = 0
    usage: Usage = NO_USAGE
    agents: dict[str, AgentTally] = field(default_factory=dict)
    """The tally of each agent, by its SPEC, in the order of their first runs."""
    running: dict[str, Running] = field(default_factory=dict)
    """The current runs by id, in the order in which they started."""
    faults: Counter[Outcome] = field(default_factory=Counter)
    began: float = field(default_factory=time.monotonic)
    _labels: Counter[str] = field(default_factory=Counter)

    def start(self, run: RunHeader) -> None:
        """Note that a run started, or started again."""
        tally = self._tally(run.agent)
        label = agent_label(run.agent) if tally is None else tally.label
        self.running.pop(run.id, None)
        self.running[run.id] = Running(run, label, time.monotonic())
        # Runs that are done again may be added to those that were planned.
        self.total = max(self.total, self.done + len(self.running))

    def round(self, run: RunHeader, number: int) -> None:
        """Note that a round ended."""
        if run.id in self.running:
            self.running[run.id].rounds = number

    def end(self, run: RunHeader, record: RunRecord) -> None:
        """Note that a run ended."""
        self.running.pop(run.id, None)
        self.done += 1
        if record.outcome is not Outcome.SCORED:
            self.faults[record.outcome] += 1
        if (tally := self._tally(run.agent)) is not None:
            tally.add(record)
        for used in record.usage.values():
            self.usage += used

    def seconds(self) -> float:
        """Return how long it has taken."""
        return time.monotonic() - self.began

    def seconds_left(self) -> float | None:
        """Estimate how long the rest takes at the same pace; None as long as no run ended."""
        if not 0 < self.done < self.total:
            return None
        return self.seconds() / self.done * (self.total - self.done)

    def line(self) -> str:
        """Return everything in one line; several agents are never averaged."""
        if self.total == 1 and len(self.running) == 1:
            (only,) = self.running.values()
            limit = f" of at most {only.header.max_rounds}" if only.header.max_rounds else ""
            words = f"round {only.rounds}{limit}" if only.rounds else only.stage()
            return f"{one_line(only.header.subject, 60)}: {words}, {self.seconds():.0f} s"
        return ", ".join((f"{self.done}/{counted(self.total, 'run')}", *self._scores(), *self.figures()))

    def figures(self, *, short: bool = False) -> Iterator[str]:
        """Yield the figures of all runs together: faults, usage and time, but no average of several agents.

        Args:
            short: Leave out what kinds of faults there are, and tokens; for a very small terminal.
        """
        if short:
            if self.faults:
                yield counted(self.faults.total(), "fault")
            if self.usage.known:
                yield cost_words(self.usage)
        else:
            if self.done_before:
                yield f"{self.done_before} already finished"
            yield from fault_words(self.faults)
            yield from self._nodes()
            if self.usage.known:
                yield usage_words(self.usage)
        yield duration(self.seconds())
        if (left := self.seconds_left()) is not None:
            yield f"about {duration(left)} left"

    def _scores(self) -> Iterator[str]:
        scored = [tally for tally in self.agents.values() if tally.score is not None]
        if len(self.agents) == 1:
            yield from (f"mean score {tally.score:.3f}" for tally in scored)
            return
        yield from (f"{tally.label} {tally.score:.3f}" for tally in scored[:MOST_IN_LINE])
        if len(scored) > MOST_IN_LINE:
            yield f"{counted(len(scored) - MOST_IN_LINE, 'more agent')}"

    def _nodes(self) -> Iterator[str]:
        nodes = Counter(run.header.node for run in self.running.values() if run.header.node is not None)
        yield from (f"{number} on {one_line(node, 40)}" for node, number in sorted(nodes.items())[:MOST_IN_LINE])
        if len(nodes) > MOST_IN_LINE:
            yield f"others on {counted(len(nodes) - MOST_IN_LINE, 'more node')}"

    def _tally(self, agent: str) -> AgentTally | None:
        if agent not in self.agents and len(self.agents) < MOST_AGENTS:
            label = agent_label(agent)
            self._labels[label] += 1
            number = self._labels[label]
            self.agents[agent] = AgentTally(f"{label} {number}" if number > 1 else label)
        return self.agents.get(agent)


def fault_words(faults: Counter[Outcome]) -> Iterator[str]:
    """Yield the number of runs with each outcome other than `scored`."""
    yield from (f"{number} {kind.value}" for kind, number in sorted(faults.items()))


def duration(seconds: float) -> str:
    """Return a duration in words: `42 s`, `4 min 10 s`, `1 h 05 min`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02} min"
