"""Looks up the quotes of a judge in the transcript, and says by whom the words are."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from viva.judge.quotes import Text
from viva.judge.steps import ENDED, parts_of, readings, step_text, without_result
from viva.records.text import storable
from viva.records.trajectory import SURROUNDINGS, is_further_output
from viva.records.transcript import ENVIRONMENT_ID, Round, Transcript
from viva.records.verdict import Evidence

Author = Literal["said", "step", "examiner", "done", "seen"]
"""The agent's words, one of its steps, or the examiner's words; `done` is what a tool was given and gave back, and
`seen` the same of a call that the environment recorded, or the error that it got."""
AGENT: tuple[Author, ...] = ("said", "step")
FILE = "file:"
"""Begins the place of evidence that is in one of the agent's files, before its path."""


_DONE = ("tool", "input", *SURROUNDINGS, "result", ENDED)
_LABELLED = re.compile(rf"^\s*(?:{'|'.join(_DONE)}):\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Passage:
    """One text that was said in a round, and the id by which evidence refers to it."""

    where: str
    round: int
    texts: tuple[Text, ...]
    """The text in each form in which a judge may quote it."""
    by: Author


def look_up(
    transcript: Transcript,
    quotes: Iterable[tuple[int | None, str]],
    *,
    by: Collection[Author] = ("said", "step", "examiner"),
) -> tuple[list[Evidence], list[str]]:
    """Look up quotes.

    `viva.judge.quotes.Text` says when a quote matches. The given round is searched first, then all others: a correct
    quote with a wrong round number is corrected, not rejected.

    Args:
        transcript: The transcript to search.
        quotes: Round number (None if not known) and text of each quote.
        by: Search only what the agent said, what its steps show, or the examiner's messages.

    Returns:
        Evidence for the quotes that were found, with the text as given, and the quotes that were not.
    """
    no_result = without_result(transcript)
    passages = [each for round_ in transcript.rounds for each in _passages(round_, no_result) if each.by in by]
    found: list[Evidence] = []
    lost: list[str] = []
    for number, quote in quotes:
        where = _find(passages, number, quote)
        if where is None:
            lost.append(quote)
        else:
            found.append(Evidence(where, storable(quote.strip())))
    return found, lost


def _passages(round_: Round, no_result: str) -> Iterator[_Passage]:
    """Yield everything that was said in a round, the agent's words first."""
    yield _Passage(round_.id, round_.number, readings(round_.agent), "said")
    for step in round_.steps:
        # An agent may give a step any id, also one that would say that a file or the environment is the evidence.
        taken = FILE if step.from_environment else (FILE, ENVIRONMENT_ID)
        where = round_.id if step.id.startswith(taken) else step.id
        yield _Passage(where, round_.number, readings(step_text(parts_of(step, no_result))), "step")
        of_a_call = step.tool is not None or is_further_output(step)
        if of_a_call and step.result is not None and step.error is None:
            # By themselves: neither what the agent thought nor the names of the parts show that anything was done.
            done = [text for name, text in parts_of(step, no_result) if name in _DONE]
            forms = tuple(form for text in done for form in readings(text))
            yield _Passage(where, round_.number, forms, "done")
            if step.from_environment:
                yield _Passage(where, round_.number, forms, "seen")
        elif step.from_environment and step.error is not None:
            yield _Passage(where, round_.number, readings(step.error), "seen")
    yield _Passage(round_.id, round_.number, readings(round_.examiner), "examiner")


def bare_quotes(quotes: Iterable[tuple[int | None, str]]) -> list[tuple[int | None, str]]:
    """Return quotes of a step without the name of its part, line by line; empty ones are left out."""
    lines = ((number, _LABELLED.sub("", line)) for number, quote in quotes for line in quote.splitlines())
    return [(number, line) for number, line in lines if any(sign.isalnum() for sign in line)]


def _find(passages: Sequence[_Passage], wanted: int | None, quote: str) -> str | None:
    ordered = sorted(passages, key=lambda passage: passage.round != wanted)
    return next((each.where for each in ordered if any(text.find(quote) for text in each.texts)), None)
