"""Verdicts and insights as a page's script shows them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from records.text import one_line, printable
from records.verdict import Insight, Verdict

MOST_QUOTES = 10
"""Of one verdict."""
MOST_NOTES = 60
"""Of one insight; its named scores, too."""
TONES = {"hit": "good", "correct": "good", "optimal": "good", "yes": "good", "miss": "bad", "unsure": "open"}


def verdict_view(verdict: Verdict, rounds: Mapping[str, int]) -> dict[str, Any]:
    """One verdict; `rounds` says in which round each place stands that a quote may name."""
    return {
        "label": one_line(verdict.label, 30),
        "tone": _tone(verdict),
        "weight": f"{verdict.weight:g}",
        "statement": printable(verdict.statement or verdict.criterion, 2000),
        "reason": printable(verdict.reason, 4000),
        "by": one_line(verdict.by, 80),
        "votes": [f"{one_line(judge, 60)}: {one_line(label, 20)}" for judge, label in verdict.votes.items()],
        "flags": [one_line(flag, 60) for flag in verdict.flags],
        "quotes": [
            [_place(e.where), printable(e.quote, 2000), rounds.get(e.where)] for e in verdict.evidence[:MOST_QUOTES]
        ],
    }


def _place(where: str) -> str:
    return f"round {where[1:]}" if re.fullmatch(r"r\d{1,9}", where) else f"step {one_line(where, 60)}"


def _tone(verdict: Verdict) -> str:
    if verdict.label == "error":
        return "apart"
    if verdict.score is None:
        return TONES.get(verdict.label, "open")
    return "good" if verdict.score >= 1 else "bad" if verdict.score <= 0 else "open"


def quotes_of(verdicts: Sequence[Verdict]) -> dict[str, list[tuple[int, str]]]:
    """Place to the verdicts (by number) that quote it, with the words."""
    found: dict[str, list[tuple[int, str]]] = {}
    for number, verdict in enumerate(verdicts):
        for evidence in verdict.evidence[:MOST_QUOTES]:
            words = [(number, printable(form, 2000)) for form in sorted(_forms(evidence.quote))]
            found.setdefault(evidence.where, []).extend(words)
    return found


def _forms(quote: str) -> set[str]:
    """A quote, and how it reads where it is of a tool's arguments: judges see those as JSON."""
    return {quote, quote.replace("\\n", "\n").replace('\\"', '"')}


def insight_view(insight: Insight) -> dict[str, Any]:
    """One insight; the next `count` verdicts are its own."""
    return {
        "evaluator": one_line(insight.evaluator, 80).replace("_", " ").capitalize(),
        "label": one_line(insight.label, 40),
        "score": None if insight.score is None else f"{insight.score:.2f}",
        "scores": [f"{one_line(name, 60)} {value:.2f}" for name, value in islice(insight.scores.items(), MOST_NOTES)],
        "summary": printable(insight.summary, 4000),
        "notes": [printable(note, 1000) for note in insight.notes[:MOST_NOTES]],
        "count": len(insight.verdicts),
    }
