"""Presents a transcript to a check, as TaskWeaver's `chat_history` and `rounds`, and to a model, as delimited text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from viva.judge.long_conversations import Cut, cut_to_fit
from viva.judge.steps import cut, indented, new_marker, origin, parts_of, step_text, visible, without_result
from viva.records.trajectory import trajectory_steps
from viva.records.transcript import Round, Transcript
from viva.sandbox import RunView

TURN_SHOWN = 20_000
"""Maximum number of characters of one turn in a judge's prompt, head and tail; the cut is marked."""
TRANSCRIPT_SHOWN = 400_000
"""Number of characters of a transcript in a prompt; long conversations show less of each turn, but at least 400."""
GIVEN = "given by the case, before the exam"
"""Stands in place of a round in the head of a turn that nobody said in the exam."""
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
    """Marks the gaps in the text, and the lines around it in the prompt; random, so that nobody in it can know it."""
    cut: bool
    """Whether something was left out because of its length."""


def show(transcript: Transcript, marker: str | None = None) -> ShownTranscript:
    """Write a transcript as text for a model.

    Each turn starts with a line `[round N] who:`. All lines of what was said are indented alike, so text in a turn that
    imitates such a line, or the marker, remains recognisable, and the format of an answer can be judged. The steps of a
    round are numbered by Viva, and say who recorded them. Turns that the case gave come first, under heads that say so.

    Args:
        transcript: The conversation.
        marker: The marker of its beginning, its end and its gaps. Default: a new one.
    """
    turns = [
        (f"[round {each.number}] {who}", words) for each in transcript.rounds for who, words in _turns(each, transcript)
    ]
    given = [(f"[{GIVEN}] {turn.role}", visible(turn.content)) for turn in transcript.given]
    return _written([*given, *turns] or [("(Nothing was said.)", None)], marker)


def show_fields(fields: Mapping[str, str], marker: str | None = None) -> ShownTranscript:
    """Write named texts as text for a model, as `show` writes turns: each starts with a line `[name]:`.

    Args:
        fields: The texts, whose authors may be anybody, by their names, which are Viva's own.
        marker: The marker of their beginning, end and gaps. Default: a new one.
    """
    return _written([(f"[{name}]", visible(words) or "(nothing)") for name, words in fields.items()], marker)


def _written(turns: Sequence[tuple[str, str | None]], marker: str | None) -> ShownTranscript:
    """Return the turns between marks, each with its head at the left margin; long turns are shortened equally."""
    marker = new_marker() if marker is None else marker
    most = max(400, min(TURN_SHOWN, TRANSCRIPT_SHOWN // len(turns)))
    lines: list[str] = []
    shortened = False
    for head, words in turns:
        short = words if words is None else _cut_as_sent(words, most, marker)
        shortened = shortened or short is not words
        lines.append(head if short is None else f"{head}:\n{indented(short)}")
    return ShownTranscript("\n".join(lines), marker, shortened)


def _cut_as_sent(words: str, most: int, marker: str) -> str:
    """Return the head and tail of a turn that is too long, also if indentation makes it so.

    Indentation makes prose a little longer, for which there is room; line breaks alone would be five times as long.
    """
    short = cut(words, most, marker)
    room = 2 * most + 100
    if len(short) + 4 * short.count("\n") <= room:
        return short
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if len(indented(cut(words, middle, marker))) <= room:
            low = middle
        else:
            high = middle - 1
    return cut(words, low, marker)


def _turns(round_: Round, transcript: Transcript) -> Iterator[tuple[str, str]]:
    if round_.examiner is not None:
        yield "examiner", visible(round_.examiner) or "(nothing)"
    no_result = without_result(transcript)
    for number, step in enumerate(trajectory_steps(round_.steps), 1):
        text = visible(step_text(parts_of(step, no_result)))
        yield f"step {number} ({step.kind.value}, {origin(transcript, step)})", text or "(nothing)"
    if round_.agent is not None:
        yield "agent", visible(round_.agent) or "(nothing)"
    if round_.error is not None:
        yield AGENT_FAILED, visible(round_.error) or "(nothing)"
