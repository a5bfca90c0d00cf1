"""Tells conversations apart by what people read of them: ids of runs are the same in every suite."""

from __future__ import annotations

import hashlib
import json

from viva.records.transcript import Round, Step, Transcript

DIGITS = 16
"""Hex digits of a digest: enough that two conversations of a journal never share one by chance."""


def conversation_digest(transcript: Transcript) -> str:
    """Return the first digits of the SHA-256 of what was said and done in a conversation, without times and costs.

    Judging a conversation again, copying its journal or reading it with another version of Viva leaves it as it is.
    """
    plain = json.dumps([_round(each) for each in transcript.rounds], ensure_ascii=True, sort_keys=True, default=str)
    return hashlib.sha256(plain.encode()).hexdigest()[:DIGITS]


def _round(each: Round) -> list[object]:
    said = each.examiner, each.agent, each.error
    return [*(text or "" for text in said), [_step(step) for step in each.steps]]


def _step(step: Step) -> list[object]:
    texts = (step.agent, step.observation, step.thought, step.plan, step.tool, step.result, step.error)
    return [str(step.kind.value), *(text or "" for text in texts), step.tool_input]
