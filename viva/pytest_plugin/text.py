"""The text that pytest shows for an exam that did not pass; hostile content in it is made harmless."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path

from viva.records.run_record import RunRecord
from viva.records.text import exact_line, one_line, printable
from viva.records.transcript import Round
from viva.records.verdict import Label, Verdict
from viva.records.wording import (
    OUTCOMES,
    agent_words,
    beyond,
    judge_words,
    limit_words,
    sandbox_words,
    score_line,
)
from viva.reports.facts import quote_line
from viva.statistics.scores import passes, threshold_of

SHOWN = 2000
"""Maximum number of characters of a reason or quote."""


def headline(record: RunRecord, threshold: float) -> str:
    """Return the first line: the score, or whose fault it was."""
    error = f": {exact_line(record.error, 300)}" if record.error else ""
    kind = record.outcome
    if not kind.counts:
        return f"{kind.value} ({OUTCOMES[kind]}){error}"
    wanted = threshold_of(record, threshold)
    of_case = "" if record.setting.threshold is None else "case's "
    low = record.low or 0.0
    below = ""
    if not passes(low, wanted):
        # Two decimals could show a score that is the threshold.
        exact = beyond(low, wanted, 2)
        by = f" (low bound {exact})" if exact != f"{low:.2f}" else ""
        below = f"{by}, below the {of_case}threshold of {limit_words(wanted)}"
    score = f"score {score_line(record)}{below}"
    return score if record.error is None else f"{score}; the agent failed{error}"


def failure_text(record: RunRecord, threshold: float, last: Round | None, folder: Path) -> str:
    """Return all lines."""
    return "\n".join((headline(record, threshold), *_lines(record, last, folder)))


def _lines(record: RunRecord, last: Round | None, folder: Path) -> Iterator[str]:
    for insight in record.insights:
        for verdict in insight.verdicts:
            if verdict.label != Label.HIT:
                yield from _verdict(verdict)
    if last is not None:
        yield f"  round {last.number} (the last):"
        for who, words in (("examiner", last.examiner), ("agent", last.agent), ("error", last.error)):
            if words is not None:
                yield f"      {who}: {one_line(words, SHOWN)}"
    setting = record.setting
    sandbox = f", sandbox {sandbox_words(setting)}" if setting.sandbox else ""
    inside = f" ({agent_words(setting)})" if agent_words(setting) else ""
    yield f"  agent {one_line(record.agent, 300)}{inside}"
    yield f"  examiner {one_line(setting.examiner, 80)}, judge {judge_words(setting)}{sandbox}"
    if record.rounds:
        yield f"  full conversation: viva replay {printable(shlex.quote(f'{folder}#{record.id}'))}"


def _verdict(verdict: Verdict) -> Iterator[str]:
    flags = f" [{', '.join(verdict.flags)}]" if verdict.flags else ""
    point = one_line(verdict.statement or verdict.criterion, SHOWN)
    yield f"  {verdict.label.upper()} (weight {verdict.weight:g}) {point}"
    yield f"      {exact_line(verdict.reason, SHOWN)} (by {one_line(verdict.by, 80)}){one_line(flags, 200)}"
    for evidence in verdict.evidence:
        yield f"      {quote_line(evidence, SHOWN)}"
