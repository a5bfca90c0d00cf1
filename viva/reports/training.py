"""Judged conversations as JSON Lines for training: supervised, preference and reward, in the common chat format.

Each line says where it comes from. The fields are those that TRL's trainers read: `messages` (and `tools`) for
supervised training, `prompt`, `chosen` and `rejected` for preferences; `reward` beside `messages` for reward models.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TextIO

from viva.adapters.agent_state import as_messages
from viva.journal.reader import StoredRun
from viva.judge.steps import to_text
from viva.judge.trajectory import SKIPPED
from viva.judge.trajectory.decisions import as_arguments
from viva.records.codec import to_plain
from viva.records.trajectory import without_doubles
from viva.records.transcript import Round, Step, Transcript
from viva.reports.journals import Journals
from viva.statistics.scores import run_passes, score_of

Key = tuple[str, str]
"""Journal and run."""
Message = dict[str, Any]


def write(journals: Journals, out: TextIO) -> None:
    """Write lines of all three kinds; the field `type` tells them apart.

    Raises:
        JournalError: a journal cannot be read.
    """
    write_supervised(journals, out)
    write_preference(journals, out)
    write_reward(journals, out)


def write_supervised(journals: Journals, out: TextIO) -> None:
    """Write each conversation that passed, as an example to follow."""
    for stored, score in _scored(journals):
        if stored.record is not None and run_passes(stored.record, journals.threshold):
            _line(out, "supervised", _talk(stored.transcript), {"score": score}, stored)


def write_reward(journals: Journals, out: TextIO) -> None:
    """Write each conversation with its score, and with the verdicts on its rounds and steps."""
    for stored, score in _scored(journals):
        verdicts = [
            {"subject": verdict.subject, "evaluator": insight.evaluator, "label": verdict.label, "score": verdict.score}
            for insight in stored.insights
            for verdict in insight.verdicts
            if verdict.subject != stored.id and verdict.score is not None and verdict.label != SKIPPED
        ]
        _line(out, "reward", _talk(stored.transcript), {"reward": score, "steps": verdicts}, stored)


def write_preference(journals: Journals, out: TextIO) -> None:
    """Write pairs of conversations of one case, of which one scored higher: the best with the worst, and so on.

    The prompt is what both have in common at their beginning. Two that do not share the user's first message have no
    prompt: `chosen` and `rejected` are then whole conversations.
    """
    partners: dict[Key, Key] = {}
    for better, worse in _pairs(journals):
        partners[better] = worse
        partners[worse] = better
    better_ones = {better for better, _ in _pairs(journals)}
    waiting: dict[Key, tuple[StoredRun, float]] = {}
    for stored, score in _scored(journals):
        key = _key(stored)
        if key not in partners:
            continue
        other = waiting.pop(partners[key], None)
        if other is None:
            waiting[key] = stored, score
            continue
        first, second = ((stored, score), other) if key in better_ones else (other, (stored, score))
        _pair(out, *first, *second)


def _pair(out: TextIO, chosen: StoredRun, chosen_score: float, rejected: StoredRun, rejected_score: float) -> None:
    one, other = messages(chosen.transcript), messages(rejected.transcript)
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    if shared in (len(one), len(other)):
        # A preference needs something that is preferred to something else.
        shared = min(_answers_from(one), _answers_from(other))
    if not any(each["role"] == "user" for each in one[:shared]):
        shared = 0
    prompt = {"prompt": one[:shared]} if shared else {}
    talk = {**prompt, "chosen": one[shared:], "rejected": other[shared:], **_tools(chosen.transcript)}
    scores = {"chosen_score": chosen_score, "rejected_score": rejected_score}
    _line(out, "preference", talk, scores, chosen, rejected)


def _answers_from(talk: Sequence[Message]) -> int:
    """Where the agent first says or does something."""
    return next((place for place, each in enumerate(talk) if each["role"] == "assistant"), len(talk))


def _pairs(journals: Journals) -> list[tuple[Key, Key]]:
    """Better and worse run of each pair: found from the scores alone, so that no conversation is held for it."""
    by_case: dict[str, list[tuple[float, Key]]] = {}
    for entry in journals.entries():
        scored = score_of(entry.record)
        if scored is not None:
            by_case.setdefault(entry.record.subject, []).append((scored.score, (str(entry.folder), entry.record.id)))
    found: list[tuple[Key, Key]] = []
    for runs in by_case.values():
        ordered = sorted(runs, reverse=True)
        for better, worse in zip(ordered[: len(runs) // 2], reversed(ordered), strict=False):
            if better[0] > worse[0]:
                found.append((better[1], worse[1]))
    return found


def _scored(journals: Journals) -> Iterator[tuple[StoredRun, float]]:
    for stored in journals.conversations():
        scored = None if stored.record is None else score_of(stored.record)
        if scored is not None:
            yield stored, scored.score


def _key(stored: StoredRun) -> Key:
    return str(stored.folder), stored.id


def _talk(transcript: Transcript) -> dict[str, Any]:
    return {"messages": messages(transcript), **_tools(transcript)}


def _tools(transcript: Transcript) -> dict[str, Any]:
    return {"tools": to_plain(transcript.tools)} if transcript.tools else {}


def messages(transcript: Transcript) -> list[Message]:
    """Write a conversation in the chat format: the agent's thoughts stand beside its tool calls."""
    talk: list[Message] = [{"role": "system", "content": transcript.system}] if transcript.system else []
    talk += as_messages(transcript.given)
    for round_ in transcript.rounds:
        talk += _round(round_)
    return talk


def _round(round_: Round) -> Iterator[Message]:
    if round_.examiner is not None:
        yield {"role": "user", "content": round_.examiner}
    for number, step in enumerate(without_doubles(round_.steps), 1):
        if step.tool is not None:
            yield from _call(step, f"call_{round_.number}_{number}")
    if round_.agent is not None and round_.error is None:
        yield {"role": "assistant", "content": round_.agent}


def _call(step: Step, identity: str) -> Iterator[Message]:
    arguments = as_arguments(step.tool_input)
    given = arguments if isinstance(arguments, str) else to_text(arguments)
    function = {"name": step.tool, "arguments": given}
    yield {
        "role": "assistant",
        "content": step.thought or "",
        "tool_calls": [{"id": identity, "type": "function", "function": function}],
    }
    result = step.result if step.error is None else f"error: {step.error}"
    yield {"role": "tool", "tool_call_id": identity, "name": step.tool, "content": result or ""}


def _line(out: TextIO, kind: str, talk: Mapping[str, Any], scores: Mapping[str, Any], *runs: StoredRun) -> None:
    provenance = [_provenance(stored) for stored in runs]
    line = {"type": kind, **talk, **scores, "provenance": provenance[0] if len(provenance) == 1 else provenance}
    out.write(json.dumps(line, ensure_ascii=False, default=repr) + "\n")


def _provenance(stored: StoredRun) -> dict[str, Any]:
    setting, record = stored.setting, stored.record
    told = {
        "journal": str(stored.folder),
        "run": stored.id,
        "case": setting.case,
        "agent": setting.agent,
        "agent_version": setting.agent_version,
        "source": setting.source,
        "examiner": setting.examiner,
        "judge": setting.judge,
        "judge_model": setting.judge_model,
        "evaluators": list(setting.evaluators),
        "prompts": dict(setting.prompts),
        "viva": setting.viva,
        "outcome": None if record is None else record.outcome.value,
    }
    return {name: value for name, value in told.items() if value}
