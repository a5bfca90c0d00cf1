"""Presents a transcript to a check, as TaskWeaver's `chat_history` and `rounds`, and to a model, as delimited text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from viva.judge.long_conversations import Cut, cut_to_fit
from viva.judge.steps import indented, kind_of, new_marker, origin, parts_of, step_text, visible, without_result
from viva.judge.turns import (
    LEAST_SHOWN,
    WHOLE,
    Detail,
    ShownTurn,
    ShownTurns,
    source_of_message,
    step_turn,
    write_turns,
)
from viva.records.trajectory import trajectory_steps
from viva.records.transcript import Round, Transcript
from viva.sandbox import RunView

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


def show(transcript: Transcript, marker: str | None = None, detail: Detail = WHOLE) -> ShownTranscript:
    """Write a transcript as text for a model.

    Each turn starts with a line `[round N] who:`. All lines of what was said are indented alike, so text in a turn that
    imitates such a line, or the marker, remains recognisable, and the format of an answer can be judged. The steps of a
    round are numbered by Viva, and say who recorded them. Turns that the case gave come first, under heads that say so.
    However many steps an agent reports, the text stays within bounds (`write_turns`).

    Args:
        transcript: The conversation.
        marker: The marker of its beginning, its end and its gaps. Default: a new one.
        detail: How much of it is shown.
    """
    return show_turns(turns_of(transcript), marker, detail)


def turns_of(transcript: Transcript) -> tuple[ShownTurn, ...]:
    """Return the turns of a transcript, at least one, as `show` writes them."""
    given = [ShownTurn(f"[{GIVEN}] {turn.role}", visible(turn.content)) for turn in transcript.given]
    turns = (*given, *(turn for each in transcript.rounds for turn in _turns(each, transcript)))
    return turns or (ShownTurn("(Nothing was said.)"),)


def show_fields(
    fields: Mapping[str, str | ShownTurn | ShownTurns], marker: str | None = None, detail: Detail = WHOLE
) -> ShownTranscript:
    """Write named texts as text for a model, as `show` writes turns: each starts with a line `[name]:`.

    A field of turns has the room that the others leave; it is shortened by its turns, and by nothing else.

    Args:
        fields: The texts, whose authors may be anybody, by their names, which are Viva's own. One that may be veiled is
            a turn.
        marker: The marker of their beginning, end and gaps. Default: a new one.
        detail: How much of them is shown.
    """
    marker = new_marker() if marker is None else marker
    share = max(LEAST_SHOWN, detail.together // max(1, len(fields)))
    written: dict[str, tuple[str, bool]] = {}
    single = {
        name: ShownTurn(f"[{name}]", visible(words) or "(nothing)") if isinstance(words, str) else words
        for name, words in fields.items()
        if not isinstance(words, ShownTurns)
    }
    for name, turn in single.items():
        written[name] = write_turns([turn], marker, Detail(share))
    several = {name: words for name, words in fields.items() if isinstance(words, ShownTurns)}
    left = detail.together - sum(len(text) for text, _ in written.values())
    room = max(share, left // max(1, len(several)))
    for name, words in several.items():
        text, is_cut = write_turns(words.turns, marker, replace(detail, together=min(words.most, room)))
        written[name] = (f"[{name}]:\n{indented(text)}", is_cut)
    if detail.veiled:  # only now: the others have the room that they would have otherwise
        written |= {
            name: write_turns([turn], marker, Detail(share, veiled=detail.veiled)) for name, turn in single.items()
        }
    parts = [written[name] for name in fields]
    return ShownTranscript("\n".join(text for text, _ in parts), marker, any(is_cut for _, is_cut in parts))


def show_turns(turns: Sequence[ShownTurn], marker: str | None = None, detail: Detail = WHOLE) -> ShownTranscript:
    """Write turns as text for a model; their words are shown as `visible` returns them."""
    marker = new_marker() if marker is None else marker
    text, is_cut = write_turns(turns, marker, detail)
    return ShownTranscript(text, marker, is_cut)


def _turns(round_: Round, transcript: Transcript) -> Iterator[ShownTurn]:
    number = f"[round {round_.number}]"
    if round_.examiner is not None:
        by = source_of_message(transcript, round_)
        yield ShownTurn(f"{number} examiner", visible(round_.examiner) or "(nothing)", by)
    no_result = without_result(transcript)
    for place, step in enumerate(trajectory_steps(round_.steps), 1):
        text = visible(step_text(parts_of(step, no_result)))
        head = f"{number} step {place} ({kind_of(step)}, {origin(transcript, step)})"
        yield step_turn(step, head, text or "(nothing)")
    if round_.agent is not None:
        yield ShownTurn(f"{number} agent", visible(round_.agent) or "(nothing)", "said")
    if round_.error is not None:
        yield ShownTurn(f"{number} {AGENT_FAILED}", visible(round_.error) or "(nothing)", "said")
