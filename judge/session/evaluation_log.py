"""Writes `evaluation.log`: evaluations in the format that UFO documents, one JSON object per line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from viva.journal.append_file import AppendFile
from viva.judge.session.insights import COMPLETE, SUB_GOAL
from viva.records.verdict import Insight, Label

FILE = "evaluation.log"
TYPE = "evaluation_result"


def evaluation_of(insight: Insight) -> dict[str, Any]:
    """Return an insight of the session evaluator in the format that UFO documents.

    `reason`, `sub_scores`, `complete`, `level`, `request`, `type` and `cost` (dollars, null if unknown) are UFO's.
    `sub_goals` is what the sub-goals add up to, `attempts` lists each attempt with its tokens and cost, and `round` is
    the number of the round. If there is no usable answer, `complete` is `unsure` and `error` says why.
    """
    told = insight.details
    attempts = list(told.get("attempts", []))
    error = insight.label == Label.ERROR
    entry: dict[str, Any] = {
        "reason": insight.summary,
        "sub_scores": [
            {"name": verdict.statement, "evaluation": verdict.label}
            for verdict in insight.verdicts
            if verdict.criterion.startswith(SUB_GOAL)
        ],
        COMPLETE: "unsure" if error else insight.label,
        "level": told.get("level", "session"),
        "request": told.get("request", ""),
        "type": TYPE,
        "cost": _cost(attempts),
        "attempts": attempts,
    }
    if "sub_goals" in told:
        entry["sub_goals"] = told["sub_goals"]
    if entry["level"] == "round" and insight.subject[1:].isdigit():
        entry["round"] = int(insight.subject[1:])
    return entry | ({"error": insight.summary} if error else {})


def _cost(attempts: list[dict[str, Any]]) -> float | None:
    """Return the cost of all attempts. The insight's own usage may include that of others about the same run."""
    costs = [each.get("cost") for each in attempts]
    return None if None in costs else sum(cost for cost in costs if isinstance(cost, int | float))


def append_evaluations(file: Path, entries: list[dict[str, Any]]) -> None:
    """Append evaluations, one per line. A link is not followed.

    Raises:
        OSError: the file cannot be written.
    """
    lines = b"".join(json.dumps(entry, ensure_ascii=True).encode() + b"\n" for entry in entries)
    log = AppendFile(file)
    try:
        log.append(lines)
    finally:
        log.close()
