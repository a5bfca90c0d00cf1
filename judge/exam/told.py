"""Finds what the examiner should not have said: leaks, invented facts, and facts before their time."""

from __future__ import annotations

from viva.judge.exam.kinds import ExamFault, Finding
from viva.judge.exam.messages import SentMessage, Talk, sentence_with
from viva.judge.exam.paper import Paper
from viva.judge.exam.secrets import FEWEST_WORDS
from viva.judge.exam.words import Words, is_small, spelling, words_of

PHRASE_SHARE = 0.6
"""Minimum share of the words that only a scoring point has in a message that is a leak."""
DUMPED_WORDS, DUMPED_SHARE = 16, 0.85
"""Minimum number of words of a task, and the minimum share of them in a message that gives the task as a whole."""
DUMPED_TOKENS = 18
"""The same minimum where all words are compared, the small ones too."""
GOAL_TOKENS = 38
"""Minimum number of different words of a goal without steps that is too long for one message."""
ENOUGH = 3
"""Number of invented facts after which no more are searched for: they are only noted."""
MOST_SHOWN = 5
"""Maximum number of words that a reason quotes."""
INVENTED_LENGTH = 4
"""Minimum length of a specific that may be invented; shorter ones are counts, hours and the like."""
_NONE: frozenset[str] = frozenset()


def leaks(talk: Talk, paper: Paper) -> list[Finding]:
    """Return each message that says what is only in the scoring points, and what the agent had not said before."""
    secrets = paper.secrets
    if not secrets:
        return []
    found: list[Finding] = []
    for message in talk.messages:
        what = _leaked(message, talk, paper)
        if what:
            are, it = ("is", "it") if len(what) == 1 else ("are", "them")
            words = ", ".join(repr(spelling(message.text, each)) for each in what)
            reason = f"{words} {are} only in the scoring points, and the agent had not said {it}"
            found.append(Finding(ExamFault.LEAK, message.round, sentence_with(message.text, what[0]), reason))
    return found


def _leaked(message: SentMessage, talk: Talk, paper: Paper) -> tuple[str, ...]:
    """Return what a message leaks: one specific, phrase or stem, or the stems that are a leak together."""
    secrets = paper.secrets
    for key in message.words.specifics & secrets.specifics:
        # A count of rounds is no answer, whatever the points count.
        if not (key.isdecimal() and int(key) == message.round) and not talk.gave_before(message.round, key):
            return (key,)
    if secrets.phrases:
        lower = " ".join(message.text.casefold().split())
        for phrase in secrets.phrases:
            if phrase in lower and not talk.said_before(message.round, phrase):
                return (phrase,)
    for stem in message.words.stems & secrets.names:
        if not talk.said_before(message.round, stem):
            return (stem,)
    for point in secrets.points:
        shared = message.words.stems & point
        if _is_much_of(point, shared):
            new = _new(shared, message.round, talk)
            if len(new) >= FEWEST_WORDS:
                return tuple(sorted(new, key=lambda stem: (message.text.casefold().find(stem), stem))[:MOST_SHOWN])
    return ()


def gave_before(talk: Talk, paper: Paper, round_: int, quote: str) -> bool:
    """Return whether the agent had said all that a quote has of what is only in the scoring points.

    Args:
        talk: The conversation.
        paper: What the exam was about.
        round_: The number of the round with the quote.
        quote: Words of the examiner. If code recognises nothing of the scoring points in them, the result is False.
    """
    secrets, words = paper.secrets, words_of(quote)
    lower = " ".join(quote.casefold().split())
    specifics = words.specifics & secrets.specifics
    said = {each for each in secrets.phrases if each in lower} | (words.stems & secrets.names)
    points = [shared for point in secrets.points if _is_much_of(point, shared := words.stems & point)]
    return (
        bool(specifics or said or points)
        and all(talk.gave_before(round_, each) for each in specifics)
        and all(talk.said_before(round_, each) for each in said)
        and all(len(_new(shared, round_, talk)) < FEWEST_WORDS for shared in points)
    )


def _is_much_of(point: frozenset[str], shared: frozenset[str]) -> bool:
    """Return whether the stems that a text shares with a scoring point are enough to tell it."""
    return len(shared) >= FEWEST_WORDS and len(shared) >= PHRASE_SHARE * len(point)


def _new(stems: frozenset[str], round_: int, talk: Talk) -> list[str]:
    return [stem for stem in stems if not talk.said_before(round_, stem)]


def invented_facts(talk: Talk, paper: Paper) -> list[Finding]:
    """Return each message with a number or an identifier that neither the task nor the agent gave."""
    if paper.plays:
        return []
    found: list[Finding] = []
    known = set(paper.specifics)
    for message in talk.messages:
        new = message.words.specifics - known
        if not new:
            continue
        known |= new
        for key in new:
            if _is_fact(key, paper, message.round) and not talk.gave_before(message.round, key, in_steps=True):
                reason = f"{spelling(message.text, key)!r} is neither in the task nor in what the agent said before"
                found.append(Finding(ExamFault.INVENTED_FACTS, message.round, sentence_with(message.text, key), reason))
                break
        if len(found) == ENOUGH:
            break
    return found


def _is_fact(key: str, paper: Paper, round_: int) -> bool:
    if key.isdecimal() and (int(key) == round_ or int(key) <= paper.rounds):
        return False
    parts = key.replace("-", " ").replace(".", " ").replace("/", " ").replace(":", " ").split()
    if is_small(key) or (sum(sign.isalnum() for sign in key) < INVENTED_LENGTH and not key.isdecimal()):
        return False
    if key in paper.text or all(part in paper.text or is_small(part) for part in parts):
        return False  # another way to write a date, a time or a part of a name
    if len(key) < INVENTED_LENGTH and int(key) % 50 == 0:
        return False  # a round figure in a negotiation
    return any(sign.isdigit() for sign in key) or "@" in key


def told_too_much(talk: Talk, paper: Paper) -> list[Finding]:
    """Return messages that tell facts before their time, facts that are never told, or the task as a whole."""
    found: list[Finding] = []
    if not talk.messages:
        return found
    first = talk.messages[0]
    for held in paper.held_back:
        if what := _told(held, first, paper):
            words = spelling(first.text, what)
            reason = f"the first message tells {words!r}, which the user tells only on a condition"
            found.append(Finding(ExamFault.TOLD_TOO_MUCH, first.round, sentence_with(first.text, what), reason))
            break
    for message in talk.messages:
        for never in paper.never:
            if what := _told(never, message, paper):
                reason = f"it tells {spelling(message.text, what)!r}, which the user never tells"
                found.append(Finding(ExamFault.TOLD_TOO_MUCH, message.round, sentence_with(message.text, what), reason))
        if not found and _is_dump(message.words, paper):
            reason = "one message contains nearly every word of the task"
            found.append(Finding(ExamFault.TOLD_TOO_MUCH, message.round, message.text[:200].strip(), reason))
    return found


def _told(fact: Words, message: SentMessage, paper: Paper) -> str | None:
    """Return the specific or stem of a fact that a message tells; None if it does not tell the fact."""
    telling = {each for each in fact.specifics if not is_small(each)}
    if shared := telling & message.words.specifics:
        return min(shared)
    stems = fact.stems
    if not telling and len(stems) >= 2 and stems <= message.words.stems:
        return min(stems, key=message.text.casefold().find)
    return None


def _is_dump(words: Words, paper: Paper) -> bool:
    if not (paper.steps or paper.rounds) and len(paper.tokens) < GOAL_TOKENS:
        return False
    size = len(paper.stems)
    if size >= DUMPED_WORDS and len(words.stems & paper.stems) >= DUMPED_SHARE * size:
        return True
    # Word for word, the small words are the same, too.
    return len(paper.tokens) >= DUMPED_TOKENS and len(paper.tokens.intersection(words.tokens)) >= DUMPED_SHARE * len(
        paper.tokens
    )
