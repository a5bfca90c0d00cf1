"""Finds where a conversation speaks of a scoring point, by its words and not by what a judge quoted."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass

from viva.records.transcript import Transcript

_WORD = re.compile(r"[^\W_]+")
_LONG = 1_000
"""Characters of a passage; a longer text is several."""
MOST_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Passage:
    """Some text of a conversation."""

    round: int
    who: str
    text: str


def passages_about(transcript: Transcript, statement: str) -> list[Passage]:
    """Return the passages that share most words with a statement, rare words counting more; at most `MOST_SHOWN`."""
    passages = list(_passages(transcript))
    words = [set(_words(passage.text)) for passage in passages]
    frequency = Counter(word for each in words for word in each)
    wanted = set(_words(statement))
    scored = []
    for place, each in enumerate(words):
        score = sum(math.log(1 + len(passages) / frequency[word]) for word in each & wanted)
        if score > 0:
            scored.append((-score, place))
    return [passages[place] for _, place in sorted(scored)[:MOST_SHOWN]]


def _words(text: str) -> list[str]:
    return [word for word in _WORD.findall(text.casefold()) if len(word) > 3 or word.isdigit()]


def _passages(transcript: Transcript) -> list[Passage]:
    found = []
    for round_ in transcript.rounds:
        for step in round_.steps:
            parts = (step.thought, step.tool, _plain(step.tool_input), step.result, step.observation, step.error)
            found += _cut(round_.number, "step", "\n".join(part for part in parts if part))
        found += _cut(round_.number, "agent", round_.agent or "")
        found += _cut(round_.number, "examiner", round_.examiner or "")
    return found


def _plain(value: object) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, default=str)


def _cut(number: int, who: str, text: str) -> list[Passage]:
    return [Passage(number, who, text[start : start + _LONG]) for start in range(0, len(text), _LONG)]
