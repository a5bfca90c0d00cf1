"""Shows where the time and the money of a run went: its rounds and steps on one line of time, and usage by role."""

from __future__ import annotations

import math
from typing import Any

from viva.journal.reader import StoredRun
from viva.records.run_record import RunRecord
from viva.records.text import one_line
from viva.records.transcript import Round, Step, Usage
from viva.reports.page.session_views import title_of
from viva.viewer.watched import WatchedJournal

MOST_ROUNDS = 200
"""Maximum number of rounds in one answer."""
MOST_STEPS = 200
"""Maximum number of steps of one round."""


def timings_view(journal: WatchedJournal, run: str, first: int, most: int) -> dict[str, Any] | None:
    """Return the times of some rounds in seconds since the run began, and what the whole run took; None without it.

    Args:
        journal: The journal.
        run: The run's id.
        first: The position of the first round, from 0.
        most: The number of rounds.
    """
    first, most = max(0, first), min(most, MOST_ROUNDS)
    listed = journal.runs.get(run)
    begin = journal.conversation(run, 0, 1)
    stored = journal.conversation(run, first, first + most)
    if stored is None or begin is None or listed is None:
        return None
    origin = _origin(begin)
    rounds: list[dict[str, Any]] = []
    end = 0.0
    for round_ in stored.transcript.rounds:
        shown = _round(round_, origin, end)
        end = shown["start"] + shown["agent"]
        rounds.append(shown)
    return {
        "rounds": rounds,
        "first": first,
        "count": len(listed.places.numbers),
        "totals": _totals(stored.record),
        "usage": _usage(stored.record),
    }


def _origin(stored: StoredRun) -> float:
    """Return when the run began, in seconds since the epoch; 0 if this is not known."""
    if stored.record is not None and _sound(stored.record.timing.started):
        return stored.record.timing.started
    rounds = stored.transcript.rounds
    if rounds and rounds[0].started is not None and _sound(rounds[0].started):
        return rounds[0].started - _seconds(rounds[0].examiner_seconds)
    return 0.0


def _sound(moment: float) -> bool:
    return math.isfinite(moment) and moment > 0


def _seconds(value: float | None) -> float:
    return value if value is not None and math.isfinite(value) and value > 0 else 0.0


def _round(round_: Round, origin: float, before: float) -> dict[str, Any]:
    asked, took = _seconds(round_.examiner_seconds), _seconds(round_.agent_seconds)
    known = round_.started is not None and _sound(round_.started) and origin > 0
    # A recording may not tell when a round began: it is put after the one before it.
    start = max(asked, round_.started - origin) if known and round_.started is not None else before + asked
    return {
        "n": round_.number,
        "start": start,
        "known": known,
        "examiner": asked,
        "agent": took,
        "tokens": round_.usage.known_tokens,
        "cost": round_.usage.known_cost,
        "failed": round_.error is not None,
        "steps": [_step(step, origin) for step in round_.steps[:MOST_STEPS]],
        "more": max(0, len(round_.steps) - MOST_STEPS),
    }


def _step(step: Step, origin: float) -> dict[str, Any]:
    started = step.started if step.started is not None and _sound(step.started) and origin > 0 else None
    return {
        "title": title_of(step),
        "kind": one_line(step.kind.value, 30),
        "start": None if started is None else max(0.0, started - origin),
        "seconds": None if step.seconds is None else _seconds(step.seconds),
        "failed": step.error is not None,
    }


def _totals(record: RunRecord | None) -> list[list[Any]]:
    if record is None:
        return []
    timing = record.timing
    parts = ("examiner", timing.examiner_seconds), ("agent", timing.agent_seconds), ("judge", timing.judge_seconds)
    return [["whole run", _seconds(timing.seconds)], *([name, _seconds(seconds)] for name, seconds in parts)]


def _usage(record: RunRecord | None) -> list[dict[str, Any]]:
    if record is None:
        return []
    names = {"target": "agent"}
    rows = [_usage_row(names.get(role, role), used) for role, used in record.usage.items() if used.known]
    judges = [(f"judge: {insight.evaluator}", insight.usage) for insight in record.insights]
    of_judges = [_usage_row(name, used) for name, used in judges if used.known] if len(judges) > 1 else []
    return rows + of_judges


def _usage_row(role: str, used: Usage) -> dict[str, Any]:
    return {
        "role": one_line(role, 80),
        "calls": used.calls,
        "input": used.input_tokens,
        "cached": used.cached_tokens,
        "output": used.output_tokens,
        "reasoning": used.reasoning_tokens,
        "retries": used.retries,
        "cost": used.known_cost,
        "whole": used.reported,
    }
