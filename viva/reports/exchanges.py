"""Finds what judges' models were asked about one scoring point, one step, or by one evaluator."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from viva.journal.reader import StoredRun
from viva.records.exchange.exchanges import Exchange, PictureName
from viva.records.text import one_line
from viva.records.verdict import Insight, is_model
from viva.records.wording import SCORING_POINTS
from viva.statistics.scores import primary_insight

MOST_TOPICS = 20
"""Maximum number of names in a message about what there is to choose."""


def chosen_exchanges(exchanges: Sequence[Exchange], stored: StoredRun, what: str) -> list[Exchange]:
    """Return the exchanges about something; empty if there are none.

    Args:
        exchanges: Those of one run.
        stored: The run.
        what: A scoring point's id, or its number as reports list the points, an evaluator's name, or the id of a round
            or step.
    """
    names = {what}
    if what.isdecimal() and not any(each.criterion == what for each in exchanges):
        names = {point for number, point in enumerate(_points(stored), 1) if number == int(what)}
    return (
        [each for each in exchanges if each.criterion in names]
        or [each for each in exchanges if each.evaluator == what]
        or [each for each in exchanges if each.subject == what]
    )


def exchanges_behind(exchanges: Sequence[Exchange], insights: Sequence[Insight], run: str) -> list[list[Exchange]]:
    """Return the exchanges that led to each verdict of the insights, in the order of the verdicts.

    Where one answer led to several verdicts, it is behind the first of them.

    Args:
        exchanges: Those of one run.
        insights: The insights of the run.
        run: The run's id.
    """
    by_topic: dict[tuple[str, str, str], list[Exchange]] = {}
    for each in exchanges:
        by_topic.setdefault((each.evaluator, each.subject or run, each.criterion), []).append(each)
    behind: list[list[Exchange]] = []
    for insight in insights:
        for verdict in insight.verdicts:
            own = (insight.evaluator, verdict.subject, verdict.criterion)
            shared = (insight.evaluator, verdict.subject, insight.evaluator)
            by_model = any(is_model(judge) for judge in (verdict.by, *(v.judge for v in verdict.votes)))
            found = by_topic.pop(own, []) or (by_topic.pop(shared, []) if by_model else [])
            behind.append(found)
    return behind


def listed_topics(names: Iterable[str]) -> str:
    """Return what there is to choose from, in words."""
    shown = [one_line(name, 60) for name in names]
    return f"{', '.join(shown[:MOST_TOPICS])}{' and more' if len(shown) > MOST_TOPICS else ''}"


def exchange_plain(exchange: Exchange) -> dict[str, Any]:
    """Return an exchange as data for `viva.cli.json_pieces`: lists of what may be long are iterators."""
    return {
        "evaluator": exchange.evaluator,
        "subject": exchange.subject,
        "criterion": exchange.criterion,
        "judge": exchange.judge,
        "vote": exchange.vote,
        "request": exchange.digest,
        "messages": ({"role": each.role, "content": map(_part_plain, each.parts)} for each in exchange.messages),
        "answer": exchange.answer,
        **({"error": exchange.error} if exchange.error else {}),
    }


def _part_plain(part: str | PictureName) -> dict[str, str]:
    return {"picture": part.name} if isinstance(part, PictureName) else {"text": part}


def _points(stored: StoredRun) -> Iterator[str]:
    main = None if stored.record is None else primary_insight(stored.record)
    insights = [each for each in stored.insights if each.evaluator == SCORING_POINTS] or ([main] if main else [])
    for insight in insights:
        yield from (verdict.criterion for verdict in insight.verdicts)
