"""Prepares verdicts and insights for a page's script."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from viva.exam.record import POINT_LABELS
from viva.judge.scoring_points.layers import LAYER_WORDS, layer_of
from viva.records.text import one_line, printable
from viva.records.verdict import Insight, Verdict
from viva.records.wording import SCORING_POINTS, SUB_GOAL, named_scores
from viva.reports.facts import subject_words, vote_words
from viva.reports.page.reason_diffs import ReasonSide, compared, framed
from viva.reports.point_tree import TreeGroup, has_tree, tree_rows

MOST_QUOTES = 10
"""Maximum number of quotes of one verdict."""
MOST_NOTES = 60
"""Maximum number of notes, and of named scores, of one insight."""
MOST_MENTIONED = 5
"""Maximum number of rounds that a reason refers to."""
SCREENSHOT = "(its screenshot)"
"""Shown for evidence without a quote."""
TONES = {"hit": "good", "correct": "good", "optimal": "good", "yes": "good", "miss": "bad", "unsure": "open"}

# The checks of cases say which round they are about; a model's verdict quotes it.
_ROUND = re.compile(r"\bround (\d{1,6})\b")
_LINE = re.compile(r" \(line (\d{1,6}) of the check\)")


def verdict_view(verdict: Verdict, rounds: Mapping[str, int], run: str) -> dict[str, Any]:
    """Return what the page shows of one verdict.

    Args:
        verdict: The verdict of any evaluator.
        rounds: The number of the round, by the id of a round or step.
        run: The run's id; for a verdict about anything else, the page names the subject.
    """
    points = verdict.label in POINT_LABELS and verdict.subject == run
    return {
        "label": one_line(verdict.label, 30),
        "tone": _tone(verdict),
        "weight": f"{verdict.weight:g}" if points else None,
        "score": None if points or verdict.score is None else f"{verdict.score:.2f}",
        "about": None if verdict.subject == run else [subject_words(verdict.subject), rounds.get(verdict.subject)],
        "statement": printable(verdict.statement or verdict.criterion, 2000),
        "reason": printable(verdict.reason, 4000),
        **({"check": printable(verdict.criterion, 200)} if points else {}),
        **_missed_view(verdict, rounds),
        "by": one_line(verdict.by, 80) + _layer_words(verdict),
        "votes": vote_words(verdict),
        "flags": [one_line(flag, 60) for flag in verdict.flags],
        "quotes": [
            [
                subject_words(e.where),
                printable(e.quote, 2000) or SCREENSHOT,
                rounds.get(e.where),
                one_line(e.where, 200),
            ]
            for e in verdict.evidence[:MOST_QUOTES]
        ],
    }


def _layer_words(verdict: Verdict) -> str:
    """Return on what a model's hit rests; `by code` says it of a check."""
    layer = layer_of(verdict)
    return "" if layer is None or layer == "code" else f", {LAYER_WORDS[layer]}"


def _missed_view(verdict: Verdict, rounds: Mapping[str, int]) -> dict[str, Any]:
    """Return what else the page shows of a verdict other than a hit; empty fields are left out, to keep pages small."""
    if verdict.score == 1:
        return {}
    reason = printable(verdict.reason, 4000)
    shown: dict[str, Any] = {}
    if verdict.by == "code" and verdict.wanted:
        # Of a check without code; what a model says beside it follows in the reason.
        _, _, tail = reason.partition(printable(f"{verdict.wanted}; got: {verdict.got}", 4000))
        values = {"wanted": verdict.wanted, "got": verdict.got}
        sides = [[label, [printable(value, 2000)]] for label, value in values.items()]
        shown["compared"] = {"head": "", "sides": sides, "tail": tail, "note": ""}
    elif verdict.by == "code":
        line, frame, found = _LINE.search(reason), framed(reason), compared(reason)
        if line is not None:
            shown["line"] = int(line[1])
        if found is not None:
            marked = [[side.label, _parts(side)] for side in found.sides]
            shown["compared"] = {"head": found.head, "sides": marked, "tail": found.tail, "note": found.note}
        elif frame[0] or frame[2]:
            shown["frame"] = [len(frame[0]), len(frame[2])]
    if mentioned := _mentioned(reason, rounds):
        shown["mentions"] = mentioned
    return shown


def _parts(side: ReasonSide) -> list[str | list[str]]:
    return [part if isinstance(part, str) else list(part) for part in side.parts]


def _mentioned(reason: str, rounds: Mapping[str, int]) -> list[int]:
    """Return the rounds of this run that a reason names."""
    known = set(rounds.values())
    found = dict.fromkeys(int(number) for number in _ROUND.findall(reason))
    return [number for number in found if number in known][:MOST_MENTIONED]


def _tone(verdict: Verdict) -> str:
    if verdict.label == "error":
        return "excluded"
    if verdict.score is None:
        return TONES.get(verdict.label, "open")
    return "good" if verdict.score >= 1 else "bad" if verdict.score <= 0 else "open"


def quotes_of(verdicts: Sequence[Verdict]) -> dict[str, list[tuple[int, str]]]:
    """Return the quotes, each with the number of its verdict, by the id of the round or step that they are from."""
    found: dict[str, list[tuple[int, str]]] = {}
    for number, verdict in enumerate(verdicts):
        for evidence in verdict.evidence[:MOST_QUOTES]:
            if not evidence.quote:
                continue
            words = [(number, printable(form, 2000)) for form in sorted(_forms(evidence.quote))]
            found.setdefault(evidence.where, []).extend(words)
    return found


def _forms(quote: str) -> set[str]:
    """Return a quote, and its form in a tool's arguments, which judges see as JSON."""
    return {quote, quote.replace("\\n", "\n").replace('\\"', '"')}


def subjects_of(verdicts: Sequence[Verdict], run: str) -> dict[str, list[int]]:
    """Return the numbers of verdicts by the id of the round or step they are about, without those about the run."""
    found: dict[str, list[int]] = {}
    for number, verdict in enumerate(verdicts):
        if verdict.subject != run:
            found.setdefault(verdict.subject, []).append(number)
    return found


def citing(verdicts: Sequence[Verdict]) -> dict[str, list[int]]:
    """Sort sub-goals (by number) by the id of the round or step that they cite; leave out those about it."""
    found: dict[str, list[int]] = {}
    for number, verdict in enumerate(verdicts):
        if verdict.criterion.startswith(SUB_GOAL):
            for where in dict.fromkeys(evidence.where for evidence in verdict.evidence[:MOST_QUOTES]):
                if where != verdict.subject:
                    found.setdefault(where, []).append(number)
    return found


def insight_view(insight: Insight, run: str, *, primary: bool) -> dict[str, Any]:
    """Return what the page shows of one insight; the next `count` verdicts belong to it.

    Args:
        insight: The insight of any evaluator.
        run: The run's id.
        primary: Whether its score is the run's, which the page has in the headline and does not repeat.
    """
    points = primary and insight.evaluator == SCORING_POINTS
    return {
        "evaluator": one_line(insight.evaluator, 80).replace("_", " ").capitalize(),
        "about": None if insight.subject == run else subject_words(insight.subject),
        "label": "" if points else one_line(insight.label, 40),
        "score": None if primary or insight.score is None else f"{insight.score:.2f}",
        "scores": named_scores(insight, MOST_NOTES),
        "summary": "" if points else printable(insight.summary, 4000),
        "notes": [printable(note, 1000) for note in insight.notes[:MOST_NOTES]],
        "count": len(insight.verdicts),
        **({"tree": list(_tree_view(insight))} if has_tree(insight) else {}),
    }


def _tree_view(insight: Insight) -> Iterator[list[Any]]:
    """Yield the level of each row of a tree with the place of its verdict, or with what is shown of a group."""
    place = 0
    for row in tree_rows(insight):
        if not isinstance(row, TreeGroup):
            yield [row[0], place]
            place += 1
            continue
        tone = "open" if row.score is None or 0 < row.score < 1 else "good" if row.score == 1 else "bad"
        yield [
            row.level,
            {
                "tone": tone,
                "score": row.score_words,
                "weight": f"{row.weight:.3g}",
                "statement": printable(row.statement, 2000),
                "count": len(row.verdicts),
                "hits": sum(verdict.score == 1 for verdict in row.verdicts),
            },
        ]
