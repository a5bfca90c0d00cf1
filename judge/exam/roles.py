"""Recognises an examiner that speaks as the assistant, solves the task, or thinks aloud.

In any language, labels in front of a turn, marks of thinking, code, and the agent's own words show it. In several
languages, the usual sentences of assistants show it, too.
"""

from __future__ import annotations

import re
from functools import cache

from viva.judge.exam.common_words import listed
from viva.judge.exam.kinds import ExamFault, Finding
from viva.judge.exam.messages import SentMessage, Talk, sentence_with
from viva.judge.exam.paper import Paper

SHOWN = 1_600
"""Number of characters of a message that are searched for sentences."""
COPIED = 60
"""Minimum number of characters of a message that repeats the agent's words."""
WEAK = 2
"""Number of different sentences of the weak kind that show an assistant."""

_THOUGHT = re.compile(r"</?think(?:ing)?>|<\|[a-z_]+\|>|\[/?inst\]")
_LABEL = re.compile(
    r"^\s*(?:ai|agent|assistant|assistent|asistente|assistente|examiner|bot|system|thought|reasoning|\u52a9\u624b|"
    r"\u52a9\u7406|\u0430\u0441\u0441\u0438\u0441\u0442\u0435\u043d\u0442|\u0430\u0433\u0435\u043d\u0442)\s*[:\uff1a]",
    re.M,
)
_CODE = re.compile(r"^\s*```(?:python|javascript|js|java|sql|bash|c\+\+|c#|go|rust)\b", re.M)


ANY = "*"
"""Takes the place of words in the list, for a sentence that is a form of lines and needs one of their signs."""


@cache
def _sentences(section: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return the sentences of a section of the list by the words of which they have one, each with a further word."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in listed("assistant_sentences")[section]:
        words, _, pattern = line.partition(" :: ")
        for word in words.split():
            first, _, also = word.partition("+")
            found.setdefault(first, []).append((pattern, also))
    return {word: tuple(each) for word, each in found.items()}


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    # Compiled when it is needed: all of them take as long as a hundred exams.
    return re.compile(pattern, re.M)


@cache
def _words() -> frozenset[str]:
    return frozenset(_sentences("strong")) | frozenset(_sentences("weak"))


def _matches(
    section: str, lower: str, words: frozenset[str], tokens: frozenset[str], known: str, fewest: int
) -> list[str]:
    """Return what a text has of the sentences of a section, one for each sentence; nothing if that is too little.

    Args:
        section: Of the list.
        lower: The text.
        words: Those of its words that begin a search, and `ANY` if it has a sign of lines.
        tokens: All of its words.
        known: What the task says, which anybody may say.
        fewest: Number of sentences that count as enough; no more are looked for.
    """
    by_word = _sentences(section)
    possible: dict[str, bool] = {}
    for word in words:
        for pattern, also in by_word.get(word, ()):
            if not also or also in tokens:
                possible[pattern] = word == ANY
    found: list[str] = []
    if len(possible) < fewest:
        return found
    for pattern, of_lines in possible.items():
        compiled = _compiled(pattern)
        # A form of lines can only be at the beginning of a text that is one line.
        match = compiled.match(lower) if of_lines and "\n" not in lower else compiled.search(lower)
        if match is not None and match[0] not in known:
            found.append(match[0])
            if len(found) == fewest:
                return found
    return []


def role_flips(talk: Talk, paper: Paper) -> list[Finding]:
    """Return each message in which the examiner left its role."""
    if paper.misleads:
        return []
    found = []
    for message in talk.messages:
        words, reason, mild = _flipped(message, talk, paper)
        if reason:
            quote = sentence_with(message.text, words)
            # What the agent has said, a user may quote, fill in, or be asked to repeat: no agent may dictate a fault.
            mild = mild or talk.said_before(message.round, words)
            found.append(Finding(ExamFault.ROLE_FLIP, message.round, quote, reason, mild=mild))
    return found


def _flipped(message: SentMessage, talk: Talk, paper: Paper) -> tuple[str, str, bool]:
    """Return the words that show that a message is not a user's, the reason, and whether the agent may have wanted it.

    Words and reason are empty if it is a user's message.
    """
    text = message.text
    if not text:
        return "", "", False
    if len(text) > SHOWN:
        text = f"{text[: SHOWN // 2]}\n{text[-SHOWN // 2 :]}"
    lower = text.casefold()
    known = paper.text
    # Each structure needs one of these signs.
    found = _THOUGHT.search(lower) if "<" in lower or "[" in lower else None
    if found is None and (":" in lower or "\uff1a" in lower):
        found = _LABEL.search(lower) if "\n" in lower else _LABEL.match(lower)
    if found is not None and found[0].strip() not in known:
        return found[0].strip(), "it writes a turn or a thought in somebody else's name", False
    if "```" in text and (code := _CODE.search(lower)) and "```" not in known and "code" not in known:
        # Later, the agent may have asked for it.
        return code[0].strip(), "it writes code, although the task gives none", message is not talk.messages[0]
    words = _assistant(lower.replace("\u2019", "'"), message, known)
    if words:
        return words, "it speaks as the assistant, or about the agent, and not as the user", False
    if not lower.isascii() and (
        sign := next((each for each in listed("assistant_sentences")["signs"] if each in lower), "")
    ):
        return sign, "it speaks as the assistant, and not as the user", False
    if len(lower) >= COPIED and lower not in known and lower in talk.reply(message.round - 1):
        return lower[:COPIED], "it repeats the agent's own words as if they were the user's", True
    return "", "", False


def _assistant(lower: str, message: SentMessage, known: str) -> str:
    """Return the words of a message that only an assistant says; empty if there are none."""
    tokens = message.words.tokens
    words = tokens & _words()
    if "*" in lower or "(" in lower or "[" in lower or ":" in lower or "\uff1a" in lower or "\n" in lower:
        words |= {ANY}
    if not words:
        return ""
    found = _matches("strong", lower, words, tokens, known, 1) or _matches("weak", lower, words, tokens, known, WEAK)
    return found[0] if found else ""
