"""What a bisection found, in words and as data. Replies are hostile text: what shows them escapes them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from viva.journal.reader import read_runs
from viva.records.text import one_line, printable
from viva.records.wording import counted
from viva.statistics.bisection.plan import Bisection, BisectionFinding
from viva.statistics.intervals import wilson

MOST_LISTED = 12
MOST_CHARACTERS = 1500
"""Characters of a reply that are shown."""
WAYS = {
    "start": "from the start",
    "state": "by the agent's state",
    "conversation": "by giving the agent the conversation so far",
    "replay": "by replaying the earlier rounds",
}
RESTORED = {
    "state": "by state: the agent has what its adapter stored after the round, and files only if its state holds them",
    "conversation": "by conversation: the agent has the messages and replies, but no tool calls, files or hidden state",
    "replay": "by replaying: the agent has nothing; it is sent the messages again, and replies and writes files again",
}


@dataclass(frozen=True, slots=True)
class ForkRow:
    """The forks that kept the same number of rounds."""

    kept: int
    successes: int
    trials: int
    low: float
    """Ends of the 95 % interval of their success probability (Wilson)."""
    high: float


@dataclass(frozen=True, slots=True)
class ShownReply:
    """One of the replies that are shown side by side."""

    title: str
    reply: str
    """Printable text of several lines."""


def rows_of(found: Bisection) -> list[ForkRow]:
    """Return the results of the forks, by the number of rounds that they kept."""
    rows = []
    for kept, tally in found.state.tallies.items():
        ends = wilson(tally.successes, tally.trials)
        rows.append(ForkRow(kept, tally.successes, tally.trials, ends.low, ends.high))
    return rows


def lead_of(found: Bisection) -> str:
    """Return in one sentence what was found."""
    share, rounds = probability_words(found.state.confidence), found.plan.rules.rounds
    what = "hits the scoring point" if found.plan.point else "succeeds"
    if found.finding is BisectionFinding.ROUND:
        decided = f"round {found.round} of {rounds} decided (probability {share})"
        return f"{decided}: after it, the conversation no longer {what}"
    if found.finding is BisectionFinding.LAST:
        return (
            f"the last round, {rounds}, decided (probability {share}): forks before it still succeed, so the ending "
            "is a matter of chance, or of the last reply alone"
        )
    if found.finding is BisectionFinding.START:
        return (
            f"no round decided (probability {share}): this agent fails from the start as well, so the task itself "
            "is too hard for it; try a reference agent (--agent)"
        )
    return f"not decided: {_why_not(found)}"


def probability_words(probability: float) -> str:
    """Return a probability as a percentage, which never claims to be certain."""
    return "over 99.9%" if probability > 0.999 else f"{probability:.1%}"


def _why_not(found: Bisection) -> str:
    state, rules = found.state, found.plan.rules
    if state.failed is not None:
        why = found.results[state.failed].why_not
        return f"no fork after round {state.failed.kept} could be scored ({one_line(why, 300)})"
    if state.wanted:
        return f"the search stopped after {counted(state.runs, 'fork')}"
    if state.out_of_reach is not None:
        return (
            f"the agent could not be brought beyond round {state.out_of_reach - 1}, because it replied differently "
            "when the earlier rounds were replayed; an adapter with save_state or load_conversation makes later rounds "
            "reachable"
        )
    return f"--max-runs of {rules.max_runs} is used up"


def lines_of(found: Bisection) -> Iterator[str]:
    """Yield what else is to be known: the credible set, how the agents got to the forks, and what was restored."""
    if found.finding is BisectionFinding.NOT_DECIDED and not found.state.failed:
        names = [_named(each) for each in found.credible]
        listed = ", ".join(names[:MOST_LISTED]) + (
            f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
        )
        yield f"with a probability of {found.plan.rules.confidence:.0%}, it is one of {len(names)}: {listed}"
    excluded = sum(each.succeeded is None for each in found.results.values())
    forks = counted(len(found.results), "fork")
    how = ", ".join(f"{number} {WAYS.get(by, 'otherwise')}" for by, number in found.by.items())
    yield f"{forks}: {how}" + (f"; {excluded} could not be scored" if excluded else "")
    for by in found.by:
        if by in RESTORED:
            yield RESTORED[by]
    replayed = [each for trial, each in found.results.items() if each.kept < trial.kept]
    if replayed:
        yield (
            f"in {counted(len(replayed), 'fork')}, a replayed reply differed from the recorded one; they count as "
            "forks before the first such reply"
        )


def _named(round_: int) -> str:
    return "the start" if round_ == 0 else f"round {round_}"


def side_by_side(found: Bisection, folder: Path) -> list[ShownReply]:
    """Return the last good reply, the first bad one, and what a fork that succeeded replied instead.

    Args:
        found: A bisection.
        folder: The journal of its forks.

    Raises:
        JournalError: the journal cannot be read.
    """
    round_ = found.round
    if round_ is None:
        return []
    recorded, shown = found.plan.recorded, []
    if round_ > 1:
        shown.append(ShownReply(f"last good reply (round {round_ - 1})", _cut(recorded[round_ - 2].reply)))
    shown.append(ShownReply(f"first bad reply (round {round_})", _cut(recorded[round_ - 1].reply)))
    if (name := found.success_before(round_)) is not None:
        rounds = next(read_runs(folder, name)).transcript.rounds
        if len(rounds) >= round_ and (reply := rounds[round_ - 1].agent) is not None:
            shown.append(ShownReply(f"round {round_} in a fork that succeeded ({one_line(name, 80)})", _cut(reply)))
    return shown


def message_of(found: Bisection) -> str:
    """Return the examiner's message in the decisive round; empty if none was found."""
    return "" if found.round is None else _cut(found.plan.recorded[found.round - 1].message)


def _cut(text: str) -> str:
    return printable(text, MOST_CHARACTERS)


def bisection_plain(found: Bisection, folder: Path) -> dict[str, Any]:
    """Return what was found as plain data."""
    round_, recorded = found.round, found.plan.recorded
    return {
        "journal": str(folder),
        "run": found.plan.run,
        "agent": found.agent,
        "finding": found.finding.value,
        "round": round_,
        "probability": round(found.state.confidence, 4),
        "credible": list(found.credible),
        "why": lead_of(found),
        "forks": [
            {
                "kept": row.kept,
                "succeeded": row.successes,
                "trials": row.trials,
                "low": round(row.low, 4),
                "high": round(row.high, 4),
            }
            for row in rows_of(found)
        ],
        "runs": len(found.results),
        "by": dict(found.by),
        "last_good": recorded[round_ - 2].reply if round_ is not None and round_ > 1 else None,
        "first_bad": recorded[round_ - 1].reply if round_ is not None else None,
    }
