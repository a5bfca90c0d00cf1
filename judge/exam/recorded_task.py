"""Finds the task description that a recording holds, so that its user can be judged as an examiner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from viva.records.transcript import Transcript

PATHS = (
    ("task_description",),
    ("instruction",),
    ("task", "instruction"),
    ("task", "instructions"),
    ("info", "task", "instruction"),
    ("metadata", "task_description"),
)
"""Where recordings hold what their user was told, in the source's own data. The last but one is tau-bench's."""


def recorded_task(transcript: Transcript) -> str:
    """Return what the user of a recorded conversation was told; empty if the recording does not say."""
    given = transcript.attributes
    for source in (given.get("recording"), given):
        for path in PATHS:
            found: Any = source
            for key in path:
                found = found.get(key) if isinstance(found, Mapping) else None
            if isinstance(found, str) and found.strip():
                return found
    return ""
