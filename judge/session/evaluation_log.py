"""Writes evaluations in the format that UFO documents: one in each file, as UFO reads them, or one per line."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from viva.journal.append_file import AppendFile
from viva.judge.session.insights import COMPLETE
from viva.records.verdict import Insight, Label
from viva.records.wording import SUB_GOAL

FILE = "evaluation.log"
TYPE = "evaluation_result"
_NUMBERED = re.compile(r"evaluation_(\d{1,9})\.log")


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
    _append(file, b"".join(map(_line, entries)))


def write_evaluations(folder: Path, entries: list[dict[str, Any]]) -> None:
    """Write each evaluation into a file of its own in a session's folder.

    UFO reads `evaluation.log` as one JSON document, so whatever is in that file stays alone: the first evaluation is
    written there, the next ones into `evaluation_2.log`, `evaluation_3.log` and so on. Links are not followed.

    Raises:
        OSError: a file cannot be written.
    """
    for entry in entries:
        line = _line(entry)
        number = 1
        while not _append(folder / (FILE if number == 1 else f"evaluation_{number}.log"), line, only_first=True):
            number = max(number, _last_number(folder)) + 1


def _last_number(folder: Path) -> int:
    found = (_NUMBERED.fullmatch(name) for name in os.listdir(folder))
    return max((int(match[1]) for match in found if match is not None), default=1)


def _line(entry: dict[str, Any]) -> bytes:
    return json.dumps(entry, ensure_ascii=True).encode() + b"\n"


def _append(file: Path, lines: bytes, *, only_first: bool = False) -> bool:
    log = AppendFile(file)
    try:
        return log.append(lines, only_first=only_first)
    finally:
        log.close()
