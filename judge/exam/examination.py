"""Runs all checks that need no model on one conversation."""

from __future__ import annotations

from viva.judge.exam import asked, flow, roles, told
from viva.judge.exam.kinds import Finding
from viva.judge.exam.messages import talk_of
from viva.judge.exam.paper import Paper
from viva.records.transcript import Transcript

CHECKS = (
    asked.never_asked,
    told.leaks,
    roles.role_flips,
    asked.stopped_early,
    told.invented_facts,
    told.told_too_much,
    flow.wandered_off,
    flow.insisted,
    flow.repeated_itself,
    flow.went_on,
)
MOST_FINDINGS = 50
"""Maximum number of findings of one check that are kept of a conversation."""
MOST_NOTED = 3
"""The same for findings that are only noted."""


def examine_conduct(transcript: Transcript, paper: Paper) -> list[Finding]:
    """Return the faults of the examiner that code can find, the serious kinds first.

    Args:
        transcript: The conversation, which must have ended.
        paper: What the exam was about.
    """
    talk = talk_of(transcript)
    if not talk.messages:
        return []
    found: list[Finding] = []
    for check in CHECKS:
        of_check = check(talk, paper)
        if len(of_check) > MOST_NOTED:
            of_check = [
                each for number, each in enumerate(of_check[:MOST_FINDINGS]) if each.unfair or number < MOST_NOTED
            ]
        found += of_check
    return found
