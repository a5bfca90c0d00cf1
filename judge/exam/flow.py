"""Finds faults in the course of an exam: repetitions, insistence, other subjects, and messages after its end."""

from __future__ import annotations

import itertools

from viva.judge.exam.asked import asks_the_same
from viva.judge.exam.kinds import ExamFault, Finding
from viva.judge.exam.messages import SentMessage, Talk
from viva.judge.exam.paper import Paper
from viva.judge.exam.words import Words, sequence_of, words_of

REPEATED_LENGTH = 25
"""Minimum number of characters of a message whose repetition is a fault: `Yes, please.` is said often."""
TOO_OFTEN = 4
"""Number of messages in a row with the same request that are too many: one more than the third request for one step."""
NEW_SUBJECT = 7
"""Minimum number of content words of a message that has no word of the task, or of what the agent said."""
FAREWELLS = 3
"""Minimum number of messages at the end without a question or a word of the task that are a fault."""


def repeated_itself(talk: Talk, paper: Paper) -> list[Finding]:
    """Return each message that was sent before, word for word."""
    found: list[Finding] = []
    first: dict[frozenset[str], SentMessage] = {}
    again: dict[frozenset[str], dict[tuple[str, ...], int]] = {}
    for message in talk.messages:
        tokens = message.words.tokens
        one = first.setdefault(tokens, message)
        if one is message:
            continue
        # Most messages have words of their own, so their order need not be looked at.
        rounds = again.setdefault(tokens, {})
        if not rounds:
            rounds[sequence_of(one.text)] = one.round
        before = rounds.setdefault(sequence_of(message.text), message.round)
        if before == message.round or len(message.text) < (REPEATED_LENGTH if message.text.isascii() else 8):
            continue
        if (reply := talk.reply(message.round - 1)) and reply == talk.reply(before - 1):
            continue  # the agent is stuck, and gets the same answer
        reason = f"it repeats the message of round {before}"
        found.append(Finding(ExamFault.REPEATED_ITSELF, message.round, message.text[:200].strip(), reason))
    return found


def insisted(talk: Talk, paper: Paper) -> list[Finding]:
    """Return a finding for a request that was made too often, or given up although the task insists on it."""
    most = max(TOO_OFTEN, (paper.insist_times or 0) + 2) if paper.insists else TOO_OFTEN
    if paper.insists is not None and paper.insist_times is None:
        most = len(talk.messages) + 1  # the task alone says how long
    run = 1
    for before, message in itertools.pairwise(talk.messages):
        run = run + 1 if asks_the_same(before.words, message.words) else 1
        if run >= most:
            reason = f"{run} messages in a row ask for the same"
            return [Finding(ExamFault.INSISTED_TOO_LONG, message.round, message.text[:200].strip(), reason)]
    return _too_little(talk, paper)


def _too_little(talk: Talk, paper: Paper) -> list[Finding]:
    """Return a finding if what the case insists on came up less than twice, and the examiner ended the exam."""
    wanted = paper.insists
    if wanted is None or not talk.by_choice or not talk.messages:
        return []
    if (paper.insist_times or 1) < 1 or not wanted.stems:
        return []
    own, figures = wanted.stems, _figures(wanted)
    times = sum(
        len(message.words.stems & own) * 3 >= len(own) or not figures.isdisjoint(_figures(message.words))
        for message in talk.messages
    )
    if times > 1:
        return []
    last = talk.messages[-1]
    some = "only one" if times else "none"
    reason = f"the case has the user insist, but what they insist on came up in {some} of the examiner's messages"
    return [Finding(ExamFault.INSISTED_TOO_LITTLE, last.round, last.text[:200].strip(), reason)]


def _figures(words: Words) -> set[str]:
    """Return the numbers and names of a text; 10:00 is 10 o'clock."""
    return {each.removesuffix(":00") for each in words.specifics}


def wandered_off(talk: Talk, paper: Paper) -> list[Finding]:
    """Return each message about something that neither the task nor the agent has mentioned."""
    if paper.plays or paper.language is not None:
        return []
    found: list[Finding] = []
    for message in talk.messages:
        stems = message.words.stems
        if len(stems) < NEW_SUBJECT or stems & paper.stems or message.words.specifics & paper.specifics:
            continue
        if _from_agent(message, talk):
            continue
        reason = "nothing in this message belongs to the task or to what the agent said"
        found.append(Finding(ExamFault.WANDERED_OFF, message.round, message.text[:200].strip(), reason))
    return found


def _from_agent(message: SentMessage, talk: Talk) -> bool:
    replies = "\n".join(talk.reply(each) for each in range(max(1, message.round - 2), message.round))
    own = words_of(replies).stems if replies else frozenset()
    return len(message.words.stems & own) * 7 >= len(message.words.stems)


def went_on(talk: Talk, paper: Paper) -> list[Finding]:
    """Return a finding if the last messages ask for nothing, and have nothing of the task."""
    tail: list[SentMessage] = []
    steps = {round_.number for round_ in talk.transcript.rounds if round_.steps}
    for message in reversed(talk.messages):
        words = message.words
        if (
            message.asked
            or message.round in steps
            or (words.stems & paper.stems)
            or (words.specifics & paper.specifics)
        ):
            break
        before = talk.reply(message.round - 1)
        if any(stem in before for stem in words.stems):
            break  # it takes up what the agent said
        if message.text:
            tail.append(message)
    if len(tail) < FAREWELLS or len(tail) == len(talk.messages):
        return []
    first = tail[-2]
    reason = f"the last {len(tail)} messages ask for nothing, and contain no word of the task"
    return [Finding(ExamFault.WENT_ON, first.round, first.text[:200].strip(), reason)]
