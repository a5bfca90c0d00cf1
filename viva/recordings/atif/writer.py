"""Writes transcripts as ATIF trajectories, version 1.7, which every reader of 1.7 and 1.8 reads."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from viva.recordings.react import to_json
from viva.records.codec import to_plain
from viva.records.text import storable
from viva.records.trajectory import CALL_ID, UNDISPATCHED, answer_of, marked, span_of, trajectory_steps, undispatched
from viva.records.transcript import Round, Step, Transcript, Usage

VERSION = "ATIF-v1.7"
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")


def to_atif(transcript: Transcript, *, agent: str, version: str | None, session: str, extra: Mapping[str, Any]) -> Any:
    """Write one transcript as an ATIF trajectory.

    A round becomes a user's step, the agent's steps (one for each model call of the trajectory), and one with its words
    where none of these is its answer. What the format has no field for is in `extra`.

    Args:
        transcript: Of any source.
        agent: The agent's name.
        version: Its version; the format requires one, `unknown` stands for none.
        session: Id of the run.
        extra: Of the trajectory, as plain data.

    Returns:
        A JSON object; None for a transcript in which nothing was said or done, which the format cannot express.
    """
    steps: list[dict[str, Any]] = []
    if transcript.system:
        steps.append({"source": "system", "message": transcript.system})
    for round_ in transcript.rounds:
        steps += _round(round_)
    if not steps:
        return None
    written = [{"step_id": number, **step} for number, step in enumerate(steps, 1)]
    target = transcript.usage.get("target")
    tools = [dict(tool) for tool in transcript.tools]
    document: dict[str, Any] = {
        "schema_version": VERSION,
        "session_id": session,
        "trajectory_id": session,
        "agent": {
            "name": agent,
            "version": version or "unknown",
            **({"tool_definitions": tools} if tools else {}),
        },
        "steps": written,
        **({"notes": "\n".join(transcript.notes)} if transcript.notes else {}),
        "final_metrics": {**(_totals(target) if target is not None else {}), "total_steps": len(written)},
        "extra": dict(extra),
    }
    return json.loads(storable(json.dumps(document, default=repr)))


def _round(round_: Round) -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = []
    if round_.examiner is not None:
        steps.append({"source": "user", "message": round_.examiner, **_when(round_.started)})
    answered = False
    for _, each in groupby(trajectory_steps(round_.steps), key=_group):
        group = list(each)
        steps.append(_agent_step(group))
        answered = answered or answer_of(group[-1]) == round_.agent
    if round_.agent is not None and not answered:
        said: dict[str, Any] = {"source": "agent", "message": _message(round_.agent, round_.images)}
        steps.append({**said, **({"extra": {"error": round_.error}} if round_.error else {})})
    elif round_.agent is None and round_.error:
        steps.append({"source": "system", "message": f"The agent failed: {round_.error}"})
    return steps


def _group(step: Step) -> str:
    """Steps of one model call are grouped; steps of sources without model calls are separate."""
    return span_of(step) if marked(step) is None else step.id.partition("#")[0]


def _agent_step(group: Sequence[Step]) -> dict[str, Any]:
    first = group[0]
    answer = answer_of(first)
    written: dict[str, Any] = {"source": "agent", "message": answer if answer is not None else first.thought or ""}
    if answer is not None and first.thought:
        written["reasoning_content"] = first.thought
    if first.model:
        written["model_name"] = first.model
    calls, results = [], []
    for number, step in enumerate(group, 1):
        if step.tool is None and step.tool_input is None:
            identity = None
        else:
            identity = str((marked(step) or step.attributes).get(CALL_ID) or step.attributes.get("tool_call_id") or "")
            identity = identity if identity and len(group) == 1 else f"{identity or step.id}.{number}"
            calls.append(_call(step, identity))
        if step.result is not None or step.error is not None or (step.images and identity is not None):
            results.append(_result(step, identity))
    if calls:
        written["tool_calls"] = calls
    if results:
        written["observation"] = {"results": results}
    metrics = {name: value for name, value in _metrics(first.usage).items() if value}
    if metrics:
        written["metrics"] = metrics
    extra: dict[str, Any] = {
        "id": first.id,
        "kind": first.kind.value,
        "observation": first.observation,
        "plan": first.plan,
    }
    extra |= {"agent": first.agent, "seconds": first.seconds}
    return {**written, **_when(first.started), "extra": {name: value for name, value in extra.items() if value}}


def _call(step: Step, identity: str) -> dict[str, Any]:
    given = step.tool_input
    arguments = dict(given) if isinstance(given, Mapping) else {} if given is None else {"input": given}
    call: dict[str, Any] = {"tool_call_id": identity, "function_name": step.tool or "", "arguments": arguments}
    if given is not None and not isinstance(given, Mapping):
        call["extra"] = {"arguments_as_written": given if isinstance(given, str) else to_json(given)}
    if (why := undispatched(step)) is not None:
        call.setdefault("extra", {})[UNDISPATCHED] = why
    return call


def _result(step: Step, identity: str | None) -> dict[str, Any]:
    result: dict[str, Any] = {} if identity is None else {"source_call_id": identity}
    text = step.result if step.result is not None else step.error
    result["content"] = _message(text or "", step.images if identity is not None else ())
    if step.error is not None:
        result["extra"] = {"error": step.error}
    return result


def _message(text: str, images: Sequence[str]) -> Any:
    parts = [
        {"type": "image", "source": {"media_type": kind, "path": image}}
        for image in images
        if (kind := mimetypes.guess_type(image)[0]) in _IMAGES
    ]
    return [{"type": "text", "text": text}, *parts] if parts else text


def _metrics(usage: Usage) -> dict[str, Any]:
    return {
        "prompt_tokens": usage.input_tokens,
        "completion_tokens": usage.output_tokens,
        "cached_tokens": usage.cached_tokens,
        "cost_usd": usage.cost,
    }


def _totals(usage: Usage) -> dict[str, Any]:
    if not usage.reported:
        return {"extra": to_plain(usage)}
    return {
        "total_prompt_tokens": usage.input_tokens,
        "total_completion_tokens": usage.output_tokens,
        "total_cached_tokens": usage.cached_tokens,
        **({} if usage.cost is None else {"total_cost_usd": usage.cost}),
    }


def _when(seconds: float | None) -> dict[str, str]:
    if seconds is None:
        return {}
    try:
        return {"timestamp": datetime.fromtimestamp(seconds, UTC).isoformat()}
    except (ValueError, OverflowError, OSError):
        return {}
