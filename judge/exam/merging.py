"""Merges what a reviewer found in an exam with what code found; neither is believed without conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from viva.judge.exam.answer import ReviewAnswer, ReviewedFault
from viva.judge.exam.asked import ended_at_once, may_stop
from viva.judge.exam.kinds import OF_THE_EXAM, ExamFault, Finding
from viva.judge.exam.messages import Talk
from viva.judge.exam.paper import Paper
from viva.judge.exam.told import gave_before
from viva.records.text import one_line

CONTRADICTED = "code found never_asked, and the reviewer takes these words for the request: {}"
"""A model's word alone does not undo it: a weak reviewer takes any greeting for the request."""
NOT_CONFIRMED = "code found {} in round {}, and the reviewer did not confirm it: it is only noted"
EXCUSED = "the reviewer found {} in round {}, and {}: it is only noted"


def merge(
    answer: ReviewAnswer, findings: Sequence[Finding], by: str, talk: Talk, paper: Paper
) -> tuple[tuple[Finding, ...], tuple[str, ...]]:
    """Return what code and a reviewer found together, each fault of a message once, and notes for a reader.

    Args:
        answer: The reviewer's answer, whose quotes were found.
        findings: What code has found.
        by: The reviewer's name.
        talk: The conversation.
        paper: What the exam was about, by which a finding of the reviewer is excused as one of code is.
    """
    notes: list[str] = []
    kept = list(findings)
    if answer.asked == "yes" and any(each.kind is ExamFault.NEVER_ASKED for each in kept):
        notes.append(CONTRADICTED.format(one_line(answer.request[0].quote, 200)))
    named = {_key(fault) for fault in answer.faults}
    for index, each in enumerate(kept):
        if each.unfair and each.kind is not ExamFault.NEVER_ASKED and _key(each) not in named:
            # Rules are easily mistaken here, and what was said may be what the agent had asked for.
            kept[index] = replace(each, mild=True)
            notes.append(NOT_CONFIRMED.format(each.kind.value, each.round))
    known = {_key(each): place for place, each in enumerate(kept)}
    for fault in answer.faults:
        excuse = _excuse(fault, talk, paper)
        if (place := known.get(_key(fault))) is not None:
            if fault.kind is ExamFault.STOPPED_EARLY and not excuse:
                # Code is not sure of it if the agent asked something; a role flip it excuses is what the agent wanted.
                kept[place] = replace(kept[place], mild=False)
            continue
        known[_key(fault)] = len(kept)
        if excuse:
            notes.append(EXCUSED.format(fault.kind.value, fault.round, excuse))
        quote, reason = fault.quote.strip(), fault.reason.strip()
        kept.append(Finding(fault.kind, fault.round, quote, reason, by=by, mild=bool(excuse)))
    return tuple(kept), tuple(notes)


def _key(found: Finding | ReviewedFault) -> tuple[ExamFault, int]:
    """Return what two findings of one fault have in common."""
    return found.kind, 0 if found.kind in OF_THE_EXAM else found.round


def _excuse(fault: ReviewedFault, talk: Talk, paper: Paper) -> str:
    """Return why a fault that the reviewer alone found does not make the exam unfair; empty if it does.

    What excuses an examiner in the eyes of code excuses it here, too: no agent may dictate a fault, or bring one about.
    """
    if fault.kind is ExamFault.NEVER_ASKED:
        return "the agent failed before the request could be made" if ended_at_once(talk) else ""
    if fault.kind is ExamFault.STOPPED_EARLY:
        if not talk.by_choice:
            return "the examiner did not end the exam"
        return "the examiner had reason to end the exam" if may_stop(talk, paper) else ""
    if fault.kind not in (ExamFault.LEAK, ExamFault.ROLE_FLIP):
        return ""
    quote = fault.quote.strip().casefold()
    said = bool(quote) and talk.said_before(fault.round, quote)
    given = fault.kind is ExamFault.LEAK and gave_before(talk, paper, fault.round, fault.quote)
    return "the agent had said this before" if said or given else ""
