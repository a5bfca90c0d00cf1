"""Finds exams in which the task was never set, or was not set to its end."""

from __future__ import annotations

import itertools

from viva.judge.exam.common_words import language_of, word_list
from viva.judge.exam.kinds import ExamFault, Finding
from viva.judge.exam.messages import SentMessage, Talk
from viva.judge.exam.paper import WEIGHT_OF_SPECIFIC, Paper
from viva.judge.exam.words import Words, is_small, joined, words_of
from viva.records.text import counted

SHORT = 16
"""Maximum number of words of a task whose main words count twice: a request may have only one of them."""
FEWEST_MESSAGES = 3
"""Minimum number of messages after which an examiner that never set the task is at fault although the agent failed."""
SAID_AGAIN = 0.8
"""Minimum share of the shorter message's words that two messages of one request have in common."""


def never_asked(talk: Talk, paper: Paper) -> list[Finding]:
    """Return a finding if the request of the task never came up."""
    if ended_at_once(talk):
        return []
    if not talk.messages or not paper.size:
        return []  # a task without any content cannot be recognised
    stems, specifics = joined(message.words for message in talk.messages)
    telling = {each for each in paper.specifics if not is_small(each)}
    named = len(specifics & telling)
    common = len(stems & paper.stems)
    core = len(stems & paper.core) if len(paper.stems) <= SHORT else 0
    if common + core + WEIGHT_OF_SPECIFIC * named >= _needed(paper.size):
        return []
    if not named and _speaks_another_language(talk, paper):
        return []
    first = talk.messages[0]
    shown = first.text[:200].strip()
    reason = (
        f"the examiner's messages contain only {common} of the task's {counted(len(paper.stems), 'word')}"
        if common
        else "the examiner's messages contain none of the task's words, names, numbers and files"
    )
    return [Finding(ExamFault.NEVER_ASKED, first.round, shown, reason)]


def ended_at_once(talk: Talk) -> bool:
    """Return whether the agent ended the exam, by failing or by what it said, before the task could be set."""
    return (talk.transcript.failed or talk.ended_by_agent) and len(talk.messages) < FEWEST_MESSAGES


def _needed(size: int) -> int:
    """Return how much of a task must have come up; short tasks have few words."""
    return 1 if size <= 4 else 2 if size <= SHORT else 3


def _speaks_another_language(talk: Talk, paper: Paper) -> bool:
    """Return whether the case has the user speak another language than the task's text, so that words must differ."""
    if paper.language is None and word_list("names").isdisjoint(words_of(paper.text).tokens):
        return False
    said = language_of({token for message in talk.messages for token in message.words.tokens})
    if said is None:
        return paper.language is not None  # most languages have no list of words here
    return said != language_of(set(words_of(paper.text).tokens))


def stopped_early(talk: Talk, paper: Paper) -> list[Finding]:
    """Return a finding if the examiner ended the exam before all steps or rounds of the task were asked."""
    if not talk.by_choice or not talk.messages:
        return []
    last = talk.messages[-1]
    left = _missing_steps(talk, paper) or _missing_rounds(talk, paper)
    missing = left or _hardly_begun(talk, paper)
    if not missing:
        return []
    mild = not left or may_stop(talk, paper)
    return [Finding(ExamFault.STOPPED_EARLY, last.round, last.text[:200].strip(), missing, mild=mild)]


def may_stop(talk: Talk, paper: Paper) -> bool:
    """Return whether an examiner may end the exam before its end, by what it was told or by what the agent did."""
    # An exam may end when two steps have failed, each of which shows in a request that was made again. And no agent may
    # make an exam unfair by refusing, asking back or repeating itself until a user who is meant to give up does so.
    return paper.gives_up or paper.plays or _asked_again(talk.messages) >= 2 or talk.goes_in_circles


def _missing_steps(talk: Talk, paper: Paper) -> str:
    if not paper.steps:
        return ""
    open_ = [number for number, step in enumerate(paper.steps, 1) if not _came_up(step, paper.steps, talk.messages)]
    # Only the last steps count, in a row: a step in the middle may have been asked in other words.
    tail = 0
    while tail < len(open_) and open_[-1 - tail] == len(paper.steps) - tail:
        tail += 1
    if not tail or len(talk.messages) >= len(paper.steps):
        return ""
    first = len(paper.steps) - tail + 1
    which = f"step {first}" if tail == 1 else f"the steps from {first} on"
    return f"the examiner ended the exam, and {which} of {len(paper.steps)} never came up"


def _came_up(step: Words, steps: tuple[Words, ...], messages: tuple[SentMessage, ...]) -> bool:
    others, numbers = joined(each for each in steps if each is not step)
    own, own_numbers = step.stems - others or step.stems, step.specifics - numbers
    if not own and not own_numbers:
        return True
    return any(message.words.stems & own or message.words.specifics & own_numbers for message in messages)


def _missing_rounds(talk: Talk, paper: Paper) -> str:
    """Return what is missing if the messages count rounds, and stop before the task's last one."""
    if paper.rounds < 3 or len(talk.messages) < 2:
        return ""
    reached = 0
    for message in talk.messages:
        if str(reached + 1) in message.words.specifics:
            reached += 1
    # The last rounds may have been asked in one message, or the first without a number.
    if reached < 2 or reached * 10 >= paper.rounds * 9 or len(talk.messages) * 10 >= paper.rounds * 9:
        return ""
    return f"the examiner ended the exam after round {reached}, and the task has {paper.rounds}"


def _hardly_begun(talk: Talk, paper: Paper) -> str:
    """Return what is missing if a user who was asked something ends a long task after a message or two."""
    if paper.steps or paper.rounds or len(paper.stems) < 12 or len(talk.messages) > 3:
        return ""
    end = talk.messages[-1]
    reply = talk.reply(end.round) or talk.reply(end.round - 1)
    if not any(sign in reply[-400:] for sign in "?\uff1f\u061f"):
        return ""
    stems, specifics = joined(message.words for message in talk.messages)
    came_up = len(stems & paper.stems) / len(paper.stems)
    telling = {each for each in paper.specifics if not is_small(each)}
    if came_up >= 0.34 or (telling and len(specifics & telling) * 2 > len(telling)):
        return ""
    said = f"after {came_up:.0%} of the task's words had come up"
    return f"the examiner ended the exam instead of answering the agent's question, {said}"


def _asked_again(messages: tuple[SentMessage, ...]) -> int:
    """Count the messages that ask for the same as the one before."""
    return sum(asks_the_same(one.words, other.words) for one, other in itertools.pairwise(messages))


def asks_the_same(one: Words, other: Words) -> bool:
    """Return whether two messages have the same request, whatever else one of them says."""
    if one.specifics != other.specifics:
        return False
    both, fewer = len(one.stems & other.stems), min(len(one.stems), len(other.stems))
    return (both > 0 or bool(one.specifics)) and both >= SAID_AGAIN * fewer
