"""Presents a transcript to a check, as TaskWeaver's `chat_history` and `rounds`, and to a model, as delimited text."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viva.judge.long_conversations import Cut, cut_to_fit
from viva.records.text import one_line, printable, storable
from viva.records.trajectory import trajectory_steps
from viva.records.transcript import Round, Step, Transcript
from viva.sandbox import RunView

TURN_SHOWN = 20_000
"""Maximum number of characters of one turn in a judge's prompt, head and tail; the cut is marked."""
TRANSCRIPT_SHOWN = 400_000
"""Number of characters of a transcript in a prompt; long conversations show less of each turn, but at least 400."""
STEP_ID_SHOWN = 60
AGENT_FAILED = "viva: how the agent failed"
"""The head of Viva's words about a failed round, which are not the agent's."""


def run_view(transcript: Transcript, task_description: str) -> RunView:
    """Return what a check sees of a conversation.

    `chat_history` is TaskWeaver's: system message, kick-off, then the examiner's turns as `ai` and the agent's as
    `human`; the closing stop keyword is not in it. See auto_eval/evaluator.py in TaskWeaver's repository. Unlike there,
    the agent's turn is empty where it failed: the error is in `rounds` alone, under its name.
    """
    history = [
        ("system", f"You are the examiner of an agent. The task:\n{task_description}"),
        ("human", transcript.kick_off or ""),
    ]
    cut = cut_to_fit(transcript.rounds)
    rounds = tuple(_round(round_, cut) for round_ in transcript.rounds)
    for round_, shown in zip(transcript.rounds, rounds, strict=True):
        if round_.examiner is not None:
            history.append(("ai", shown["examiner"]))
        # A failed round has an empty turn: without one, a check of the last message would read the examiner's.
        if round_.agent is not None or round_.error is not None:
            history.append(("human", shown["agent"]))
    return RunView(tuple(history), rounds)


def _round(round_: Round, cut: Cut) -> dict[str, Any]:
    steps = cut.shown_steps(round_.steps)
    shown = {
        "number": round_.number,
        "examiner": cut.words(round_.examiner or ""),
        "agent": cut.words(round_.agent or ""),
        "error": None if round_.error is None else cut.words(round_.error),
        "steps": steps,
        "seconds": round_.agent_seconds,
    }
    # Added only if something was shortened; the rounds of most conversations are whole.
    return shown if cut.what is None else {**shown, "cut": cut.what, "steps_left_out": len(round_.steps) - len(steps)}


@dataclass(frozen=True, slots=True)
class ShownTranscript:
    """A transcript as text for a model."""

    text: str
    marker: str
    """Begins and ends the text. It is random, so no speaker in the transcript can know it."""
    cut: bool
    """Whether something was left out because of its length."""


def show(transcript: Transcript) -> ShownTranscript:
    """Write a transcript as text for a model.

    Each turn starts with a line `[round N] who:`. All lines of what was said are indented alike, so text in a turn that
    imitates such a line, or the marker, remains recognisable, and the format of an answer can be judged.
    """
    turns = [(f"[round {each.number}] {who}", words) for each in transcript.rounds for who, words in _turns(each)]
    return _between_marks(turns or [("(Nothing was said.)", None)])


def show_fields(fields: Mapping[str, str]) -> ShownTranscript:
    """Write named texts as text for a model, as `show` writes turns: each starts with a line `[name]:`.

    Args:
        fields: The texts, whose authors may be anybody, by their names, which are Viva's own.
    """
    return _between_marks([(f"[{name}]", visible(words) or "(nothing)") for name, words in fields.items()])


def _between_marks(turns: Sequence[tuple[str, str | None]]) -> ShownTranscript:
    """Return the turns between marks, each with its head at the left margin; long turns are shortened equally."""
    most = max(400, min(TURN_SHOWN, TRANSCRIPT_SHOWN // len(turns)))
    lines: list[str] = []
    cut = False
    for head, words in turns:
        short = words if words is None else _shorten(words, most)
        cut = cut or short is not words
        lines.append(head if short is None else f"{head}:\n{_indent(short)}")
    text = "\n".join(lines)
    return ShownTranscript(text, new_marker(text), cut)


def new_marker(text: str) -> str:
    """Return a random marker that is not in this text."""
    marker = secrets.token_hex(8)
    while marker in text:
        marker = secrets.token_hex(8)
    return marker


def _turns(round_: Round) -> list[tuple[str, str]]:
    turns = [("examiner", round_.examiner)] if round_.examiner is not None else []
    turns += [(f"step {one_line(step.id, STEP_ID_SHOWN)}", step_text(step)) for step in trajectory_steps(round_.steps)]
    if round_.agent is not None:
        turns.append(("agent", round_.agent))
    if round_.error is not None:
        turns.append((AGENT_FAILED, round_.error))
    return [(who, visible(words) or "(nothing)") for who, words in turns]


def visible(words: str) -> str:
    """Return text in which characters that hide or reorder others are shown as escapes, such as `\\u200b`."""
    return printable(words)


def step_text(step: Step) -> str:
    """Return a step as a judge reads it; quotes are looked up in the same text."""
    parts = [f"{step.kind.value}"]
    for name in ("agent", "observation", "thought", "plan", "tool", "tool_input", "result", "error"):
        value = getattr(step, name)
        if value is not None:
            parts.append(f"{name}={value if isinstance(value, str) else to_text(value)}")
    return storable("; ".join(parts))


def to_text(value: Any) -> str:
    """Return a tool's arguments as one line of text."""
    try:
        return json.dumps(value, ensure_ascii=False, default=repr, skipkeys=True)
    except (ValueError, RecursionError):  # it contains itself
        return repr(value)


def _shorten(words: str, most: int) -> str:
    if len(words) <= most:
        return words
    head, tail = most * 3 // 4, most // 4
    return f"{words[:head]} [… {len(words) - head - tail:,} characters left out …] {words[-tail:]}"


def _indent(words: str) -> str:
    # Splits at every character that a reader may interpret as a line break, not only at \n. The added character keeps
    # what follows a last line break: a format may ask for it.
    return "\n".join(f"    {line}" for line in f"{words}.".splitlines())[:-1]
